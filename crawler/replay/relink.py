"""`archived_links`: the links of the archived pages of a file, for a frontier that is rebuilt from the archive.

1. A page is read by the rules by which it was settled (`crawler.lease_result`), under the lease that its line
   in the crawl's log describes. So it has the same links as then. The frontier leaves out the URLs that it knows
   already.
2. If the payload of a page is in another record (a revisit), its links are the outlinks in the metadata record beside
   it.
3. A page that a user's spider read has no links: the archive does not have what the callbacks found.
4. A page is read in another process (`crawler.page_process`). A page that kills its reader has no links, nor has one
   that makes it raise; a warning reports the exception.
5. A page without a line in the log has no links, unless the caller says how far they are followed
   (`unlogged_discovery`).
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from uuid import UUID

from thresher.core import CorruptData, Failure, Url, failure_boundary
from thresher.crawler.lease_result import link_discovery, settlement_of_dropped
from thresher.crawler.log_entry import discovery_from_line, lease_of_discovery
from thresher.crawler.page_process import PageProcess
from thresher.crawler.reading.outcome import READING_STEP
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.render.rendering_archive import RENDERING_TYPES
from thresher.crawler.replay.replay import archived_response, archived_settlement
from thresher.frontier import Discovery, InvalidUrl, Lease, Outcome, canonicalize
from thresher.frontier.urls.link_targets import link_target
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.store import Store
from thresher.storage.warc.capture_metadata import decode as decode_metadata
from thresher.storage.warc.dropped import DROPPED
from thresher.storage.warc.dropped import decode as decode_dropped
from thresher.storage.warc.exchange_records import metadata_id
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT

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
    """Yield the links of each page of an archive file. `lines` are the log lines of its records, by record id.

    `unlogged_discovery` returns the discovery that stands for a page without a line; None reads no such page.
    """
    page_process = PageProcess()
    try:
        with store.open(name) as file:
            for record, attached in _pages(read_records(file, name=name)):
                found: tuple[Discovery, ...] = ()
                try:
                    with failure_boundary(READING_STEP):
                        lease = _lease(record, lines.get(record.record_id), unlogged_discovery)
                        if lease is not None:
                            found = await _discoveries(lease, record, attached, options, page_process)
                except Failure as failure:
                    LOGGER.warning("%s at %s: %s", name, record.ref.offset, failure)
                if found:
                    yield found
    finally:
        page_process.close()


def is_page(record: ArchivedRecord) -> bool:
    """Return whether a record is the response of a page, and not of a subresource or a robots.txt."""
    return (
        record.type in {"response", REVISIT, DROPPED}
        and not record.resource_type
        and record.url.partition("://")[2].partition("/")[2] != "robots.txt"
    )


def _pages(records: Iterator[ArchivedRecord]) -> Iterator[tuple[ArchivedRecord, RecordsById]]:
    """Yield each page with the metadata and conversion records in front of it, by their ids."""
    attached: dict[str, ArchivedRecord] = {}
    for record in records:
        if record.type in RENDERING_TYPES:
            attached[record.record_id] = record
        elif record.type != "request":
            if is_page(record):
                yield record, attached
            attached = {}


def _lease(
    record: ArchivedRecord, line: LogLine | None, unlogged: Callable[[Url], Discovery] | None
) -> Lease | None:
    """Return the lease under which a page was fetched; None if the page is not to be read."""
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
    lease: Lease,
    record: ArchivedRecord,
    attached: RecordsById,
    options: PageOptions,
    page_process: PageProcess,
) -> tuple[Discovery, ...]:
    if record.type == DROPPED:
        dropped = decode_dropped(record.payload)
        return (
            ()
            if dropped is None
            else settlement_of_dropped(lease, dropped, record.date_ms, options).discoveries
        )
    page = _uuid(record.record_id)
    if page is None:
        return ()
    if record.type == REVISIT:
        return _links_of_metadata(lease, attached.get(metadata_id(page).urn), options)
    response = archived_response(record, page, attached)
    if response is None:
        return ()
    settlement = await archived_settlement(page_process, lease, response, options)
    return () if settlement is None else settlement.discoveries


def _links_of_metadata(
    lease: Lease, metadata: ArchivedRecord | None, options: PageOptions
) -> tuple[Discovery, ...]:
    """Return the outlinks in a page's metadata record that a crawl follows."""
    if metadata is None or not lease.follows_links:
        return ()
    facts, outlinks = decode_metadata(metadata.payload)
    if "nofollow" in options.obey and "nofollow" in facts.get("robots", "").split(","):
        return ()
    urls = (link_target(outlink, traps=options.traps) for outlink in outlinks)
    return tuple(link_discovery(lease, url) for url in urls if url is not None and lease.scope.admits(url))


def _uuid(record_id: str) -> UUID | None:
    try:
        return UUID(record_id)
    except ValueError:
        return None
