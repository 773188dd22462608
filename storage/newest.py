"""`newest`: of all that a crawl archived, the newest capture of each page that is asked for.

It reads the indexes beside the sealed WARC files (`storage.cdxj`), one after another, and keeps what it finds in a
temporary database on disk: memory does not grow with the crawl, nor does the number of open files.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from tempfile import TemporaryDirectory
from typing import NamedTuple

from storage import cdxj
from storage.cdxj import Row
from storage.revisit import REVISIT_MIME
from storage.store import Store

INDEX = ".cdxj.gz"
OK = 200
_BATCH = 10_000
_TABLE = "CREATE TABLE newest (page TEXT PRIMARY KEY, turn REAL, timestamp TEXT, line TEXT) WITHOUT ROWID"
_PUT = """
INSERT INTO newest VALUES (?, ?, ?, ?) ON CONFLICT (page) DO UPDATE
SET turn = excluded.turn, timestamp = excluded.timestamp, line = excluded.line
WHERE excluded.timestamp > newest.timestamp
"""
_TAKE = "SELECT page, line FROM newest ORDER BY turn, timestamp, page"


class Wanted(NamedTuple):
    """That a row is asked for."""

    page: str
    """What the captures of one page have in common."""
    turn: float = 0
    """Pages come in the order of their turns; of those with the same, the one that was captured longest ago first."""


def newest(store: Store, crawl: str, want: Callable[[Row], Wanted | None]) -> Iterator[tuple[str, Row]]:
    """The newest row of each page that is wanted, in the order of their turns.

    Raises `CorruptData` naming an index that is none.
    """
    with (
        TemporaryDirectory(prefix="thresher-newest-") as directory,
        closing(sqlite3.connect(f"{directory}/newest.db")) as database,
    ):
        database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLE}")
        rows = _rows(store, crawl, want)
        while batch := list(islice(rows, _BATCH)):
            database.executemany(_PUT, batch)
        for page, line in database.execute(_TAKE):
            yield page, cdxj.parse(line)


def _rows(
    store: Store, crawl: str, want: Callable[[Row], Wanted | None]
) -> Iterator[tuple[str, float, str, str]]:
    for name in store.list(f"warc/{crawl}/"):
        if not name.endswith(INDEX):
            continue
        with store.open(name) as file:
            for row in cdxj.read(file, name=name):
                wanted = want(row)
                if wanted is not None:
                    yield wanted.page, wanted.turn, _moment(row), cdxj.line(row)


def _moment(row: Row) -> str:
    """A page that redirects to itself, with a cookie or in another spelling, has two captures in one second, and the second is it."""
    return f"{row.timestamp}{int(row.status == OK or row.mime == REVISIT_MIME)}"
