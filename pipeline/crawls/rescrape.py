"""The rescrape command: pages that a crawl has archived wait once more, each with what its newest capture was.

1. Which pages a crawl has, and what they were when they came last, is read from the indexes beside its archive, and when they
   were asked for last from its log as well: the frontier keeps no text of what is settled.
2. That time is the generation of the URL, so whatever came of it is followed by one re-scrape at most: the command may be
   killed, and typed again, and adds nothing twice.
3. A page is asked for with what its server said of it (ETag, Last-Modified). Where it is as it was, the archive has a
   revisit record more and nothing else.
4. Links of a page that has changed are followed as far as its scope says; those that the crawl knows it does not ask again.
5. Only what was answered with 200 once is asked again, and not if the server has said since that it is gone or elsewhere. What
   came otherwise (500, no answer at all) ends nothing: it is asked again by the next re-scrape.
6. A robots.txt is no page: the frontier itself asks for it again.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from core import CorruptData, InputError, Url
from crawler.log_entry import discovery_from_line
from crawler.reading.outcome import GONE_STATUSES, REDIRECT_STATUSES
from crawler.reading.request_state import RequestState, encode_state
from frontier import AddResult, Discovery, HostSwitch, InvalidUrl, Outcome, Scope, canonicalize
from frontier.link.connect import connect
from frontier.page_key import page_key
from frontier.urls.scope import ScopeKind, registered_domain
from pipeline.crawls import yields
from pipeline.open_crawl import open_seeded_crawl
from pipeline.project import Project
from storage.crawllog.log_line import LogLine
from storage.crawllog.newest import NewestCapture, PageCapture, PageSettlement, newest_captures
from storage.warc.cdxj import CdxjRow
from storage.warc.revisit import REVISIT_MIME

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RescrapePlan:
    """Which pages of a crawl are asked for again."""

    crawl: str
    domains: tuple[str, ...] = ()
    """Domains, with all of their subdomains; all of the crawl where none is named."""
    from_report: bool = False
    """The domains of which most was kept first; those of which nothing was kept not at all."""
    budget: int | None = None
    """Pages at most."""
    older_than_s: int = 0
    """Captures that are younger are left as they are."""
    scope: ScopeKind = "host"
    max_depth: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RescrapeSummary:
    """What became of the pages."""

    pages: int
    """Chosen."""
    added: int
    known: int
    """Were waiting for the same already."""
    discarded: Mapping[str, int] = field(default_factory=dict)


def add_rescrapes(project: Project, plan: RescrapePlan, *, update: bool = False) -> RescrapeSummary:
    """Add the pages to the frontier. Raises `InputError` where none of the crawl's pages fits.

    `update` replaces the crawl's settings by the project's.
    """
    with project.frontier_address() as address:
        return asyncio.run(_rescrape(project, address, plan, update=update))


async def _rescrape(project: Project, address: str, plan: RescrapePlan, *, update: bool) -> RescrapeSummary:
    link = await connect(address)
    try:
        frontier = await open_seeded_crawl(project, link, plan.crawl, update=update)
        tail = frontier.tail(project.store)
        pages = 0
        total = AddResult(added=0, known=0)
        query_order = frontier.crawl.settings.policy.query_order
        want, settled = _page_selector(project, plan, query_order), partial(_settled, query_order)
        with newest_captures(project.store, plan.crawl, want, settled) as pages_found:
            found = _discoveries(pages_found, plan)
            while batch := await asyncio.to_thread(lambda: list(islice(found, BATCH))):
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
    for row, asked_ms in islice((page for page in pages if page.row.timestamp <= before), plan.budget):
        url = canonicalize(row.url)
        yield Discovery(
            url=url,
            scope=Scope.of(plan.scope, url),
            max_depth=plan.max_depth,
            generation=asked_ms,
            listed=True,
            note=encode_state(request_state_of(row)),
        )


def _page_selector(
    project: Project, plan: RescrapePlan, query_order: HostSwitch
) -> Callable[[CdxjRow], PageCapture | None]:
    shares = yields.kept_shares(project, plan.crawl) if plan.from_report else None

    def want(row: CdxjRow) -> PageCapture | None:
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
        whole = row.status == 200 or row.mime == REVISIT_MIME
        ended = not whole and (row.status in GONE_STATUSES or row.status in REDIRECT_STATUSES)
        return PageCapture(
            page_key(url.text, url.host, query_order), priority=-share, is_capture=whole, is_gone=ended
        )

    return want


def _settled(query_order: HostSwitch, line: LogLine) -> PageSettlement | None:
    try:
        url = discovery_from_line(line).url
    except CorruptData:  # it was asked for by no frontier of ours
        return None
    page = page_key(url.text, url.host, query_order)
    return PageSettlement(page, is_gone=line.outcome in {Outcome.GONE, Outcome.REDIRECTED})


def is_robots_url(url: Url) -> bool:
    """Whether it is an address at which rules for robots are, and no page."""
    return url.text == f"{url.origin}/robots.txt"


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _timestamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d%H%M%S}"


def request_state_of(row: CdxjRow) -> RequestState:
    """What the page was; where that was a revisit itself, of what it was one."""
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
        return f"process it first (`thresher process {plan.crawl}`), so that there is a yield to go by"
    if plan.domains:
        return f"nothing older than {plan.older_than_s} seconds is archived of {', '.join(plan.domains)}"
    return "nothing of that age is archived; give a smaller --max-age"
