"""`links`: what the archived pages of a file led to, for a frontier that is made from the archive.

1. A page is understood by the rules by which it was settled (`crawler.reading.page_reading`), under the lease that
   its line in the crawl's log tells of. So the same comes of it as came of it then; what the frontier knows already
   is not asked again.
2. Of a page whose payload is in another record (a revisit) the outlinks count that were noted beside it.
3. A page that a user's spider read leads to what its callbacks found there, which no archive has: nothing is read of
   it.
4. A page is read aside (`crawler.page_process`): one that kills what reads it, or makes it raise, leads to nothing.
   The log says why.
5. A page of which the log says nothing is known, and leads to nothing, unless it is said how far its links are to be
   followed.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from uuid import UUID

from core import CorruptData, Failure, Url, failure_boundary
from crawler.log_entry import discovery_from_line, lease_of_discovery
from crawler.page_process import PageProcess
from crawler.reading.link_targets import link_target
from crawler.reading.outcome import READING_STEP
from crawler.reading.page_options import PageOptions
from crawler.reading.page_reading import page_settlement, settlement_of_dropped
from crawler.reading.plausibility import plausible
from crawler.render.rendering_archive import RENDERING_TYPES
from crawler.replay.replay import archived_response
from frontier import Discovery, InvalidUrl, Lease, Outcome, Settlement, canonicalize
from storage.crawllog.log_line import LogLine
from storage.store import Store
from storage.warc.capture_metadata import decode as decode_notes
from storage.warc.dropped import DROPPED
from storage.warc.dropped import decode as decode_dropped
from storage.warc.exchange_records import metadata_id
from storage.warc.records import ArchivedRecord, read_records
from storage.warc.revisit import REVISIT

LOGGER = logging.getLogger(__name__)
LINKING_OUTCOMES = frozenset({Outcome.FETCHED, Outcome.REDIRECTED})
RecordsById = Mapping[str, ArchivedRecord]


async def archived_links(
    store: Store,
    name: str,
    lines: Mapping[str, LogLine],
    *,
    options: PageOptions,
    unlogged_discovery: Callable[[Url], Discovery] | None = None,
) -> AsyncIterator[tuple[Discovery, ...]]:
    """Yield what each page of an archive file leads to. `lines` are those of its records, by record id.

    `unlogged` says what a page of which there is no line is taken for.
    """
    aside = PageProcess()
    try:
        with store.open(name) as file:
            for record, beside in _pages(read_records(file, name=name)):
                found: tuple[Discovery, ...] = ()
                try:
                    with failure_boundary(READING_STEP):
                        under = _lease(record, lines.get(record.record_id), unlogged_discovery)
                        if under is not None:
                            found = await _discoveries(under, record, beside, options, aside)
                except Failure as failure:
                    LOGGER.warning("%s at %s: %s", name, record.ref.offset, failure)
                if found:
                    yield found
    finally:
        aside.close()


def is_page(record: ArchivedRecord) -> bool:
    """Whether a record is what came of a page, and no part of one, and no robots.txt."""
    return (
        record.type in {"response", REVISIT, DROPPED}
        and not record.resource_type
        and record.url.partition("://")[2].partition("/")[2] != "robots.txt"
    )


def _pages(records: Iterator[ArchivedRecord]) -> Iterator[tuple[ArchivedRecord, RecordsById]]:
    """Each page with the records that lie in front of it."""
    beside: dict[str, ArchivedRecord] = {}
    for record in records:
        if record.type in RENDERING_TYPES:
            beside[record.record_id] = record
        elif record.type != "request":
            if is_page(record):
                yield record, beside
            beside = {}


def _lease(
    record: ArchivedRecord, line: LogLine | None, unlogged: Callable[[Url], Discovery] | None
) -> Lease | None:
    """The lease that a page was fetched under; None where nothing is to be read of it."""
    try:
        if line is not None:
            found = discovery_from_line(line)
        elif unlogged is not None:
            found = unlogged(canonicalize(record.url))
        else:
            return None
    except (CorruptData, InvalidUrl):
        return None
    if line is not None and (line.outcome not in LINKING_OUTCOMES or found.state.spider_request):
        return None
    return (
        lease_of_discovery(found, 0, 0)
        if line is None
        else lease_of_discovery(found, line.attempt, line.token)
    )


async def _discoveries(
    under: Lease, record: ArchivedRecord, beside: RecordsById, options: PageOptions, aside: PageProcess
) -> tuple[Discovery, ...]:
    if record.type == DROPPED:
        dropped = decode_dropped(record.payload)
        return (
            ()
            if dropped is None
            else settlement_of_dropped(under, dropped, record.date_ms, options).discoveries
        )
    page = _uuid(record.record_id)
    if page is None:
        return ()
    if record.type == REVISIT:
        return _links_of_metadata(under, beside.get(metadata_id(page).urn), options)
    answer = archived_response(record, page, beside)
    if answer is None:
        return ()
    ended = await aside.call(
        partial(page_settlement, options=options),
        under,
        answer,
        returns=Settlement,
        accepts=partial(plausible, under),
    )
    return () if ended is None else ended.discoveries


def _links_of_metadata(
    under: Lease, notes: ArchivedRecord | None, options: PageOptions
) -> tuple[Discovery, ...]:
    """What was noted of a page that leads on."""
    if notes is None or not under.follows_links:
        return ()
    facts, outlinks = decode_notes(notes.payload)
    if "nofollow" in options.obey and "nofollow" in facts.get("robots", "").split(","):
        return ()
    urls = (link_target(outlink, traps=options.traps) for outlink in outlinks)
    return tuple(
        Discovery(
            url=url,
            scope=under.scope,
            depth=under.depth + 1,
            max_depth=under.max_depth,
            referrer=under.url.wire,
            interval_s=under.interval_s,
        )
        for url in urls
        if url is not None and under.scope.admits(url)
    )


def _uuid(record_id: str) -> UUID | None:
    try:
        return UUID(record_id)
    except ValueError:
        return None
