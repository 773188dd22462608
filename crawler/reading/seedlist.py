"""`is_seed_list`: whether a seed was answered with a list of further seeds: a sitemap, an index, a feed, or a text of
URLs. Pure.

A user who seeds `https://example.org/sitemap.xml` or a feed wants the pages that it lists. This holds for seeds and
for what they redirect to. It does not hold for pages that a crawl finds: a hostile page cannot list seeds.
"""

import re
import zlib
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from core import Capture
from crawler.reading.page_response import PageResponse, is_html, page_response
from crawler.reading.request_state import decode_state
from crawler.reading.sitemap_discoveries import is_sitemap
from frontier import Lease
from storage.warc.records import PAYLOAD_LIMIT, mime_of

_LOOKED_AT = 4_096
_TYPES = frozenset(
    {
        *("", "application/xml", "text/xml", "text/plain"),
        *("application/gzip", "application/x-gzip", "application/octet-stream"),
    }
)
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ROOT = re.compile(
    r"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!doctype[^>]*+>\s*+)*+"
    r"<(?:[a-z]\w*+:)?(?:(urlset|sitemapindex|rss|feed)|rdf\b[^>]*purl\.org/rss/1\.0)\b",
    re.IGNORECASE | re.DOTALL,
)
_URLS = re.compile(r"(?:\s*+https?://\S++[ \t]*+(?:[\r\n]|\Z))++\s*+", re.IGNORECASE)


def leased_response(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    *,
    with_digests: bool = True,
    max_bytes: int = PAYLOAD_LIMIT,
) -> PageResponse:
    """Return what a capture answers under a lease, with the first `max_bytes` bytes of its body if that is HTML, a
    sitemap or a list of seeds.
    """
    listing = not is_sitemap(lease) and _may_list(lease, capture)
    found = page_response(
        capture,
        record_id,
        decode_any=listing or is_sitemap(lease),
        with_digests=with_digests,
        max_bytes=max_bytes,
    )
    if listing and not is_seed_list(lease, found) and not is_html(found):
        return replace(found, body=b"")
    return found


def is_seed_list(lease: Lease, found: PageResponse) -> bool:
    """Return whether a seed was answered with a list of seeds."""
    if not found.body or not _is_seed(lease):
        return False
    head = _beginning(found.body)
    if mime_of(found.header("content-type")) == "text/plain" or found.body.startswith(_GZIP):
        lines = head if len(head) < _LOOKED_AT else head[: head.rfind("\n") + 1]
        return _ROOT.match(head) is not None or _URLS.fullmatch(lines) is not None
    return _ROOT.match(head) is not None


def _may_list(lease: Lease, capture: Capture) -> bool:
    if not _is_seed(lease):
        return False
    mime = mime_of(capture.header("content-type"))
    return mime in _TYPES or mime.endswith("+xml")


def _is_seed(lease: Lease) -> bool:
    return lease.listed and not lease.depth and decode_state(lease.note).kind == "page"


def _beginning(body: bytes) -> str:
    head = body[:_LOOKED_AT]
    if head.startswith(_GZIP):
        with suppress(zlib.error):
            head = zlib.decompressobj(31).decompress(head, _LOOKED_AT)
    codec = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    return head[:_LOOKED_AT].decode(codec, "replace")
