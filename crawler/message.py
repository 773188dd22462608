"""An HTTP response read from the bytes that came over the wire: where its head ends, where its body ends.

The client's HTTP library decides how a connection is driven. What is archived is decided here, from the bytes
alone, so that it is the same bytes whatever the library made of them.

1. Interim responses (1xx, but 101) come before the response and are no part of it.
2. The head ends with the first empty line. A line in it that is no header line is passed over, as browsers do;
   a folded line continues the one before.
3. The body ends where its framing says (RFC 9112, section 6.3), and at `max_body` bytes at the latest. What
   follows belongs to no response and is not kept.
"""

import re
from dataclasses import dataclass

from storage.payload import dechunked

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d+)? +(\d{3})(?!\d)", re.IGNORECASE)
_BODILESS = frozenset({204, 304})  # RFC 9110, sections 15.3.5 and 15.4.5
_SWITCHING = 101

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One response as far as it came."""

    response: bytes
    head_length: int
    status: int
    headers: Headers
    payload: bytes
    """After transfer decoding."""
    ended: bool
    """The framing itself says that the body is whole; never so where only the connection's end can say it."""
    cut: bool
    """The body was longer than allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    begin: int
    end: int
    status: int
    headers: Headers


def message(received: bytes, max_body: int) -> Message | None:
    """Return the response that `received` begins with, or None where no whole head of one is there."""
    head = _head(received)
    if head is None:
        return None
    body = received[head.end :]
    length = _length(head)
    chunked = length is None and "chunked" in field(head.headers, "transfer-encoding").lower()
    kept = min(max_body, len(body) if length is None else length)
    cut = len(body if length is None else body[:length]) > kept
    body = body[:kept]
    payload, problem = dechunked(body, max_body) if chunked else (body, None)
    return Message(
        response=received[head.begin : head.end] + body,
        head_length=head.end - head.begin,
        status=head.status,
        headers=head.headers,
        payload=payload,
        ended=not cut and (bool(body) and problem is None if chunked else len(body) == length),
        cut=cut,
    )


def field(headers: Headers, name: str) -> str:
    """All values of a header, joined by commas (RFC 9110, section 5.2); empty where there is none."""
    return ",".join(value for key, value in headers if key.lower() == name)


def _head(received: bytes) -> _Head | None:
    begin = 0
    while end := _HEAD_END.search(received, begin):
        line, *lines = re.split(rb"\r?\n", received[begin : end.start()])
        status = _STATUS_LINE.match(line)
        if status is None:
            return None
        code = int(status[1])
        if not 100 <= code < 200 or code == _SWITCHING:
            return _Head(begin=begin, end=end.end(), status=code, headers=_headers(lines))
        begin = end.end()
    return None


def _headers(lines: list[bytes]) -> Headers:
    found: list[tuple[str, str]] = []
    for line in lines:
        text = line.decode("latin-1")
        if text[:1] in (" ", "\t"):
            if found:
                name, value = found[-1]
                found[-1] = (name, f"{value} {text.strip()}".strip())
            continue
        name, colon, value = text.partition(":")
        if colon and name:
            found.append((name, value.strip(" \t")))
    return tuple(found)


def _length(head: _Head) -> int | None:
    """Bytes of the body, where the head tells. Chunks go before a length that is given beside them."""
    if head.status in _BODILESS:
        return 0
    if field(head.headers, "transfer-encoding"):
        return None
    digits = field(head.headers, "content-length").partition(",")[0].strip()
    return int(digits) if digits.isdecimal() and digits.isascii() else None
