"""The CDXJ lines of many WARC files in one order: the lines of each file are sorted and written, then all are merged.

Players answer a revisit with the status of its own record, so a page that its server had not changed (304) would be
empty at the time of that visit. Such a revisit gets no line: a player shows the capture before, which has the content.
"""

import dataclasses
import heapq
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from thresher.storage.manifest import Output
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.revisit import REVISIT_MIME

MAX_OPEN_FILES = 64
"""Index files that are merged at a time."""
NOT_MODIFIED = 304
REVISIT_FIELD, FOUND_FIELD = f'"mime": "{REVISIT_MIME}"', '"status": "200"'
"""As `cdxj.format_line` writes them. No value can hold them, for there its quotes are escaped."""


def read_rows(store: Store, index: Output) -> list[cdxj.CdxjRow]:
    """Return the rows of one stored index."""
    with store.open(index.name) as file:
        return list(cdxj.read(file, name=index.name))


def write_run(
    path: Path, rows: list[cdxj.CdxjRow], filename: str, moved: Mapping[int, tuple[int, int]] | None
) -> int:
    """Write the lines of one archive file, sorted, and return their number. They name it `filename`; `moved` has the
    new offset and length of each record by its old offset, if there are others.
    """
    lines = []
    for row in rows:
        if not is_shown(row):
            continue
        offset, length = (row.offset, row.length) if moved is None else moved[row.offset]
        lines.append(
            cdxj.format_line(dataclasses.replace(row, filename=filename, offset=offset, length=length))
        )
    path.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="ascii")
    return len(lines)


def is_shown(row: cdxj.CdxjRow) -> bool:
    """Return whether a WACZ indexes a record, so that players show it."""
    return row.mime != REVISIT_MIME or row.status != NOT_MODIFIED


def write_needs(path: Path, rows: Iterable[cdxj.CdxjRow]) -> None:
    """Write the key of each record that a revisit refers to, sorted, a line each: `surt timestamp`."""
    keys = {
        f"{cdxj.surt_key(row.original_url)} {cdxj.timestamp(row.original_date_ms)}\n"
        for row in rows
        if row.original_url and is_shown(row)
    }
    path.write_text("".join(sorted(keys)), encoding="ascii")


def watched_lines(lines: Iterable[str], icons: dict[str, bool], payloads: TextIO | None) -> Iterator[str]:
    """Yield the lines. Mark in `icons` the keys of those that were answered, and write the keys of those that are no
    revisits into `payloads`, as `write_needs` does.
    """
    for line in lines:
        if line.partition(" ")[0] in icons and FOUND_FIELD in line:
            icons[line.partition(" ")[0]] = True
        if payloads is not None and REVISIT_FIELD not in line:
            payloads.write(f"{line.partition(' {')[0]}\n")
        yield line


def merged_lines(runs: list[Path], directory: Path, life: ExitStack) -> Iterator[str]:
    """Return the lines of sorted files in their order, each with its line break. `directory` is for files that merge
    others; the files that are read stay open as long as `life`.
    """
    return _merged(_limit_runs(runs, directory), life)


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
