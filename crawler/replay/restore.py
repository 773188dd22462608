"""`restore`: rebuild a frontier from the files of an archive and of its log.

1. Pages that the log says were settled are settled again with the same outcome (`settle_logged`, `schedule_visits`).
2. Archived pages that no log has are settled as their record says, with the reason `no_log` (`settle_archived`).
3. After that, the links of archived pages wait, if the frontier does not know them (`add_links`), and so do the pages
   that were to be tried again (`add_pending`).
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from thresher.core import CorruptData, Url
from thresher.crawler.log_entry import discovery_from_line
from thresher.crawler.reading.outcome import judge_response
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.replay.relink import archived_links, is_page
from thresher.frontier import Discovery, Frontier, InvalidUrl, Outcome, RestoredPage, Scope, canonicalize
from thresher.frontier.urls.revisit_interval import next_interval_s
from thresher.frontier.urls.scope import ScopeKind
from thresher.storage.crawllog import log_line
from thresher.storage.crawllog.log_line import RETRY, UNLOGGED, LogLine
from thresher.storage.crawllog.newest import last_lines
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import read_records
from thresher.storage.warc.revisit import REVISIT_MIME

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkScope:
    """The scope of archived pages that the log does not have."""

    scope: ScopeKind | None = None
    """How far their links are followed; None follows no links."""
    max_depth: int | None = None


async def settle_logged(store: Store, frontier: Frontier, name: str) -> None:
    """Settle the pages of a log file with the outcomes that they had, except revisited pages (`schedule_visits`)."""
    found = (each for each in _restored_from_log(log_line.read(store, name)) if not each.discovery.interval_s)
    while batch := list(islice(found, BATCH)):
        await frontier.rebuild.restore(batch)


async def schedule_visits(store: Store, frontier: Frontier, names: Sequence[str]) -> None:
    """Settle the revisited pages of log files with their last outcomes, and schedule their next visits."""
    with last_lines(_visited(store, names)) as lines:
        found = _restored_from_log(lines)
        while batch := list(islice(found, BATCH)):
            await frontier.rebuild.restore(batch)


async def settle_archived(store: Store, frontier: Frontier, name: str, link_scope: LinkScope) -> None:
    """Settle the archived pages of an index that the frontier does not know, except those that are to be retried."""
    with store.open(name) as file:
        rows = ((row, _url(row.url)) for row in cdxj.read(file, name=name))
        pages = ((row, url) for row, url in rows if url is not None and _outcome(row) is not Outcome.RETRY)
        while batch := list(islice(pages, BATCH)):
            known = await frontier.knows([url for _, url in batch])
            unknown = [pair for pair, is_known in zip(batch, known, strict=True) if not is_known]
            await frontier.rebuild.restore(
                [_restored_from_index(row, url, link_scope) for row, url in unknown if _is_page(store, row)]
            )


async def add_pending(store: Store, frontier: Frontier, name: str) -> None:
    """Add the pages of a log file that were to be tried again; the frontier leaves out those that it knows."""
    lines = (line for line in log_line.read(store, name) if line.kind == "page" and line.outcome == RETRY)
    found = (page for page in map(_discovery, lines) if page is not None)
    while batch := list(islice(found, BATCH)):
        await frontier.add(batch)


async def add_links(
    store: Store,
    frontier: Frontier,
    name: str,
    logs: Sequence[str],
    link_scope: LinkScope,
    options: PageOptions,
) -> None:
    """Add the links of the pages of an archive file. `logs` are the log files that have lines of these pages."""
    tail = frontier.tail(store)
    lines: dict[str, LogLine] = {}
    for log in logs:
        lines |= {line.record: line for line in log_line.read(store, log) if line.file == name}
    unlogged = None if link_scope.scope is None else partial(_seed, link_scope.scope, link_scope.max_depth)
    batch: list[Discovery] = []
    async for found in archived_links(store, name, lines, options=options, unlogged_discovery=unlogged):
        batch += found
        if len(batch) >= BATCH:
            await frontier.add(batch)
            await tail.spill()
            batch.clear()
    await frontier.add(batch)


def _visited(store: Store, names: Sequence[str]) -> Iterator[tuple[str, LogLine]]:
    for name in names:
        for line in log_line.read(store, name):
            for restored in _restored_from_log((line,)):
                found = restored.discovery
                if found.interval_s:
                    yield f"{found.generation} {found.url.text}", line


def _restored_from_log(lines: Iterable[LogLine]) -> Iterator[RestoredPage]:
    """Yield the pages of lines. Leave out lines that this release cannot read."""
    for line in lines:
        if not line.is_final:
            continue
        found = _discovery(line)
        if found is None:
            continue
        outcome = Outcome(line.outcome)
        restored = RestoredPage(discovery=found, outcome=outcome, reason=line.reason)
        if found.interval_s and outcome in {Outcome.FETCHED, Outcome.UNCHANGED}:
            interval_s = next_interval_s(found.interval_s, changed=outcome is Outcome.FETCHED)
            due_ms = line.time_ms + interval_s * 1000 - time.time_ns() // 1_000_000
            restored = replace(restored, next_visit=replace(found, interval_s=interval_s), due_in_ms=due_ms)
        yield restored


def _restored_from_index(row: cdxj.CdxjRow, url: Url, link_scope: LinkScope) -> RestoredPage:
    found = _seed(link_scope.scope or "host", link_scope.max_depth, url)
    return RestoredPage(discovery=found, outcome=_outcome(row), reason=UNLOGGED)


def _outcome(row: cdxj.CdxjRow) -> Outcome:
    if row.mime == REVISIT_MIME:
        return Outcome.UNCHANGED
    return judge_response(row.status, truncated=None, retry_after=None, now_ms=row.date_ms, attempt=0).outcome


def _seed(scope: ScopeKind, max_depth: int | None, url: Url) -> Discovery:
    return Discovery(url=url, scope=Scope.of(scope, url), max_depth=max_depth)


def _is_page(store: Store, row: cdxj.CdxjRow) -> bool:
    with store.open(row.filename) as file:
        return any(
            is_page(record) for record in read_records(file, row.offset, row.offset + 1, name=row.filename)
        )


def _discovery(line: LogLine) -> Discovery | None:
    """Return the discovery of a line; None if this release cannot read it."""
    try:
        return discovery_from_line(line)
    except CorruptData:
        return None


def _url(text: str) -> Url | None:
    try:
        return canonicalize(text)
    except InvalidUrl:
        return None
