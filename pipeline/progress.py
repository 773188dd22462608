"""Progress of long work: bars on a terminal, plain lines otherwise, always on stderr."""

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from pipeline.printable import printable

LINE_EVERY_S = 5.0


class Progress(Protocol):
    """What a running step reports to."""

    def start(self, title: str, total: int | None) -> None:
        """Work begins; `total` items, or None where nobody knows."""

    def advance(self, note: str = "", by: int = 1) -> None:
        """So many items are done."""

    def done(self) -> None:
        """The work has ended."""


class BarProgress:
    """Rich bars, for a terminal."""

    def __init__(self, console: Console) -> None:
        self._bars = Bars(
            TextColumn("{task.description:<10}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        self._task: TaskID | None = None

    def start(self, title: str, total: int | None) -> None:
        """Show a bar."""
        self._bars.start()
        self._task = self._bars.add_task(title, total=total, note="")

    def advance(self, note: str = "", by: int = 1) -> None:
        """Move it."""
        if self._task is not None:
            self._bars.update(self._task, advance=by, note=printable(note))

    def done(self) -> None:
        """Leave it as it is."""
        self._bars.stop()


class LineProgress:
    """A line every few seconds, for a log file."""

    def __init__(self) -> None:
        self._title, self._done, self._last = "", 0, 0.0
        self._total: int | None = None

    def start(self, title: str, total: int | None) -> None:
        """Begin to count."""
        self._title, self._total, self._done, self._last = title, total, 0, time.monotonic()

    def advance(self, note: str = "", by: int = 1) -> None:
        """Count, and say so now and then."""
        self._done += by
        if time.monotonic() - self._last >= LINE_EVERY_S:
            self._last = time.monotonic()
            self._print(note)

    def done(self) -> None:
        """Say what came of it, if there was anything to do."""
        if self._done:
            self._print("")

    def _print(self, note: str) -> None:
        of = f" of {self._total}" if self._total is not None else ""
        print(f"{self._title}: {self._done}{of} {printable(note)}".rstrip(), file=sys.stderr, flush=True)  # noqa: T201


def stderr_progress() -> Progress:
    """Bars where stderr is a terminal, lines otherwise."""
    console = Console(stderr=True)
    return BarProgress(console) if console.is_terminal else LineProgress()
