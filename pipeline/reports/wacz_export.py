"""Export of a source as one WACZ file, which ReplayWeb.page and other tools open without Thresher.

1. WARC files in gzip are copied as they are. Others are recompressed, one gzip member per record, because readers of
   WACZ know no Zstandard. Damaged stretches of an ingested file are left out then.
2. The list of pages has each HTML page with status 200, with its title and the time of its capture. A revisit has no
   title. Requests that a page made while it was rendered are not listed.
3. Each byte of a bucket is read once: one WARC file at a time is copied to the directory of the WACZ, read there, and
   deleted. The SHA-256 of each WARC file is compared with its seal.
4. Revisits of 304 answers are archived and not indexed: players answer them with the 304 and no page. Without them the
   newest capture with a payload is found.
5. The same storage gives the same bytes. The largest record and the index of one WARC file limit the memory.
"""

import dataclasses
import hashlib
import heapq
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from thresher.core import CorruptData, Failure, InputError, Unavailable, failure_boundary
from thresher.extract.charset import decode
from thresher.extract.mime import HTML, XHTML
from thresher.extract.references import unescape
from thresher.pipeline.steps.process import archive_outputs
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Output, manifests, stored_digest
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.members import members
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT_MIME
from thresher.storage.warc.wacz import WaczWriter, page, pieces

LOGGER = logging.getLogger(__name__)
CHUNK_BYTES = 1 << 20
MAX_RECORD_BYTES = 1 << 30
"""Maximum size of a record that is recompressed, because memory holds it."""
PAGE_MIME_TYPES = frozenset({HTML, XHTML, REVISIT_MIME})
"""Types in an index that may be pages. For a revisit only its head can tell."""
PAGE_RESOURCE_TYPES = frozenset({"", "document"})
"""Values of WARC-Resource-Type for pages. With any other value, a page requested the record while it was rendered."""
MAX_OPEN_FILES = 64
"""Index files that are merged at a time."""
TITLE_SEARCH_BYTES = 256 << 10
"""Bytes of a page in which its title is searched."""
MAX_TITLE_CHARACTERS = 500
TITLE = re.compile(r"<title[^<>]{0,200}+>([^<]{0,5000}+)", re.IGNORECASE)
WARC_SUFFIX = re.compile(r"\.warc(?:\.\w+)?$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaczSummary:
    """The contents of the file, as counts."""

    archives: int
    recompressed: int
    """Number of archives that were not gzip."""
    records: int
    """Number of records that can be looked up."""
    pages: int
    bytes: int


def export_wacz(store: Store, source: str, out: Path, title: str, progress: Progress) -> WaczSummary:
    """Write everything that a source has sealed into `out`, which appears when it is complete.

    Raise `InputError` if nothing is archived or the directory of `out` does not exist, `Unavailable` if the file cannot
    be written, `CorruptData` if an archive file is not as it was sealed. An existing `out` stays then.
    """
    sealed = [archive_outputs(manifest.outputs) for manifest in manifests(store, "archive", source)]
    if not sealed:
        raise InputError(
            f"{source}: nothing is archived under that name; give the name of a crawl or an ingest"
        )
    if not out.parent.is_dir():
        raise InputError(f"{out}: there is no directory {out.parent}; create it, or give another file")
    try:
        with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as directory:
            exported = _write(store, sealed, Path(directory), title or source, progress)
            (Path(directory) / "whole").replace(out)
    except OSError as error:
        raise Unavailable(
            f"{out} cannot be written ({error.strerror or error}); make room or give another file"
        ) from error
    return exported


def _write(
    store: Store, sealed: Sequence[tuple[Output, Output]], directory: Path, title: str, progress: Progress
) -> WaczSummary:
    whole, pages = directory / "whole", directory / "pages"
    runs: list[Path] = []
    records = found = anew = 0
    first = latest = ""
    progress.start("export-wacz", total=len(sealed))
    with WaczWriter(whole) as wacz:
        with pages.open("w", encoding="ascii") as listed:
            for number, (warc, index) in enumerate(sealed):
                progress.advance(warc.name)
                name = _archive_name(warc.name)
                moved: dict[int, tuple[int, int]] | None = None
                rows = _rows(store, index)
                with _local(store, warc, directory) as path, path.open("rb") as file:
                    if name == warc.name.rpartition("/")[2]:
                        wacz.add(f"archive/{name}", pieces(path), path.stat().st_size)
                    else:
                        moved, anew = {}, anew + 1
                        anew_path = directory / "recompressed"
                        with anew_path.open("wb") as recompressed:
                            recompressed.writelines(_recompress(file, warc.name, moved))
                        wacz.add(f"archive/{name}", pieces(anew_path), anew_path.stat().st_size)
                        anew_path.unlink()
                    for row in sorted(rows, key=lambda row: row.offset):
                        latest = max(latest, row.timestamp)
                        line = _page(file, row)
                        if line:
                            listed.write(f"{line}\n")
                            first = first or row.url
                            found += 1
                runs.append(directory / f"run-{number}")
                rows = [row for row in rows if not (row.mime == REVISIT_MIME and row.status == 304)]
                records += _write_run(runs[-1], rows, name, moved)
        with ExitStack() as life:
            wacz.add_index(_merged(_limit_runs(runs, directory), life), directory / "index")
        wacz.add_pages((line.rstrip("\n") for line in _lines(pages)), pages.stat().st_size)
        wacz.finish(
            {
                "title": title,
                "software": f"thresher {version('thresher')}",
                "created": _iso(latest),
                **({"mainPageUrl": first} if first else {}),
            }
        )
    progress.stop()
    size = whole.stat().st_size
    return WaczSummary(archives=len(sealed), recompressed=anew, records=records, pages=found, bytes=size)


def _archive_name(name: str) -> str:
    return f"{WARC_SUFFIX.sub('', name.rpartition('/')[2])}.warc.gz"


@contextmanager
def _local(store: Store, warc: Output, directory: Path) -> Iterator[Path]:
    """Yield a local path of the archive file. A copy of a file in a bucket is deleted with the context.

    Raise `CorruptData` if the file is not as it was sealed.
    """
    copy = directory / "copy"
    if isinstance(store, DirectoryStore):
        path, sha256 = store.path(warc.name), stored_digest(store, warc.name)
    else:
        path, sha256 = copy, _copy(store, warc.name, copy)
    if sha256 != warc.sha256:
        raise CorruptData(
            f"{warc.name} is not as it was sealed (its SHA-256 differs); `thresher verify` names what is damaged"
        )
    yield path
    copy.unlink(missing_ok=True)


def _copy(store: Store, name: str, path: Path) -> str:
    """Copy an object to a local file, and return its SHA-256."""
    sha256 = hashlib.sha256()
    with store.open(name) as there, path.open("wb") as here:
        while data := there.read(CHUNK_BYTES):
            here.write(data)
            sha256.update(data)
    return sha256.hexdigest()


def _recompress(file: BinaryIO, name: str, moved: dict[int, tuple[int, int]]) -> Iterator[bytes]:
    """Yield the records as gzip members. Put the new offset and length of each into `moved`, by its old offset."""
    # In an uncompressed file the end of a record is not part of its member.
    end = b"\r\n\r\n" if name.endswith(".warc") else b""
    offset = 0
    for each in members(file, 0, None, MAX_RECORD_BYTES, name=name):
        if each.problem is None and not each.is_whole:
            raise InputError(f"{name} at {each.offset}: a record of more than {MAX_RECORD_BYTES:,} bytes")
        if each.data:
            data = gzip_member(each.data + end)
            moved[each.offset] = (offset, len(data))
            offset += len(data)
            yield data


def _rows(store: Store, index: Output) -> list[cdxj.CdxjRow]:
    with store.open(index.name) as file:
        return list(cdxj.read(file, name=index.name))


def _write_run(
    path: Path, rows: Sequence[cdxj.CdxjRow], name: str, moved: dict[int, tuple[int, int]] | None
) -> int:
    """Write the index lines of one archive file, sorted and with their new places. Return how many."""
    lines = []
    for row in rows:
        offset, length = (row.offset, row.length) if moved is None else moved[row.offset]
        lines.append(
            cdxj.format_line(dataclasses.replace(row, filename=name, offset=offset, length=length)) + "\n"
        )
    path.write_text("".join(sorted(lines)), encoding="ascii")
    return len(lines)


def _limit_runs(runs: list[Path], directory: Path) -> list[Path]:
    """Merge sorted files until they may all be open at once, and return them."""
    while len(runs) > MAX_OPEN_FILES:
        some, runs = runs[:MAX_OPEN_FILES], runs[MAX_OPEN_FILES:]
        together = directory / f"merged-{os.urandom(8).hex()}"
        with ExitStack() as life, together.open("w", encoding="ascii") as file:
            file.writelines(_merged(some, life))
        for path in some:
            path.unlink()
        runs.append(together)
    return runs


def _merged(runs: list[Path], life: ExitStack) -> Iterator[str]:
    return heapq.merge(*(life.enter_context(path.open(encoding="ascii", newline="\n")) for path in runs))


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="ascii", newline="\n") as file:
        yield from file


def _page(file: BinaryIO, row: cdxj.CdxjRow) -> str:
    """Return the line of a row in the list of pages, or "" if it is no page. `file` is the archive file of the row."""
    if row.status != 200 or row.mime not in PAGE_MIME_TYPES or row.surt.endswith(")/robots.txt"):
        return ""
    record = next(read_records(file, row.offset, row.offset + 1, name=row.filename, limit=TITLE_SEARCH_BYTES))
    if record.mime not in {HTML, XHTML} or record.resource_type.lower() not in PAGE_RESOURCE_TYPES:
        return ""
    return page(row.url, _iso(row.timestamp), _title(record))


def _title(record: ArchivedRecord) -> str:
    """Return the title of a page, or "" if it has none, or none that can be read."""
    try:
        with failure_boundary("title"):
            found = TITLE.search(decode(record.payload, record.header("content-type")).text)
            return " ".join(unescape(found[1]).split())[:MAX_TITLE_CHARACTERS] if found else ""
    except Failure as failure:
        LOGGER.warning("%s at %s has no title: %s", record.ref.file, record.ref.offset, failure)
        return ""


def _iso(timestamp: str) -> str:
    """Return 14 digits as `2026-01-02T03:04:05Z`; without digits, the start of 1970."""
    digits = timestamp or "19700101000000"
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    return f"{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}Z"
