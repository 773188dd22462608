"""`thresher frontier hosts`: the hosts that a crawl sends no request to, with the reason and the end of each hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CrawlName,
    JsonOption,
    ProjectOption,
    check_name,
)
from thresher.pipeline.terminal.output import echo
from thresher.pipeline.terminal.printable import printable_json

if TYPE_CHECKING:
    from thresher.frontier import Frontier, Hold, HostState


def hosts_command(
    name: CrawlName,
    all_: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show all hosts. By default only hosts that are held, given up or repeat themselves are shown.",
        ),
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show the hosts that are held for a time, were given up, or say nothing new, with the reason and the end.

    `thresher frontier resume` ends a hold. `thresher frontier retry` requests failed pages again.

    \b
    Example:
      thresher frontier hosts docs
    """
    from thresher.pipeline.crawls.operator_commands import query_frontier
    from thresher.pipeline.open_project import OpenProject

    crawl = check_name(name)
    show = _json if as_json else _print_text
    query_frontier(OpenProject.at(project), crawl, lambda frontier: show(frontier, crawl, every=all_))


async def _print_text(frontier: Frontier, crawl: str, *, every: bool) -> None:
    shown = 0
    async for host in frontier.inspection.hosts(is_held=not every):
        for line in host_lines(host, datetime.now(UTC)):
            echo(line)
        shown += 1
    if not shown:
        count = (await frontier.stats()).hosts
        echo(
            f"{crawl}: {count:,} {'host' if count == 1 else 'hosts'}, and none is held, was given up, or repeats itself"
        )


async def _json(frontier: Frontier, _: str, *, every: bool) -> None:
    """Print one object host by host, because there may be millions of hosts."""
    echo('{"hosts": [', newline=False)
    comma = ""
    async for host in frontier.inspection.hosts(is_held=not every):
        echo(comma + printable_json(host_body(host, datetime.now(UTC))), newline=False)
        comma = ", "
    echo("]}")


def host_lines(host: HostState, now: datetime) -> Iterator[str]:
    """Yield the lines about a host for people."""
    from thresher.pipeline.terminal.reasons import describe_with_code

    pages = f"{host.waiting:,} {'page waits' if host.waiting == 1 else 'pages wait'}"
    if host.dead_reason:
        yield f"{host.host}: {describe_with_code(host.dead_reason)}; {pages}"
    elif host.rest:
        yield f"{host.host}: held {_until(host.rest, now)}; {pages}"
    else:
        yield f"{host.host}: may be asked, {host.delay_ms / 1000:g} s apart; {pages}"
    if host.repeats:
        yield f"  {_repeats(host)}, so 1 in 64 of its URLs is requested (docs/guides/traps.md)"
    for origin, rest in host.origins:
        yield f"  {origin}: held {_until(rest, now)}"


def host_body(host: HostState, now: datetime) -> dict[str, Any]:
    """Return the facts about a host for programs."""
    state = "given_up" if host.dead_reason else "held" if host.rest else "asked"
    return {
        "host": host.host,
        "state": state,
        **(_rest(host.rest, now) if host.rest else {"reason": host.dead_reason, "until": None}),
        "waiting": host.waiting,
        "open": host.open,
        "delay_ms": host.delay_ms,
        "repeats": host.repeats,
        "starved_templates": host.starved_templates,
        "origins": [{"origin": origin, **_rest(rest, now)} for origin, rest in host.origins],
    }


def _repeats(host: HostState) -> str:
    match host.repeats:
        case "host":
            return "its pages say nothing new"
        case "domain":
            return "the pages of its registered domain say nothing new"
    kinds = "kind of URLs says" if host.starved_templates == 1 else "kinds of URLs say"
    return f"{host.starved_templates} {kinds} nothing new"


def _rest(rest: Hold, now: datetime) -> dict[str, str]:
    return {"reason": rest.reason, "until": f"{_end(rest, now):%Y-%m-%dT%H:%M:%SZ}"}


def _until(rest: Hold, now: datetime) -> str:
    from thresher.pipeline.terminal.rate import format_duration
    from thresher.pipeline.terminal.reasons import describe_with_code

    why = f": {describe_with_code(rest.reason)}" if rest.reason else ""
    if rest.ms == 0:
        return f"until the next request, which is a probe{why}"
    return f"for {format_duration(rest.ms / 1000)}, until {_end(rest, now):%Y-%m-%d %H:%M:%S} UTC{why}"


def _end(rest: Hold, now: datetime) -> datetime:
    return now + timedelta(milliseconds=rest.ms)
