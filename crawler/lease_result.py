"""`LeaseResult`: what is archived when a lease ends, and how the lease is settled. Pure.

`lease_result` makes it from the response to a page.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from uuid import NAMESPACE_URL, UUID, uuid5

from core import Capture
from crawler.archive_filter import ArchiveFilter, dropped_page
from crawler.log_entry import LeaseDecision
from crawler.reading.conditional import revisit_of
from crawler.reading.outcome import REDIRECT_STATUSES
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_reading import PageReading, decide, read_page
from crawler.reading.page_response import PageResponse, leased_response, with_dom
from crawler.reading.rendered_page import RenderedPage
from extract.rights import Rights
from frontier import Lease, Outcome, Settlement
from frontier.request_state import EMPTY_STATE
from storage.warc.capture_metadata import LINK, REDIRECT, CaptureMetadata
from storage.warc.dropped import DroppedPage
from storage.warc.revisit import Revisit


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseResult:
    """The end of one lease whose exchange is over."""

    lease: Lease
    records: tuple[tuple[Capture, UUID], ...] = ()
    dropped: DroppedPage | None = None
    """The record that is archived in place of the page's records; None if the page is archived."""
    metadata: CaptureMetadata | None = None
    """The metadata that is archived beside the records."""
    revisit: Revisit | None = None
    """The earlier capture that the exchange repeats, if it repeats one."""
    rendered: RenderedPage | None = None
    """The page as a browser rendered it; None if it was not rendered."""
    error: str = ""
    """Traceback of the exception that the reading raised, for the crawl's log."""
    robots: tuple[str, ...] = ()
    """Robots directives of the page and its server (`extract.rights`), as far as they were read."""
    decision: LeaseDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """A `LeaseResult` without what the caller has: the lease, the captures and the rendering."""

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
        """Return the result of a lease. The discoveries leave out URLs whose text is in `known_urls`."""
        return LeaseResult(
            lease=lease,
            records=records,
            dropped=self.dropped,
            metadata=self.metadata,
            revisit=self.revisit,
            rendered=None if self.dropped else rendered,
            robots=self.robots,
            decision=_without_known(replace(self.settlement, lease=lease), known_urls),
        )


def lease_result(  # noqa: PLR0913 - the page, and what was read of it so far
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
    """Return how the lease ends after a response to its page. The discoveries leave out URLs whose text is in
    `known_urls`. `response` is the response in the capture, if the caller has read it already.
    """
    result = page_result(
        lease, capture, record_id, archive_filter, options, rendered, response=response, known_urls=known_urls
    )
    return result.to_lease_result(lease, ((capture, record_id),), known_urls, rendered)


def page_result(  # noqa: PLR0913 - as `lease_result`
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    archive_filter: ArchiveFilter | None,
    options: PageOptions,
    rendered: RenderedPage | None = None,
    *,
    response: PageResponse | None = None,
    known_urls: Container[str] = frozenset(),
) -> PageResult:
    """Return what `lease_result` makes of the response to a page. The page is read once. The discoveries may hold URLs
    whose text is in `known_urls`.
    """
    response = response or leased_response(lease, capture, record_id)
    if rendered is not None:
        response = with_dom(response, rendered.html, rendered.report)
        if rendered.report.problem:  # a page that was rendered only in part is not filtered
            archive_filter = None
    reading = read_page(lease, response, options)
    may_drop = reading.forbids_archive or (archive_filter is not None and reading.is_page)
    # The record of a dropped page has all links that are followed, also those that the frontier has.
    settlement = decide(lease, reading, frozenset() if may_drop else known_urls, options)
    dropped = dropped_page(capture, reading, settlement, archive_filter) if may_drop else None
    if dropped is not None:  # there is no record that a next visit could refer to
        settlement = replace(settlement, next_state=EMPTY_STATE)
    return PageResult(
        settlement=settlement,
        dropped=dropped,
        metadata=None if dropped else _capture_metadata(lease, capture, reading),
        revisit=None
        if dropped or not lease.state.has_capture
        else revisit_of(lease.state, response, lease.url),
        robots=reading.rights.robots,
    )


def _without_known(settlement: Settlement, known_urls: Container[str]) -> Settlement:
    """Return a settlement without discoveries that the frontier has; a redirect keeps its target, known or not."""
    if settlement.outcome is Outcome.REDIRECTED:
        return settlement
    discoveries = tuple(found for found in settlement.discoveries if found.url.text not in known_urls)
    return replace(settlement, discoveries=discoveries)


def _capture_metadata(lease: Lease, capture: Capture, reading: PageReading) -> CaptureMetadata:
    return CaptureMetadata(
        via=lease.referrer,
        depth=lease.depth,
        redirects=lease.hops,
        outlinks=tuple(url.wire for url in reading.links),
        hop=REDIRECT if capture.status in REDIRECT_STATUSES else LINK,
        facts=_rights_facts(reading.rights),
    )


def _rights_facts(rights: Rights) -> tuple[tuple[str, str], ...]:
    """Return what a page says about its use, by the names under which it is archived."""
    facts = (
        ("robots", ",".join(rights.robots)),
        ("tdmReservation", rights.tdm_reservation),
        ("tdmPolicy", rights.tdm_policy),
    )
    return tuple((name, value) for name, value in facts if value)


def record_id(crawl: str, worker: str, token: int, hop: int = 0) -> UUID:
    """Return the id of the response record of a lease. It is always the same, so whoever recovers the files of a dead
    worker can tell which leases are archived. `hop` counts the redirects of a robots.txt; a page has none.
    """
    return uuid5(NAMESPACE_URL, f"thresher:{crawl}/{worker}/{token}/{hop}")


def spider_record_id(crawl: str, worker: str, token: int) -> UUID:
    """Return the id of the response record of a page that a user's spider reads (`crawler.spiders`).

    `crawler.replay.replay` does not look for this id: the output of the spider is not in the archive, so a page whose
    lease a dead worker held is fetched again.
    """
    return record_id(crawl, f"{worker}/guest", token)
