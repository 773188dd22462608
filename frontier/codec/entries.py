"""The bytes of a waiting URL.

An **entry** holds all that the frontier keeps of a URL until it is settled, except the name of its host. This is
version 4; a crawl has one version (`Crawl.open`):

    level     4  depth - priority + 2^31: the lowest level of a host is granted first
    attempt   1  `lua/` counts attempts and expiries; plus 128 for `Discovery.notify`
    expiries  1  plus 128 once a worker that held it died
    number    1  last byte of the URL's hash; 0 for a listed URL, and for no other
    template  4  `frontier.urls.template`
    origin    1  s for https, p for http; upper case: the port follows in 2 bytes
    way       2  distance of the path from here
    depth, max_depth + 1 or 0, 2 * hops (plus 1 if `again` follows), generation, interval_s   as LEB128
    scope        number of bytes that follow, plus 4, and these bytes; or, if the URL implies them: 0 any,
                 1 its host, 2 its registered domain, 3 its folder (LEB128)
    referrer     0 for none; else the number of leading bytes that it shares with the URL's text, plus 1, the number
                 of bytes that follow (LEB128), and these bytes
    state        all other bytes before the path (`frontier.request_state`)
    path         and, if the wire form differs, a NUL and the wire form

All numbers are big-endian. `lua/` reads the fields before `depth`, and the path; change it together with this module.
"""

import struct
from functools import lru_cache
from struct import pack, unpack_from

from thresher.core import CorruptData, InputError, Url
from thresher.frontier.lease import Discovery
from thresher.frontier.request_state import decode_state, encode_state
from thresher.frontier.urls.canonical import url_from_canonical
from thresher.frontier.urls.novelty import TRICKLE
from thresher.frontier.urls.scope import Scope, registered_domain
from thresher.frontier.urls.template import url_template

VERSION = 4
ZERO = 1 << 31
_DEFAULT_PORTS = {"https": b"s", "http": b"p"}
_SCHEMES = {b"s": "https", b"p": "http"}
_HEAD = 12
_EXPIRIES = 5
_NUMBER = 6
_LISTED = 0
_EXPLICIT = 4
_NOTIFY = 128


def entry_number(discovery: Discovery, name: bytes) -> int:
    """Return the number of an entry, given the hash by which the URL is known (`frontier.page_key`)."""
    return _LISTED if discovery.listed else name[-1] or TRICKLE


def encode_entry(discovery: Discovery, number: int) -> bytes:
    """Return the entry of a URL that was never tried."""
    url = discovery.url
    hops = _varint(2 * discovery.hops)
    if discovery.again:
        hops = _varint(2 * discovery.hops + 1) + _varint(discovery.again)
    meta = _varint(discovery.depth) + _varint(0 if discovery.max_depth is None else discovery.max_depth + 1)
    meta += hops + _varint(discovery.generation) + _varint(discovery.interval_s)
    meta += _scope(discovery) + _referrer(discovery) + encode_state(discovery.state)
    path = url.text[len(url.origin) :].encode()
    if url.wire != url.text:
        path += b"\0" + url.wire.encode()
    level = discovery.depth - discovery.priority + ZERO
    return (
        pack(">IBBB", level, _NOTIFY if discovery.notify else 0, 0, number)
        + url_template(url)
        + _origin(url)
        + (len(meta) + 2).to_bytes(2, "big")
        + meta
        + path
    )


def is_recovered(entry: bytes) -> bool:
    """Return whether a worker that held the URL was not heard of again."""
    return entry[_EXPIRIES] > 0


def decode_entry(host: str, entry: bytes) -> tuple[Discovery, int]:
    """Return the discovery that was encoded, and how often it was tried. Raise `CorruptData` if the entry cannot be
    read.
    """
    try:
        return _decode(host, entry)
    except (InputError, ValueError, IndexError, KeyError, struct.error) as error:
        raise CorruptData(
            f"frontier: an entry of {host} cannot be read: {entry[:80]!r}; seed it again"
        ) from error


def _decode(host: str, entry: bytes) -> tuple[Discovery, int]:
    level, attempt = unpack_from(">IB", entry)
    code = entry[_HEAD - 1 : _HEAD]
    origin, at = f"{_SCHEMES[code.lower()]}://{host}", _HEAD
    if code.isupper():
        origin, at = f"{origin}:{int.from_bytes(entry[at : at + 2], 'big')}", at + 2
    begin = at + int.from_bytes(entry[at : at + 2], "big")
    path, _, wire = entry[begin:].decode().partition("\0")
    text = origin + path
    url = url_from_canonical(text, wire or text)
    at += 2
    depth, at = _read_varint(entry, at)
    max_depth, at = _read_varint(entry, at)
    hops, at = _read_varint(entry, at)
    again, at = _read_varint(entry, at) if hops & 1 else (0, at)
    generation, at = _read_varint(entry, at)
    interval_s, at = _read_varint(entry, at)
    number, at = _read_varint(entry, at)
    scope, at = _read_scope(number, entry, at, url)
    referrer, at = _read_referrer(entry, at, url)
    discovery = Discovery(
        url=url,
        scope=scope,
        depth=depth,
        max_depth=max_depth - 1 if max_depth else None,
        hops=hops // 2,
        referrer=referrer,
        priority=depth - (level - ZERO),
        generation=generation,
        interval_s=interval_s,
        listed=entry[_NUMBER] == _LISTED,
        again=again,
        state=decode_state(entry[at:begin]),
        notify=attempt >= _NOTIFY,
    )
    return discovery, attempt % _NOTIFY


def _origin(url: Url) -> bytes:
    scheme, _, authority = url.origin.partition("://")
    code = _DEFAULT_PORTS[scheme]
    port = authority[len(url.host) :]
    return code.upper() + int(port[1:]).to_bytes(2, "big") if port else code


def _scope(discovery: Discovery) -> bytes:
    scope, url = discovery.scope, discovery.url
    if scope.kind == "any":
        return b"\0"
    if scope.kind == "host" and scope.anchor == url.host:
        return b"\1"
    if scope.kind == "domain" and scope.anchor == registered_domain(url.host):
        return b"\2"
    if scope == Scope.of("prefix", url):
        return b"\3"
    text = str(scope).encode()
    return _varint(len(text) + _EXPLICIT) + text


def _read_scope(number: int, entry: bytes, at: int, url: Url) -> tuple[Scope, int]:
    if number >= _EXPLICIT:
        end = at + number - _EXPLICIT
        return Scope.parse(entry[at:end].decode()), end
    return Scope.of(("any", "host", "domain", "prefix")[number], url), at


def _referrer(discovery: Discovery) -> bytes:
    if not discovery.referrer:
        return b"\0"
    text = discovery.url.text
    for beginning, written in _beginnings(discovery.referrer):
        if text.startswith(beginning):
            return written
    raise AssertionError("every text begins with nothing")


@lru_cache(maxsize=1_024)
def _beginnings(referrer: str) -> tuple[tuple[str, bytes], ...]:
    """Return the beginnings that a URL may share with its referrer, the longest first, each with the bytes that encode
    the referrer then: pages lead to their neighbours, and all links of one page have one referrer.
    """
    folder = referrer.rpartition("/")[0]
    origin = "/".join(referrer.split("/", 3)[:3])
    found = []
    for beginning in (referrer, folder, origin, ""):
        rest = referrer[len(beginning) :].encode()
        found.append((beginning, _varint(len(beginning.encode()) + 1) + _varint(len(rest)) + rest))
    return tuple(found)


def _read_referrer(entry: bytes, at: int, url: Url) -> tuple[str, int]:
    same, at = _read_varint(entry, at)
    if not same:
        return "", at
    length, at = _read_varint(entry, at)
    return (url.text.encode()[: same - 1] + entry[at : at + length]).decode(), at + length


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
