"""`thresher process`, `dedup`, `export`: from the archive to shards.

A command parses, calls one function, and prints what came of it. It imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    JsonOption,
    Names,
    OutOption,
    ProjectOption,
    check_name,
    require_sources,
)
from pipeline.terminal.output import echo, print_result

if TYPE_CHECKING:
    pass


def process(
    names: Names = None,
    workers: CoresOption = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Forget earlier results, and make them again.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Process what a running crawl seals, until that is drained.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try parts in quarantine again.")] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Extract the text of what is new in the archive, and judge it.

    \b
    Example:
      thresher process docs
      thresher process docs --follow
    """
    from pipeline import recipe
    from pipeline.commands import results
    from pipeline.engine.quarantine import remove_marks
    from pipeline.project import Project
    from pipeline.steps.follow import follow as follow_sources
    from pipeline.steps.process import NAME, delete_results, step
    from pipeline.terminal.progress import stderr_progress

    opened = Project.at(project)
    # A crawl may be followed before it has sealed anything.
    chosen = tuple(map(check_name, names)) if follow and names else require_sources(opened, names)
    step(opened.config.filters)  # what is wrong with it is said before anything is forgotten
    if redo:
        for name in chosen:
            delete_results(opened.store, name)
    for name in chosen if retry else ():
        remove_marks(opened.store, NAME, name)
    with opened.worker_pool(workers) as crew:
        made = follow_sources if follow else recipe.process_sources
        ran = made(opened, chosen, crew, stderr_progress())
    print_result(as_json, asdict(ran), results.step_line(ran))
    for each in ran.quarantined:
        echo(f"thresher: part {each.part} is in quarantine: {each.reason}", err=True)
    if ran.quarantined:
        raise typer.Exit(1)


def dedup_command(
    names: Names = None, project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """Find exact and near duplicates across the sources.

    \b
    Example:
      thresher dedup docs cc
    """
    from pipeline import recipe
    from pipeline.project import Project
    from pipeline.reports import report
    from pipeline.terminal.progress import stderr_progress

    opened = Project.at(project)
    with opened.worker_pool(1) as crew:
        manifest = recipe.find_duplicates(opened, require_sources(opened, names), crew, stderr_progress())
    removed = {kind: manifest.counts.get(f"{kind}.documents", 0) for kind in report.REMOVAL_KINDS}
    line = ", ".join(f"{count:,} {kind}" for kind, count in removed.items())
    print_result(as_json, {"table": manifest.outputs[0].name, "removed": removed}, f"duplicates: {line}")


def export(
    out: OutOption,
    tokenizer: Annotated[
        Path, typer.Option("--tokenizer", help="A Hugging Face tokenizer.json (docs/guides/tokenizer.md).")
    ],
    names: Names = None,
    workers: CoresOption = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write what is kept as tokenized Parquet shards.

    \b
    Example:
      thresher export --out out --tokenizer tokenizer.json docs cc
    """
    from pipeline import recipe
    from pipeline.commands import results
    from pipeline.project import Project
    from pipeline.terminal.progress import stderr_progress
    from shards.tokenizer import load_tokenizer_file as load_tokenizer

    opened = Project.at(project)
    vocabulary = load_tokenizer(tokenizer)
    with opened.worker_pool(workers) as crew:
        dataset, _ = recipe.export_dataset(
            opened, require_sources(opened, names), out, vocabulary, crew, stderr_progress()
        )
    print_result(as_json, results.dataset_body(out, dataset), results.dataset_line(out, dataset))


def export_wacz_command(
    name: Annotated[str, typer.Argument(help="A crawl or an ingest.")],
    out: Annotated[Path, typer.Option("--out", help="WACZ file to write; an existing one is replaced.")],
    title: Annotated[
        str, typer.Option("--title", help="Title in the file; the name of the crawl by default.")
    ] = "",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write the archive of a crawl as one WACZ file.

    ReplayWeb.page opens it. WARC files in Zstandard are compressed anew with gzip, for that is what readers of WACZ know.

    \b
    Example:
      thresher export-wacz docs --out docs.wacz
    """
    from pipeline.project import Project
    from pipeline.reports.wacz_export import export_wacz
    from pipeline.terminal.progress import stderr_progress

    made = export_wacz(Project.at(project).store, check_name(name), out, title, stderr_progress())
    anew = f" ({made.recompressed} compressed anew with gzip)" if made.recompressed else ""
    line = f"wrote {out}: {made.pages:,} pages in {made.archives} WARC files{anew}, {made.bytes:,} bytes"
    print_result(as_json, {"file": str(out), **asdict(made)}, line)
