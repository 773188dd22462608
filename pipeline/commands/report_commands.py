"""`thresher report`, `status`, `verify`, `qa`: results and health of a project.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    Names,
    ProjectOption,
    VerdictsOption,
    check_name,
    require_sources,
)
from thresher.pipeline.qa.comparison import THRESHOLD
from thresher.pipeline.terminal.output import console, echo, print_json

if TYPE_CHECKING:
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.reports.chosen_report import ProjectReport, ReportOptions


def report_command(
    names: Names = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            help="Draw the funnel into this PNG, SVG or PDF file, or write the whole report as HTML.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Show the documents by language, source, domain, or a column of inputs or annotations; may be given "
            "again. Reads all measurements.",
            autocompletion=lambda: ["language", "source", "domain"],
        ),
    ] = None,
    rules: Annotated[
        bool,
        typer.Option(
            "--rules", help="Show what only one rule drops, and what it would drop alone. Reads the same."
        ),
    ] = False,
    histograms: Annotated[
        Path | None,
        typer.Option(
            "--histograms", help="Draw each measurement with its threshold into this PNG, SVG or PDF file."
        ),
    ] = None,
    dropped: Annotated[
        str | None,
        typer.Option(
            "--dropped",
            help="Show documents that this rule dropped: RULE or RULE/REASON, and nothing else.",
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option("--sample", min=1, max=1000, help="Show N dropped documents, the same in every run."),
    ] = 20,
    verdicts: VerdictsOption = "",
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
      thresher report docs --dropped gopher_repetition --sample 20
      thresher report docs --by language --rules --histograms rules.svg
      thresher report --duplicates --plot matrix.svg
    """
    from thresher.pipeline.open_project import OpenProject

    opened = OpenProject.at(project)
    sources = require_sources(opened, names)
    if duplicates:
        _report_duplicates(opened, sources, plot, verdicts, as_json=as_json)
        return
    if dropped is not None:
        _print_dropped(opened, sources, dropped, sample, verdicts, as_json=as_json)
        return
    from thresher.pipeline.reports.chosen_report import ReportOptions, make_report

    options = ReportOptions(
        plot=plot,
        by=tuple(dict.fromkeys(by or ())),
        rules=rules,
        histograms=histograms,
        verdict_set=verdicts,
        by_domain=by_domain,
        every_group=as_json,
    )
    found = make_report(opened, sources, options)
    if as_json:
        print_json(found.to_dict())
    else:
        _render(found, options)


def _render(found: ProjectReport, options: ReportOptions) -> None:
    from thresher.pipeline.reports import cost_table, report

    report.render(found.funnel, console())
    if found.scan is not None:
        from thresher.pipeline.reports.rule_tables import render_groups, render_rules

        for kind in options.by:
            render_groups(found.scan, kind, found.funnel, console())
        if options.rules:
            render_rules(found.scan, console())
    cost_table.render(found.costs, console())
    for domains in found.domains.values():
        cost_table.render_domains(domains, found.costs, console())


def _report_duplicates(
    opened: OpenProject, sources: tuple[str, ...], plot: Path | None, verdicts: str, *, as_json: bool
) -> None:
    from thresher.pipeline.duplicates.duplicate_output import render_report
    from thresher.pipeline.reports.chosen_report import make_duplicate_report

    found = make_duplicate_report(opened, sources, plot, verdicts)
    if as_json:
        print_json(found.to_dict())
    else:
        render_report(found, console())


def _print_dropped(
    project: OpenProject, sources: tuple[str, ...], stage: str, sample: int, verdicts: str, *, as_json: bool
) -> None:
    from dataclasses import asdict

    from thresher.pipeline.reports.dropped_documents import dropped_documents
    from thresher.pipeline.reports.rule_tables import render_dropped

    found = dropped_documents(project.store, sources, stage, sample, verdicts)
    if as_json:
        print_json({"dropped": [asdict(each) for each in found]})
    else:
        render_dropped(found, console())


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
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.reports import status

    opened = OpenProject.at(project)
    if as_metrics:
        from thresher.pipeline.reports.metrics import project_metrics, readable_status

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
    from thresher.pipeline.integrity.verify_result import VerifyOptions, run_verify

    options = VerifyOptions(datasets=tuple(datasets or ()), repair=repair, accept_loss=accept_loss, deep=deep)
    run_verify(project, options, as_json)


def qa_command(
    archive: Annotated[
        str,
        typer.Argument(
            help="The name of a crawl or an ingest; or a WACZ file, or a list of them, of any program."
        ),
    ],
    threshold: Annotated[
        float,
        typer.Option("--threshold", min=0.0, max=1.0, help="Fail if a page has a lower score than this."),
    ] = THRESHOLD,
    max_pages: Annotated[
        int | None,
        typer.Option("--max-pages", min=1, help="Compare at most N pages, spread over the list of pages."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the comparison as a page into this file.")
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Replay an archive, and compare its pages with its crawl.

    Exit code 0: no page is below the threshold. 1: some are. 2: the archive is no valid WACZ, or there is no browser.
    A file needs no project.

    \b
    Example:
      thresher qa docs && thresher qa other.wacz --html other.html
    """
    from thresher.pipeline.qa.run_qa import QaOptions, run_qa

    name = archive if archive.endswith((".wacz", ".json")) else check_name(archive)
    run_qa(name, project, QaOptions(threshold=threshold, max_pages=max_pages, html=html), as_json)
