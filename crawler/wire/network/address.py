"""The guard's addresses: which IP addresses may be contacted.

1. An address that is not globally reachable is blocked: private, loopback, link-local, shared, multicast, reserved and
   unspecified (IANA's special-purpose registries, `core.standards.ip_address`). Of IPv6 only global unicast is public
   (2000::/3, RFC 4291 and IANA's registry): so whatever is set apart elsewhere is blocked before anybody lists it.
2. An IPv6 address that stands for an IPv4 address is judged as that one: mapped (RFC 4291, section 2.5.5.2) and NAT64
   (RFC 6052, section 2.1). One that tunnels to an IPv4 address is judged as both: 6to4 (RFC 3056).
3. The addresses where clouds answer questions about a machine (its keys, its user data) are blocked, even one that
   looks public. Most of them are link-local, shared or private anyway.
4. The networks that the user allows are exempt, and nothing else is. A text that is no address is blocked.
5. A request on behalf of a page is exempt only if the page came from an address of that same network: a page of the
   open web reaches none of them (Private Network Access, as browsers have it). Only pages of loopback reach loopback.
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
from zlib import crc32

from thresher.core import InputError
from thresher.core.standards.ip_address import is_special, mapped_address

Network = IPv4Network | IPv6Network
MAX_ADDRESSES_TRIED = 2
"""Addresses of one host that one exchange tries at most."""

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_MULTICAST = IPv4Network("224.0.0.0/4")
# Azure's; those of other clouds are link-local, shared or private, or in the networks above.
_METADATA = IPv4Address("168.63.129.16")
_REMEMBERED = 16_384  # pages of one host share their addresses
_LOW_32_BITS = 0xFFFFFFFF


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that CIDR texts name. Raise `InputError` for a text that names none."""
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
    """Return whether the address must not be contacted. A zone (`%eth0`) is ignored. `page_address` is the address of
    the page on whose behalf the request is sent; empty if it is unknown, None if there is no such page.
    """
    return _is_blocked(text, tuple(allowed), page_address)


def is_public(text: str) -> bool:
    """Return whether `text` is an address of the open web."""
    return not _is_blocked(text, (), None)


@lru_cache(maxsize=_REMEMBERED)
def _is_blocked(text: str, allowed: tuple[Network, ...], page_address: str | None) -> bool:
    address = _address(text)
    if address is None:
        return True
    meant = _effective_address(address)
    exempt = _networks_containing(address, allowed)
    if exempt and (page_address is None or _may_request(page_address, meant, exempt)):
        return False
    tunnelled = meant.sixtofour if isinstance(meant, IPv6Address) else None
    return not (_is_public(meant) and (tunnelled is None or _is_public(tunnelled)))


def is_allowed(text: str, allowed: Sequence[Network]) -> bool:
    """Return whether a network that the user allows contains the address."""
    address = _address(text)
    return address is not None and bool(_networks_containing(address, allowed))


def _may_request(page_address: str, target: IPv4Address | IPv6Address, exempt: Sequence[Network]) -> bool:
    """Return whether a page at `page_address` may request `target`, which the networks `exempt` contain."""
    address = _address(page_address)
    if address is None or not _is_blocked(page_address, (), None):
        return False
    if target.is_loopback and not _effective_address(address).is_loopback:
        return False
    return bool(_networks_containing(address, exempt))


def _networks_containing(address: IPv4Address | IPv6Address, networks: Iterable[Network]) -> list[Network]:
    """Return the networks that contain an address, or the address that it stands for."""
    return [one for one in networks if address in one or _effective_address(address) in one]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=_REMEMBERED)
def effective_address(text: str) -> str:
    """Return the address that a text stands for, always written the same way; return a text that is no address as it
    is.
    """
    address = _address(text)
    return text if address is None else str(_effective_address(address))


def choose_addresses(addresses: list[str], host: str) -> list[str]:
    """Return two of the addresses, IPv4 first. Hosts that share many are spread over them, and each host keeps
    its own.
    """
    if len(addresses) == 1:
        return addresses
    families = ([one for one in addresses if ":" not in one], [one for one in addresses if ":" in one])
    turn = crc32(host.encode())
    for family in families:
        family.sort()
        first = turn % max(len(family), 1)
        family[:] = family[first:] + family[:first]
    four, six = families
    return [*four[:1], *six[:1], *four[1:], *six[1:]][:MAX_ADDRESSES_TRIED]


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if address == _METADATA:
        return False
    is_unicast = address in _GLOBAL_UNICAST if isinstance(address, IPv6Address) else address not in _MULTICAST
    return is_unicast and not is_special(address)


def _effective_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & _LOW_32_BITS)
    return mapped_address(address) or address
