"""`PageResponse`: a response to a request for a page, from a capture or an archived record, and whether it is HTML or a
list. Pure.

1. A user who seeds `https://example.org/sitemap.xml` or a feed wants the pages that it lists. So a seed may be a list
   of seeds: a sitemap, an index, a feed, or a text of URLs. This holds for seeds and for what they redirect to, and not
   for pages that a crawl finds: a hostile page cannot list seeds.
2. A page is heavy if the event loop could not wait for its reading.
"""

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace

from thresher.core.capture import Truncation
from thresher.crawler.reading.rendered_page import DOM_CONTENT_TYPE, RenderReport
from thresher.crawler.wire import Headers
from thresher.storage.warc.records import mime_of

HTTP_FORBIDDEN = 403
PAGE_STATUSES = frozenset({*range(200, 300), HTTP_FORBIDDEN})
"""Statuses of responses whose body may be a page, or a page that says why there is none."""
HTML = frozenset({"text/html", "application/xhtml+xml"})
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*+(?:<!--.*?-->\s*+|)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_SNIFFED = 1_445  # bytes: the resource header of the MIME Sniffing standard
HEAVY_PAGE_BYTES = 512 << 10
"""Bytes of a decoded page beyond which a page is heavy."""
HEAVY_PAGE_LINKS = 4_000
"""Possible links beyond which a page is heavy as well: each takes as long as a hundred other tags, some 10 µs."""
_MIN_LINK_LENGTH = len("<a href=x")
_LINK = re.compile(rb"<[aAlLmMfFiI](?:[\t\n\f\r /]|[rR][eEaA]|[iI][nN]|[eE][tT]|[fF][rR])")
"""The beginnings of `a`, `area`, `link`, `meta`, `frame`, and `iframe`."""
_LIST_BYTES = 4_096
"""Bytes of a seed's body that show whether it is a list."""
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LIST_ROOT = re.compile(
    r"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!doctype[^>]*+>\s*+|)*+"
    r"<(?:[a-z][a-z0-9_]*+:)?(?:(urlset|sitemapindex|rss|feed)|rdf(?![a-z0-9_])[^>]*purl\.org/rss/1\.0)(?![a-z0-9_])",
    re.IGNORECASE | re.DOTALL,
)
_URLS = re.compile(r"(?>(?:\s*+https?://\S++[ \t]*+(?:[\r\n]|\Z))+)\s*+", re.IGNORECASE)


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
    def is_heavy(self) -> bool:
        """Whether the body may take long to read, if it is a page."""
        if len(self.body) < HEAVY_PAGE_LINKS * _MIN_LINK_LENGTH:
            return False
        if len(self.body) > HEAVY_PAGE_BYTES:
            return True
        return self.body.count(b"<") > HEAVY_PAGE_LINKS < len(_LINK.findall(self.body))

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


def _beginning(body: bytes) -> str:
    head = body[:_LIST_BYTES]
    if head.startswith(_GZIP):
        with suppress(zlib.error):
            head = zlib.decompressobj(31).decompress(head, _LIST_BYTES)
    codec = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    return head[:_LIST_BYTES].decode(codec, "replace")
