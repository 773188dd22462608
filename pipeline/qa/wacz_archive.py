"""`WaczArchive`: the pages of a WACZ, or of an archive in several, and look-ups in its index, as a player makes them.

1. The digests of the WACZ are checked first (`storage.inputs.wacz_input`).
2. A look-up goes by the WACZ's own index, because players find nothing that is not in it. Of several captures of a URL
   the nearest in time is taken. Index and list of pages lie in a temporary SQLite database, so memory is bounded.
3. A revisit has the payload of the record that it refers to. A revisit that the index lists with status 304 has none:
   pywb and ReplayWeb.page show nothing for it.
4. The DOM of a rendered page, and the report of its behaviours, are no records that players look up, so the WARC files
   are read once for these.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, get_args
from zipfile import BadZipFile, ZipFile

from thresher.core import InputError
from thresher.crawler.reading.rendered_page import BehaviourName, decode_report
from thresher.crawler.render.rendering_archive import DOM_URI_PREFIX
from thresher.pipeline.qa.wacz_lines import IndexRow, ListedPage, index_row, lines_of, listed_page
from thresher.pipeline.wacz.wacz_list import listed_files
from thresher.storage.inputs import wacz_input
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT, REVISIT_MIME

PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
INDEX_ENDINGS = (".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz")
DOM_WINDOW_MS = 600_000
"""Milliseconds between a page and its DOM, or its report, at most."""
SCAN_BYTES = 1 << 10
"""Bytes of a payload that are decoded while DOMs and reports are searched."""
TABLES = """
CREATE TABLE captures (key, url, ms, mime, status, file, offset);
CREATE TABLE doms (url, ms, file, offset);
CREATE TABLE behaviours (url, ms, names);
CREATE TABLE pages (url, ms, title, text, UNIQUE (url, ms));
"""
INDEXES = """
CREATE INDEX by_key ON captures (key, ms);
CREATE INDEX by_url ON doms (url, ms);
CREATE INDEX behaviours_by_url ON behaviours (url, ms);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a record lies."""

    file: str
    offset: int


class WaczArchive:
    """An open WACZ. Use it in one thread; `close` it."""

    def __init__(self, path: Path, directory: Path) -> None:
        """Check and open a WACZ, or all that a list of WACZ files names; temporary files go into `directory`. Raise
        `InputError` if one is not valid, has no index, or if no page is listed.
        """
        self.name = str(path)
        self._database = sqlite3.connect(directory / "index.sqlite")
        self._database.executescript(TABLES)
        self._archives: dict[str, BinaryIO] = {}
        self._life = ExitStack()
        self._life.callback(self._database.close)
        self.bad_lines = 0
        """Lines of the index that cannot be read."""
        try:
            self._open(path)
        except InputError:
            self.close()
            raise

    def _open(self, path: Path) -> None:
        for number, file in enumerate(listed_files(path) or (path,)):
            self._add(file, f"{number}:")
        self._database.executescript(INDEXES)
        if not self.page_count:
            raise InputError(f"{self.name} lists no pages (pages/pages.jsonl): there is nothing to compare")

    def _add(self, path: Path, prefix: str) -> None:
        """Add one WACZ file; `prefix` keeps the names of its WARC files apart from those of the others."""
        try:
            file = self._life.enter_context(path.open("rb"))
            package = self._life.enter_context(ZipFile(file))
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); give a WACZ file") from None
        except BadZipFile as error:
            raise InputError(f"{path} is no WACZ: {error}; give a WACZ file") from None
        try:
            for name, archive in wacz_input.archive_files(file, package, str(path)):
                self._archives[prefix + name] = self._life.enter_context(archive)
                for record in read_records(archive, name=name, limit=SCAN_BYTES):
                    self._note(prefix + name, record)
            self._add_lists(path, package, prefix)
        except wacz_input.FAULTS as error:
            raise InputError(
                f"{path} is no valid WACZ: {' '.join(str(error).split())}; get the file again"
            ) from None

    def _add_lists(self, path: Path, package: ZipFile, prefix: str) -> None:
        """Read the index and the lists of pages."""
        names = package.namelist()
        indexes = [name for name in names if name.startswith("indexes/") and name.endswith(INDEX_ENDINGS)]
        if not indexes:
            raise InputError(f"{path} has no index in indexes/, so no player finds its pages")
        for name in indexes:
            rows = (
                astuple(replace(row, file=prefix + row.file))
                for row in self._index_rows(lines_of(package, name))
            )
            self._database.executemany("INSERT INTO captures VALUES (?,?,?,?,?,?,?)", rows)
        for name in PAGE_LISTS:
            if name in names:
                pages = (astuple(page) for line in lines_of(package, name) if (page := listed_page(line)))
                self._database.executemany("INSERT OR IGNORE INTO pages VALUES (?,?,?,?)", pages)

    def _note(self, name: str, record: ArchivedRecord) -> None:
        """Keep where a DOM is, and the behaviours of a page."""
        if record.type == "conversion" and record.url.startswith(DOM_URI_PREFIX):
            place = (_encodable(record.url[len(DOM_URI_PREFIX) :]), record.date_ms, name, record.offset)
            self._database.execute("INSERT INTO doms VALUES (?,?,?,?)", place)
        elif record.type == "metadata" and (report := decode_report(record.payload)) and report.behaviours:
            names = " ".join(report.behaviours.names)
            row = (_encodable(record.url), record.date_ms, names)
            self._database.execute("INSERT INTO behaviours VALUES (?,?,?)", row)

    def close(self) -> None:
        """Close all files."""
        self._life.close()

    @property
    def page_count(self) -> int:
        """Number of the pages that the WACZ lists, each counted once."""
        count: int = self._database.execute("SELECT count(*) FROM pages").fetchone()[0]
        return count

    def page(self, number: int) -> ListedPage:
        """Return a listed page, by its number from 0 on, in the order of the list."""
        found = self._database.execute(
            "SELECT url, ms, title, text FROM pages WHERE rowid = ?", (number + 1,)
        ).fetchone()
        return ListedPage(url=found[0], date_ms=found[1], title=found[2], text=found[3])

    def find(self, url: str, date_ms: int) -> ArchivedRecord | None:
        """Return the capture of a URL that is nearest in time, with its payload; None if a player finds none."""
        row = self._nearest(url, date_ms)
        return None if row is None else self._resolved(row)

    def dom(self, url: str, date_ms: int) -> bytes | None:
        """Return the DOM that was archived with a page; None if there is none."""
        found = self._beside("SELECT file, offset FROM doms", url, date_ms)
        record = None if found is None else self._read(Place(file=found[0], offset=found[1]))
        return None if record is None else record.payload

    def behaviours(self, url: str, date_ms: int) -> tuple[BehaviourName, ...]:
        """Return the behaviours that a page had when it was archived, as far as they are known here."""
        found = self._beside("SELECT names FROM behaviours", url, date_ms)
        names = () if found is None else found[0].split()
        return tuple(name for name in get_args(BehaviourName) if name in names)

    def _beside(self, query: str, url: str, date_ms: int) -> tuple[Any, ...] | None:
        """Return the row of a page that is nearest in time, if it is near enough to be of the same visit."""
        where = "WHERE url = ? AND abs(ms - ?) <= ? ORDER BY abs(ms - ?) LIMIT 1"
        values = (_encodable(url), date_ms, DOM_WINDOW_MS, date_ms)
        found: tuple[Any, ...] | None = self._database.execute(f"{query} {where}", values).fetchone()
        return found

    def _nearest(self, url: str, date_ms: int) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._database.execute(
            "SELECT mime, status, file, offset FROM captures WHERE key = ? "
            "ORDER BY url != ?, abs(ms - ?) LIMIT 1",
            (_key(url), _encodable(url), date_ms),
        ).fetchone()
        return found

    def _resolved(self, row: tuple[Any, ...]) -> ArchivedRecord | None:
        mime, status, file, offset = row
        record = self._read(Place(file=file, offset=offset))
        if record is None or (record.type != REVISIT and mime != REVISIT_MIME):
            return record
        if status == 304 or record.revisit is None:
            return None
        original = self._database.execute(
            "SELECT file, offset FROM captures WHERE key = ? AND mime != ? ORDER BY abs(ms - ?) LIMIT 1",
            (_key(record.revisit.uri), REVISIT_MIME, record.revisit.date_ms),
        ).fetchone()
        payload = None if original is None else self._read(Place(file=original[0], offset=original[1]))
        if payload is None:
            return None
        if record.revisit.profile == "server-not-modified":
            return payload
        return replace(record, payload=payload.payload, truncated=payload.truncated)

    def _read(self, place: Place) -> ArchivedRecord | None:
        file = self._archives.get(place.file)
        if file is None:
            return None
        try:
            return next(read_records(file, place.offset, place.offset + 1, name=place.file), None)
        except InputError:
            return None

    def _index_rows(self, lines: Iterable[bytes]) -> Iterator[IndexRow]:
        for line in lines:
            if line.startswith(b"!") or line.isspace():
                continue
            row = index_row(line)
            if row is None:
                self.bad_lines += 1
            else:
                yield row

    def __repr__(self) -> str:
        return f"<archive {self.name}>"


def _key(url: str) -> str:
    return cdxj.surt_key(_encodable(url))


def _encodable(url: str) -> str:
    return url.encode(errors="replace").decode()
