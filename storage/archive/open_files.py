"""Open files: where their bytes lie, and how an archive file is published.

An open file has its final name from the start, so that a `RecordRef` into it never changes:
`<crawl>-<writer>-<serial>` or `<crawl>-<label>~<writer>-<serial>`, and a suffix. No name of a writer has a `~`, so any
process finds the writer in a name, whatever the label. No two writers have the same name, so no two files have.

If the store is a directory, the file lies there, in `.open/` of its folder (`storage.archive.local_open_file`). In
other stores it is put piece by piece (`storage.archive.segments`). What was written before `sync` outlives its writer.
The folder of an archive file is `warc/<crawl>`, that of a file of the crawl's log is `log/<crawl>`
(`storage.crawllog.log_line`).

An archive file is published as three objects, each put once, in this order: the WARC, its CDXJ, its Manifest. A process
that finds this half done does it again, with the same bytes. If the file was made of a table, the table's columns are
put before it (`storage.columns.kept_table`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from thresher.core import Conflict
from thresher.storage.archive import local_open_file, segments
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import (
    JSON,
    Manifest,
    Output,
    fingerprint,
    load_manifest,
    manifest_name,
    put_output,
    seal,
    stored_digest,
)
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import compression_of, stem
from thresher.storage.warc.index_lines import IndexLines

WARC = "warc"
"""Folder of the archive files of all crawls."""
STEP_NAME = "archive"
STEP = f"{STEP_NAME}@1"
RECIPE: dict[str, JSON] = {"format": "WARC/1.1"}
INDEX_SUFFIX = ".cdxj.gz"
LABEL_END = "~"
WRITER_AND_SERIAL = re.compile(r"(.+)-(\d{5,})", re.ASCII)
OFFSET_DIGITS = segments.DIGITS
OFFSET = re.compile(rf"\d{{{OFFSET_DIGITS}}}", re.ASCII)
"""The offset in the name of a tail, behind the serial."""


def archive_outputs(outputs: Sequence[Output]) -> tuple[Output, Output]:
    """Return the WARC file and its index from the outputs of an archive part. A table of columns may be the third."""
    index = next(output for output in outputs if output.name.endswith(INDEX_SUFFIX))
    warc = next(output for output in outputs if output is not index and output.name.startswith(f"{WARC}/"))
    return warc, index


def is_crawled(manifest: Manifest) -> bool:
    """Return whether a crawl wrote an archive part; if not, it was ingested."""
    return "ingested" not in manifest.recipe


class OpenFile(Protocol):
    """The bytes of an open file, for its writer."""

    @property
    def path(self) -> Path:
        """A local file that holds all of them."""
        ...

    def write(self, data: bytes, at: int) -> None:
        """Write bytes at offset `at`, behind everything written before. If it raises, it may be called again."""
        ...

    def sync(self) -> None:
        """Make everything written durable. If it raises, it may be called again."""
        ...

    def close(self) -> None:
        """Close the file; what was synced stays for recovery."""
        ...

    def remove(self) -> None:
        """Remove the open file after it is published."""
        ...


class AbandonedFile(Protocol):
    """What a dead writer left of an open file."""

    @property
    def path(self) -> Path:
        """A local file of its bytes, which may be truncated."""
        ...

    def original_offset(self, place: int) -> int:
        """Return the offset in the open file of a byte of the local file."""
        ...

    def remove(self) -> None:
        """Remove the bytes of the local file from the store, after they are published or found worthless; keep what was
        added since.
        """
        ...


def create_open_file(store: Store, folder: str, name: str) -> OpenFile:
    """Create an open file."""
    if isinstance(store, DirectoryStore):
        return local_open_file.LocalOpenFile(store, folder, name)
    return segments.SegmentedOpenFile(store, folder, name)


def crawls_with_open_files(store: Store) -> list[str]:
    """Return the names of the crawls that have open archive files, in order."""
    return (
        local_open_file.folders(store, WARC)
        if isinstance(store, DirectoryStore)
        else segments.folders(store, WARC)
    )


def open_files(store: Store, folder: str) -> list[str]:
    """Return the names of all open files of a folder, of dead and living writers, in order."""
    return (
        local_open_file.open_files(store, folder)
        if isinstance(store, DirectoryStore)
        else segments.open_files(store, folder)
    )


def open_archive_files(store: Store, crawl: str) -> list[str]:
    """Return the names of the open archive files of a crawl, of dead and living writers, in order."""
    found = open_files(store, f"{WARC}/{crawl}")
    return [name for name in found if name.startswith(f"{crawl}-") and compression_of(name)]


def snapshot(store: Store, folder: str, name: str) -> AbstractContextManager[Path | None]:
    """Yield a local file with the current bytes of an open file; None if it is gone. Do not change the local file."""
    if isinstance(store, DirectoryStore):
        return local_open_file.snapshot(store, folder, name)
    return segments.snapshot(store, folder, name)


def read_from(store: Store, folder: str, name: str, at: int) -> bytes | None:
    """Return what was synced to an open file from offset `at`, at which an earlier call ended; None if the file is
    gone.
    """
    if isinstance(store, DirectoryStore):
        return local_open_file.read_from(store, folder, name, at)
    return segments.read_from(store, folder, name, at)


def claim(store: Store, folder: str, name: str) -> AbstractContextManager[AbandonedFile | None]:
    """Yield what is left of an open file whose writer is dead; None if the writer lives after all, or another process
    was first.
    """
    if isinstance(store, DirectoryStore):
        return local_open_file.claim(store, folder, name)
    return segments.claim(store, folder, name)


def archive_stem(crawl: str, writer: str, serial: int, label: str) -> str:
    """Return the name of an archive file, without its suffix."""
    return f"{crawl}-{f'{label}{LABEL_END}' if label else ''}{writer}-{serial:05d}"


def writer_and_serial(crawl: str, name: str) -> tuple[str, int]:
    """Return the writer and the serial in the name of an archive file, or in its stem; an empty writer if the name is
    not one of ours.
    """
    found = WRITER_AND_SERIAL.fullmatch(stem(name).removeprefix(f"{crawl}-").rpartition(LABEL_END)[2])
    return (found[1], int(found[2])) if found else ("", 0)


def tail_name(file: str, offset: int) -> str:
    """Return the name, or its stem, of what lies in an open file from that byte on, and was put when the file was
    sealed already.

    It has the same writer, and comes between the file and its next in byte order.
    """
    name = stem(file)
    return f"{name}{offset:0{OFFSET_DIGITS}d}{file.removeprefix(name)}"


def is_file_or_tail(file: str, name: str) -> bool:
    """Return whether a published file is an open file's, or a tail of it; both names or both stems."""
    more = stem(name).removeprefix(stem(file))
    return stem(name).startswith(stem(file)) and (not more or bool(OFFSET.fullmatch(more)))


def publish_archive(  # noqa: PLR0913 - a file, and the facts of its Manifest
    store: Store,
    crawl: str,
    file_name: str,
    whole: Path,
    *,
    lines: IndexLines,
    counts: Counter[str],
    sha256: str,
) -> Manifest:
    """Publish the bytes of `whole` as the archive file of that name, with its index and its Manifest.

    If it raises, it may be called again. Raise `Conflict` if other bytes are published already: another process has
    recovered the file, because its writer was declared dead.
    """
    part = f"{crawl}/{stem(file_name)}"
    sealed = manifest_name(STEP_NAME, part)
    if not whole.exists() and store.exists(sealed):
        return load_manifest(store, sealed)
    name, index = f"warc/{crawl}/{file_name}", f"warc/{part}{INDEX_SUFFIX}"
    if not store.put_file(whole, name) and stored_digest(store, name) != sha256:
        raise Conflict(f"{name} was published by another process, with other bytes")
    warc = Output(name=name, bytes=whole.stat().st_size, sha256=sha256, rows=counts.total())
    manifest = Manifest(
        step=STEP,
        part=part,
        fingerprint=fingerprint(STEP, RECIPE, ()),
        recipe=RECIPE,
        inputs=(),
        outputs=(warc, put_output(store, index, len(lines), lambda path: cdxj.write(path, lines))),
        counts=counts,
    )
    seal(store, manifest)
    return manifest
