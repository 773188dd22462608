"""`thresher ingest`: what was made elsewhere, and Common Crawl.

A command parses, calls one function, and prints what came of it. It imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from core import InputError
from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    ProjectOption,
    check_name,
)

if TYPE_CHECKING:
    pass

IndexName = Literal["cdx", "columnar"]
COMMON_CRAWL = "Options for Common Crawl"


def ingest(
    name: Annotated[str, typer.Argument(help="Name of the source to make.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files, directories, s3://BUCKET/PREFIX; commoncrawl:CC-MAIN-2024-22[/warc|wat|wet] or a list of its "
            "paths (.paths.gz).",
        ),
    ],
    text_column: Annotated[str, typer.Option(help="Column of a table that holds the text.")] = "",
    html_column: Annotated[str, typer.Option(help="Column of a table that holds the HTML of a page.")] = "",
    url_column: Annotated[str, typer.Option(help="Column of a table that holds the URL.")] = "",
    id_column: Annotated[str, typer.Option(help="Column of a table that holds the input's own id.")] = "",
    by_line: Annotated[
        bool,
        typer.Option(
            "--by-line", help="Make a document of each line of a plain text, not one of the whole file."
        ),
    ] = False,
    site: Annotated[
        str,
        typer.Option(
            help="Host of the site that a Stack Exchange Posts.xml belongs to, if its folder does not say."
        ),
    ] = "",
    files: Annotated[
        int | None,
        typer.Option("--files", min=1, rich_help_panel=COMMON_CRAWL, help="Ingest the first N files."),
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option(
            "--segment", rich_help_panel=COMMON_CRAWL, help="Ingest files of this segment; repeatable."
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
            "--domains", rich_help_panel=COMMON_CRAWL, help="The same for each domain in a file, one a line."
        ),
    ] = None,
    url_prefix: Annotated[
        list[str] | None,
        typer.Option(
            "--url-prefix",
            rich_help_panel=COMMON_CRAWL,
            help="Ingest single records whose URL begins with this; repeatable.",
        ),
    ] = None,
    mime: Annotated[
        list[str] | None,
        typer.Option(
            "--mime", rich_help_panel=COMMON_CRAWL, help="Select records of this media type; repeatable."
        ),
    ] = None,
    status: Annotated[
        list[int] | None,
        typer.Option(
            "--status",
            rich_help_panel=COMMON_CRAWL,
            help="Select records of this HTTP status, 200 by default; repeatable.",
        ),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            "--language",
            rich_help_panel=COMMON_CRAWL,
            help="Select records mostly in this language, such as eng or deu; repeatable.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, rich_help_panel=COMMON_CRAWL, help="Ingest at most N of the selected records."
        ),
    ] = None,
    index: Annotated[
        IndexName,
        typer.Option("--index", rich_help_panel=COMMON_CRAWL, help="Index to ask, cdx or columnar."),
    ] = "cdx",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Bring in archives, tables, texts and Common Crawl.

    WARC, WAT, WET, ARC and WACZ; JSON lines, CSV, Parquet and Arrow; plain text, HTML, PDF; tar files of them;
    dumps of Wikipedia (pages-articles) and Stack Exchange (Posts.xml). Plain, or compressed with gzip, bzip2 or Zstandard.
    If the command is killed, type it again: it goes on where it was.

    \b
    Example:
      thresher ingest cc CC-MAIN-*.warc.gz
      thresher ingest books texts/ more.jsonl.zst --text-column body
      thresher ingest cc commoncrawl:CC-MAIN-2024-22/wet --files 10
      thresher ingest docs commoncrawl:CC-MAIN-2024-22 --domain example.org --language eng
    """
    from pipeline.inputs.commoncrawl_selection import CommonCrawlSelection, is_commoncrawl
    from pipeline.inputs.ingest import IngestOptions
    from pipeline.inputs.ingest_result import run_commoncrawl, run_ingest
    from pipeline.project import Project
    from storage.inputs.tables.columns import Columns

    wanted = CommonCrawlSelection(
        files=files,
        segments=frozenset(segment or ()),
        domains=(*(domain or ()), *(_lines(domains) if domains else ())),
        prefixes=tuple(url_prefix or ()),
        mimes=tuple(mime or ()),
        statuses=tuple(status or ()),
        languages=tuple(language or ()),
        limit=limit,
        index=index,
    )
    opened = Project.at(project)
    if any(map(is_commoncrawl, inputs)):
        run_commoncrawl(opened, check_name(name), inputs, wanted, as_json)
        return
    if wanted != CommonCrawlSelection(index=index):
        raise InputError(
            "--files, --segment, --domain and their like choose from Common Crawl: give commoncrawl:CC-MAIN-... with them"
        )
    columns = Columns(text=text_column, html=html_column, url=url_column, id=id_column)
    run_ingest(
        opened.store,
        check_name(name),
        inputs,
        IngestOptions(columns=columns, by_line=by_line, site=site),
        as_json,
    )


def _lines(path: Path) -> list[str]:
    """The lines of a file that say something."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]
