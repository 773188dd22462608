"""Read an HTTP response from the bytes that came over the wire, as browsers read it. Pure.

1. A head begins with a status line, with or without a reason; Icecast's `ICY` line is one as well. Its code is recorded
   as it is, even 0 or 999. Anything else, HTTP/0.9 included, is no HTTP/1.
2. A head ends with the first empty line; line feeds alone end lines too. A line without a colon or with a NUL is no
   header and is skipped; a folded line continues the line before; blanks around a name are no part of it.
3. `Transfer-Encoding: chunked` counts before a length; of several lengths the first number counts. If a server states
   more than one of these, its connection is not used again. If it states none, the end of the connection is the end of
   the body. 204, 304 and responses to HEAD have no body, whatever they state.
"""

import re
from dataclasses import dataclass

from thresher.storage.warc.payload import decode_transfer
from thresher.storage.warc.records import PAYLOAD_LIMIT

Headers = tuple[tuple[str, str], ...]

SWITCHING = 101
_BODILESS = frozenset({SWITCHING, 204, 304})  # RFC 9110, sections 15.2.2, 15.3.5 and 15.4.5
_STATUS_LINE = re.compile(rb"(?:HTTP/(\d)(?:\.(\d+))?|ICY)[ \t]+(\d{1,3})(?!\d)", re.IGNORECASE)
_BEGINNINGS = (b"HTTP/", b"ICY ")
_LINE = re.compile(r"\r?\n")
_FRAMING_HEADERS = ("connection", "content-length", "transfer-encoding")
_MAX_NUMBER_LENGTH = 18  # digits: enough for the length of any body, and few enough for `int`


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One response as far as it came."""

    response: bytes
    head_length: int
    status: int
    headers: Headers
    payload: bytes
    """The body after transfer decoding."""
    is_complete: bool
    """Whether the framing itself says that the body is whole; false if only the end of the connection can say it."""
    is_over_limit: bool
    """Whether the body was longer than allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a response, and how it frames the body."""

    length: int
    """Bytes of the head, blank line included."""
    status: int
    version: str
    """Such as `1.1`; empty if the status line does not name HTTP."""
    headers: Headers
    chunked: bool
    body_length: int | None
    """Bytes of the body; None if chunks or the end of the connection state it."""
    transfer: str
    """The value of `Transfer-Encoding`."""
    keep_alive: bool
    """Whether the connection may be used again, if the body ends where the head says."""


def may_begin_response(beginning: bytes) -> bool:
    """Return whether these bytes can begin a response; fewer than five bytes are enough."""
    upper = beginning[:5].upper()
    return any(upper.startswith(one[: len(upper)]) for one in _BEGINNINGS)


def read_head(raw: bytes, *, method: str = "GET") -> Head | None:
    """Return the head that `raw` is, from its status line to its blank line; None if it does not begin with a status
    line.
    """
    status_line = _STATUS_LINE.match(raw)
    if status_line is None:
        return None
    headers = _headers(raw)
    major, minor, code = status_line.groups()
    status = int(code)
    version = "" if major is None else f"{major.decode()}.{(minor or b'0').decode()}"
    framing = dict.fromkeys(_FRAMING_HEADERS, "")
    for name, value in headers:
        if (key := name.lower()) in framing:
            framing[key] = f"{framing[key]},{value}" if framing[key] else value
    transfer = framing["transfer-encoding"]
    lengths = [each.strip() for each in framing["content-length"].split(",")]
    numbers = [int(each) for each in lengths if _is_number(each)]
    bodiless = status in _BODILESS or method == "HEAD"
    chunked = not bodiless and "chunked" in transfer.lower()
    body = 0 if bodiless else None if chunked or not numbers else numbers[0]
    return Head(
        length=len(raw),
        status=status,
        version=version,
        headers=headers,
        chunked=chunked,
        body_length=body,
        transfer=transfer,
        keep_alive=_keeps_alive(version, framing["connection"])
        and len(set(lengths)) == 1
        and (lengths == [""] or len(numbers) == len(lengths))
        and not (transfer and numbers)
        and (chunked or body is not None)
        and status != SWITCHING,
    )


def build_message(head: Head, response: bytes, *, is_complete: bool, is_over_limit: bool) -> Message:
    """Return the message of a head and of the bytes from it on, as far as they are kept."""
    body = response[head.length :]
    transfer = head.transfer if body else ""
    return Message(
        response=response,
        head_length=head.length,
        status=head.status,
        headers=head.headers,
        payload=decode_transfer(body, transfer, PAYLOAD_LIMIT)[0] if transfer else body,
        is_complete=is_complete and not is_over_limit,
        is_over_limit=is_over_limit,
    )


def _headers(raw: bytes) -> Headers:
    found: list[tuple[str, str]] = []
    for line in _LINE.split(raw.decode("latin-1"))[1:]:
        if line[:1] in {" ", "\t"}:
            if found:
                name, value = found[-1]
                found[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        name = name.rstrip(" \t")
        if colon and name and "\0" not in line:
            found.append((name, value.strip(" \t\r")))
    return tuple(found)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_NUMBER_LENGTH


def _keeps_alive(version: str, connection: str) -> bool:
    options = [each.strip() for each in connection.lower().split(",")]
    if version == "1.0":
        return "keep-alive" in options and "close" not in options
    return version >= "1.1" and "close" not in options
