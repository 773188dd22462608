"""`thresher report`, `status`, `verify`: results and health of a project.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    Names,
    ProjectOption,
    require_sources,
)
from pipeline.terminal.output import console, echo, print_json


def report_command(
    names: Names = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the funnel into this PNG, SVG or PDF file.")
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show how many records each filter dropped.

    The funnel lists the filters in their order, with records, bytes and tokens.

    \b
    Example:
      thresher report docs --plot funnel.png
    """
    from pipeline.open_project import OpenProject
    from pipeline.reports import report

    opened = OpenProject.at(project)
    funnel = report.funnel_of(opened, require_sources(opened, names))
    if plot is not None:
        report.plot(funnel, plot)
    if as_json:
        print_json(funnel.to_dict())
    else:
        report.render(funnel, console())


def status_command(
    as_metrics: Annotated[
        bool, typer.Option("--metrics", help="Print the figures in the text format of Prometheus.")
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show the progress of every source, and what waits for what.

    Exit code 1: the frontier of a crawl is lost.

    \b
    Example:
      thresher status --json
    """
    from pipeline.open_project import OpenProject
    from pipeline.reports import status
    from pipeline.reports.metrics import metrics

    opened = OpenProject.at(project)
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
        list[str] | None,
        typer.Argument(
            help="Directories of exported datasets to check. The default is the project's storage."
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Unseal damaged parts that can be made again. The next run of their step makes them.",
        ),
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option(
            "--accept-loss",
            help="Seal damaged archive files again without the records that cannot be read, and delete damaged crawl "
            "logs.",
        ),
    ] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Read every archived record a second time with warcio, and compare both readings."
        ),
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Hash and read everything stored, and name all damage.

    Files that dead workers left unsealed are named as well. They are not damaged; the next `crawl` seals them.

    \b
    Example:
      thresher verify && thresher verify out
    """
    from pipeline.integrity.verify_result import VerifyOptions, run_verify

    options = VerifyOptions(datasets=tuple(datasets or ()), repair=repair, accept_loss=accept_loss, deep=deep)
    run_verify(project, options, as_json)
