"""Recovery: what dead writers left becomes archive files like any other.

1. The file is cut behind its last whole record; damaged stretches before that are taken out.
2. A writer that lives holds a lock on its file, and is left alone whatever `writer_is_dead` says.
3. Recovery may be killed and run again, or run twice at the same time.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from core import InputError
from storage import cdxj
from storage.files import Files, sync, writing
from storage.manifest import Manifest, digest
from storage.records import DAMAGED, read
from storage.unfinished import open_files, publish, writer_and_serial

PIECE = 1 << 20
"""Bytes copied at a time."""


class Survivor(NamedTuple):
    """A response record that outlived its writer."""

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


def recover(files: Files, crawl: str, writer_is_dead: Callable[[str], bool]) -> list[Recovered]:
    """Seal what dead writers left of a crawl. Files that hold no exchange are removed.

    Every record that was committed is in the result, and so is every whole one behind it.
    """
    found = []
    for path in open_files(files, crawl):
        writer, _ = writer_and_serial(crawl, path.name)
        if not writer or not writer_is_dead(writer):
            continue
        file = _locked(path)
        if file is None:
            continue
        with file, writing(files.root):
            recovered = _recovered(files, crawl, writer, path)
        if recovered is not None:
            found.append(recovered)
    return found


def _recovered(files: Files, crawl: str, writer: str, path: Path) -> Recovered | None:
    """What is whole of the file, sealed. Offsets are counted anew, as if damaged stretches had never been."""
    name = f"warc/{crawl}/{path.name}"
    spans: list[tuple[int, int]] = []
    counts: Counter[str] = Counter()
    lines: list[str] = []
    survivors: list[Survivor] = []
    size = 0
    with suppress(InputError):  # raised where not even the first record is there
        for record in read(path, name=name):
            if record.type == DAMAGED:
                continue
            if record.type == "response":
                ref = replace(record.ref, offset=size)
                row = cdxj.row(
                    ref=ref, url=record.url, date_ms=record.date_ms, mime=record.mime, status=record.status
                )
                lines.append(cdxj.line(row))
                survivors.append(Survivor(record.record_id, record.url, record.status or 0, size))
            counts[record.type] += 1
            _extend(spans, record.offset, record.length)
            size += record.length
    if not counts["request"] + counts["response"]:
        path.unlink()
        sync(path.parent)
        return None
    if spans == [(0, size)]:
        os.truncate(path, size)
        sync(path)
        manifest = publish(files, crawl, path, path, lines=lines, counts=counts, sha256=digest(path))
    else:
        # Damage between whole records: the machine lost power, or the disk is failing.
        with files.stage(name) as staged:
            _copy(path, spans, staged.path)
            sha256 = digest(staged.path)
            manifest = publish(files, crawl, path, staged.path, lines=lines, counts=counts, sha256=sha256)
    return Recovered(manifest=manifest, writer=writer, records=tuple(survivors))


def _locked(path: Path) -> BinaryIO | None:
    """The file, locked; None where its writer lives, or another has recovered it."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    if not path.exists():
        file.close()
        return None
    return file


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
