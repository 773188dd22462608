"""`print_markdown`: show a text in Markdown, in colours and page by page if stdout is a terminal."""

import os
import shlex
import shutil
import signal
import subprocess

from thresher.pipeline.terminal.output import echo
from thresher.pipeline.terminal.table_console import table_console

MAX_WIDTH = 100
"""Longer lines of prose are hard to read."""
PAGER = "less"
LESS = "FRX"
"""Options for less if the user has set none: leave short texts on the screen, and show colours."""


def print_markdown(text: str) -> None:
    """Print a text in Markdown: as it is if stdout is no terminal. A terminal shows it with its pager if it has one."""
    console = table_console()
    if not console.is_terminal:
        echo(text, newline=False)
        return
    from rich.markdown import Markdown  # noqa: PLC0415 - it takes a tenth of a second to import

    console.width = min(console.width, MAX_WIDTH)
    pager = None if console.is_dumb_terminal else _pager()
    if pager is None:
        console.print(Markdown(text))
        return
    with console.capture() as captured:
        console.print(Markdown(text))
    _run(pager, captured.get())


def _pager() -> list[str] | None:
    command = shlex.split(os.environ.get("PAGER", PAGER))
    return command if command and shutil.which(command[0]) else None


def _run(pager: list[str], text: str) -> None:
    """Show the text. Ctrl-C belongs to the pager as long as it runs."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        environment = {"LESS": LESS, **os.environ}
        subprocess.run(pager, input=text, text=True, env=environment, check=False)  # noqa: S603 - the user's own
    finally:
        signal.signal(signal.SIGINT, before)
