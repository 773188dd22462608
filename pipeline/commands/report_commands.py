"""`thresher report`, `status`, `verify`: results and health of a project.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
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
    from pipeline.open_project import OpenProject


def report_command(
    names: Names = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the funnel into this PNG, SVG or PDF file.")
    ] = None,
    by_domain: Annotated[
        bool,
        typer.Option(
            "--by-domain",
            help="Show also the 20 domains of each crawl from which most bytes came, and what they cost. This reads "
            "the whole log of the crawl.",
        ),
    ] = False,
    duplicates: Annotated[
        bool,
        typer.Option(
            "--duplicates",
            help="Show the largest clusters of duplicates, the domains that have most of them, and which source "
            "repeats which, in place of the funnel. --plot then draws the last.",
        ),
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show what each filter dropped, and what it cost.

    The funnel lists the filters in their order, with records, bytes and tokens. The cost is CPU, traffic and storage,
    by source and by step, at the [prices] of thresher.toml.

    \b
    Example:
      thresher report docs --plot funnel.png
      thresher report --duplicates --plot matrix.svg
    """
    from pipeline.open_project import OpenProject
    from pipeline.reports import cost, cost_table, report

    opened = OpenProject.at(project)
    sources = require_sources(opened, names)
    if duplicates:
        _report_duplicates(opened, sources, plot, as_json=as_json)
        return
    funnel = report.funnel_of(opened, sources)
    if plot is not None:
        report.plot(funnel, plot)
    costs = cost.project_cost(opened, sources, funnel.kept.tokens)
    domains = {name: cost.domain_costs(opened, name) for name in sources} if by_domain else {}
    if as_json:
        by_name = {name: [each.to_dict(costs.prices) for each in found] for name, found in domains.items()}
        print_json({**funnel.to_dict(), "cost": {**costs.to_dict(), "domains": by_name}})
        return
    report.render(funnel, console())
    cost_table.render(costs, console())
    for found in domains.values():
        cost_table.render_domains(found, costs, console())


def _report_duplicates(
    opened: OpenProject, sources: tuple[str, ...], plot: Path | None, *, as_json: bool
) -> None:
    from pipeline.duplicates.duplicate_output import draw_matrix, render_report
    from pipeline.duplicates.duplicate_report import duplicate_report
    from pipeline.steps import dedup

    removed = dedup.require_run(opened.store, sources, opened.config.dedup)
    found = duplicate_report(opened.store, sources, removed)
    if plot is not None:
        draw_matrix(found, plot)
    if as_json:
        print_json(found.to_dict())
    else:
        render_report(found, console())


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

    opened = OpenProject.at(project)
    if as_metrics:
        from pipeline.reports.metrics import project_metrics, readable_status

        found = readable_status(opened)
        echo(project_metrics(opened, found).removesuffix("\n"))
        for line in found["lost"].values():
            echo(line, err=True)
    else:
        found = status.project_status(opened)
        if as_json:
            print_json(found)
        else:
            status.render(found, console())
    if found["lost"]:
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
