"""`thresher annotate`: values of each document from the user's own code, or from a table that was made elsewhere.

The command imports modules when it runs, because `--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

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
from thresher.pipeline.terminal.output import echo, print_result


def annotate_command(
    annotation: Annotated[
        str, typer.Argument(help="Name of the annotation.", metavar="ANNOTATION", show_default=False)
    ],
    names: Names = None,
    path: Annotated[
        str,
        typer.Option("--with", help="Call this function or class of yours, given as package.module:NAME."),
    ] = "",
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "-a", help="Pass NAME=VALUE to the function or class; may be given again.", metavar="NAME=VALUE"
        ),
    ] = None,
    version_of: Annotated[
        list[Path] | None,
        typer.Option(
            "--version-of",
            help="Make the values again if this file changes, such as the weights of a model; may be given again.",
            metavar="FILE",
        ),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Call it with N documents at a time.")] = 64,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Run N worker processes. The default is one per core, or one per GPU with --gpu.",
        ),
    ] = None,
    on_ray: Annotated[
        bool,
        typer.Option(
            "--ray", help="Run the workers on a Ray cluster even if thresher.toml does not name one."
        ),
    ] = False,
    gpu: Annotated[bool, typer.Option("--gpu", help="Give each worker a GPU.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Annotate every document, also those that the filters drop.")
    ] = False,
    deduplicated: Annotated[
        bool,
        typer.Option("--deduplicated", help="Do not annotate documents that `thresher dedup` has removed."),
    ] = False,
    verdicts: VerdictsOption = "",
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            help="Take the values from this table in place of a function: Parquet, CSV, JSON lines or Arrow, or a "
            "directory of Parquet files.",
        ),
    ] = None,
    key: Annotated[
        str,
        typer.Option(
            "--key",
            help="Join the table by this column of documents: id, url or external_id. Write external_id=COLUMN if the "
            "table's column has another name.",
        ),
    ] = "",
    into: Annotated[
        str,
        typer.Option(
            "--into",
            help="Ingest the texts that the function returns as `text` into this source, as new documents.",
            metavar="SOURCE",
        ),
    ] = "",
    redo: Annotated[
        bool, typer.Option("--redo", help="Delete the annotation for these sources, and make it again.")
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Give documents values of your own: scores, labels, texts.

    They come from a function of yours, which the workers call on batches of documents, or from a table. The function
    runs without the walls that confine parsers, because it is your own code.

    The values are columns for `judge`, `report` and exports. Only documents that are new or have another text cost
    a call.

    \b
    Example:
      thresher annotate edu --with my_scores:Education --batch 32
      thresher annotate edu docs --table scores.parquet --key url
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.annotations.annotate_options import (
        AnnotateOptions,
        chosen_documents,
        chosen_sources,
        parse_arguments,
    )
    from thresher.pipeline.terminal.progress import stderr_progress

    options = AnnotateOptions(
        annotation=annotation,
        path=path,
        arguments=parse_arguments(arguments or ()),
        version_of=tuple(version_of or ()),
        batch=batch,
        documents=chosen_documents(every=every, deduplicated=deduplicated),
        verdict_set=verdicts,
        table=table,
        key=key,
        into=check_name(into) if into else "",
        workers=workers,
        on_ray=on_ray,
        gpus=int(gpu),
    )
    opened = OpenProject.at(project)
    sources = chosen_sources(require_sources(opened, names), names, into)
    ran = recipe.annotate(opened, sources, options, stderr_progress(), redo=redo)
    line = f"{results.step_line(ran.step)}; {ran.annotated:,} of {ran.documents:,} documents are annotated"
    if into:
        line += f"; {ran.new_documents:,} new documents are in {into}"
    print_result(as_json, asdict(ran), line)
    if table is not None and ran.documents and not ran.annotated:
        echo(
            f"thresher: --key {key}: no row of {table} belongs to one of these documents, so none has values; "
            "choose another --key, and type the command again with --redo",
            err=True,
        )
    for part in ran.step.quarantined:
        echo(f"thresher: part {part.part} is in quarantine: {part.reason}", err=True)
    if ran.step.quarantined:
        raise typer.Exit(1)
