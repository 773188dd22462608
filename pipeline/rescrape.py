"""The rescrape command: pages that a crawl has archived wait once more, each with what its newest capture was.

1. Which pages a crawl has, and what they were when they came last, is read from the indexes beside its archive: the
   frontier keeps no text of what is settled.
2. A capture is followed by one re-scrape at most: its time is the generation of the URL. So the command may be killed,
   and typed again, and adds nothing twice.
3. A page is asked for with what its server said of it (ETag, Last-Modified). Where it is as it was, the archive has a
   revisit record more and nothing else.
4. Links of a page that has changed are followed as far as its scope says; those that the crawl knows it does not ask again.
5. Only what was answered with 200 is asked again: nobody waits for another redirect, or another page that is not there.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from core import InputError
from crawler.note import Note, encode
from frontier import Added, Discovery, Frontier, NotAUrl, Scope, canonical
from frontier.connect import connect
from frontier.identity import page_key
from frontier.scope import ScopeKind, registered_domain
from pipeline import yields
from pipeline.project import Project
from storage.cdxj import Row
from storage.newest import Wanted, newest
from storage.revisit import REVISIT_MIME

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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
class Rescraped:
    """What became of the pages."""

    pages: int
    """Chosen."""
    added: int
    known: int
    """Were waiting for the same already."""
    discarded: Mapping[str, int] = field(default_factory=dict)


def rescrape(project: Project, plan: Plan) -> Rescraped:
    """Add the pages to the frontier. Raises `InputError` where none of the crawl's pages fits."""
    with project.frontier_address() as address:
        return asyncio.run(_rescrape(project, address, plan))


async def _rescrape(project: Project, address: str, plan: Plan) -> Rescraped:
    link = await connect(address)
    try:
        frontier = Frontier(link, plan.crawl, budget=project.budget, policy=project.policy)
        await frontier.open()
        tail = frontier.tail(project.store)
        found = _discoveries(project, plan)
        pages = 0
        total = Added(added=0, known=0)
        while batch := await asyncio.to_thread(lambda: list(islice(found, BATCH))):
            pages += len(batch)
            total = _sum(total, await frontier.add(batch))
            await tail.spill()
    finally:
        await link.aclose()
    if not pages:
        raise InputError(f"crawl {plan.crawl!r}: no page of it fits; {_remedy(plan)}")
    return Rescraped(pages=pages, added=total.added, known=total.known, discarded=total.discarded)


def _discoveries(project: Project, plan: Plan) -> Iterator[Discovery]:
    before = _stamp(time.time() - plan.older_than_s)
    found = newest(project.store, plan.crawl, _choice(project, plan))
    chosen = (
        row for _, row in found if row.timestamp <= before and (row.status == 200 or row.mime == REVISIT_MIME)
    )
    for row in islice(chosen, plan.budget):
        url = canonical(row.url)
        yield Discovery(
            url=url,
            scope=Scope.of(plan.scope, url),
            max_depth=plan.max_depth,
            generation=row.date_ms // 1000,
            listed=True,
            note=encode(_note(row)),
        )


def _choice(project: Project, plan: Plan) -> Callable[[Row], Wanted | None]:
    shares = yields.shares(project, plan.crawl) if plan.from_report else None
    query_order = project.policy.query_order

    def want(row: Row) -> Wanted | None:
        try:
            url = canonical(row.url)
        except NotAUrl:
            return None
        if plan.domains and not any(_is_within(url.host, domain) for domain in plan.domains):
            return None
        page = page_key(url.text, url.host, query_order)
        if shares is None:
            return Wanted(page)
        share = shares.get(registered_domain(url.host), 0.0)
        return Wanted(page, -share) if share > 0 else None

    return want


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _stamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d%H%M%S}"


def _note(row: Row) -> Note:
    """What the page was; where that was a revisit itself, of what it was one."""
    return Note(
        etag=row.etag,
        last_modified=row.last_modified,
        digest=row.digest,
        record_id=row.original_id or row.record_id,
        uri=row.original_url or row.url,
        date_ms=row.original_date_ms or row.date_ms,
    )


def _sum(one: Added, other: Added) -> Added:
    discarded = {
        reason: one.discarded.get(reason, 0) + other.discarded.get(reason, 0)
        for reason in {**one.discarded, **other.discarded}
    }
    return Added(added=one.added + other.added, known=one.known + other.known, discarded=discarded)


def _remedy(plan: Plan) -> str:
    if plan.from_report:
        return f"process it first (`thresher process {plan.crawl}`), so that there is a yield to go by"
    if plan.domains:
        return f"nothing older than {plan.older_than_s} seconds is archived of {', '.join(plan.domains)}"
    return "nothing of that age is archived; give a smaller --max-age"
