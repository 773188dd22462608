"""`thresher log`: the log of a crawl, line by line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.core import InputError
from thresher.pipeline.commands.frontier_commands import OutcomeName
from thresher.pipeline.commands.options import CURRENT_DIRECTORY, CrawlName, ProjectOption, check_name
from thresher.pipeline.terminal.output import echo

if TYPE_CHECKING:
    from thresher.storage.crawllog.log_line import LogLine

POLL_S = 1.0
INITIAL_LINES = 10
"""Existing lines that `--follow` shows first, as `tail -f` does."""


def log_command(
    name: CrawlName = "main",
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Show the newest lines, then new lines when they are written."),
    ] = False,
    outcome: Annotated[
        OutcomeName | None,
        typer.Option("--outcome", help="Show only pages with this outcome. The default is any."),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason", help="Show only lines with this reason, as `status --json` names it; repeatable."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Show only this host, given without port. The default is any.")
    ] = "",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON lines as the log stores them, one object per line.")
    ] = False,
) -> None:
    """Show the log of a crawl, line by line.

    A line has the time (UTC), the outcome, the HTTP status, the size in bytes, the duration in milliseconds, the URL,
    the reason and the referrer. Requests for robots.txt have lines as well. The outcome `retry` means that the page is
    requested again later.

    \b
    Example:
      thresher log docs --outcome failed
      thresher log docs --follow --host example.org
      thresher log docs --json | jq -r 'select(.status == 403) | .url'
    """
    from thresher.pipeline.open_project import OpenProject
    from thresher.storage.crawllog.log_reader import LogFollower, has_log, read_in_order

    crawl, store = check_name(name), OpenProject.at(project).store
    if not (follow or has_log(store, crawl)):
        raise InputError(
            f"crawl {crawl!r}: no page is settled yet, so there is no log; run `thresher crawl {crawl}` first"
        )
    chosen = _LineFilter(outcome or "", frozenset(reason or ()), host.lower())
    if not follow:
        _print(chosen.apply(read_in_order(store, crawl)), as_json)
        return
    follower = LogFollower(store, crawl)
    _print(chosen.apply(follower.last_lines(INITIAL_LINES)), as_json)
    while True:
        _print(chosen.apply(follower.poll()), as_json)
        time.sleep(POLL_S)


class _LineFilter:
    """Selects the lines that fit all of the options."""

    def __init__(self, outcome: str, reasons: frozenset[str], host: str) -> None:
        self._outcome, self._reasons, self._host = outcome, reasons, host

    def apply(self, lines: Iterable[LogLine]) -> Iterator[LogLine]:
        return filter(self._matches, lines)

    def _matches(self, line: LogLine) -> bool:
        from urllib.parse import urlsplit

        if self._outcome and (line.kind != "page" or line.outcome != self._outcome):
            return False
        if self._reasons.isdisjoint({line.reason, f"{line.outcome}:{line.reason}"}) and self._reasons:
            return False
        return not self._host or urlsplit(line.url).hostname == self._host


def _print(lines: Iterable[LogLine], as_json: bool) -> None:
    from thresher.pipeline.terminal.log_text import format_line
    from thresher.storage.crawllog.log_line import encode

    for line in lines:
        echo(encode(line).decode().rstrip("\n") if as_json else format_line(line))
