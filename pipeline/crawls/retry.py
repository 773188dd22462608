"""The retry command: settled pages of a crawl wait once more, selected by how they ended.

1. The crawl log (`storage.crawllog.log_line`) says how a page ended, and has everything that a new request needs,
   because the frontier keeps nothing about settled pages. Of several lines about one page the last one counts.
2. The time of that line is the generation of the URL, so at most one retry follows it: the command may be killed and
   typed again, and adds nothing twice.
3. Hosts and origins that were given up are tried once more. All other rules of the crawl hold: barred pages and pages
   of traps are not let in, and are counted.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from thresher.core import CorruptData, InputError, Url
from thresher.crawler.log_entry import discovery_from_line
from thresher.crawler.replay.outbox import OutboxRelay
from thresher.frontier import Discovery, HostSwitch, Outcome, Scope
from thresher.frontier.link.connect import connect
from thresher.frontier.page_key import page_key
from thresher.pipeline.open_crawl import open_seeded_crawl
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.reasons import counted
from thresher.storage.crawllog import log_line
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.crawllog.newest import last_lines
from thresher.storage.store import Store

BATCH = 1000
MAX_REASONS_SHOWN = 8
"""Maximum number of reasons that a message names."""
OUTCOMES = tuple(str(outcome) for outcome in Outcome if outcome is not Outcome.RETRY)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPlan:
    """Which pages of a crawl wait once more: pages that fit all of these fields."""

    crawl: str
    reasons: tuple[str, ...] = ()
    """Reasons as `thresher status` shows them, `dead_dns` or `failed:dead_dns`; empty for any reason."""
    host: str = ""
    outcome: str = ""
    """The outcome; if it and `reasons` are empty, `failed`."""
    scope: Scope | None = None
    may_be_none: bool = False
    """Whether it is right that no page ended with a given reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySummary:
    """The result of a retry, as numbers of pages."""

    pages: int
    """Selected pages."""
    added: int
    known: int
    """Pages that wait already, or were requested again since."""
    discarded: Mapping[str, int] = field(default_factory=dict)


def add_retries(project: OpenProject, plan: RetryPlan, *, update: bool = False) -> RetrySummary:
    """Add the selected pages to the frontier. Raise `InputError` if no page of the crawl ended with a given reason,
    unless the plan allows that.
    """
    with project.frontier_address() as address:
        return asyncio.run(_retry(project, address, plan, update=update))


async def _retry(project: OpenProject, address: str, plan: RetryPlan, *, update: bool) -> RetrySummary:
    store = project.store
    link = await connect(address)
    try:
        frontier = await open_seeded_crawl(project, link, plan.crawl, update=update)
        tail = frontier.tail(store)
        await OutboxRelay(frontier, tail, store, plan.crawl).log_all()
        pages = added = known = 0
        discarded: Counter[str] = Counter()
        with select_pages(store, plan, frontier.crawl.settings.policy.query_order) as found:
            while batch := await asyncio.to_thread(lambda: list(islice(found, BATCH))):
                result = await frontier.add(batch, revive=True)
                pages, added, known = pages + len(batch), added + result.added, known + result.known
                discarded.update(result.discarded)
                await tail.spill()
        await frontier.crawl.sync()
    finally:
        await link.aclose()
    return RetrySummary(pages=pages, added=added, known=known, discarded=dict(discarded))


@contextmanager
def select_pages(store: Store, plan: RetryPlan, query_order: HostSwitch) -> Iterator[Iterator[Discovery]]:
    """Yield the selected pages, each once, in any order, in constant memory. `query_order` is that of the crawl."""
    reasons: Counter[str] = Counter()
    fitting = _fitting(store, plan, reasons, query_order)
    with last_lines(fitting, _others(store, plan, reasons, query_order)) as lines:
        yield (_again(line) for line in lines)


def _again(line: LogLine) -> Discovery:
    """Return what requests a page once more. The frontier has the next visit already of a page that was fetched."""
    found = replace(discovery_from_line(line), generation=line.time_ms)
    return replace(found, interval_s=0) if line.outcome in {Outcome.FETCHED, Outcome.UNCHANGED} else found


def _fitting(
    store: Store, plan: RetryPlan, reasons: Counter[str], query_order: HostSwitch
) -> Iterator[tuple[str, LogLine]]:
    for line in log_line.lines(store, plan.crawl):
        if not line.is_final:
            continue
        reasons[_name(line)] += 1
        if (page := _page(line)) is not None and is_match(plan, line, page.url):
            yield page_key(page.url.text, page.url.host, query_order), line


def _others(
    store: Store, plan: RetryPlan, reasons: Counter[str], query_order: HostSwitch
) -> Iterator[tuple[str, int]]:
    """Yield the pages that ended otherwise, and when: a later end like this cancels an earlier one that fitted."""
    if not plan.may_be_none:
        _check(plan, reasons)
    for line in log_line.lines(store, plan.crawl):
        if line.is_final and (page := _page(line)) is not None and not is_match(plan, line, page.url):
            yield page_key(page.url.text, page.url.host, query_order), line.time_ms


def is_match(plan: RetryPlan, line: LogLine, url: Url) -> bool:
    """Return whether the plan selects a page, with this URL, that ended with this line."""
    outcome = plan.outcome or ("" if plan.reasons else Outcome.FAILED)
    return (
        (not outcome or line.outcome == outcome)
        and (not plan.reasons or line.reason in plan.reasons or _name(line) in plan.reasons)
        and (not plan.host or url.host == plan.host)
        and (plan.scope is None or plan.scope.admits(url))
    )


def _page(line: LogLine) -> Discovery | None:
    try:
        return discovery_from_line(line)
    except CorruptData:  # a line of another version
        return None


def _name(line: LogLine) -> str:
    return f"{line.outcome}:{line.reason}" if line.reason else line.outcome


def _check(plan: RetryPlan, reasons: Counter[str]) -> None:
    if not reasons:
        raise InputError(
            f"crawl {plan.crawl!r}: no page is settled yet; run `thresher crawl {plan.crawl}` first"
        )
    known = {*reasons, *(name.partition(":")[2] for name in reasons)}
    for reason in plan.reasons:
        if reason not in known:
            most = counted(dict(reasons.most_common(MAX_REASONS_SHOWN)))
            raise InputError(
                f"--reason {reason}: no page of crawl {plan.crawl!r} ended with it; most ended with: {most}"
            )
