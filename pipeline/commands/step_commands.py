"""`thresher process`, `judge`, `dedup`: from the archive to the documents that are kept.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

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
    check_name,
    require_sources,
)
from thresher.pipeline.terminal.output import console, echo, print_result

AUDITED_DOCUMENTS = 10_000
"""Size of the sample of an audit. They take 10 s of CPU, and 150 MB."""


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
    from thresher.pipeline.engine.quarantine import remove_marks
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.process import NAME, delete_all_results, step
    from thresher.pipeline.steps.records.rule_probe import require_confinable
    from thresher.pipeline.steps.records.signal_files import stored_filters
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    # A crawl may be followed before it has sealed a file.
    chosen = tuple(map(check_name, names)) if follow and names else require_sources(opened, names)
    # An invalid filter configuration must raise before results are deleted.
    step(stored_filters(opened.store, opened.directory, opened.config.filters))
    require_confinable(opened.config.filters.rules)
    if redo:
        delete_all_results(opened.store, chosen)
    for name in chosen if retry else ():
        remove_marks(opened.store, NAME, name)
    with opened.worker_pool(workers) as pool:
        if follow:
            from thresher.pipeline.steps.follow import follow as follow_sources

            ran = follow_sources(opened, chosen, pool, stderr_progress(), screen=screen)
        else:
            ran = recipe.process_sources(opened, chosen, pool, stderr_progress(), screen=screen)
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
    from thresher.pipeline.steps.records.rule_set import rule_set, rules_of, with_settings
    from thresher.pipeline.steps.records.signal_files import stored_filters
    from thresher.pipeline.steps.verdicts.verdict_sets import check_set_name, delete_set
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    filters = with_settings(opened.config.filters, settings or ())
    chosen = rule_set(stored_filters(opened.store, opened.directory, filters))
    rules_of(chosen)  # an unknown threshold must raise before a set is deleted
    sources = require_sources(opened, names)
    check_set_name(name)
    for source in sources if redo else ():
        delete_set(opened.store, source, name)
    with opened.worker_pool(workers) as pool:
        ran = recipe.judge_sources(opened, sources, name, chosen, pool, stderr_progress())
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
    from thresher.pipeline.duplicates import cut_summary
    from thresher.pipeline.funnel import REMOVAL_KINDS
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.progress import stderr_progress

    if sample is not None and not is_audited:
        raise InputError("--sample is the size of an audit; add --audit")
    opened = OpenProject.at(project)
    sources = require_sources(opened, names)
    if is_audited:
        from thresher.pipeline.duplicates.stored_minhashes import require_datasketch

        require_datasketch()
    with opened.worker_pool(workers) as pool:
        manifest = recipe.find_duplicates(opened, sources, pool, stderr_progress(), verdicts)
    removed = {kind: manifest.counts.get(f"{kind}.documents", 0) for kind in REMOVAL_KINDS}
    line = ", ".join(f"{count:,} {kind}" for kind, count in removed.items())
    body: dict[str, Any] = {"table": manifest.outputs[0].name, "removed": removed}
    cut = cut_summary.find(opened.store, sources, opened.config.dedup, manifest, verdicts)
    if cut is not None:
        line = f"{line}\n{cut.line}"
        body["cut"] = cut.to_dict()
    if not is_audited:
        print_result(as_json, body, f"duplicates: {line}")
        return
    from thresher.pipeline.duplicates.dedup_audit import audit
    from thresher.pipeline.duplicates.duplicate_output import render_audit

    found = audit(
        opened.store,
        sources,
        manifest,
        opened.config.dedup,
        sample=sample or AUDITED_DOCUMENTS,
        verdict_set=verdicts,
    )
    print_result(as_json, {**body, "audit": found.to_dict()}, f"duplicates: {line}")
    if not as_json:
        render_audit(found, console())
