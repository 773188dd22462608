"""Progress of long work on stderr: bars on a terminal, plain lines otherwise."""

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from pipeline.telemetry.json_log import is_json, json_line
from pipeline.terminal.printable import printable

LINE_INTERVAL_S = 5.0
BAR = 12
"""Columns of the bar itself. On 80 columns this leaves room for the numbers and for a note of about 35 characters."""


class Progress(Protocol):
    """Receives the progress of a running step."""

    def start(self, title: str, total: int | None) -> None:
        """Begin to count to `total` items, or without an end if `total` is None."""

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Add `by` finished items. `total` replaces the total if it changed."""

    def print_line(self, line: str) -> None:
        """Show a separate line."""

    def stop(self) -> None:
        """End the count."""


class BarProgress:
    """Rich bars for a terminal. Each takes one line at any width: the end of a note that does not fit is cut."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Bars(
            _text("{task.description}"),
            BarColumn(bar_width=BAR),
            _text("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn(
                "{task.fields[note]}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=console,
            expand=True,
        )
        self._task: TaskID | None = None
        self._done = 0
        self._total: int | None = None

    def start(self, title: str, total: int | None) -> None:
        """Show a new bar."""
        self._bars.start()
        self._done, self._total = 0, total
        self._task = self._bars.add_task(title, total=total, note="", count=self._count)

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Move the bar."""
        if self._task is not None:
            self._done += by
            self._total = self._total if total is None else total
            self._bars.update(
                self._task, completed=self._done, total=self._total, note=printable(note), count=self._count
            )

    def print_line(self, line: str) -> None:
        """Show a line above the bar."""
        self._console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Leave the bar on the screen as it is."""
        self._bars.stop()

    @property
    def _count(self) -> str:
        return f"{self._done:,}" if self._total is None else f"{self._done:,}/{self._total:,}"


class LineProgress:
    """Prints a line at most every `LINE_INTERVAL_S` seconds, for a log file."""

    def __init__(self) -> None:
        self._title, self._done, self._last = "", 0, 0.0
        self._total: int | None = None

    def start(self, title: str, total: int | None) -> None:
        """Begin to count."""
        self._title, self._total, self._done, self._last = title, total, 0, time.monotonic()

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Count, and print the count if the last line is old enough."""
        self._done += by
        self._total = self._total if total is None else total
        if time.monotonic() - self._last >= LINE_INTERVAL_S:
            self._last = time.monotonic()
            self._print(note)

    def print_line(self, line: str) -> None:
        """Print a line unchanged, as JSON if the user wants log lines so."""
        print(json_line(line) if is_json() else printable(line), file=sys.stderr, flush=True)  # noqa: T201

    def stop(self) -> None:
        """Print the final count, if anything was counted."""
        if self._done:
            self._print("")

    def _print(self, note: str) -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        self.print_line(f"{self._title}: {self._done:,}{of}{', ' if note else ''}{note}")


class SilentProgress:
    """Shows nothing but separate lines, for workers whose state is shown elsewhere."""

    def start(self, title: str, total: int | None) -> None:
        """Do nothing."""

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Do nothing."""

    def print_line(self, line: str) -> None:
        """Print a line."""
        print(printable(line), file=sys.stderr, flush=True)  # noqa: T201

    def stop(self) -> None:
        """Do nothing."""


def stderr_progress() -> Progress:
    """Return bars if stderr is a terminal, and lines otherwise."""
    console = Console(stderr=True)
    return BarProgress(console) if console.is_terminal and not is_json() else LineProgress()


def _text(format_: str) -> TextColumn:
    return TextColumn(format_, table_column=Column(no_wrap=True))
