"""Progress of long work: bars on a terminal, plain lines otherwise, always on stderr."""

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from pipeline.terminal.printable import printable

LINE_INTERVAL_S = 5.0
BAR = 12
"""Columns of the bar itself: on 80 columns there is room for the numbers, and for a note of some 35."""


class Progress(Protocol):
    """What a running step reports to."""

    def start(self, title: str, total: int | None) -> None:
        """Work begins; `total` items, or None where nobody knows."""

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """So many items are done; of `total` in all, where that has changed."""

    def print_line(self, line: str) -> None:
        """Show a line of its own."""

    def stop(self) -> None:
        """The work has ended."""


class BarProgress:
    """Rich bars, for a terminal. One line, whatever the width: what does not fit of the note is left out."""

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
        """Show a bar."""
        self._bars.start()
        self._done, self._total = 0, total
        self._task = self._bars.add_task(title, total=total, note="", count=self._count)

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Move it."""
        if self._task is not None:
            self._done += by
            self._total = self._total if total is None else total
            self._bars.update(
                self._task, completed=self._done, total=self._total, note=printable(note), count=self._count
            )

    def print_line(self, line: str) -> None:
        """Show it above the bar."""
        self._console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Leave it as it is."""
        self._bars.stop()

    @property
    def _count(self) -> str:
        return f"{self._done:,}" if self._total is None else f"{self._done:,}/{self._total:,}"


class LineProgress:
    """A line every few seconds, for a log file."""

    def __init__(self) -> None:
        self._title, self._done, self._last = "", 0, 0.0
        self._total: int | None = None

    def start(self, title: str, total: int | None) -> None:
        """Begin to count."""
        self._title, self._total, self._done, self._last = title, total, 0, time.monotonic()

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Count, and say so now and then."""
        self._done += by
        self._total = self._total if total is None else total
        if time.monotonic() - self._last >= LINE_INTERVAL_S:
            self._last = time.monotonic()
            self._print(note)

    def print_line(self, line: str) -> None:
        """Show it as it is."""
        print(printable(line), file=sys.stderr, flush=True)  # noqa: T201

    def stop(self) -> None:
        """Say what came of it, if there was anything to do."""
        if self._done:
            self._print("")

    def _print(self, note: str) -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        self.print_line(f"{self._title}: {self._done:,}{of}{', ' if note else ''}{note}")


def stderr_progress() -> Progress:
    """Bars where stderr is a terminal, lines otherwise."""
    console = Console(stderr=True)
    return BarProgress(console) if console.is_terminal else LineProgress()


def _text(format_: str) -> TextColumn:
    return TextColumn(format_, table_column=Column(no_wrap=True))
