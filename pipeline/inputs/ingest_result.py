"""What the ingest command says: a line a file, and what came of all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import typer

from pipeline.inputs import commoncrawl_input
from pipeline.inputs.commoncrawl_input import Selected
from pipeline.inputs.commoncrawl_selection import Wanted
from pipeline.inputs.ingest import Brought, Ingested, Ways, ingest
from pipeline.inputs.locate import given
from pipeline.project import Project
from pipeline.terminal.output import echo, say
from pipeline.terminal.progress import stderr_progress
from pipeline.terminal.reasons import counted
from storage.store import Store

ONE_BY_ONE = 20
"""Small files, and index files, that have a line each; more have one together."""
MOST_WAITING = 10_000
"""Files that wait to be said in one line."""


def run_ingest(store: Store, source: str, inputs: Iterable[str], ways: Ways, as_json: bool) -> None:
    """Bring in every input, and say so. Ends the command with exit code 2 where one was refused."""
    store.sweep()
    lines = Lines(partial(echo, err=True))
    done = ingest(store, source, given(inputs), ways, lines.take)
    lines.end()
    _say(source, done, as_json)


def run_commoncrawl(
    project: Project, source: str, inputs: Iterable[str], wanted: Wanted, as_json: bool
) -> None:
    """Bring in what is wanted of Common Crawl, and say so. Ends the command with exit code 2 where a file was refused."""
    project.store.sweep()
    progress = stderr_progress()
    with commoncrawl_input.opened(project.config) as client:
        if wanted.is_selective:
            selected = commoncrawl_input.select_all(project.store, source, client, inputs, wanted, progress)
            say(as_json, asdict(selected), selected_line(source, selected))
            return
        lines = Lines(partial(echo, err=True))
        done = commoncrawl_input.bring_all(
            project.store, source, client, inputs, wanted, progress, lines.take
        )
        lines.end()
    _say(source, done, as_json)


class Lines:
    """Says what became of each file, in a line; of many small files and many index files, in a line for all."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._waiting: dict[tuple[str, str], list[Brought]] = {}

    def take(self, brought: Brought) -> None:
        """Say what became of a file, now or with others like it."""
        if brought.fate == "index" or (brought.is_shared and not brought.unusable):
            same = self._waiting.setdefault((brought.kind, brought.fate), [])
            same.append(brought)
            if len(same) >= MOST_WAITING:
                self.end()
        else:
            self._say(line(brought))

    def end(self) -> None:
        """Say what is left to be said."""
        for same in self._waiting.values():
            for text in map(line, same) if len(same) <= ONE_BY_ONE else (line_of_all(same),):
                self._say(text)
        self._waiting.clear()


def _say(source: str, done: Ingested, as_json: bool) -> None:
    body: dict[str, Any] = asdict(done) | {"unusable": dict(done.unusable)}  # it takes Counters apart
    if done.refused:
        body["error"] = done.refused[0]["reason"]
    refused = f"; {len(done.refused)} refused" if done.refused else ""
    indexes = f"; {done.indexes} index files passed over" if done.indexes else ""
    told = (
        f"{source}: {done.added} files added, {done.known} known{refused}{indexes}; {done.records:,} records, "
        f"{done.entries:,} of them to be processed{_passed(done.unusable)}"
    )
    say(as_json, body, told)
    if done.refused:
        raise typer.Exit(2)


def selected_line(source: str, selected: Selected) -> str:
    """What a look-up brought in."""
    return (
        f"{source}: {selected.found:,} records found, {selected.known:,} of them known, {selected.added:,} added in "
        f"{selected.files:,} archive files{_passed(selected.unusable)}"
    )


def line(brought: Brought) -> str:
    """What became of one file."""
    if brought.fate == "refused":
        return f"thresher: {brought.reason}"
    if brought.fate == "index":
        return f"{brought.name}: passed over, an index file holds no text"
    sums = f"{brought.records:,} records, {brought.entries:,} to be processed"
    return f"{brought.name} ({brought.kind}): {brought.fate}, {sums}{_passed(brought.unusable)}"


def line_of_all(same: Sequence[Brought]) -> str:
    """What became of many files of one kind."""
    first = same[0]
    if first.fate == "index":
        return f"{len(same):,} index files such as {first.name}: passed over, they hold no text"
    records, entries = sum(one.records for one in same), sum(one.entries for one in same)
    sums = f"{records:,} records, {entries:,} to be processed"
    return f"{len(same):,} small files such as {first.name} ({first.kind}): {first.fate}, {sums}"


def _passed(unusable: Mapping[str, int]) -> str:
    return f"; passed over: {counted(unusable)}" if unusable else ""
