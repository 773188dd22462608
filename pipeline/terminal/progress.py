"""Progress of long work on stderr: bars on a terminal, plain lines otherwise."""

import os
import sys
import time
from typing import Protocol

from thresher.pipeline.telemetry.json_log import is_json, json_line
from thresher.pipeline.terminal.printable import printable

LINE_INTERVAL_S = 5.0
TERMINAL_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""With these a user tells Rich that stderr is a terminal, or that it is none."""


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
    if is_json() or not (sys.stderr.isatty() or any(name in os.environ for name in TERMINAL_VARIABLES)):
        return LineProgress()
    from rich.console import Console  # noqa: PLC0415 - a pipe needs no Rich

    from thresher.pipeline.terminal.bar_progress import BarProgress  # noqa: PLC0415

    console = Console(stderr=True)
    return BarProgress(console) if console.is_terminal else LineProgress()
