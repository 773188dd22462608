"""What a command says, and how it ends.

Rules
1. With --json, stdout carries exactly one JSON object, at the end. Everything else goes to stderr.
2. Exit code 0: done. 1: failed. 2: the input or the configuration is wrong, or something it names cannot be
   had; then one line says what, where, and what to do. 130: interrupted.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console

from core import Conflict, InputError, Interrupted, ThresherError, Unavailable

if TYPE_CHECKING:
    from pipeline.seeds import Refused

REFUSED_SHOWN = 10
PIPED_WIDTH = 120


class _Signalled(SystemExit):
    """SIGINT or SIGTERM; event loops and command parsers let it pass."""


def run_command(command: Callable[[], object]) -> NoReturn:
    """Run it, and end the process as rule 2 says."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _interrupt)
    try:
        command()
    except (InputError, Unavailable, Conflict) as error:
        _fail(str(error), 2)
    except Interrupted as error:
        _fail(str(error), 130)
    except ThresherError as error:
        _fail(str(error), 1)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        where = error.filename or "standard output or the storage"
        _fail(f"{where}: {error.strerror}; mend that and run the same command again", 2)
    except _Signalled:
        _fail("interrupted; run the same command again to go on", 130)
    sys.exit(0)


def say(as_json: bool, body: Mapping[str, Any], line: str) -> None:
    """What came of a command: for programs or for people."""
    if as_json:
        print_json(body)
    else:
        typer.echo(line)


def warn(line: str) -> None:
    """Say what is wrong and keeps nothing from going on."""
    typer.echo(f"thresher: {line}", err=True)


def print_json(body: Mapping[str, Any]) -> None:
    """The one object."""
    typer.echo(json.dumps(body, ensure_ascii=False, default=str))


def console() -> Console:
    """Where tables are printed."""
    terminal = Console()
    # A pipe has no width of its own; a table cut to 80 columns would lose its names.
    return terminal if terminal.is_terminal else Console(width=PIPED_WIDTH)


class Refusals:
    """Shows the first refused seeds, counts the others."""

    def __init__(self) -> None:
        self._count = 0

    def show(self, refused: Refused) -> None:
        """Take one."""
        self._count += 1
        if self._count <= REFUSED_SHOWN:
            typer.echo(f"refused: {refused}", err=True)

    def end(self) -> None:
        """Say how many were not shown."""
        if self._count > REFUSED_SHOWN:
            typer.echo(f"refused: {self._count - REFUSED_SHOWN:,} more lines", err=True)


def _interrupt(*_: object) -> NoReturn:
    raise _Signalled


def _fail(line: str, code: int) -> NoReturn:
    with suppress(OSError):  # where the trouble is stdout itself
        if "--json" in sys.argv:
            print_json({"error": line})
    typer.echo(f"thresher: {' '.join(line.split())}", err=True)
    sys.exit(code)
