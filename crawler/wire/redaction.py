"""What is archived of an exchange under a session, or of one that a page of a session asked for. Pure.

People share archives, and must not share logins. Of the request only headers are archived that say nothing of a person:
scripts put tokens into headers of any name. Of the response, headers that carry a login are left out. Only in this way
do the archived bytes differ from those of the wire.
"""

import re
from dataclasses import replace

from thresher.crawler.wire.http.message import Message, read_head
from thresher.crawler.wire.http.request import Request
from thresher.storage.warc.payload import trailers_at

ARCHIVED_REQUEST_HEADERS = frozenset(
    {
        *(
            "accept",
            "accept-encoding",
            "accept-language",
            "content-length",
            "content-type",
            "origin",
            "referer",
        ),
        *("if-modified-since", "if-none-match", "range", "user-agent"),
        *("access-control-request-headers", "access-control-request-method"),
    }
)
WITHHELD_RESPONSE_HEADERS = frozenset(
    {
        *("set-cookie", "set-cookie2", "authorization"),
        *("authentication-info", "proxy-authentication-info"),  # RFC 9110, section 11.6.3
    }
)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
"""A line of a head, as `crawler.wire.http.message` reads it: a carriage return alone ends none."""


def private_request(request: Request) -> Request:
    """Return a request of whose headers only `ARCHIVED_REQUEST_HEADERS` are archived."""
    names = frozenset(name.lower() for name, _ in request.headers)
    return replace(request, secret_names=request.secret_names | (names - ARCHIVED_REQUEST_HEADERS))


def private_message(message: Message) -> Message:
    """Return a response without `WITHHELD_RESPONSE_HEADERS`, in its bytes and in its headers. Its trailers, which stand
    behind a chunked body, are headers too.
    """
    head, body = message.response[: message.head_length], message.response[message.head_length :]
    private_head = _without_withheld(head)
    trailers = trailers_at(body) if _is_chunked(message) else len(body)
    # The headers are read from the bytes that are left: a folded line belongs to another header there than before.
    read = read_head(private_head)
    return replace(
        message,
        response=private_head + body[:trailers] + _without_withheld(body[trailers:]),
        head_length=len(private_head),
        headers=() if read is None else read.headers,
    )


def _is_chunked(message: Message) -> bool:
    return any(
        name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in message.headers
    )


def _without_withheld(lines: bytes) -> bytes:
    kept: list[bytes] = []
    is_withheld = False
    for line in _LINE.findall(lines):
        if not line.startswith((b" ", b"\t")):  # a folded line belongs to the line before
            name = line.partition(b":")[0].strip().decode("latin-1").lower()
            is_withheld = name in WITHHELD_RESPONSE_HEADERS
        if not is_withheld:
            kept.append(line)
    return b"".join(kept)
