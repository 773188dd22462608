"""The output of a command, and its exit code.

Rules
1. With --json, stdout carries exactly one JSON object, at the end. Everything else goes to stderr.
2. Exit code 0: done. 1: failed. 2: the input or the configuration is wrong, or something that it names cannot be
   reached; one line then says what is wrong, where, and what to do. 3: a crawl is drained, and some of its pages
   failed. 130: interrupted by SIGINT or SIGTERM; everything stored is consistent.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from thresher.core import Conflict, InputError, Interruption, ThresherError, Unavailable
from thresher.core.printable_address import redact_secrets
from thresher.pipeline.telemetry.json_log import is_json, json_line
from thresher.pipeline.terminal.printable import printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console

EXIT_INTERRUPTED = 130
"""Exit code after SIGINT or SIGTERM. A shell reports the same code for a command that SIGINT ended."""


class _Formatter(logging.Formatter):
    """Formats warnings for stderr."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(redact_secrets(super().format(record)))


class _SignalExit(SystemExit):
    """Raised on SIGINT and SIGTERM. Event loops and command parsers let it pass, because it is a `SystemExit`."""


def run_command(command: Callable[[], object]) -> NoReturn:
    """Run a command, and end the process with the exit code of rule 2."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _interrupt)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Formatter())
    try:
        command()
    except (InputError, Unavailable, Conflict) as error:
        _exit_with_error(str(error), 2)
    except Interruption as error:
        _exit_with_error(str(error), EXIT_INTERRUPTED)
    except ThresherError as error:
        _exit_with_error(str(error), 1)
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        where = error.filename or "standard output or the storage"
        _exit_with_error(f"{where}: {error.strerror}; fix that and run the same command again", 2)
    except _SignalExit:
        _exit_with_error("interrupted; run the same command again to continue", EXIT_INTERRUPTED)
    sys.exit(0)


def print_result(as_json: bool, body: Mapping[str, Any], line: str) -> None:
    """Print the result of a command: `body` for programs if `as_json`, otherwise `line` for people."""
    if as_json:
        print_json(body)
    else:
        echo(line)


def echo(line: str, *, err: bool = False, newline: bool = True) -> None:
    """Print a line, with foreign texts in it made printable. Without `newline` the next call continues the line.

    A line on stderr is a log line: JSON if the user wants it so.
    """
    if err and is_json():
        typer.echo(json_line(line), err=True)
        return
    typer.echo(printable(redact_secrets(line) if err else line), err=err, nl=newline)


def warn(line: str) -> None:
    """Print a warning to stderr. The command goes on."""
    if is_json():
        typer.echo(json_line(line, level="WARNING"), err=True)
        return
    echo(f"thresher: {line}", err=True)


def print_json(body: Mapping[str, Any]) -> None:
    """Print the one JSON object of a command to stdout."""
    typer.echo(printable_json(body))


def console() -> Console:
    """Return the console on which tables are printed."""
    from thresher.pipeline.terminal.table_console import table_console  # noqa: PLC0415 - most commands print no table

    return table_console()


def _interrupt(*_: object) -> NoReturn:
    raise _SignalExit


def _exit_with_error(line: str, code: int) -> NoReturn:
    with suppress(OSError):  # stdout itself may be the cause of the error
        if "--json" in sys.argv:
            print_json({"error": redact_secrets(line)})
    line = " ".join(line.split())
    if is_json():
        typer.echo(json_line(line, level="ERROR"), err=True)
    else:
        echo(f"thresher: {line}", err=True)
    sys.exit(code)
