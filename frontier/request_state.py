"""`RequestState`: what a URL carries besides itself, for the worker that fetches it next (`Discovery.state`). Pure.

The functions in `lua/` do not look into it. `encode_state` writes it into the entry of a waiting URL, and
`decode_state` reads it once, when the URL is leased.

The first byte is the version, the second the kind. Fields follow in any order: a letter, the length in two bytes, and
the value. An empty field is left out, and a reader skips a field that it does not know. If the version differs, or the
bytes are no state, the result is the empty state: the worker fetches the URL as if nobody had fetched it before.
"""

from dataclasses import dataclass
from typing import Literal, get_args

ReadingKind = Literal["page", "sitemap", "seeds"]

MAX_STATE_BYTES = 4_096
"""Bytes of an encoded state."""
MAX_FIELD_BYTES = 1_024
"""Bytes of a text. A longer one is left out whole, because half an ETag is no ETag."""
MAX_COOKIE_BYTES = 2_048
"""Bytes of the cookies."""
MAX_CHAIN_BYTES = 363
"""Bytes of the longest chain of redirects (`crawler.reading.redirect_chain`)."""
MAX_SPIDER_REQUEST_BYTES = MAX_STATE_BYTES - 8 - MAX_CHAIN_BYTES
"""Bytes of a spider's request: there is room for a chain beside it."""
_VERSION = 1
_KINDS: tuple[ReadingKind, ...] = get_args(ReadingKind)
_TEXTS = {b"e": "etag", b"l": "last_modified", b"g": "digest", b"h": "sha256", b"r": "record_id", b"u": "uri"}
_NUMBERS = {b"v": "level", b"m": "modified_ms", b"d": "date_ms"}
_SPIDER_REQUEST, _CHAIN, _COOKIES = b"s", b"c", b"k"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestState:
    """What is unknown is empty or 0."""

    kind: ReadingKind = "page"
    """How the response is read. `seeds` is a sitemap or feed whose entries are seeds."""
    level: int = 0
    """Sitemap indexes on the way to a sitemap."""
    modified_ms: int = 0
    """When the page was last changed, as a sitemap says; milliseconds since the epoch."""
    etag: str = ""
    """Header of the last capture, as received. The fields that follow describe the last capture too."""
    last_modified: str = ""
    digest: str = ""
    """Payload digest."""
    sha256: str = ""
    """SHA-256 of the payload."""
    record_id: str = ""
    uri: str = ""
    """URL of the original capture, if the last one was a revisit of a capture with another URL."""
    date_ms: int = 0
    """When the last capture was made, in milliseconds since the epoch; 0 if there was none."""
    chain: bytes = b""
    """The redirects that led to the URL (`crawler.reading.redirect_chain`)."""
    cookies: tuple[tuple[str, str], ...] = ()
    """The cookies that these redirects set, the newest last: the URL requested, and a Set-Cookie header."""
    spider_request: bytes = b""
    """What a user's spider wants done with the response (`crawler.spiders.spider_request`)."""

    @property
    def is_list(self) -> bool:
        """Whether the response is read as a sitemap or a list of seeds, whatever its server calls it."""
        return self.kind != "page"

    @property
    def has_capture(self) -> bool:
        """Whether the page was captured before."""
        return self.date_ms > 0


EMPTY_STATE = RequestState()


def encode_state(state: RequestState) -> bytes:
    """Return at most `MAX_STATE_BYTES` bytes; none for a page of which nothing is known.

    If there is too little room, the cookies are left out first, then the last capture. The spider's request always
    fits, because the spider could do nothing without it.
    """
    if state is EMPTY_STATE:
        return b""
    fields = [(tag, getattr(state, name).encode("utf-8", "replace")) for tag, name in _TEXTS.items()]
    fields += [(tag, _encode_number(getattr(state, name))) for tag, name in _NUMBERS.items()]
    capture = b"".join(_field(tag, value) for tag, value in fields if len(value) <= MAX_FIELD_BYTES)
    cookies = _field(_COOKIES, _encode_cookies(state.cookies))
    body = b""
    for part in (
        _field(_SPIDER_REQUEST, state.spider_request),
        _field(_CHAIN, state.chain),
        capture,
        cookies,
    ):
        if len(body) + len(part) + 2 <= MAX_STATE_BYTES:
            body += part
    if not body and state.kind == "page":
        return b""
    return bytes((_VERSION, _KINDS.index(state.kind))) + body


def decode_state(written: bytes) -> RequestState:
    """Return what `encode_state` wrote; `EMPTY_STATE` for any other bytes."""
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
    """Return a line for each of the newest cookies that there is room for."""
    lines: list[bytes] = []
    room = MAX_COOKIE_BYTES
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
