"""Which IP addresses may be contacted.

1. An address that is not globally reachable is blocked: private, loopback, link-local, shared, multicast,
   reserved, unspecified (IANA's special-purpose registries, as the `ipaddress` module knows them, and what that of Python
   3.11 does not know of them). Of IPv6 nothing is public but global unicast (2000::/3, RFC 4291 and IANA's registry of it): whatever
   is set apart elsewhere is blocked before anybody lists it.
2. An IPv6 address that stands for an IPv4 address is judged as that one: mapped (RFC 4291, section 2.5.5.2)
   and NAT64 (RFC 6052, section 2.1). One that tunnels to it is judged as both: 6to4 (RFC 3056).
3. Where clouds answer questions about a machine (its keys, its user data) is blocked, also where that address looks public:
   most of them are link-local, shared or private anyway.
4. The networks that the user allows are exempt, and nothing else is. What is no address is blocked.
5. What a page asks for is exempt only for pages of that same network, by the address that the page came from: a page of the open web
   reaches none of them (Private Network Access, as browsers have it). Loopback is for pages of loopback.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from core import InputError

Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NOT_GLOBAL = (
    IPv4Network(
        "192.0.0.0/24"
    ),  # IETF protocol assignments, RFC 6890: two of them are anycast, and serve no pages
    IPv4Network("192.88.99.0/24"),  # relays of 6to4, RFC 7526
    IPv6Network("3fff::/20"),  # documentation, RFC 9637
)
_METADATA = IPv4Address(
    "168.63.129.16"
)  # Azure; those of other clouds are link-local, shared or private, or below
_REMEMBERED = 16_384  # every page of a host asks the same
_LOW_32_BITS = 0xFFFFFFFF


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that CIDR texts name; `InputError` names the one that is none."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text, strict=False))
        except ValueError as error:
            raise InputError(
                f"crawler.allow_networks: {text!r} is no network ({error}); write such as 10.0.0.0/8"
            ) from error
    return tuple(found)


def is_blocked(text: str, allowed: Sequence[Network] = (), page_address: str | None = None) -> bool:
    """Whether the address must not be contacted. A zone (`%eth0`) is passed over. `asker` is the address of the page that wants it; empty
    where that is not known, None where no page does.
    """
    return _is_blocked(text, tuple(allowed), page_address)


def is_public(text: str) -> bool:
    """Whether it is an address of the open web."""
    return not _is_blocked(text, (), None)


@lru_cache(maxsize=_REMEMBERED)
def _is_blocked(text: str, allowed: tuple[Network, ...], asker: str | None) -> bool:
    address = _address(text)
    if address is None:
        return True
    meant = _effective_address(address)
    exempt = _networks_containing(address, allowed)
    if exempt and (asker is None or _may_request(asker, meant, exempt)):
        return False
    tunnelled = meant.sixtofour if isinstance(meant, IPv6Address) else None
    return not (_is_public(meant) and (tunnelled is None or _is_public(tunnelled)))


def is_allowed(text: str, allowed: Sequence[Network]) -> bool:
    """Whether the user allows the address by a network of its own."""
    address = _address(text)
    return address is not None and bool(_networks_containing(address, allowed))


def _may_request(asker: str, wanted: IPv4Address | IPv6Address, exempt: Sequence[Network]) -> bool:
    """Whether a page at an address may ask for another that the networks `exempt` hold."""
    address = _address(asker)
    if address is None or not _is_blocked(asker, (), None):
        return False
    if wanted.is_loopback and not _effective_address(address).is_loopback:
        return False
    return bool(_networks_containing(address, exempt))


def _networks_containing(address: IPv4Address | IPv6Address, networks: Iterable[Network]) -> list[Network]:
    """Those of some networks that hold an address, or the one that it stands for."""
    return [one for one in networks if address in one or _effective_address(address) in one]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=_REMEMBERED)
def effective_address(text: str) -> str:
    """The address that a text stands for, always written the same way; what is no address as it is."""
    address = _address(text)
    return text if address is None else str(_effective_address(address))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if address == _METADATA:
        return False
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    if any(address in network for network in _NOT_GLOBAL):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _effective_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & _LOW_32_BITS)
    return address.ipv4_mapped or address
