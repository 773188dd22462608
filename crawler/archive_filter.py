"""The archive filter: whether a page is archived, decided before anything of it is stored. Pure.

A worker may have a function that looks at each page and names the reason for which it is not worth archiving. A
metadata record then takes the place of the page's request and response (`storage.warc.dropped`), under the record id
of its lease. The record is durable before the lease ends, and a recovery can settle the lease from it. The same
happens to a page that asks not to be archived, if the crawl obeys that. Redirects, robots.txt files and sitemaps are
never dropped, because they say where the crawl went, and why.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from uuid import UUID

from core import Capture
from core.capture import Truncation
from crawler.reading.conditional import revisit_of
from crawler.reading.outcome import REDIRECT_STATUSES
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_reading import PageReading, read_page, rights_of
from crawler.reading.page_response import PageResponse, with_dom
from crawler.reading.rendered_page import RenderedPage
from crawler.reading.request_state import decode_state
from crawler.reading.seedlist import is_seed_list, leased_response
from crawler.reading.sitemap_discoveries import is_sitemap
from crawler.settler import LeaseResult
from crawler.wire import Headers, header_value
from extract.rights import Rights
from extract.soft_error import SOFT_ERRORS
from frontier import Lease, Settlement
from storage.warc.capture_metadata import LINK, REDIRECT, CaptureMetadata
from storage.warc.dropped import DroppedPage
from storage.warc.exchange_records import payload_digest
from storage.warc.payload import decode_content
from storage.warc.records import PAYLOAD_LIMIT, mime_of
from storage.warc.revisit import Revisit

MOST_OUTLINKS = 32 << 20
"""Bytes of a page's links: one that has more is archived whole. So the record stays within what a reader takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePage:
    """What a screen sees of an answer."""

    url: str
    status: int
    headers: Headers
    mime: str
    """Of the Content-Type, without parameters, in lower case; empty where there is none."""
    body: bytes
    """Without transfer and content encoding."""
    truncated: Truncation | None

    def header(self, name: str) -> str | None:
        """Value of the first header of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


ArchiveFilter = Callable[[CandidatePage], str | None]
"""The reason code for which a page is dropped, or None to keep it. Pure; can be pickled."""


def lease_result(  # noqa: PLR0913 - the page with what was read of it so far
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    *,
    archive_filter: ArchiveFilter | None,
    known_urls: Container[str],
    options: PageOptions = DEFAULT_OPTIONS,
    response: PageResponse | None = None,
    rendered: RenderedPage | None = None,
) -> LeaseResult:
    """Return how the lease of a page ends that was answered. `response` is the capture's, if the caller has made it
    already.

    The page is read once. The discoveries leave out URLs whose text is in `known_urls`.
    """
    response = response or leased_response(lease, capture, record_id)
    is_list = is_sitemap(lease) or is_seed_list(lease, response)
    if rendered is not None:
        response = with_dom(response, rendered.html, rendered.report)
    # A page of which its browser did not see all is not judged by what it saw.
    filters = archive_filter is not None and not (rendered is not None and rendered.report.problem)
    may_drop = not (is_list or capture.status in REDIRECT_STATUSES) and (
        filters or "noarchive" in options.obey
    )
    # The record of a dropped page has all links that are followed, also those that the frontier has.
    reading = read_page(lease, response, frozenset() if may_drop else known_urls, options)
    dropped = None
    if may_drop:
        dropped = _dropped(lease, capture, response, reading, archive_filter if filters else None, options)
    settlement = without_known(reading.settlement, known_urls) if may_drop else reading.settlement
    records = ((capture, record_id),)
    if dropped is not None:  # there is no record that a next visit could refer to
        return LeaseResult(
            lease=lease,
            records=records,
            dropped=dropped,
            robots=reading.rights.robots,
            decision=replace(settlement, note=b""),
        )
    return LeaseResult(
        lease=lease,
        records=records,
        metadata=_capture_metadata(lease, capture, reading),
        revisit=revisit_of(decode_state(lease.note), capture),
        rendered=rendered,
        robots=reading.rights.robots,
        decision=settlement,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """How the lease of a page ends, without what whoever asked has already: the lease's worker, and the records."""

    settlement: Settlement
    dropped: DroppedPage | None
    metadata: CaptureMetadata | None
    revisit: Revisit | None
    robots: tuple[str, ...]

    def to_lease_result(
        self,
        lease: Lease,
        records: tuple[tuple[Capture, UUID], ...],
        known_urls: Container[str],
        rendered: RenderedPage | None = None,
    ) -> LeaseResult:
        """Return the end of that lease; URLs whose text is in `known` are not told again."""
        return LeaseResult(
            lease=lease,
            records=records,
            dropped=self.dropped,
            metadata=self.metadata,
            revisit=self.revisit,
            rendered=None if self.dropped else rendered,
            robots=self.robots,
            decision=without_known(replace(self.settlement, lease=lease), known_urls),
        )


def page_result(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    screen: ArchiveFilter | None,
    options: PageOptions,
    rendered: RenderedPage | None = None,
) -> PageResult:
    """Return what `to_lease_result` says of the answer to a page, with all links."""
    made = lease_result(
        lease,
        capture,
        record_id,
        archive_filter=screen,
        known_urls=frozenset(),
        options=options,
        rendered=rendered,
    )
    assert isinstance(made.decision, Settlement)
    return PageResult(
        settlement=made.decision,
        dropped=made.dropped,
        metadata=made.metadata,
        revisit=made.revisit,
        robots=made.robots,
    )


def without_known(whole: Settlement, known: Container[str]) -> Settlement:
    """The settlement without what the frontier was told before."""
    return replace(whole, discoveries=tuple(link for link in whole.discoveries if link.url.text not in known))


def _capture_metadata(lease: Lease, capture: Capture, reading: PageReading) -> CaptureMetadata:
    return CaptureMetadata(
        via=lease.referrer,
        depth=lease.depth,
        redirects=lease.hops,
        outlinks=reading.outlinks,
        hop=REDIRECT if capture.status in REDIRECT_STATUSES else LINK,
        facts=_rights_facts(reading.rights),
    )


def _rights_facts(said: Rights) -> tuple[tuple[str, str], ...]:
    """What a page says of its use, in the words in which it is recorded."""
    facts = (
        ("robots", ",".join(said.robots)),
        ("tdmReservation", said.tdm_reservation),
        ("tdmPolicy", said.tdm_policy),
    )
    return tuple((name, value) for name, value in facts if value)


def _dropped(
    lease: Lease,
    capture: Capture,
    response: PageResponse,
    reading: PageReading,
    archive_filter: ArchiveFilter | None,
    options: PageOptions,
) -> DroppedPage | None:
    """Return what is archived in place of a page that asks for that or that the filter drops; None for a page that is
    archived.
    """
    is_private = "noarchive" in options.obey and "noarchive" in _rights(lease, response, reading).robots
    if archive_filter is None and not is_private:
        return None
    page = _candidate(capture, response)
    reason = "noarchive" if is_private or archive_filter is None else archive_filter(page)
    outlinks = tuple(found.url.wire for found in reading.settlement.discoveries)
    # What was judged to be no page can be judged so again from its record alone.
    is_soft_error = reading.settlement.reason in SOFT_ERRORS
    if reason is None or is_soft_error or sum(map(len, outlinks)) > MOST_OUTLINKS:
        return None
    return DroppedPage(
        reason=reason,
        status=page.status,
        mime=page.mime,
        length=len(page.body),
        digest=payload_digest(capture),
        truncated=page.truncated,
        retry_after=page.header("retry-after"),
        outlinks=outlinks,
    )


def _candidate(capture: Capture, response: PageResponse) -> CandidatePage:
    encodings = header_value(capture.headers, "content-encoding")
    return CandidatePage(
        url=capture.url.text,
        status=capture.status,
        headers=capture.headers,
        mime=mime_of(header_value(capture.headers, "content-type")),
        body=response.body or decode_content(capture.payload, encodings, PAYLOAD_LIMIT)[0],
        truncated=capture.truncated,
    )


def _rights(lease: Lease, response: PageResponse, reading: PageReading) -> Rights:
    """Return what a page says of its use. One whose markup had no part in its reading (it is as it was, or is asked
    for again) is looked at now.
    """
    return reading.rights if reading.has_read_markup else rights_of(response, lease.url.wire)
