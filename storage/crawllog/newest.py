"""Finds the newest capture of each page that a crawl archived or settled, and when the page was last requested.

It reads the indexes of the sealed WARC files (`storage.warc.cdxj`) and the crawl's log (`storage.crawllog.log_line`),
and keeps what it finds in a temporary database on the disk: neither memory nor the number of open files grows with the
crawl.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from typing import NamedTuple

from thresher.storage.archive.open_files import INDEX_SUFFIX
from thresher.storage.crawllog import log_line
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.cdxj import CdxjRow

_BATCH = 10_000
_TABLE = """
CREATE TABLE newest (
    page TEXT PRIMARY KEY, priority REAL, captured INTEGER, line TEXT,
    requested INTEGER NOT NULL, gone INTEGER NOT NULL,
    request TEXT NOT NULL DEFAULT '', settled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID
"""
_PUT = """
INSERT INTO newest (page, priority, captured, line, requested, gone)
VALUES (:page, :priority, iif(:line IS NULL, NULL, :at), :line, :at, :gone)
ON CONFLICT (page) DO UPDATE SET
priority = iif(:line IS NULL OR captured > :at, priority, :priority),
line = iif(:line IS NULL OR captured > :at, line, :line),
captured = iif(:line IS NULL OR captured > :at, captured, :at),
gone = iif(requested = :at, min(gone, :gone), iif(requested > :at, gone, :gone)),
requested = max(requested, :at)
"""  # a page that redirects to itself may have two captures in one millisecond
_SETTLE = """
UPDATE newest SET gone = iif(requested > :at, gone, :gone), requested = max(requested, :at),
request = iif(settled > :at, request, :request), settled = max(settled, :at) WHERE page = :page
"""
_TAKE = """
SELECT page, line, requested, request FROM newest WHERE line IS NOT NULL AND NOT gone ORDER BY priority, requested, page
"""

_LINES = "CREATE TABLE lines (page TEXT PRIMARY KEY, at INTEGER, line BLOB) WITHOUT ROWID"
_PUT_LINE = """
INSERT INTO lines VALUES (?, ?, ?)
ON CONFLICT (page) DO UPDATE SET at = excluded.at, line = excluded.line WHERE excluded.at > at
"""
_DROP_LINE = "DELETE FROM lines WHERE page = ? AND at < ?"


class PageCapture(NamedTuple):
    """What a row of an index says of a page."""

    page: str
    """A text that all captures of one page share."""
    priority: float = 0
    """Pages come in ascending order of this number; among equals, the page that was requested longest ago comes first.
    """
    is_capture: bool = True
    """Whether the row is a capture of the page, and not an error of its server."""
    is_gone: bool = False
    """Whether the page no longer exists, as of then."""


class PageSettlement(NamedTuple):
    """What a line of the log says of a page."""

    page: str
    is_gone: bool = False
    """Whether the page no longer exists, as of then."""
    request: str = ""
    """What the caller wants to know of the request."""


class NewestCapture(NamedTuple):
    """One page."""

    row: CdxjRow
    """The row of its newest capture."""
    requested_ms: int
    """When it was last requested, whatever came back."""
    request: str
    """`PageSettlement.request` of its last line in the log; empty if the log has none."""


@contextmanager
def newest_captures(
    store: Store,
    crawl: str,
    page_capture: Callable[[CdxjRow], PageCapture | None],
    page_settlement: Callable[[log_line.LogLine], PageSettlement | None],
) -> Iterator[Iterator[NewestCapture]]:
    """Yield an iterator over the wanted pages that have a capture and still exist, in the order of
    `PageCapture.priority`.

    `page_capture` says which rows of the indexes are about a page, and `page_settlement` which lines of the log are.
    Raise `CorruptData`, which names the file, if an index or a log is damaged.
    """
    with TemporaryDirectory(prefix="thresher-newest-") as directory:
        database = sqlite3.connect(f"{directory}/newest.db", check_same_thread=False)
        try:
            database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLE}")
            _feed(database, _PUT, _captures(store, crawl, page_capture))
            _feed(database, _SETTLE, _settlements(store, crawl, page_settlement))
            yield (
                NewestCapture(cdxj.parse_line(line), requested, request)
                for _, line, requested, request in database.execute(_TAKE)
            )
        finally:
            database.close()


@contextmanager
def last_lines(
    found: Iterable[tuple[str, log_line.LogLine]], others: Iterable[tuple[str, int]] = ()
) -> Iterator[Iterator[log_line.LogLine]]:
    """Yield an iterator over the last of the `found` lines of each page, in no order.

    `others` are pages and times, read after the lines. A page with a later time there is left out.
    """
    with TemporaryDirectory(prefix="thresher-lines-") as directory:
        database = sqlite3.connect(f"{directory}/lines.db", check_same_thread=False)
        try:
            database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_LINES}")
            database.executemany(
                _PUT_LINE, ((page, line.time_ms, log_line.encode(line)) for page, line in found)
            )
            database.executemany(_DROP_LINE, others)
            yield (log_line.decode(text) for (text,) in database.execute("SELECT line FROM lines"))
        finally:
            database.close()


def _feed(database: sqlite3.Connection, statement: str, values: Iterator[dict[str, object]]) -> None:
    while batch := list(islice(values, _BATCH)):
        database.executemany(statement, batch)


def _captures(
    store: Store, crawl: str, page_capture: Callable[[CdxjRow], PageCapture | None]
) -> Iterator[dict[str, object]]:
    for name in store.list(f"warc/{crawl}/"):
        if not name.endswith(INDEX_SUFFIX):
            continue
        with store.open(name) as file:
            for row in cdxj.read(file, name=name):
                capture = page_capture(row)
                if capture is not None:
                    line = cdxj.format_line(row) if capture.is_capture else None
                    yield {
                        "page": capture.page,
                        "priority": capture.priority,
                        "line": line,
                        "at": row.date_ms,
                        "gone": capture.is_gone,
                    }


def _settlements(
    store: Store, crawl: str, page_settlement: Callable[[log_line.LogLine], PageSettlement | None]
) -> Iterator[dict[str, object]]:
    for line in log_line.lines(store, crawl):
        if line.is_final and (settlement := page_settlement(line)) is not None:
            yield {
                "page": settlement.page,
                "at": line.time_ms,
                "gone": settlement.is_gone,
                "request": settlement.request,
            }
