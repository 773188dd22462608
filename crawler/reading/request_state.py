"""`RequestState`: what a crawler writes on a URL for whoever fetches it next (`Discovery.note`). Pure.

The first octet is the version, the second the kind, then come fields in any order: a letter, the number of octets in
two octets, and these. A field that is empty is not there, one that is not known is passed over. What is of another
version, or is no note, says nothing: whoever reads it does as if it were the first to fetch the URL.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from crawler.reading import redirect_chain
from frontier.lease import LONGEST_NOTE

ReadingKind = Literal["page", "sitemap", "seeds"]

LONGEST_FIELD = 1_024
"""Octets of a text; a longer one is left out, whole: half an ETag is none."""
_VERSION = 1
_KINDS: tuple[ReadingKind, ...] = get_args(ReadingKind)
_TEXTS = {b"e": "etag", b"l": "last_modified", b"g": "digest", b"h": "sha256", b"r": "record_id", b"u": "uri"}
_NUMBERS = {b"v": "level", b"m": "modified_ms", b"d": "date_ms"}
_SPIDER_REQUEST, _CHAIN, _COOKIES = b"s", b"c", b"k"
MAX_SPIDER_REQUEST_BYTES = LONGEST_NOTE - 8 - redirect_chain.MAX_EXCHANGES * redirect_chain.BYTES
"""Octets of the longest errand: there is room for a chain beside it."""
LONGEST_COOKIES = 2_048
"""Octets of the cookies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestState:
    """Whatever is not known is empty or 0."""

    kind: ReadingKind = "page"
    """How its answer is to be read: `seeds` is a sitemap or feed whose entries are seeds."""
    level: int = 0
    """Of a sitemap: the sitemap indexes on the way to it."""
    modified_ms: int = 0
    """When a sitemap says that the page was last changed; milliseconds since the epoch."""
    etag: str = ""
    """Of the last capture, as are all that follow: header as received."""
    last_modified: str = ""
    digest: str = ""
    """Payload digest."""
    sha256: str = ""
    """Of the payload."""
    record_id: str = ""
    uri: str = ""
    """Of the capture that the last one was a revisit of, where it had another URL."""
    date_ms: int = 0
    chain: bytes = b""
    """The redirects by which it was come to (`crawler.reading.redirect_chain`)."""
    cookies: tuple[tuple[str, str], ...] = ()
    """What these set, the newest last: the URL that was asked for, and a Set-Cookie header."""
    spider_request: bytes = b""
    """What a user's spider wants done with the answer (`crawler.spiders.spider_request`)."""


EMPTY_STATE = RequestState()
STATES_HELD = 256
"""Decoded states that a process holds: four times the leases that a worker has open, and at most 4 KB each."""


def encode_state(note: RequestState) -> bytes:
    """At most `LONGEST_NOTE` octets; none at all for a page of which nothing is known. What there is no room for is
    left out: first the cookies, then what the last capture was; the errand never, for the spider could do nothing
    without it.
    """
    fields = [(tag, getattr(note, name).encode("utf-8", "replace")) for tag, name in _TEXTS.items()]
    fields += [(tag, _encode_number(getattr(note, name))) for tag, name in _NUMBERS.items()]
    capture = b"".join(_field(tag, value) for tag, value in fields if len(value) <= LONGEST_FIELD)
    cookies = _field(_COOKIES, _encode_cookies(note.cookies))
    body = b""
    for part in (_field(_SPIDER_REQUEST, note.spider_request), _field(_CHAIN, note.chain), capture, cookies):
        if len(body) + len(part) + 2 <= LONGEST_NOTE:
            body += part
    if not body and note.kind == "page":
        return b""
    return bytes((_VERSION, _KINDS.index(note.kind))) + body


@lru_cache(maxsize=STATES_HELD)
def decode_state(written: bytes) -> RequestState:
    """Return what `encode_state` wrote; `EMPTY_STATE` for anything else.

    The state of a lease is decoded once in a process: it is asked for when the lease is granted, and what comes later
    finds it.
    """
    if len(written) < 2 or written[0] != _VERSION or written[1] >= len(_KINDS):
        return EMPTY_STATE
    fields: dict[str, str | int | bytes | tuple[tuple[str, str], ...]] = {}
    at = 2
    while at < len(written):
        tag, begin = written[at : at + 1], at + 3
        at = begin + int.from_bytes(written[at + 1 : begin], "big")
        if begin > len(written) or at > len(written):
            return EMPTY_STATE
        if tag in _TEXTS:
            fields[_TEXTS[tag]] = written[begin:at].decode("utf-8", "replace")
        elif tag == _SPIDER_REQUEST:
            fields["spider_request"] = written[begin:at]
        elif tag == _CHAIN:
            fields["chain"] = written[begin:at]
        elif tag == _COOKIES:
            fields["cookies"] = _decode_cookies(written[begin:at])
        elif tag in _NUMBERS:
            fields[_NUMBERS[tag]] = int.from_bytes(written[begin:at], "big")
    return RequestState(kind=_KINDS[written[1]], **fields)  # type: ignore[arg-type]


def _encode_number(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big") if number > 0 else b""


def _field(tag: bytes, value: bytes) -> bytes:
    return tag + len(value).to_bytes(2, "big") + value if value else b""


def _encode_cookies(cookies: tuple[tuple[str, str], ...]) -> bytes:
    """A line for each, the newest that there is room for."""
    lines: list[bytes] = []
    room = LONGEST_COOKIES
    for url, cookie in reversed(cookies):
        line = f"{url}\t{cookie}\n".encode("utf-8", "replace")
        room -= len(line)
        if room < 0:
            break
        if line.count(b"\n") == 1:
            lines.append(line)
    return b"".join(reversed(lines))


def _decode_cookies(written: bytes) -> tuple[tuple[str, str], ...]:
    pairs = (line.partition("\t") for line in written.decode("utf-8", "replace").split("\n") if line)
    return tuple((url, cookie) for url, _, cookie in pairs)
