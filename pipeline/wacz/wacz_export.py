"""Export of a source as one WACZ file, which ReplayWeb.page and other tools open without Thresher.

1. WARC files in gzip are copied as they are. Others are recompressed, one gzip member per record, because readers of
   WACZ know no Zstandard. Damaged stretches of an ingested file are left out then.
2. The list of pages has each HTML page with status 200, with its title and the time of its capture. A revisit has no
   title. Requests that a page made while it was rendered are not listed, nor are robots.txt and sitemaps. The main page
   is the seed that was fetched first, of the first `MAX_SEEDS`.
3. Each byte of a bucket is read once: one WARC file at a time is copied to the directory of the WACZ, read there, and
   deleted. The SHA-256 of each WARC file is compared with its seal.
4. The same storage gives the same bytes. Memory holds the largest record, the index of one WARC file, and the ids of
   all sitemaps.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from thresher.core import CorruptData, InputError, Unavailable
from thresher.pipeline.steps.process import archive_outputs
from thresher.pipeline.terminal.progress import Progress
from thresher.pipeline.wacz.wacz_index import merged_lines, read_rows, write_run
from thresher.pipeline.wacz.wacz_pages import ListedPages, iso_moment
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Output, manifests, stored_digest
from thresher.storage.store import Store
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.members import members
from thresher.storage.warc.wacz import PAGES_HEAD, WaczWriter

CHUNK_BYTES = 1 << 20
MAX_RECORD_BYTES = 1 << 30
"""Maximum size of a record that is recompressed, because memory holds it."""
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
            exported = _write(store, source, sealed, Path(directory), title or source, progress)
            (Path(directory) / "whole").replace(out)
    except OSError as error:
        raise Unavailable(
            f"{out} cannot be written ({error.strerror or error}); make room or give another file"
        ) from error
    return exported


def _write(
    store: Store,
    source: str,
    sealed: Sequence[tuple[Output, Output]],
    directory: Path,
    title: str,
    progress: Progress,
) -> WaczSummary:
    whole, pages = directory / "whole", directory / "pages"
    runs: list[Path] = []
    records = found = anew = 0
    latest = ""
    listed_pages = ListedPages(store, source)
    progress.start("export-wacz", total=len(sealed))
    with WaczWriter(whole) as wacz:
        with pages.open("w", encoding="ascii") as listed:
            listed.write(f"{PAGES_HEAD}\n")
            for number, (warc, index) in enumerate(sealed):
                progress.advance(warc.name)
                name = _archive_name(warc.name)
                moved: dict[int, tuple[int, int]] | None = None
                rows = read_rows(store, index)
                with _local(store, warc, directory) as path, path.open("rb") as file:
                    if name == warc.name.rpartition("/")[2]:
                        wacz.add(f"archive/{name}", path)
                    else:
                        moved, anew = {}, anew + 1
                        gzipped = directory / "gzipped"
                        with gzipped.open("wb") as made:
                            made.writelines(_recompress(file, warc.name, moved))
                        wacz.add(f"archive/{name}", gzipped)
                        gzipped.unlink()
                    for row in sorted(rows, key=lambda row: row.offset):
                        latest = max(latest, row.timestamp)
                        line = listed_pages.line(file, row)
                        if line:
                            listed.write(f"{line}\n")
                            found += 1
                runs.append(directory / f"run-{number}")
                records += write_run(runs[-1], rows, name, moved)
        with ExitStack() as life:
            wacz.add_index(merged_lines(runs, directory, life), directory / "index")
        wacz.add_pages(pages)
        wacz.finish(
            {
                "title": title,
                "software": f"thresher {version('thresher')}",
                "created": iso_moment(latest),
                **({"mainPageUrl": listed_pages.main_page} if listed_pages.main_page else {}),
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
