"""Recovery: what dead writers left becomes archive files like any other.

1. The file is cut behind its last whole record; damaged stretches before that are taken out.
2. Where the store is a directory, a writer that lives holds a lock on its file, and is left alone whatever
   `writer_is_dead` says.
3. Recovery may be killed and run again, or run twice at the same time.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core import InputError
from storage import cdxj
from storage.compression import stem
from storage.files import sync
from storage.lines import Lines
from storage.manifest import Manifest, digest, manifest_name
from storage.records import DAMAGED, read
from storage.revisit import REVISIT
from storage.store import Store
from storage.unfinished import STEP_NAME, WARC, left, publish, take, writer_and_serial

PIECE = 1 << 20
"""Bytes copied at a time."""
ANSWERS = frozenset({"response", REVISIT})


class Survivor(NamedTuple):
    """A response or revisit record that outlived its writer."""

    record_id: str
    url: str
    status: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A file of a dead writer, sealed."""

    manifest: Manifest
    writer: str
    records: tuple[Survivor, ...]


def recover(store: Store, crawl: str, writer_is_dead: Callable[[str], bool]) -> list[Recovered]:
    """Seal what dead writers left of a crawl. Files that hold no exchange are removed.

    Every record that was committed is in the result, and so is every whole one behind it.
    """
    found = []
    for name in left(store, crawl):
        writer, _ = writer_and_serial(crawl, name)
        if not writer or not writer_is_dead(writer):
            continue
        with take(store, f"{WARC}/{crawl}", name) as remains:
            if remains is None:
                continue
            # Sealed already: another recovery is removing what is left, and it may be no longer whole.
            done = store.exists(manifest_name(STEP_NAME, f"{crawl}/{stem(name)}"))
            recovered = None if done else _recovered(store, crawl, writer, name, remains.path)
            remains.end()
        if recovered is not None:
            found.append(recovered)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What lies in an open file that nobody writes to, and is not sealed."""

    name: str
    records: int
    """That are whole."""
    whole: int
    """Bytes of these."""
    torn: int
    """Bytes that are no record."""


def remains(store: Store, crawl: str) -> Iterator[Remains]:
    """What dead writers left of a crawl, and nobody has recovered yet. Nothing is changed.

    Where the store is no directory, a writer may live that is named here.
    """
    for name in left(store, crawl):
        with take(store, f"{WARC}/{crawl}", name) as found:
            if found is None:
                continue
            size, records, whole = found.path.stat().st_size, 0, 0
            with found.path.open("rb") as file, suppress(InputError):
                for record in read(file, name=name):
                    if record.type != DAMAGED:
                        records, whole = records + 1, whole + record.length
            yield Remains(name=name, records=records, whole=whole, torn=size - whole)


def _recovered(store: Store, crawl: str, writer: str, file_name: str, path: Path) -> Recovered | None:
    """What is whole of the file, sealed. Offsets are counted anew, as if damaged stretches had never been."""
    name = f"warc/{crawl}/{file_name}"
    spans: list[tuple[int, int]] = []
    counts: Counter[str] = Counter()
    lines = Lines()
    survivors: list[Survivor] = []
    size = 0
    # InputError is raised where not even the first record is there.
    with path.open("rb") as file, suppress(InputError):
        for record in read(file, name=name):
            if record.type == DAMAGED:
                continue
            row = cdxj.row_of(record, replace(record.ref, offset=size))
            if row is not None:
                lines.append(cdxj.line(row))
            if record.type in ANSWERS:
                survivors.append(Survivor(record.record_id, record.url, record.status or 0, size))
            counts[record.type] += 1
            _extend(spans, record.offset, record.length)
            size += record.length
    if not counts.keys() - {"warcinfo"}:
        return None
    if spans == [(0, size)]:
        os.truncate(path, size)
        sync(path)
        manifest = publish(store, crawl, file_name, path, lines=lines, counts=counts, sha256=digest(path))
    else:
        # Damage between whole records: the machine lost power, or the disk is failing.
        with store.stage(name) as staged:
            _copy(path, spans, staged.path)
            sha256 = digest(staged.path)
            manifest = publish(
                store, crawl, file_name, staged.path, lines=lines, counts=counts, sha256=sha256
            )
    return Recovered(manifest=manifest, writer=writer, records=tuple(survivors))


def _extend(spans: list[tuple[int, int]], begin: int, length: int) -> None:
    if spans and spans[-1][1] == begin:
        spans[-1] = (spans[-1][0], begin + length)
    else:
        spans.append((begin, begin + length))


def _copy(source: Path, spans: list[tuple[int, int]], target: Path) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        for begin, end in spans:
            old.seek(begin)
            while data := old.read(min(PIECE, end - old.tell())):
                new.write(data)
