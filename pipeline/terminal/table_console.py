"""`table_console`: the console on which commands print tables."""

from typing import Any

from rich.console import Console
from rich.text import Text

from thresher.pipeline.terminal.printable import printable

PIPED_WIDTH = 120


def table_console() -> Console:
    """Return a console for stdout."""
    terminal = _Console(markup=False, emoji=False)
    if not terminal.is_terminal:
        # A pipe has no width. Rich would cut a table to 80 columns, and names in it would be lost.
        terminal.width = PIPED_WIDTH
    return terminal


class _Console(Console):
    """Makes foreign texts in cells and lines printable, and reads no markup in them."""

    def render_str(self, text: str, **named: Any) -> Text:
        return super().render_str(printable(text), **named)
