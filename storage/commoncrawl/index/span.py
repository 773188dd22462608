"""`Span`: the stretches of an index, which is sorted by SURT, in which a domain or the URLs of a prefix lie. Pure.

1. A span holds every row that may be meant, and others beside them: what a row's URL says decides (`selection`).
2. Spans are in order and do not overlap, so nothing is looked up twice.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from core import InputError

WWW = re.compile(r"^www\d*\.")
"""What Common Crawl's keys leave out in front of a host."""
HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
AFTER_HOST = ")", ":", ","
"""What follows the host itself in a key: the path, a port, a subdomain."""
CHANGED = re.compile(r"[%;?(&=]|/[/.]|/+$")
"""From here on the path of a key may be another than that of the URL: sessions left out, queries sorted, escapes rewritten, empty and
dotted segments resolved."""


class Span(NamedTuple):
    """Keys from `first` on and before `end`."""

    first: bytes
    end: bytes


def domain_spans(domain: str) -> tuple[Span, ...]:
    """The spans of a host name and all names below it. Raises `InputError` for what is no host name in ASCII."""
    if not HOST.fullmatch(domain):
        raise InputError(f"{domain!r} is no domain: write one such as example.org")
    return tuple(_begins(f"{_reversed(domain)}{mark}") for mark in AFTER_HOST)


def prefix_span(prefix: str) -> Span:
    """The span of all URLs that begin so. Raises `InputError` for what is no beginning of a URL."""
    try:
        parts = urlsplit(prefix)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not HOST.fullmatch(host) or "@" in parts.netloc:
        raise InputError(f"{prefix!r} is no beginning of a URL: write one such as https://example.org/docs/")
    usual = {"http": 80, "https": 443}[parts.scheme]
    key = _reversed(host) + (f":{port}" if port not in {None, usual} else "")
    path = CHANGED.split(parts.path.lower(), maxsplit=1)[0]
    # A host alone may go on behind the prefix, into another name: only a path ends it.
    return _begins(f"{key}){path}" if parts.path.isascii() else f"{key})")


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in order, those that touch one another as one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.first <= found[-1].end:
            found[-1] = Span(found[-1].first, max(found[-1].end, span.end))
        else:
            found.append(span)
    return tuple(found)


def contains_key(spans: tuple[Span, ...], key: bytes) -> bool:
    """Whether a key lies in one of the spans, which are `merge_spans`."""
    at = bisect_right(spans, key, key=_first) - 1
    return at >= 0 and key < spans[at].end


def _first(span: Span) -> bytes:
    return span.first


def _reversed(host: str) -> str:
    return ",".join(reversed(WWW.sub("", host).split(".")))


def _begins(prefix: str) -> Span:
    first = prefix.encode("ascii")
    return Span(first, first[:-1] + bytes([first[-1] + 1]))
