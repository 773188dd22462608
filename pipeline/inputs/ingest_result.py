"""The output of the ingest command: a line per file, and a summary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import typer

from thresher.pipeline.inputs.commoncrawl_selection import SelectionSummary
from thresher.pipeline.inputs.ingest import IngestResult, IngestSummary
from thresher.pipeline.terminal.output import echo, print_result
from thresher.pipeline.terminal.reasons import counted

MAX_SINGLE_LINES = 20
"""Up to this many small files or index files get a line each. More share one line."""
MAX_COLUMNS = 40
"""Columns that a line names."""
NOT_KEPT_REASONS: Mapping[str, str] = {
    "too_long": "more than 1 MiB long",
    "too_deep": "nested deeper than 32 levels",
    "duplicate_name": "two columns have the name",
    "taken_name": "the name is that of the record's offset",
    "broken_name": "the name is empty, too long or no UTF-8",
    "too_many_columns": "more than 1,000 columns",
    "unknown_type": "the type cannot be stored",
}
MAX_WAITING = 10_000
"""Number of files that may wait to share one line."""


class IngestPrinter:
    """Prints one line per file, and one line for many small files or index files together."""

    def __init__(self, print_line: Callable[[str], None]) -> None:
        self._print_line = print_line
        self._waiting: dict[tuple[str, str], list[IngestResult]] = {}

    def add(self, result: IngestResult) -> None:
        """Print the result of a file, now or together with similar ones."""
        if result.status == "index" or (result.is_shared and not result.unusable):
            similar = self._waiting.setdefault((result.kind, result.status), [])
            similar.append(result)
            if len(similar) >= MAX_WAITING:
                self.flush()
        else:
            self._print_line(result_line(result))

    def flush(self) -> None:
        """Print the results that wait."""
        for similar in self._waiting.values():
            for text in (
                map(result_line, similar) if len(similar) <= MAX_SINGLE_LINES else (group_line(similar),)
            ):
                self._print_line(text)
        self._waiting.clear()


def print_summary(source: str, summary: IngestSummary, as_json: bool) -> None:
    """Print the result of an ingest. End the command with exit code 2 if a file was refused."""
    if summary.selection is not None:
        print_result(as_json, asdict(summary.selection), selection_line(source, summary.selection))
        return
    body: dict[str, Any] = asdict(summary) | {"unusable": dict(summary.unusable)}  # asdict breaks Counters
    del body["selection"]
    if summary.refused:
        body["error"] = summary.refused[0]["reason"]
    refused = f"; {len(summary.refused)} refused" if summary.refused else ""
    indexes = f"; {summary.indexes} index files passed over" if summary.indexes else ""
    line = (
        f"{source}: {summary.added} files added, {summary.known} known{refused}{indexes}; {summary.records:,} records, "
        f"{summary.entries:,} of them to be processed{_format_unusable(summary.unusable)}"
    )
    for about in column_lines(summary):
        echo(about, err=True)
    print_result(as_json, body, line)
    if summary.refused:
        raise typer.Exit(2)


def column_lines(summary: IngestSummary) -> list[str]:
    """Return the lines about the columns of the inputs: which are kept, and what is not kept and why."""
    lines = []
    if summary.columns:
        named = ", ".join(f"{name} ({kind})" for name, kind in list(summary.columns.items())[:MAX_COLUMNS])
        more = ", ..." if len(summary.columns) > MAX_COLUMNS else ""
        lines.append(f"{len(summary.columns)} columns kept: {named}{more}")
    for reason, by_name in summary.columns_not_kept.items():
        named = ", ".join(f"{name} ({count:,} values)" for name, count in list(by_name.items())[:MAX_COLUMNS])
        lines.append(f"not kept, {NOT_KEPT_REASONS.get(reason, reason)}: {named}")
    return lines


def selection_line(source: str, selected: SelectionSummary) -> str:
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


def group_line(similar: Sequence[IngestResult]) -> str:
    """Return the line about many files of one kind."""
    first = similar[0]
    if first.status == "index":
        return f"{len(similar):,} index files such as {first.name}: passed over, they hold no text"
    records, entries = sum(one.records for one in similar), sum(one.entries for one in similar)
    sums = f"{records:,} records, {entries:,} to be processed"
    return f"{len(similar):,} small files such as {first.name} ({first.kind}): {first.status}, {sums}"


def _format_unusable(unusable: Mapping[str, int]) -> str:
    return f"; passed over: {counted(unusable)}" if unusable else ""
