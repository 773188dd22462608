"""`thresher ingest`: archives, tables and texts from elsewhere, and Common Crawl.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    JsonOption,
    ProjectOption,
    check_name,
)

IndexName = Literal["cdx", "columnar"]
COMMON_CRAWL = "Options for Common Crawl"


def ingest(
    name: Annotated[str, typer.Argument(help="Name of the source to create.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files, directories or s3://BUCKET/PREFIX to read; for Common Crawl: "
            "commoncrawl:CC-MAIN-2024-22[/warc|wat|wet], or a list of its paths (.paths.gz).",
        ),
    ],
    text_column: Annotated[str, typer.Option(help="Read the text from this column of a table.")] = "",
    html_column: Annotated[
        str, typer.Option(help="Read the HTML of a page from this column of a table.")
    ] = "",
    url_column: Annotated[str, typer.Option(help="Read the URL from this column of a table.")] = "",
    id_column: Annotated[str, typer.Option(help="Read the input's own id from this column of a table.")] = "",
    exact_text: Annotated[
        bool,
        typer.Option(
            "--exact-text",
            help="Keep the texts of tables and WebDataset samples byte for byte: leading spaces, CR, NUL, byte order "
            "marks. By default `process` removes these.",
        ),
    ] = False,
    by_line: Annotated[
        bool,
        typer.Option(
            "--by-line",
            help="Make a document of each line of a plain text file. By default each file is one document.",
        ),
    ] = False,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Leave WARC files where they are, and store only their index and their digest.",
        ),
    ] = False,
    site: Annotated[
        str,
        typer.Option(
            help="Set the host of the site that a Stack Exchange Posts.xml belongs to, if its folder does not name it."
        ),
    ] = "",
    files: Annotated[
        int | None,
        typer.Option(
            "--files",
            min=1,
            rich_help_panel=COMMON_CRAWL,
            help="Ingest at most N of the selected files. The default is all of them.",
        ),
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option(
            "--segment", rich_help_panel=COMMON_CRAWL, help="Ingest only files of this segment; repeatable."
        ),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain",
            rich_help_panel=COMMON_CRAWL,
            help="Ingest single records of this domain and its subdomains; repeatable.",
        ),
    ] = None,
    domains: Annotated[
        Path | None,
        typer.Option(
            "--domains",
            rich_help_panel=COMMON_CRAWL,
            help="Read domains from this file, one per line, as if each was given with --domain.",
        ),
    ] = None,
    url_prefix: Annotated[
        list[str] | None,
        typer.Option(
            "--url-prefix",
            rich_help_panel=COMMON_CRAWL,
            help="Ingest single records whose URL starts with this; repeatable.",
        ),
    ] = None,
    mime: Annotated[
        list[str] | None,
        typer.Option(
            "--mime",
            rich_help_panel=COMMON_CRAWL,
            help="Ingest only records with this media type; repeatable. The default is any.",
        ),
    ] = None,
    status: Annotated[
        list[int] | None,
        typer.Option(
            "--status",
            rich_help_panel=COMMON_CRAWL,
            help="Ingest only records with this HTTP status; repeatable. The default is 200.",
        ),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            "--language",
            rich_help_panel=COMMON_CRAWL,
            help="Ingest only records mostly in this language, such as eng or deu; repeatable. The default is any.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            rich_help_panel=COMMON_CRAWL,
            help="Ingest at most N of the selected records. The default is all of them.",
        ),
    ] = None,
    index: Annotated[
        IndexName,
        typer.Option(
            "--index",
            rich_help_panel=COMMON_CRAWL,
            help="Look records up in this index, cdx or columnar.",
        ),
    ] = "cdx",
    workers: CoresOption = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Ingest archives, tables, texts and Common Crawl.

    Formats: WARC, WAT, WET, ARC and WACZ; JSON lines, CSV, Parquet and Arrow; plain text, HTML and PDF; tar files of
    these; dumps of Wikipedia (pages-articles) and Stack Exchange (Posts.xml). Files may be plain or compressed with
    gzip, bzip2 or Zstandard.
    If the command is killed, type it again: it continues.

    \b
    Example:
      thresher ingest cc CC-MAIN-*.warc.gz
      thresher ingest books texts/ more.jsonl.zst --text-column body
      thresher ingest cc commoncrawl:CC-MAIN-2024-22/wet --files 10
      thresher ingest docs commoncrawl:CC-MAIN-2024-22 --domain example.org --language eng
    """
    from functools import partial

    from thresher.pipeline.inputs.chosen_ingest import chosen_selection, ingest_chosen
    from thresher.pipeline.inputs.ingest import IngestOptions
    from thresher.pipeline.inputs.ingest_result import IngestPrinter, print_summary
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.output import echo
    from thresher.pipeline.terminal.progress import stderr_progress
    from thresher.storage.inputs.table_files.columns import Columns

    selection = chosen_selection(
        files=files,
        segment=segment,
        domain=domain,
        domains=domains,
        url_prefix=url_prefix,
        mime=mime,
        status=status,
        language=language,
        limit=limit,
        index=index,
    )
    columns = Columns(text=text_column, html=html_column, url=url_column, id=id_column, exact_text=exact_text)
    lines = IngestPrinter(partial(echo, err=True))
    summary = ingest_chosen(
        OpenProject.at(project),
        check_name(name),
        inputs,
        IngestOptions(columns=columns, by_line=by_line, site=site, in_place=in_place),
        selection,
        stderr_progress(),
        lines.add,
        workers=workers,
    )
    lines.flush()
    print_summary(name, summary, as_json)
