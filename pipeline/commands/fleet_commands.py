"""`thresher fleet`: run a crawl's workers on one machine or on many, and watch and steer them.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from thresher.core import InputError
from thresher.pipeline.commands.about.completion import complete_crawls
from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    ProjectOption,
    SpiderArgumentOption,
    SpiderOption,
    SpiderSettingsOption,
    UpdateOption,
    check_name,
    parse_spider,
)
from thresher.pipeline.terminal.output import console, echo, print_result

if TYPE_CHECKING:
    from thresher.frontier import Frontier
    from thresher.frontier.fleet_state import MemberKind
    from thresher.frontier.verbs.fleet import Fleet

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[
    str,
    typer.Argument(
        help="Name of the crawl, which is also the name of its fleet.", autocompletion=complete_crawls
    ),
]
Crawlers = Annotated[int | None, typer.Option("--crawlers", min=0, help="Run this many crawlers.")]
Processors = Annotated[int | None, typer.Option("--processors", min=0, help="Run this many processors.")]
STOP_POLL_S = 0.5
T = TypeVar("T")


@app.command(name="start")
def start(
    name: Name = "main",
    crawlers: Crawlers = None,
    processors: Processors = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            help="Run the workers on the Ray cluster whose head has this HOST:PORT. The default is project.engine.",
        ),
    ] = None,
    until_drained: Annotated[
        bool,
        typer.Option(
            "--until-drained", help="End when the crawl is drained, processed and, if configured, exported."
        ),
    ] = False,
    keep_workers: Annotated[
        bool,
        typer.Option(
            "--keep-workers",
            help="With --ray: on SIGTERM end the controller alone; the next controller continues with its workers.",
        ),
    ] = False,
    spider: SpiderOption = "",
    argument: SpiderArgumentOption = None,
    settings: SpiderSettingsOption = "",
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
) -> None:
    """Run the fleet of a crawl, in the foreground.

    The controller starts the workers that [fleet] in thresher.toml asks for, replaces those that die, and scales
    within the limits. If another controller runs, this one waits until that is gone, and takes over. So it can be
    killed and started again on any machine.

    The first Ctrl-C or SIGTERM drains all workers, and the command ends with exit code 0. A second one stops at once.

    With --spider the spider's callbacks read the pages and choose the next requests (docs/guides/spiders.md). Give it
    to every controller of the fleet.

    \b
    Example:
      thresher fleet start docs --crawlers 4 --processors 2
      thresher fleet start docs --ray 10.0.0.1:6379
      thresher fleet start shop --spider shop.spiders:Prices -a country=de --settings shop.settings
    """
    from thresher.pipeline.fleet.fleet_command import FleetOptions, start_fleet
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.recipe import export_crawl

    given = _numbers(crawlers, processors, None)
    opened = OpenProject.at(project)
    options = FleetOptions(
        export=export_crawl,
        spider=parse_spider(opened, spider, argument or [], settings),
        ray=ray,
        given=given,
        until_drained=until_drained,
        keeps_members=keep_workers,
        update=update,
    )
    start_fleet(opened, check_name(name), options, lambda line: echo(line, err=True))


@app.command(name="status")
def status(
    name: Name = "main", project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """Show what should run and what runs.

    Exit code 0: all wanted workers run. 1: some are missing, or no controller runs. 2: there is no such fleet.

    \b
    Example:
      thresher fleet status docs
    """
    from thresher.pipeline.fleet import fleet_status

    state = _ask(project, name, lambda fleet: fleet.state())
    if state is None:
        from thresher.frontier.verbs.fleet import no_fleet_error

        raise no_fleet_error(name)
    print_result(as_json, fleet_status.body(state), "\n".join(fleet_status.lines(name, state)))
    if state.members and not as_json:
        console().print(fleet_status.member_table(state))
    if not fleet_status.is_as_wanted(state):
        raise typer.Exit(1)


@app.command(name="scale")
def scale(
    name: Name = "main",
    crawlers: Crawlers = None,
    processors: Processors = None,
    exporters: Annotated[
        int | None,
        typer.Option("--exporters", min=0, max=1, help="Export now (1), or take that back (0)."),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Set how many workers the fleet runs, until it is stopped.

    \b
    Example:
      thresher fleet scale docs --crawlers 8
    """
    from thresher.pipeline.fleet.fleet_command import check_numbers
    from thresher.pipeline.open_project import OpenProject

    numbers = _numbers(crawlers, processors, exporters)
    if not numbers:
        raise InputError("fleet scale: give --crawlers N, --processors N or --exporters N")
    opened = OpenProject.at(project)
    check_numbers(opened.config, numbers)
    if numbers.get("exporter"):
        from thresher.pipeline.fleet.export_schedule import require_sealed

        require_sealed(opened.store, name)

    async def change(fleet: Fleet) -> None:
        for kind, number in numbers.items():
            await fleet.scale(kind, number)

    _order(project, name, change)
    wanted = ", ".join(f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in numbers.items())
    print_result(
        as_json, {f"{kind}s": number for kind, number in numbers.items()}, f"{name}: {wanted} wanted"
    )


@app.command(name="pause")
def pause(
    name: Name = "main", project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """Lease nothing more; the workers stay. Requests that were sent are finished.

    \b
    Example:
      thresher fleet pause docs
    """
    _order(project, name, lambda fleet: fleet.pause())
    print_result(as_json, {"paused": True}, f"{name}: paused; go on with `thresher fleet resume {name}`")


@app.command(name="resume")
def resume(
    name: Name = "main", project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """Go on after a pause.

    \b
    Example:
      thresher fleet resume docs
    """
    _order(project, name, lambda fleet: fleet.resume())
    print_result(as_json, {"paused": False}, f"{name}: goes on")


@app.command(name="stop")
def stop(
    name: Name = "main", project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """Drain all workers, and wait until the fleet has ended. An export that runs ends first.

    \b
    Example:
      thresher fleet stop docs
    """
    import asyncio

    async def stop_and_wait(fleet: Fleet) -> bool:
        await fleet.stop()
        while True:
            state = await fleet.state()
            if state is None or state.controller is None:
                return state is not None and not state.members
            await asyncio.sleep(STOP_POLL_S)

    if not _order(project, name, stop_and_wait):
        raise InputError(
            f"fleet {name}: no controller runs that could drain its workers; run `thresher fleet start {name}` and stop"
            " it then"
        )
    print_result(as_json, {"stopped": True}, f"{name}: stopped")


def _numbers(crawlers: int | None, processors: int | None, exporters: int | None) -> dict[MemberKind, int]:
    every: dict[MemberKind, int | None] = {
        "crawler": crawlers,
        "processor": processors,
        "exporter": exporters,
    }
    return {kind: number for kind, number in every.items() if number is not None}


def _ask(project: Path, name: str, question: Callable[[Fleet], Awaitable[T]]) -> T:
    from thresher.pipeline.crawls.operator_commands import query_frontier
    from thresher.pipeline.open_project import OpenProject

    return query_frontier(
        OpenProject.at(project), check_name(name), lambda frontier: question(frontier.fleet)
    )


def _order(project: Path, name: str, order: Callable[[Fleet], Awaitable[T]]) -> T:
    """Give an order, and return when it is on the disk of the frontier's server: nobody would repeat it."""
    from thresher.pipeline.crawls.operator_commands import query_frontier
    from thresher.pipeline.open_project import OpenProject

    async def give(frontier: Frontier) -> T:
        given = await order(frontier.fleet)
        await frontier.crawl.sync()
        return given

    return query_frontier(OpenProject.at(project), check_name(name), give)
