"""`WaczArchive`: the pages of a WACZ, and look-ups in its index, as a player makes them.

1. The digests of the WACZ are checked first (`storage.inputs.wacz_input`).
2. A look-up goes by the WACZ's own index, because players find nothing that is not in it. Of several captures of a URL
   the nearest in time is taken. The rows lie in a temporary SQLite database, so memory is bounded.
3. A revisit has the payload of the record that it refers to. A revisit that the index lists with status 304 has none:
   pywb and ReplayWeb.page show nothing for it.
4. The DOM of a rendered page is no record that players look up, so the WARC files are read once for these records.
"""

import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

from thresher.core import CorruptData, InputError
from thresher.core.standards.moment import parse_moment
from thresher.crawler.render.rendering_archive import DOM_URI_PREFIX
from thresher.storage.inputs import wacz_input
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT, REVISIT_MIME

PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
MAX_LINE = 4 << 20
"""Characters of a line of an index or of a list of pages; a longer one is skipped."""
DOM_WINDOW_MS = 600_000
"""Milliseconds between a page and its DOM at most."""
SCAN_BYTES = 1 << 10
"""Bytes of a payload that are decoded while the DOMs are searched."""
HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPage:
    """A line of the list of pages."""

    url: str
    date_ms: int
    title: str
    text: str
    """Its text, if the list has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a record lies."""

    file: str
    offset: int
    date_ms: int


class WaczArchive:
    """An open WACZ. Use it in one thread; `close` it."""

    def __init__(self, path: Path, directory: Path) -> None:
        """Check and open a WACZ; temporary files go into `directory`. Raise `InputError` if it is not valid, or has no
        index or no list of pages.
        """
        self.name = str(path)
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); give a WACZ file") from None
        try:
            self._zip = ZipFile(self._file)
        except BadZipFile as error:
            self._file.close()
            raise InputError(f"{path} is no WACZ: {error}; give a WACZ file") from None
        self._database = sqlite3.connect(directory / "index.sqlite")
        self._database.execute("CREATE TABLE captures (key, url, ms, mime, status, file, offset, digest)")
        self._database.execute("CREATE TABLE doms (url, ms, file, offset)")
        self._archives: dict[str, BinaryIO] = {}
        self.bad_lines = 0
        """Lines of the index that cannot be read."""
        try:
            self._open()
        except wacz_input.FAULTS as error:
            raise InputError(
                f"{path} is no valid WACZ: {' '.join(str(error).split())}; get the file again"
            ) from None

    def _open(self) -> None:
        for name, file in wacz_input.archive_files(self._file, self._zip, self.name):
            self._archives[name] = file
        names = [
            name
            for name in self._zip.namelist()
            if name.startswith("indexes/") and name.endswith((".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz"))
        ]
        if not names:
            raise InputError(f"{self.name} has no index in indexes/, so no player finds its pages")
        for name in names:
            self._database.executemany("INSERT INTO captures VALUES (?,?,?,?,?,?,?,?)", self._rows(name))
        for name, file in self._archives.items():
            self._database.executemany("INSERT INTO doms VALUES (?,?,?,?)", _doms(name, file))
        self._database.execute("CREATE INDEX by_key ON captures (key, ms)")
        self._database.execute("CREATE INDEX by_url ON doms (url, ms)")

    def close(self) -> None:
        """Close all files."""
        self._database.close()
        self._zip.close()
        self._file.close()

    def pages(self) -> Iterator[ListedPage]:
        """Yield the pages of the WACZ, each once. Raise `InputError` if it has no list of pages."""
        lists = [name for name in PAGE_LISTS if name in self._zip.namelist()]
        if not lists:
            raise InputError(
                f"{self.name} has no list of pages (pages/pages.jsonl): there is nothing to compare"
            )
        seen: set[tuple[str, int]] = set()
        for name in lists:
            with self._zip.open(name) as lines:
                for line in lines:
                    page = _listed_page(line)
                    if page is not None and (page.url, page.date_ms) not in seen:
                        seen.add((page.url, page.date_ms))
                        yield page

    def find(self, url: str, date_ms: int) -> ArchivedRecord | None:
        """Return the capture of a URL that is nearest in time, with its payload; None if a player finds none."""
        row = self._nearest(url, date_ms)
        return None if row is None else self._resolved(row)

    def dom(self, url: str, date_ms: int) -> bytes | None:
        """Return the DOM that was archived with a page; None if there is none."""
        found = self._database.execute(
            "SELECT file, offset, ms FROM doms WHERE url = ? AND abs(ms - ?) <= ? ORDER BY abs(ms - ?) LIMIT 1",
            (url, date_ms, DOM_WINDOW_MS, date_ms),
        ).fetchone()
        record = (
            None if found is None else self._read(Place(file=found[0], offset=found[1], date_ms=found[2]))
        )
        return None if record is None else record.payload

    def _nearest(self, url: str, date_ms: int) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._database.execute(
            "SELECT url, ms, mime, status, file, offset FROM captures WHERE key = ? "
            "ORDER BY url != ?, abs(ms - ?) LIMIT 1",
            (cdxj.surt_key(url), url, date_ms),
        ).fetchone()
        return found

    def _resolved(self, row: tuple[Any, ...]) -> ArchivedRecord | None:
        _, date_ms, mime, status, file, offset = row
        record = self._read(Place(file=file, offset=offset, date_ms=date_ms))
        if record is None or (record.type != REVISIT and mime != REVISIT_MIME):
            return record
        if status == 304 or record.revisit is None:
            return None
        original = self._database.execute(
            "SELECT ms, file, offset FROM captures WHERE key = ? AND mime != ? ORDER BY abs(ms - ?) LIMIT 1",
            (cdxj.surt_key(record.revisit.uri), REVISIT_MIME, record.revisit.date_ms),
        ).fetchone()
        payload = (
            None
            if original is None
            else self._read(Place(date_ms=original[0], file=original[1], offset=original[2]))
        )
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

    def _rows(self, name: str) -> Iterator[tuple[Any, ...]]:
        try:
            with self._zip.open(name) as packed:
                lines = gzip.GzipFile(fileobj=packed) if name.endswith(".gz") else packed
                for line in lines:
                    if line.startswith(b"!") or not line.strip():
                        continue
                    row = _row(line)
                    if row is None:
                        self.bad_lines += 1
                    else:
                        yield row
        except (EOFError, OSError, zlib.error) as error:
            raise CorruptData(f"{self.name}: {name} cannot be read ({error})") from None

    def __repr__(self) -> str:
        return f"<archive {self.name}>"


def _row(line: bytes) -> tuple[Any, ...] | None:
    try:
        _, moment, fields = line.decode().split(" ", 2)
        found = json.loads(fields) if len(line) <= MAX_LINE else {}
        status = str(found.get("status", ""))
        place = cdxj.CdxjRow(
            surt="", timestamp=moment, url=found["url"], mime=str(found.get("mime", "")), digest="", length=0,
            status=int(status) if status.isdecimal() else 0, offset=int(found["offset"]),
            filename=str(found["filename"]), ms=int(found.get("ms", 0)),
        )  # fmt: skip
        return (
            cdxj.surt_key(place.url),
            place.url,
            place.date_ms,
            place.mime,
            place.status,
            place.filename.removeprefix("archive/"),
            place.offset,
            str(found.get("digest", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _doms(name: str, file: BinaryIO) -> Iterator[tuple[Any, ...]]:
    for record in read_records(file, name=name, limit=SCAN_BYTES):
        if record.type == "conversion" and record.url.startswith(DOM_URI_PREFIX):
            yield record.url[len(DOM_URI_PREFIX) :], record.date_ms, name, record.offset


def _listed_page(line: bytes) -> ListedPage | None:
    try:
        found = json.loads(line) if len(line) <= MAX_LINE else {}
        url, moment = found["url"], str(found.get("ts") or "1970-01-01T00:00:00Z")
        if not url.startswith(HTTP):
            return None
        since = parse_moment(moment) - datetime(1970, 1, 1, tzinfo=UTC)
        return ListedPage(
            url=url,
            date_ms=round(since.total_seconds() * 1000),
            title=str(found.get("title") or ""),
            text=str(found.get("text") or ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # the first line describes the list
