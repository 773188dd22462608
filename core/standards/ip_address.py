"""IP addresses: which of them IANA sets apart, and how they are written; the same on every Python.

The `ipaddress` module changes in patch releases which addresses it calls global or private, and writes mapped addresses
in another way since Python 3.13. Whom a crawler contacts and what an archive says must not depend on that.
"""

from ipaddress import IPv4Address, IPv6Address, ip_network

_NOT_PUBLIC = (
    # IANA IPv4 Special-Purpose Address Registry (RFC 6890, RFC 8190): all entries that are not globally reachable.
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",  # shared, RFC 6598
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",  # protocol assignments, RFC 6890; two of them are anycast and serve no pages
    "192.0.2.0/24",
    "192.88.99.0/24",  # relays of 6to4, RFC 7526
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",  # reserved; contains the limited broadcast
    # IANA IPv6 Special-Purpose Address Registry: likewise, up to the prefixes of RFC 9602, 9637 and 9780.
    "::/128",
    "::1/128",
    "::ffff:0:0/96",  # mapped; judge the IPv4 address instead
    "64:ff9b:1::/48",  # local translation, RFC 8215
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",  # protocol assignments, RFC 2928; Teredo, ORCHID and anycast among them serve no pages
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
)
_RANGES = {
    version: tuple(
        (int(network[0]), int(network[-1]))
        for network in map(ip_network, _NOT_PUBLIC)
        if network.version == version
    )
    for version in (4, 6)
}
_LOW_32_BITS = 0xFFFFFFFF
_LOW_16_BITS = 0xFFFF


def is_special(address: IPv4Address | IPv6Address) -> bool:
    """Return whether IANA's special-purpose registries set the address apart from the public ones. Multicast is not in
    these registries.
    """
    number = int(address)
    return any(first <= number <= last for first, last in _RANGES[address.version])


def mapped_address(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address is mapped from (RFC 4291, section 2.5.5.2)."""
    if isinstance(address, IPv6Address) and int(address) >> 32 == _LOW_16_BITS:
        return IPv4Address(int(address) & _LOW_32_BITS)
    return None


def format_address(address: IPv4Address | IPv6Address) -> str:
    """Return the address as text. A mapped address has hexadecimal digits alone."""
    if mapped_address(address) is None:
        return str(address)
    number = int(address) & _LOW_32_BITS
    return f"::ffff:{number >> 16:x}:{number & _LOW_16_BITS:x}"
