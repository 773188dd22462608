"""`BarProgress`: the progress of long work as bars on a terminal."""

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from thresher.pipeline.terminal.printable import printable

BAR = 12
"""Columns of the bar itself. On 80 columns this leaves room for the numbers and for a note of about 35 characters."""


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


def _text(format_: str) -> TextColumn:
    return TextColumn(format_, table_column=Column(no_wrap=True))
