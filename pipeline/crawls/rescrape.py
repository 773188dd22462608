"""The rescrape command: queue archived pages of a crawl once more, each with the validators of its newest capture.

1. The indexes beside the archive say which pages a crawl has and what their newest captures are. The log says when each
   page was requested last. The frontier keeps no text of settled pages.
2. That time becomes the generation of the URL. One re-scrape at most follows each result, so the command may be killed
   and typed again, and adds nothing twice.
3. A request carries the validators of the server (ETag, Last-Modified). If the page is unchanged, the archive gets one
   more revisit record and nothing else.
4. A page keeps the scope, the depth and the priority of its last request, which the log has: links of a changed page
   are followed as far as they were then. Links that the crawl knows are not requested again. If the log does not know a
   page, its links are not followed. A page that is visited at intervals (`seed --revisit`) has its next visit in the
   frontier already, so a re-scrape brings none along.
5. A page is requested again only if its server once responded with 200 and has not said since that the page is gone or
   has moved. Any other result (500, no response) ends nothing: the next re-scrape requests the page again.
6. A robots.txt is not a page: the frontier itself requests it again.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from thresher.core import CorruptData, InputError, Url
from thresher.crawler.log_entry import discovery_from_line
from thresher.crawler.reading.outcome import GONE_STATUSES, REDIRECT_STATUSES
from thresher.frontier import AddResult, Discovery, HostSwitch, InvalidUrl, Outcome, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.page_key import page_key
from thresher.frontier.request_state import EMPTY_STATE, RequestState
from thresher.frontier.urls.scope import ScopeKind, registered_domain
from thresher.pipeline.crawls import yields
from thresher.pipeline.open_crawl import open_seeded_crawl
from thresher.pipeline.open_project import OpenProject
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.crawllog.newest import NewestCapture, PageCapture, PageSettlement, newest_captures
from thresher.storage.warc.cdxj import CdxjRow
from thresher.storage.warc.revisit import REVISIT_MIME

BATCH = 1000
_KEPT = ("depth", "max_depth", "priority")
"""Fields of a page's last request that its next one has too, beside its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RescrapePlan:
    """The pages of a crawl to request again."""

    crawl: str
    domains: tuple[str, ...] = ()
    """Domains, with all of their subdomains; the whole crawl if empty."""
    from_report: bool = False
    """Whether domains are ordered by the share of documents kept, and domains with none are skipped."""
    budget: int | None = None
    """Maximum number of pages."""
    older_than_s: int = 0
    """Captures younger than this, in seconds, are skipped."""
    scope: ScopeKind | None = None
    """Scope around each page; None for the scope of its last request."""
    max_depth: int | None = None
    """Steps from each page on which links are followed; None for as many as at its last request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RescrapeSummary:
    """The result of a re-scrape, as numbers of pages."""

    pages: int
    """Selected pages."""
    added: int
    known: int
    """Pages that waited already."""
    discarded: Mapping[str, int] = field(default_factory=dict)


def add_rescrapes(project: OpenProject, plan: RescrapePlan, *, update: bool = False) -> RescrapeSummary:
    """Add the pages to the frontier. Raise `InputError` if no page of the crawl fits.

    `update` replaces the crawl's settings with those of the project.
    """
    with project.frontier_address() as address:
        return asyncio.run(_rescrape(project, address, plan, update=update))


async def _rescrape(
    project: OpenProject, address: str, plan: RescrapePlan, *, update: bool
) -> RescrapeSummary:
    link = await connect(address)
    try:
        frontier = await open_seeded_crawl(project, link, plan.crawl, update=update)
        tail = frontier.tail(project.store)
        pages = 0
        total = AddResult(added=0, known=0)
        query_order = frontier.crawl.settings.policy.query_order
        page_capture = _page_selector(project, plan, query_order)
        page_settlement = partial(_page_settlement, query_order)
        with newest_captures(project.store, plan.crawl, page_capture, page_settlement) as captures:
            discoveries = _discoveries(captures, plan)
            while batch := await asyncio.to_thread(lambda: list(islice(discoveries, BATCH))):
                pages += len(batch)
                total = _sum(total, await frontier.add(batch, revive=True))
                await tail.spill()
        await frontier.crawl.sync()
    finally:
        await link.aclose()
    if not pages:
        raise InputError(f"crawl {plan.crawl!r}: no page of it fits; {_remedy(plan)}")
    return RescrapeSummary(pages=pages, added=total.added, known=total.known, discarded=total.discarded)


def _discoveries(pages: Iterator[NewestCapture], plan: RescrapePlan) -> Iterator[Discovery]:
    before = _timestamp(time.time() - plan.older_than_s)
    most = None if plan.budget is None else min(plan.budget, sys.maxsize)
    for page in islice((page for page in pages if page.row.timestamp <= before), most):
        url = canonicalize(page.row.url)
        found = _last_request(url, page.request)
        if plan.scope is not None:
            found = replace(found, scope=Scope.of(plan.scope, url))
        if plan.max_depth is not None:
            found = replace(found, depth=0, max_depth=plan.max_depth)
        yield replace(found, generation=page.requested_ms, listed=True, state=request_state_of(page.row))


def _last_request(url: Url, request: str) -> Discovery:
    """Return the discovery that its last request was, as far as `_request` wrote it."""
    if not request:
        return Discovery(url=url, scope=Scope.of("host", url), max_depth=0)
    scope, *values = json.loads(request)
    return Discovery(url=url, scope=Scope.parse(scope), **dict(zip(_KEPT, values, strict=True)))


def _request(found: Discovery) -> str:
    return json.dumps([str(found.scope), *(getattr(found, name) for name in _KEPT)])


def _page_selector(
    project: OpenProject, plan: RescrapePlan, query_order: HostSwitch
) -> Callable[[CdxjRow], PageCapture | None]:
    shares = yields.kept_shares(project, plan.crawl) if plan.from_report else None

    def page_capture(row: CdxjRow) -> PageCapture | None:
        try:
            url = canonicalize(row.url)
        except InvalidUrl:
            return None
        if is_robots_url(url):
            return None
        if plan.domains and not any(_is_within(url.host, domain) for domain in plan.domains):
            return None
        share = 0.0 if shares is None else shares.get(registered_domain(url.host), 0.0)
        if shares is not None and share <= 0:
            return None
        is_capture = row.status == 200 or row.mime == REVISIT_MIME
        is_gone = not is_capture and (row.status in GONE_STATUSES or row.status in REDIRECT_STATUSES)
        return PageCapture(
            page_key(url.text, url.host, query_order), priority=-share, is_capture=is_capture, is_gone=is_gone
        )

    return page_capture


def _page_settlement(query_order: HostSwitch, line: LogLine) -> PageSettlement | None:
    try:
        found = discovery_from_line(line)
    except CorruptData:  # no frontier of this version requested it
        return None
    page = page_key(found.url.text, found.url.host, query_order)
    is_gone = line.outcome in {Outcome.GONE, Outcome.REDIRECTED}
    return PageSettlement(page, is_gone=is_gone, request=_request(found))


def is_robots_url(url: Url) -> bool:
    """Return whether a URL is that of a robots.txt, which is not a page."""
    return url.text == f"{url.origin}/robots.txt"


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _timestamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d%H%M%S}"


def request_state_of(row: CdxjRow) -> RequestState:
    """Return the validators of a capture; if the capture is a revisit, those of the original capture. A page refers to
    no record of another crawl: then there are none.
    """
    if row.original_file:
        return EMPTY_STATE
    return RequestState(
        etag=row.etag,
        last_modified=row.last_modified,
        digest=row.digest,
        sha256=row.sha256,
        record_id=row.original_id or row.record_id,
        uri=row.original_url or row.url,
        date_ms=row.original_date_ms or row.date_ms,
    )


def _sum(one: AddResult, other: AddResult) -> AddResult:
    discarded = {
        reason: one.discarded.get(reason, 0) + other.discarded.get(reason, 0)
        for reason in {**one.discarded, **other.discarded}
    }
    return AddResult(added=one.added + other.added, known=one.known + other.known, discarded=discarded)


def _remedy(plan: RescrapePlan) -> str:
    if plan.from_report:
        return f"process it first (`thresher process {plan.crawl}`), because the yield comes from processed pages"
    if plan.domains:
        return f"no capture of {', '.join(plan.domains)} is older than {plan.older_than_s} seconds"
    return "no capture is that old; give a smaller --max-age"
