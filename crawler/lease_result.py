"""`LeaseResult`: how a lease ends: what is archived of it, and how it is settled. The decision over the reading of a
page. Pure.

1. Links are followed only on HTML pages, as deep as the lease allows, and within its scope. If the crawl obeys
   `nofollow`, links of a page with that robots meta or X-Robots-Tag are not followed.
2. A URL that looks like a trap (`frontier.urls.trap`) is no discovery. Like a URL out of scope it is left out and not
   counted. A listed URL is no trap, and neither is its redirect target.
3. The target of a redirect is a discovery (`crawler.reading.redirect_chain`). So are the entries of a sitemap or of a
   list of seeds (`crawler.reading.sitemap_discoveries`), whose request state stays.
4. If the page is visited again, the settlement carries the request state of the next visit.
5. A page that was not rendered, says little and has scripts is fetched for the reason `unrendered`, so that nobody
   misses such pages silently (`crawler.render.render_need.may_say_more`).
6. A page that is not archived (`crawler.archive_filter`) is settled as if it were.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from uuid import UUID

from thresher.core import Capture, Url
from thresher.crawler.archive_filter import ArchiveFilter, dropped_page
from thresher.crawler.log_entry import LeaseDecision
from thresher.crawler.reading.conditional import next_visit_state, revisit_of
from thresher.crawler.reading.outcome import REDIRECT_STATUSES, Judgement, judge_response
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_parts import PageParts
from thresher.crawler.reading.page_reading import PageReading, leased_response, read_page
from thresher.crawler.reading.page_response import PageResponse, with_dom
from thresher.crawler.reading.redirect_chain import redirect_discovery, redirect_refusal
from thresher.crawler.reading.rendered_page import RenderedPage
from thresher.crawler.reading.sitemap import SitemapEntry
from thresher.crawler.reading.sitemap_discoveries import is_all_out_of_scope, sitemap_discoveries
from thresher.crawler.render.render_need import may_say_more
from thresher.extract.rights import Rights
from thresher.frontier import Discovery, Lease, Outcome, Settlement
from thresher.frontier.request_state import EMPTY_STATE
from thresher.frontier.urls.link_targets import link_target
from thresher.storage.warc.capture_metadata import LINK, REDIRECT, CaptureMetadata
from thresher.storage.warc.dropped import DroppedPage
from thresher.storage.warc.revisit import Revisit

UNRENDERED = "unrendered"
"""Reason of a page that says little, has scripts, and was not rendered."""


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
    parts: PageParts | None = None
    """What was fetched for a page that was not rendered besides itself; None if nothing was asked for."""
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
        parts: PageParts | None = None,
    ) -> LeaseResult:
        """Return the result of a lease. The discoveries leave out URLs whose text is in `known_urls`."""
        return LeaseResult(
            lease=lease,
            records=records,
            dropped=self.dropped,
            metadata=self.metadata,
            revisit=self.revisit,
            rendered=None if self.dropped else rendered,
            parts=None if self.dropped else parts,
            robots=self.robots,
            decision=_without_known(replace(self.settlement, lease=lease), known_urls),
        )


def decide_page(
    lease: Lease,
    capture: Capture,
    reading: PageReading,
    *,
    archive_filter: ArchiveFilter | None,
    known_urls: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> PageResult:
    """Return how a lease ends after a response to its page. The discoveries may hold URLs whose text is in
    `known_urls`.
    """
    response = reading.response
    if response.rendering is not None and response.rendering.problem:
        archive_filter = None  # a page that was rendered only in part is not filtered
    may_drop = reading.forbids_archive or (archive_filter is not None and reading.is_page)
    # The record of a dropped page has all links that are followed, also those that the frontier has.
    settlement = decide_settlement(lease, reading, frozenset() if may_drop else known_urls, options)
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


def read_and_decide(  # noqa: PLR0913 - all that another process needs to know of a page
    lease: Lease,
    capture: Capture,
    judgement: Judgement,
    record_id: UUID,
    archive_filter: ArchiveFilter | None,
    options: PageOptions,
    rendered: RenderedPage | None = None,
) -> PageResult:
    """Read the response to a page whole, and decide: the work of another process."""
    response = leased_response(lease, capture, record_id)
    if rendered is not None:
        response = with_dom(response, rendered.html, rendered.report)
    reading = read_page(lease, response, judgement, options)
    return decide_page(lease, capture, reading, archive_filter=archive_filter, options=options)


def page_settlement(
    lease: Lease,
    response: PageResponse,
    known_urls: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> Settlement:
    """Read an archived response, and decide how its lease ends."""
    judgement = judge_response(
        response.status,
        truncated=response.truncated,
        retry_after=response.header("retry-after"),
        now_ms=response.received_ms,
        attempt=lease.attempt,
    )
    return decide_settlement(lease, read_page(lease, response, judgement, options), known_urls, options)


def decide_settlement(
    lease: Lease,
    reading: PageReading,
    known_urls: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> Settlement:
    """Return how the lease of a page ends. The discoveries leave out URLs whose text is in `known_urls`."""
    judgement = reading.judgement
    if reading.entries is not None:
        settlement = _settle_list(lease, reading, reading.entries, known_urls)
    elif judgement.outcome is Outcome.REDIRECTED:
        settlement = _settle_redirect(lease, reading, options)
    else:
        followed: tuple[Discovery, ...] = ()
        if lease.follows_links and not ("nofollow" in options.obey and "nofollow" in reading.rights.robots):
            links = (url for url in reading.links if url.text not in known_urls and lease.scope.admits(url))
            followed = tuple(link_discovery(lease, url) for url in links)
        if _is_unrendered(reading):
            judgement = replace(judgement, reason=UNRENDERED)
        settlement = settlement_for(lease, judgement, followed, reading.sketch)
    if lease.interval_s and not lease.state.is_list:
        # No redirect leads to the next visit.
        state = replace(next_visit_state(lease.state, reading.response), chain=b"", cookies=())
        return replace(settlement, next_state=state)
    return settlement


def _is_unrendered(reading: PageReading) -> bool:
    response, judgement = reading.response, reading.judgement
    return (
        judgement.outcome is Outcome.FETCHED
        and not judgement.reason
        and response.rendering is None
        and response.has_page
        and may_say_more(response.body)
    )


def settlement_for(
    lease: Lease, judgement: Judgement, discoveries: tuple[Discovery, ...] = (), sketch: int | None = None
) -> Settlement:
    """Return the settlement that a judgement asks for."""
    return Settlement(
        lease=lease,
        outcome=judgement.outcome,
        reason=judgement.reason,
        discoveries=discoveries,
        retry_after_ms=judgement.retry_after_ms,
        hold_ms=judgement.hold_ms,
        fault=judgement.fault,
        sketch=sketch,
    )


def settlement_of_dropped(
    lease: Lease, dropped: DroppedPage, received_ms: int, options: PageOptions = DEFAULT_OPTIONS
) -> Settlement:
    """Return how the lease of a page ends that is not in the archive, from the record that took its place: the same way
    as `decide_settlement` decided.
    """
    judgement = judge_response(
        dropped.status,
        truncated=dropped.truncated,
        retry_after=dropped.retry_after,
        now_ms=received_ms,
        attempt=lease.attempt,
    )
    urls = (link_target(outlink, traps=options.traps) for outlink in dropped.outlinks)
    links = tuple(link_discovery(lease, url) for url in urls if url is not None)
    return settlement_for(lease, judgement, links)


def _settle_list(
    lease: Lease, reading: PageReading, entries: tuple[SitemapEntry, ...], known_urls: Container[str]
) -> Settlement:
    judgement = reading.judgement
    discoveries = sitemap_discoveries(lease, entries, reading.response.received_ms, known_urls)
    if not (judgement.reason or discoveries) and is_all_out_of_scope(lease, entries):
        judgement = replace(judgement, reason="out_of_scope")
    return replace(settlement_for(lease, judgement, discoveries), next_state=lease.state)


def _settle_redirect(lease: Lease, reading: PageReading, options: PageOptions) -> Settlement:
    reason = reading.judgement.reason
    discoveries: tuple[Discovery, ...] = ()
    for url in reading.links:
        reason = redirect_refusal(lease, url, options)
        if not reason:
            target = redirect_discovery(lease, reading.response, url, options)
            reason, discoveries = (target, ()) if isinstance(target, str) else ("", (target,))
    return settlement_for(lease, replace(reading.judgement, reason=reason), discoveries)


def link_discovery(lease: Lease, url: Url) -> Discovery:
    """Return the discovery of a link on the page of a lease: one link deeper, within the same scope."""
    return Discovery(
        url=url,
        scope=lease.scope,
        depth=lease.depth + 1,
        max_depth=lease.max_depth,
        referrer=lease.url.wire,
        interval_s=lease.interval_s,
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
