"""What is archived of an exchange under a session, or of one that a page of a session asked for. Pure.

People share archives, and must not share logins. Of the request only headers are archived that say nothing of a person:
scripts put tokens into headers of any name. Of the response, headers that carry a login are left out. Only in this way
do the archived bytes differ from those of the wire.
"""

import re
from dataclasses import replace

from thresher.crawler.wire.http.message import Message, read_head
from thresher.crawler.wire.http.request import Request

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
    """Return a response without `WITHHELD_RESPONSE_HEADERS`, in its bytes and in its headers."""
    kept: list[bytes] = []
    is_withheld = False
    for line in _LINE.findall(message.response[: message.head_length]):
        if not line.startswith((b" ", b"\t")):  # a folded line belongs to the line before
            is_withheld = (
                line.partition(b":")[0].strip().decode("latin-1").lower() in WITHHELD_RESPONSE_HEADERS
            )
        if not is_withheld:
            kept.append(line)
    head = b"".join(kept)
    read = read_head(head)  # a line that ends a header we withhold may look like the end of the one before
    return replace(
        message,
        response=head + message.response[message.head_length :],
        head_length=len(head),
        headers=() if read is None else read.headers,
    )
