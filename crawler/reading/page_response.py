"""`PageResponse`: a response, read from a capture or an archived record, and whether it is HTML or a list. Pure.

1. A body is decoded only if it is of use: HTML, a sitemap, or a list of seeds.
2. A user who seeds `https://example.org/sitemap.xml` or a feed wants the pages that it lists. So a seed may be a list
   of seeds: a sitemap, an index, a feed, or a text of URLs. This holds for seeds and for what they redirect to, and not
   for pages that a crawl finds: a hostile page cannot list seeds.
3. A page is heavy if the event loop could not wait for its reading (`is_heavy`).
"""

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from core import Capture
from core.capture import Truncation
from crawler.reading.rendered_page import DOM_CONTENT_TYPE, RenderReport
from crawler.wire import Headers
from frontier import Lease
from storage.warc.exchange_records import payload_digest, payload_sha256
from storage.warc.payload import decode_content
from storage.warc.records import PAYLOAD_LIMIT, mime_of

HTTP_FORBIDDEN = 403
PAGE_STATUSES = frozenset({*range(200, 300), HTTP_FORBIDDEN})
"""Statuses of responses whose body may be a page, or a page that says why there is none."""
HTML = frozenset({"text/html", "application/xhtml+xml"})
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_SNIFFED = 1_445  # bytes: the resource header of the MIME Sniffing standard
HEAVY_PAGE_BYTES = 512 << 10
"""Bytes of a decoded page beyond which a page is heavy."""
HEAVY_PAGE_LINKS = 4_000
"""Possible links beyond which a page is heavy as well: each takes as long as a hundred other tags, some 10 µs."""
_SHORTEST_LINK = len("<a href=x")
_LINK = re.compile(rb"<[aAlLmMfFiI](?:[\t\n\f\r /]|[rR][eEaA]|[iI][nN]|[eE][tT]|[fF][rR])")
"""The beginnings of `a`, `area`, `link`, `meta`, `frame`, and `iframe`."""
_LIST_BYTES = 4_096
"""Bytes of a seed's body that show whether it is a list."""
_LIST_TYPES = frozenset(
    {
        *("", "application/xml", "text/xml", "text/plain"),
        *("application/gzip", "application/x-gzip", "application/octet-stream"),
    }
)
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LIST_ROOT = re.compile(
    r"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!doctype[^>]*+>\s*+)*+"
    r"<(?:[a-z]\w*+:)?(?:(urlset|sitemapindex|rss|feed)|rdf\b[^>]*purl\.org/rss/1\.0)\b",
    re.IGNORECASE | re.DOTALL,
)
_URLS = re.compile(r"(?:\s*+https?://\S++[ \t]*+(?:[\r\n]|\Z))++\s*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponse:
    """A response, as far as outcome and links need it."""

    status: int
    headers: Headers
    body: bytes
    """Without transfer and content encoding; may be empty if the response is no HTML."""
    truncated: Truncation | None
    digest: str
    """Payload digest."""
    sha256: str
    """SHA-256 of the payload; the page is unchanged only if it is the same."""
    record_id: str
    """Id of the response record in the archive, `urn:uuid:...`; empty if it is unknown."""
    started_ms: int
    received_ms: int
    rendering: RenderReport | None = None
    """How the rendering of the page went; None if it was not rendered."""

    def header(self, name: str) -> str | None:
        """Return the value of the first header of that name, in any case."""
        lower = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower), None)

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page, by its Content-Type or, if it has none, by its first bytes."""
        mime = mime_of(self.header("content-type"))
        return mime in HTML or (mime == "" and _LOOKS_LIKE_HTML.match(self.body[:_SNIFFED]) is not None)

    @property
    def has_page(self) -> bool:
        """Whether the body is an HTML page, or one that says why there is none."""
        return self.status in PAGE_STATUSES and bool(self.body) and self.is_html

    @property
    def is_url_list(self) -> bool:
        """Whether the body lists URLs: a sitemap, an index, a feed, or a text of URLs."""
        if not self.body:
            return False
        head = _beginning(self.body)
        if mime_of(self.header("content-type")) == "text/plain" or self.body.startswith(_GZIP):
            lines = head if len(head) < _LIST_BYTES else head[: head.rfind("\n") + 1]
            return _LIST_ROOT.match(head) is not None or _URLS.fullmatch(lines) is not None
        return _LIST_ROOT.match(head) is not None


def page_response(
    capture: Capture,
    record_id: UUID | None = None,
    *,
    decode_any: bool = False,
    with_digests: bool = True,
    max_bytes: int = PAYLOAD_LIMIT,
) -> PageResponse:
    """Return the response of a capture, with the first `max_bytes` bytes of its decoded body if the body may be HTML or
    `decode_any` is set. Without `with_digests` the digests are empty: they take time.
    """
    body = b""
    html = mime_of(capture.header("content-type")) in {*HTML, ""}
    if capture.status in PAGE_STATUSES and (html or decode_any):
        body, _ = decode_content(capture.payload, capture.content_encoding, max_bytes)
    return PageResponse(
        status=capture.status,
        headers=capture.headers,
        body=body,
        truncated=capture.truncated,
        digest=payload_digest(capture) if with_digests else "",
        sha256=payload_sha256(capture) if with_digests else "",
        record_id="" if record_id is None else record_id.urn,
        started_ms=capture.started_ms,
        received_ms=capture.started_ms + capture.elapsed_ms,
    )


def leased_response(
    lease: Lease,
    capture: Capture,
    record_id: UUID | None,
    *,
    with_digests: bool = True,
    max_bytes: int = PAYLOAD_LIMIT,
) -> PageResponse:
    """Return the response of a capture under a lease, with the first `max_bytes` bytes of its body if that is HTML, a
    sitemap or a list of seeds.
    """
    may_list = lease.is_seed and _may_list(capture)
    found = page_response(
        capture,
        record_id,
        decode_any=may_list or lease.state.is_list,
        with_digests=with_digests,
        max_bytes=max_bytes,
    )
    if may_list and not found.is_url_list and not found.is_html:
        return replace(found, body=b"")
    return found


def with_dom(response: PageResponse, html: bytes, rendering: RenderReport) -> PageResponse:
    """Return a response whose body is the DOM that a browser made of it. If there is no DOM, the response keeps its own
    body.
    """
    if not html:
        return replace(response, rendering=rendering)
    headers = [(name, value) for name, value in response.headers if name.lower() != "content-type"]
    return replace(
        response, headers=(("content-type", DOM_CONTENT_TYPE), *headers), body=html, rendering=rendering
    )


def is_heavy(html: bytes) -> bool:
    """Return whether a page may take long to read."""
    if len(html) < HEAVY_PAGE_LINKS * _SHORTEST_LINK:
        return False
    return len(html) > HEAVY_PAGE_BYTES or (html.count(b"<") > HEAVY_PAGE_LINKS < len(_LINK.findall(html)))


def _may_list(capture: Capture) -> bool:
    mime = mime_of(capture.header("content-type"))
    return mime in _LIST_TYPES or mime.endswith("+xml")


def _beginning(body: bytes) -> str:
    head = body[:_LIST_BYTES]
    if head.startswith(_GZIP):
        with suppress(zlib.error):
            head = zlib.decompressobj(31).decompress(head, _LIST_BYTES)
    codec = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    return head[:_LIST_BYTES].decode(codec, "replace")
