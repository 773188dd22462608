"""`thresher report`, `status`, `verify`: what a project has come to.

A command parses, calls one function, and prints what came of it. It imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    Names,
    ProjectOption,
    require_sources,
)
from pipeline.terminal.output import console, echo, print_json

if TYPE_CHECKING:
    pass


def report_command(
    names: Names = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the funnel into this PNG, SVG or PDF.")
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show the funnel: where every record went, in filter order.

    \b
    Example:
      thresher report docs --plot funnel.png
    """
    from pipeline.project import Project
    from pipeline.reports import report

    opened = Project.at(project)
    funnel = report.funnel_of(opened, require_sources(opened, names))
    if plot is not None:
        report.plot(funnel, plot)
    if as_json:
        print_json(funnel.to_dict())
    else:
        report.render(funnel, console())


def status_command(
    as_metrics: Annotated[
        bool, typer.Option("--metrics", help="Print the figures in the format that Prometheus reads.")
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show how far every source has come, and what waits for what. Ends with exit code 1 if the frontier of a crawl is lost.

    \b
    Example:
      thresher status --json
    """
    from pipeline.project import Project
    from pipeline.reports import status
    from pipeline.reports.metrics import metrics

    opened = Project.at(project)
    found = status.project_status(opened)
    if as_metrics:
        echo(metrics(found, opened.cache_stats).removesuffix("\n"))
    elif as_json:
        print_json(found)
    else:
        status.render(found, console())
    if found["lost"]:
        if as_metrics:
            for line in found["lost"].values():
                echo(line, err=True)
        raise typer.Exit(1)


def verify_command(
    datasets: Annotated[
        list[str] | None, typer.Argument(help="Export directories; the project's storage if none is named.")
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Unseal damaged parts that can be made again: the next run of their step makes them.",
        ),
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option(
            "--accept-loss",
            help="Seal damaged archive files anew as they are, without the records that cannot be read; delete damaged crawl logs.",
        ),
    ] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Read every archived record once more with warcio, and compare the two readings."
        ),
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Hash and read everything stored, and name every damage.

    Files that dead workers left unsealed are named as well; they are no damage, and the next `crawl` seals them.

    \b
    Example:
      thresher verify && thresher verify out
    """
    from pipeline.integrity.verify_result import VerifyOptions, run_verify

    options = VerifyOptions(datasets=tuple(datasets or ()), repair=repair, accept_loss=accept_loss, deep=deep)
    run_verify(project, options, as_json)
