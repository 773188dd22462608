"""`Span`: the range of keys of a domain or of a URL prefix in an index that is sorted by SURT. Pure.

1. A span holds every row that may match, and others too: the URL of a row decides (`selection`).
2. Spans are sorted and do not overlap, so nothing is looked up twice.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from thresher.core import InputError

WWW = re.compile(r"^www\d*\.", re.ASCII)
"""Prefix of a host that Common Crawl's keys leave out."""
HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
AFTER_HOST = ")", ":", ","
"""Characters that follow the host in a key: before the path, a port or a subdomain."""
CHANGED = re.compile(r"[%;?(&=]|/[/.]|/+$")
"""Place from which the path of a key may differ from the path of the URL: keys leave out sessions, sort queries,
rewrite escapes, and resolve empty and dotted segments.
"""


class Span(NamedTuple):
    """All keys from `first` (included) to `end` (excluded)."""

    first: bytes
    end: bytes


def domain_spans(domain: str) -> tuple[Span, ...]:
    """Return the spans of a host name and all names below it. Raise `InputError` if it is not a host name in ASCII."""
    if not HOST.fullmatch(domain):
        raise InputError(f"{domain!r} is no domain: write one such as example.org")
    return tuple(_begins(f"{_reversed(domain)}{mark}") for mark in AFTER_HOST)


def prefix_span(prefix: str) -> Span:
    """Return the span of all URLs that begin with `prefix`. Raise `InputError` if no URL can begin with it."""
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
    # A path must follow the host in the key, or the span would include other hosts that begin with the same name.
    return _begins(f"{key}){path}" if parts.path.isascii() else f"{key})")


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans sorted; spans that touch or overlap become one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.first <= found[-1].end:
            found[-1] = Span(found[-1].first, max(found[-1].end, span.end))
        else:
            found.append(span)
    return tuple(found)


def contains_key(spans: tuple[Span, ...], key: bytes) -> bool:
    """Return whether a key lies in one of the spans, which `merge_spans` has returned."""
    at = bisect_right(spans, key, key=_first) - 1
    return at >= 0 and key < spans[at].end


def _first(span: Span) -> bytes:
    return span.first


def _reversed(host: str) -> str:
    return ",".join(reversed(WWW.sub("", host).split(".")))


def _begins(prefix: str) -> Span:
    first = prefix.encode("ascii")
    return Span(first, first[:-1] + bytes([first[-1] + 1]))
