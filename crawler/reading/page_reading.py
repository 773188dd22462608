"""What the response to a page says. Pure. `leased_response` takes it out of a capture, and `read_page` reads it once,
into one value, a `PageReading`.

A response that has just arrived and one that a dead worker left in the archive are read by the same function, and
`crawler.lease_result` decides over both readings, so the lease ends the same way.

1. A body is decoded only if it is of use: HTML, a sitemap, or a list of seeds.
2. A page that is unchanged since its last capture (`crawler.reading.conditional`) is not read, so it has no links.
3. The links of an HTML page are read, whoever follows them. If the page was rendered, the DOM is read, even if the
   response is unchanged, and the targets of its scripts are links. Of a page that was not rendered those targets are
   links that its scripts say literally (`crawler.reading.script_redirects`).
4. An HTML page is sketched, so that the frontier can see whether it says anything new.
5. A page without links that holds `<a` with an address is fetched for the reason `no_links`: its links are made by
   scripts, or their extraction is broken (`pipeline.terminal.script_lines`).
6. An error page with a success status (`extract.soft_error`) has an empty sketch. A block page means that the host is
   busy: the page is requested again later.
7. A sitemap (`crawler.reading.sitemap_discoveries`) is no page: only its entries are read. The same holds for a seed
   that is a list of seeds.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from thresher.core import Capture, Url
from thresher.crawler.reading.conditional import unchanged_profile
from thresher.crawler.reading.outcome import BLOCK_PAGE, REDIRECT_STATUSES, Judgement, decode_location
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_response import HTML, HTTP_FORBIDDEN, PAGE_STATUSES, PageResponse
from thresher.crawler.reading.script_redirects import script_redirects
from thresher.crawler.reading.sitemap import SitemapEntry, read_sitemap
from thresher.extract.charset import to_utf8
from thresher.extract.markup.links import extract_links, holds_address
from thresher.extract.rights import Rights, rights
from thresher.extract.sketch import EMPTY_SKETCH, sketch
from thresher.extract.soft_error import detect_soft_error
from thresher.frontier import InvalidUrl, Lease, Outcome, canonicalize
from thresher.frontier.urls.link_targets import link_targets
from thresher.storage.warc.exchange_records import payload_digest, payload_sha256
from thresher.storage.warc.payload import decode_content
from thresher.storage.warc.records import PAYLOAD_LIMIT, mime_of

_LIST_TYPES = frozenset(
    {
        *("", "application/xml", "text/xml", "text/plain"),
        *("application/gzip", "application/x-gzip", "application/octet-stream"),
    }
)
NO_RIGHTS = Rights()
NO_LINKS = "no_links"
"""Reason of a page without links that seems to hold some."""
UNCHANGED = Judgement(outcome=Outcome.UNCHANGED, reason="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """Everything that one response says."""

    response: PageResponse
    judgement: Judgement
    links: tuple[Url, ...] = ()
    """Targets of the links of a page, or of a redirect, whatever the scope and whoever knows them."""
    entries: tuple[SitemapEntry, ...] | None = None
    """Entries of a sitemap or of a list of seeds; None for a page."""
    rights: Rights = NO_RIGHTS
    """What headers and markup say about the use of the page, as far as the outcome needed them."""
    forbids_archive: bool = False
    """Whether the page asks not to be archived, and the crawl obeys that."""
    sketch: int | None = None
    """32 bits of the page's text (`extract.sketch`); None if the text was not read."""

    @property
    def is_page(self) -> bool:
        """Whether it is the reading of a page, and not of a redirect or of a list."""
        return self.entries is None and self.response.status not in REDIRECT_STATUSES


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


def read_page(
    lease: Lease, response: PageResponse, judgement: Judgement, options: PageOptions = DEFAULT_OPTIONS
) -> PageReading:
    """Return what a response says. `judgement` is what its head means (`crawler.reading.outcome`); the page may say
    otherwise.
    """
    reading = _read(lease, response, judgement, options)
    if "noarchive" in options.obey and reading.is_page:
        # An unchanged page or a page that is requested again has no sketch: its markup was not read.
        stated = reading.rights if reading.sketch is not None else _rights(response, lease.url.wire)
        return replace(reading, forbids_archive="noarchive" in stated.robots)
    return reading


def _read(lease: Lease, response: PageResponse, judgement: Judgement, options: PageOptions) -> PageReading:
    state = lease.state
    may_be_unchanged = state.has_capture and not state.is_list and response.rendering is None
    if may_be_unchanged and unchanged_profile(state, response):
        return PageReading(response=response, judgement=UNCHANGED)
    if judgement.outcome is Outcome.REDIRECTED:
        return _read_redirect(lease, response, judgement)
    if response.rendering is not None and response.rendering.reason:
        judgement = replace(judgement, reason=response.rendering.reason)
    stated = rights(response.headers, at_ms=response.received_ms)
    reading = PageReading(response=response, judgement=judgement, rights=stated)
    if state.is_list or (lease.is_seed and response.is_url_list):
        return _read_list(reading)
    if judgement.outcome is Outcome.RETRY or not response.has_page:
        return reading
    return _read_html(lease, reading, options)


def _read_html(lease: Lease, reading: PageReading, options: PageOptions) -> PageReading:
    response, text_sketch = reading.response, EMPTY_SKETCH
    html, codec = to_utf8(response.body, response.header("content-type"))
    error = detect_soft_error(response.header, html)
    if error == "block_page":
        return replace(reading, judgement=BLOCK_PAGE)
    if response.status == HTTP_FORBIDDEN:
        return reading
    if error is None:
        text_sketch = sketch(html, lease.url.text)
    else:
        reading = replace(reading, judgement=replace(reading.judgement, reason=error))
    page = extract_links(html, lease.url.wire, codec)
    navigations = response.rendering.navigations if response.rendering else script_redirects(html)
    if not page.hrefs and not navigations and not reading.judgement.reason and holds_address(html):
        reading = replace(reading, judgement=replace(reading.judgement, reason=NO_LINKS))
    return replace(
        reading,
        links=tuple(link_targets((*page.hrefs, *navigations), page.base, options.traps)),
        rights=rights(response.headers, page.metas, at_ms=response.received_ms)
        if page.metas
        else reading.rights,
        sketch=text_sketch,
    )


def _read_list(reading: PageReading) -> PageReading:
    response, judgement = reading.response, reading.judgement
    if not 200 <= response.status < 300 or judgement.outcome is Outcome.RETRY:
        return replace(reading, entries=())
    listing = read_sitemap(response.body)
    if (listing.excess_entries or listing.is_cut) and not judgement.reason:
        judgement = replace(judgement, reason="sitemap_too_long")
    return replace(reading, judgement=judgement, entries=listing.entries)


def _read_redirect(lease: Lease, response: PageResponse, judgement: Judgement) -> PageReading:
    location = decode_location(response.header("location") or "")
    if not location:
        return PageReading(response=response, judgement=replace(judgement, reason="no_location"))
    try:
        target = canonicalize(location, lease.url.wire)
    except InvalidUrl:
        return PageReading(response=response, judgement=replace(judgement, reason="bad_location"))
    return PageReading(response=response, judgement=judgement, links=(target,))


def _rights(response: PageResponse, base: str) -> Rights:
    """Return everything that a page and its server say about its use."""
    metas: tuple[tuple[str, str], ...] = ()
    if 200 <= response.status < 300 and response.body and response.is_html:
        metas = extract_links(to_utf8(response.body, response.header("content-type"))[0], base).metas
    return rights(response.headers, metas, at_ms=response.received_ms)


def _may_list(capture: Capture) -> bool:
    mime = mime_of(capture.header("content-type"))
    return mime in _LIST_TYPES or mime.endswith("+xml")
