"""`thresher process`, `judge`, `dedup`: from the archive to the documents that are kept.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from thresher.core import InputError
from thresher.pipeline.commands.about.completion import complete_judge_settings, complete_verdict_sets
from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    JsonOption,
    Names,
    ProjectOption,
    VerdictsOption,
    followed_sources,
    require_sources,
)
from thresher.pipeline.terminal.output import console, echo, print_result


def process(
    names: Names = None,
    workers: CoresOption = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Delete earlier results, and make them again.")
    ] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Process files while a running crawl seals them, until the crawl is drained."
        ),
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try quarantined parts again.")] = False,
    screen: Annotated[
        bool | None,
        typer.Option(
            "--screen/--no-screen",
            help="Leave out documents that the newest index of `thresher dedup` has, before they are filtered. The "
            "default is dedup.screen of thresher.toml.",
            show_default=False,
        ),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Extract the text of new archived records, and filter it.

    \b
    Example:
      thresher process docs
      thresher process docs --follow
      thresher process cc --screen
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.options.step_options import ProcessOptions
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    options = ProcessOptions(workers=workers, redo=redo, follow=follow, retry=retry, screen=screen)
    chosen = followed_sources(opened, names) if follow else require_sources(opened, names)
    ran = recipe.process_chosen(opened, chosen, options, stderr_progress())
    print_result(as_json, asdict(ran), results.step_line(ran))
    for part in ran.quarantined:
        echo(f"thresher: part {part.part} is in quarantine: {part.reason}", err=True)
    if ran.quarantined:
        raise typer.Exit(1)


def judge_command(
    name: Annotated[
        str,
        typer.Option(
            "--name", help="Give the set of verdicts this name.", autocompletion=complete_verdict_sets
        ),
    ],
    names: Names = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            autocompletion=complete_judge_settings,
            help="Use this value instead of that of thresher.toml: preset=gopher, languages=en,de, or a threshold such "
            "as gopher_quality.fewest_words=30; may be given again.",
        ),
    ] = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Delete the set for these sources, and make it again.")
    ] = False,
    workers: CoresOption = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Judge documents again, with other thresholds.

    It reads the measurements that `process` stored, and no text.

    The verdicts get a name, and stand beside those of `process`. `dedup`, `export` and `report` use them with
    --verdicts NAME.

    \b
    Example:
      thresher judge docs --name short --set gopher_quality.fewest_words=30
      thresher report docs --verdicts short
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.options.step_options import JudgeOptions
    from thresher.pipeline.steps.records.rule_set import with_settings
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    options = JudgeOptions(
        verdict_set=name,
        filters=with_settings(opened.config.filters, settings or ()),
        workers=workers,
        redo=redo,
    )
    ran = recipe.judge_chosen(opened, require_sources(opened, names), options, stderr_progress())
    print_result(as_json, asdict(ran), results.step_line(ran))


def dedup_command(
    names: Names = None,
    verdicts: VerdictsOption = "",
    workers: CoresOption = None,
    is_audited: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Check the result on a sample of the documents with datasketch and the exact Jaccard similarity. This "
            "reads every document once.",
        ),
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option("--sample", help="Audit N documents. The default is 10000.", metavar="N", min=1),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Find exact and near duplicates across sources. Only documents that are new since the last run cost time.

    Cut repeated passages, lines and paragraphs out of the documents that stay, if [dedup] in thresher.toml asks for it.

    \b
    Example:
      thresher dedup docs cc
      thresher dedup --audit --sample 2000
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.options.step_options import DedupOptions
    from thresher.pipeline.terminal.progress import stderr_progress

    if sample is not None and not is_audited:
        raise InputError("--sample is the size of an audit; add --audit")
    opened = OpenProject.at(project)
    options = DedupOptions(verdict_set=verdicts, workers=workers, is_audited=is_audited, sample=sample)
    found = recipe.dedup_chosen(opened, require_sources(opened, names), options, stderr_progress())
    print_result(as_json, found.to_dict(), found.line)
    if found.audit is not None and not as_json:
        from thresher.pipeline.duplicates.duplicate_output import render_audit

        render_audit(found.audit, console())
