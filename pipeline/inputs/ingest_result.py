"""The output of the ingest command: a line per file, and a summary."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from pipeline.inputs.commoncrawl_selection import CommonCrawlSelection
from pipeline.inputs.ingest import IngestOptions, IngestResult, IngestSummary, ingest
from pipeline.inputs.locate import locate_inputs
from pipeline.open_project import OpenProject
from pipeline.terminal.output import echo, print_result
from pipeline.terminal.progress import stderr_progress
from pipeline.terminal.reasons import counted
from storage.store import Store

if TYPE_CHECKING:
    from pipeline.inputs.commoncrawl_input import SelectionSummary

ONE_BY_ONE = 20
"""Up to this many small files or index files get a line each. More share one line."""
MOST_WAITING = 10_000
"""Maximum number of files that wait to share one line."""


def run_ingest(
    store: Store, source: str, inputs: Iterable[str], options: IngestOptions, as_json: bool
) -> None:
    """Ingest every input, and print the results. End the command with exit code 2 if one was refused."""
    store.sweep()
    lines = IngestPrinter(partial(echo, err=True))
    done = ingest(store, source, locate_inputs(inputs), options, lines.add)
    lines.flush()
    _print_summary(source, done, as_json)


def run_commoncrawl(
    project: OpenProject, source: str, inputs: Iterable[str], selection: CommonCrawlSelection, as_json: bool
) -> None:
    """Ingest a selection of Common Crawl, and print the result. End with exit code 2 if a file was refused."""
    from pipeline.inputs import commoncrawl_input  # noqa: PLC0415 - imports HTTP and S3; files need neither

    project.store.sweep()
    progress = stderr_progress()
    with commoncrawl_input.open_client(project.config) as client:
        job = commoncrawl_input.CommonCrawlJob(
            store=project.store, source=source, client=client, progress=progress
        )
        if selection.is_selective:
            selected = commoncrawl_input.ingest_selections(job, inputs, selection)
            print_result(as_json, asdict(selected), selection_line(source, selected))
            return
        lines = IngestPrinter(partial(echo, err=True))
        done = commoncrawl_input.ingest_files(job, inputs, selection, lines.add)
        lines.flush()
    _print_summary(source, done, as_json)


class IngestPrinter:
    """Prints one line per file, and one line for many small files or index files together."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._waiting: dict[tuple[str, str], list[IngestResult]] = {}

    def add(self, result: IngestResult) -> None:
        """Print the result of a file, now or together with similar ones."""
        if result.status == "index" or (result.is_shared and not result.unusable):
            same = self._waiting.setdefault((result.kind, result.status), [])
            same.append(result)
            if len(same) >= MOST_WAITING:
                self.flush()
        else:
            self._say(result_line(result))

    def flush(self) -> None:
        """Print the results that wait."""
        for same in self._waiting.values():
            for text in map(result_line, same) if len(same) <= ONE_BY_ONE else (group_line(same),):
                self._say(text)
        self._waiting.clear()


def _print_summary(source: str, done: IngestSummary, as_json: bool) -> None:
    body: dict[str, Any] = asdict(done) | {"unusable": dict(done.unusable)}  # asdict breaks Counters
    if done.refused:
        body["error"] = done.refused[0]["reason"]
    refused = f"; {len(done.refused)} refused" if done.refused else ""
    indexes = f"; {done.indexes} index files passed over" if done.indexes else ""
    line = (
        f"{source}: {done.added} files added, {done.known} known{refused}{indexes}; {done.records:,} records, "
        f"{done.entries:,} of them to be processed{_format_unusable(done.unusable)}"
    )
    print_result(as_json, body, line)
    if done.refused:
        raise typer.Exit(2)


def selection_line(source: str, selected: "SelectionSummary") -> str:
    """Return the line about a selection of records."""
    return (
        f"{source}: {selected.found:,} records found, {selected.known:,} of them known, {selected.added:,} added in "
        f"{selected.files:,} archive files{_format_unusable(selected.unusable)}"
    )


def result_line(result: IngestResult) -> str:
    """Return the line about one file."""
    if result.status == "refused":
        return f"thresher: {result.reason}"
    if result.status == "index":
        return f"{result.name}: passed over, an index file holds no text"
    sums = f"{result.records:,} records, {result.entries:,} to be processed"
    return f"{result.name} ({result.kind}): {result.status}, {sums}{_format_unusable(result.unusable)}"


def group_line(same: Sequence[IngestResult]) -> str:
    """Return the line about many files of one kind."""
    first = same[0]
    if first.status == "index":
        return f"{len(same):,} index files such as {first.name}: passed over, they hold no text"
    records, entries = sum(one.records for one in same), sum(one.entries for one in same)
    sums = f"{records:,} records, {entries:,} to be processed"
    return f"{len(same):,} small files such as {first.name} ({first.kind}): {first.status}, {sums}"


def _format_unusable(unusable: Mapping[str, int]) -> str:
    return f"; passed over: {counted(unusable)}" if unusable else ""
