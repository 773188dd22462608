"""Recovery: what dead writers left becomes archive files like any other.

1. The file is cut behind its last whole record. Damaged stretches before that are removed.
2. If the store is a directory, a living writer holds a lock on its file, and recovery leaves the file alone whatever
   `writer_is_dead` says.
3. Recovery may be killed and run again, run twice at the same time, or run while the writer lives after all.
4. Recovery removes only what is in a sealed file. A writer whose machine slept may add to a file that was sealed
   meanwhile: what it added is sealed as a file of its own, a tail (`storage.archive.open_files.tail_name`).
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from thresher.core import Conflict, CorruptData, InputError
from thresher.storage.archive.open_files import (
    STEP_NAME,
    WARC,
    AbandonedFile,
    claim,
    is_file_or_tail,
    open_archive_files,
    publish_archive,
    tail_name,
    writer_and_serial,
)
from thresher.storage.archive.provenance import CONFORMS_TO
from thresher.storage.archive.reseal import reseal
from thresher.storage.directory_store import sync
from thresher.storage.manifest import Manifest, digest, manifest_name
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import compression_of, compressor, gzip_member, stem
from thresher.storage.warc.exchange_records import warcinfo
from thresher.storage.warc.index_lines import IndexLines
from thresher.storage.warc.records import DAMAGED, read_records
from thresher.storage.warc.revisit import REVISIT

PIECE = 1 << 20
"""Bytes copied at a time."""
RESPONSE_TYPES = frozenset({"response", REVISIT})


class RecoveredRecord(NamedTuple):
    """A response or revisit record that outlived its writer."""

    record_id: str
    url: str
    status: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredFile:
    """A file of a dead writer after it was sealed."""

    manifest: Manifest
    writer: str
    records: tuple[RecoveredRecord, ...]


def recover_archives(store: Store, crawl: str, writer_is_dead: Callable[[str], bool]) -> list[RecoveredFile]:
    """Seal what dead writers left of a crawl, and return it. Remove files that hold no exchange.

    The result has every record that was committed, and every whole record behind them.
    """
    found = []
    for name in open_archive_files(store, crawl):
        writer, _ = writer_and_serial(crawl, name)
        if not writer or not writer_is_dead(writer):
            continue
        with claim(store, f"{WARC}/{crawl}", name) as remains:
            if remains is None:
                continue
            recovered = _recover_file(store, crawl, writer, name, remains)
            remains.remove()
        if recovered is not None:
            found.append(recovered)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverableFile:
    """What lies in an open file that nobody writes to, and that is not sealed."""

    name: str
    records: int
    """Whole records."""
    record_bytes: int
    """Bytes of the whole records."""
    torn_bytes: int
    """Bytes that belong to no whole record."""


def recoverable_files(store: Store, crawl: str) -> Iterator[RecoverableFile]:
    """Yield what dead writers left of a crawl and nobody has recovered yet. Change nothing.

    If the store is no directory, the writer of a yielded file may be alive.
    """
    for name in open_archive_files(store, crawl):
        with claim(store, f"{WARC}/{crawl}", name) as found:
            if found is None:
                continue
            size, records, whole = found.path.stat().st_size, 0, 0
            with found.path.open("rb") as file, suppress(InputError):
                for record in read_records(file, name=name):
                    if record.type != DAMAGED:
                        records, whole = records + 1, whole + record.length
            yield RecoverableFile(name=name, records=records, record_bytes=whole, torn_bytes=size - whole)


@dataclass(slots=True, kw_only=True)
class _Whole:
    """The whole records of an open file that no published file holds. Their new offsets begin at the length of the
    opening.
    """

    size: int
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of the open file: first byte, and the byte behind the last."""
    counts: Counter[str] = field(default_factory=Counter)
    lines: IndexLines = field(default_factory=IndexLines)
    survivors: list[RecoveredRecord] = field(default_factory=list)


def _recover_file(
    store: Store, crawl: str, writer: str, file_name: str, abandoned: AbandonedFile
) -> RecoveredFile | None:
    """Seal what is whole of an open file and in no published file; return None if there is nothing."""
    while True:
        published = _published(store, crawl, file_name)
        published_ids = set[str]().union(*(_ids(store, name) for name in published))
        name, opening = file_name, b""
        whole = _whole(abandoned.path, f"{WARC}/{crawl}/{name}", opening, published_ids)
        if not whole.counts.keys() - {"warcinfo"}:
            return None
        if published:
            first = whole.spans[0][0]
            name = tail_name(file_name, abandoned.original_offset(first))
            opening = _opening(crawl, name, abandoned.path, first)
            whole = _whole(abandoned.path, f"{WARC}/{crawl}/{name}", opening, published_ids)
        try:
            manifest = _publish(store, crawl, name, abandoned.path, opening, whole)
        except Conflict as error:  # another process was quicker; seal what that one did not have
            if f"{WARC}/{crawl}/{name}" in published:
                raise _other(name) from error
            continue
        return RecoveredFile(manifest=manifest, writer=writer, records=tuple(whole.survivors))


def _published(store: Store, crawl: str, file_name: str) -> list[str]:
    """Return the sealed archive files that were made of an open file. Seal those that were published without a seal."""
    found = [
        name
        for name in store.list(f"{WARC}/{crawl}/{stem(file_name)}")
        if compression_of(name) and is_file_or_tail(file_name, name.rpartition("/")[2])
    ]
    for name in found:
        if not store.exists(manifest_name(STEP_NAME, stem(name).removeprefix(f"{WARC}/"))):
            try:
                reseal(store, name, anew=False)
            except InputError as error:
                raise _other(name) from error
    return found


def _ids(store: Store, name: str) -> Iterator[str]:
    """Yield the ids of the whole records of an archive file. Raise `CorruptData` if the file is no archive."""
    try:
        with store.open(name) as file:
            yield from (
                record.record_id for record in read_records(file, name=name) if record.type != DAMAGED
            )
    except InputError as error:
        raise _other(name) from error


def _other(name: str) -> CorruptData:
    return CorruptData(f"{name} is published with other bytes than its writer had; compare and remove one")


def _whole(path: Path, name: str, opening: bytes, published_ids: set[str]) -> _Whole:
    """Return the whole records of a file except those in `published_ids`.

    `name` and `opening` are those of the archive file that will hold them.
    """
    found = _Whole(size=len(opening))
    # `read_records` raises InputError if not even the first record is there.
    with path.open("rb") as file, suppress(InputError):
        for record in read_records(file, name=name):
            if record.type == DAMAGED or record.record_id in published_ids:
                continue
            row = cdxj.row_of(record, replace(record.ref, offset=found.size))
            if row is not None:
                found.lines.append(cdxj.format_line(row))
            if record.type in RESPONSE_TYPES:
                survivor = RecoveredRecord(record.record_id, record.url, record.status or 0, found.size)
                found.survivors.append(survivor)
            found.counts[record.type] += 1
            _extend(found.spans, record.offset, record.length)
            found.size += record.length
    return found


def _publish(store: Store, crawl: str, name: str, path: Path, opening: bytes, whole: _Whole) -> Manifest:
    counts = whole.counts + Counter({"warcinfo": 1} if opening else {})
    seal = partial(publish_archive, store, crawl, name, lines=whole.lines, counts=counts)
    if not opening and whole.spans == [(0, whole.size)]:
        os.truncate(path, whole.size)
        sync(path)
        return seal(path, sha256=digest(path))
    # It is a tail, or there is damage between whole records: the machine lost power, or the disk is failing.
    with store.stage(f"{WARC}/{crawl}/{name}") as staged:
        _copy(path, opening, whole.spans, staged.path)
        return seal(staged.path, sha256=digest(staged.path))


def _opening(crawl: str, name: str, path: Path, first: int) -> bytes:
    """Return the warcinfo record of a tail, as a member. Its date is that of the tail's first record."""
    with path.open("rb") as file:
        date_ms = next(read_records(file, first, first + 1, name=name)).date_ms
    fields = {
        "software": "thresher",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "isPartOf": crawl,
        "robots": "obey",
    }
    info = warcinfo(name, date_ms=date_ms, fields=fields)
    return gzip_member(info) if compression_of(name) == "gzip" else compressor("zstd")(info)


def _extend(spans: list[tuple[int, int]], begin: int, length: int) -> None:
    if spans and spans[-1][1] == begin:
        spans[-1] = (spans[-1][0], begin + length)
    else:
        spans.append((begin, begin + length))


def _copy(source: Path, opening: bytes, spans: list[tuple[int, int]], target: Path) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        new.write(opening)
        for begin, end in spans:
            old.seek(begin)
            while data := old.read(min(PIECE, end - old.tell())):
                new.write(data)
