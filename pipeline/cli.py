"""What a user types. Each command parses, calls one function of the pipeline, and says what came of it.

A command imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from core import InputError
from pipeline import config
from pipeline.commands.frontier import app as frontier_app
from pipeline.commands.hosts import hosts_command
from pipeline.commands.log import log_command
from pipeline.commands.options import (
    HERE,
    PROJECT_VARIABLE,
    CoresOption,
    DepthOption,
    JsonOption,
    ProjectOption,
    ScopeOption,
    UpdateOption,
    checked_name,
    usable_cores,
)
from pipeline.commands.show import show_command
from pipeline.terminal import Refusals, console, echo, end_crawl, print_json, run_command, say

if TYPE_CHECKING:
    from crawler.guest import Guest
    from pipeline.project import Project

IndexName = Literal["cdx", "columnar"]
app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Worker processes.")]
Names = Annotated[list[str] | None, typer.Argument(help="Crawls and ingests; all of them if none is named.")]
CrawlOption = Annotated[str, typer.Option("--crawl", help="Name of the crawl.")]
MaxPagesOption = Annotated[
    int | None,
    typer.Option(
        "--max-pages",
        min=1,
        help="Stop after so many pages are fetched; what is not found, redirects, fails or is refused does not count.",
    ),
]
MaxRequestsOption = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        min=1,
        help="Stop after so many requests, whatever comes; those for robots.txt count.",
    ),
]
MaxTimeOption = Annotated[float | None, typer.Option("--max-time", min=0, help="Stop after so many seconds.")]
OutOption = Annotated[
    str, typer.Option("--out", help="Directory of the dataset: a new one, or that of the same dataset.")
]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        echo(f"thresher {version('thresher')}")
        raise typer.Exit


@app.callback()
def thresher(
    project: Annotated[
        Path | None, typer.Option("--project", help="Directory that holds thresher.toml, for any command.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback has done what it asks for
        bool,
        typer.Option("--version", is_eager=True, callback=_version, help="Show the version and exit."),
    ] = False,
) -> None:
    """From a list of URLs to training tokens.

    \b
    Example:
      thresher init && thresher run seeds.txt --out out --tokenizer tokenizer.json

    \b
    Exit codes:
      0    done
      1    failed: something is damaged, or cannot be made
      2    wrong input or configuration, or a server that does not answer; one line says what to do
      3    a crawl is drained, and some of its pages failed
      130  interrupted (Ctrl-C, SIGTERM)
    """
    if project is not None:
        os.environ[PROJECT_VARIABLE] = str(project)


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(help="Project directory.")] = HERE, as_json: JsonOption = False
) -> None:
    """Write a commented thresher.toml.

    An existing one is left as it is.

    \b
    Example:
      thresher init my-crawl
    """
    path = directory / config.FILE
    if path.exists():
        raise InputError(f"{path}: exists already, and was left as it is; edit it, or give another directory")
    directory.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{config.FILE}.new")
    try:
        new.write_text(config.TEMPLATE, encoding="utf-8")
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    say(as_json, {"wrote": str(path)}, f"wrote {path}; set project.contact in it before you crawl")


@app.command()
def seed(
    file: Annotated[
        str,
        typer.Argument(
            help="File of URLs (list, CSV, sitemap, feed, WAT; plain or packed), - for standard input, or one URL, of a page, "
            "sitemap or feed."
        ),
    ],
    crawl: CrawlOption = "main",
    scope: ScopeOption = "domain",
    depth: DepthOption = None,
    priority: Annotated[
        int, typer.Option("--priority", help="URLs of a larger priority are fetched sooner.")
    ] = 0,
    revisit: Annotated[
        str,
        typer.Option(
            "--revisit",
            help="Visit pages again after this time, from 1h to 365d, such as 12h; each visit adapts it.",
        ),
    ] = "",
    links: Annotated[
        bool, typer.Option("--links", help="For a WAT file: add the links of its pages as well.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Ask for known seeds once more, and hosts that were given up."),
    ] = False,
    update: UpdateOption = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Add URLs to a crawl's frontier. Known ones change nothing, unless they are to be asked for again.

    \b
    Example:
      thresher seed seeds.txt --crawl docs --scope host --depth 5
      thresher seed https://example.org/news/ --crawl news --revisit 12h
    """
    from pipeline import said
    from pipeline.project import Project
    from pipeline.seed import Plan, revisit_s
    from pipeline.seed import seed as run_seed

    plan = Plan(
        crawl=checked_name(crawl),
        scope=scope,
        max_depth=depth,
        priority=priority,
        revisit_s=revisit_s(revisit) if revisit else 0,
        again=again,
    )
    refusals = Refusals()
    seeded = run_seed(Project.at(project), file, plan, refusals.show, links=links, update=update)
    refusals.end()
    say(as_json, asdict(seeded), said.seeded_line(seeded, crawl))


@app.command()
def crawl(
    name: Annotated[str, typer.Argument(help="The crawl.")] = "main",
    workers: WorkersOption = 1,
    max_pages: MaxPagesOption = None,
    max_requests: MaxRequestsOption = None,
    max_time: MaxTimeOption = None,
    spider: Annotated[
        str, typer.Option("--spider", help="A Scrapy spider of your own, as package.module:Class.")
    ] = "",
    argument: Annotated[
        list[str] | None, typer.Option("-a", help="NAME=VALUE for the spider; may be given again.")
    ] = None,
    settings: Annotated[
        str, typer.Option("--settings", help="The spider's Scrapy settings, as package.module.")
    ] = "",
    update: UpdateOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show each line of the crawl's log as it is written.")
    ] = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Crawl until the frontier drains or a limit is reached.

    Ctrl-C drains: what is in flight is archived. A second one stops at once. Run again to go on.
    Exit code 3: the frontier is drained, and pages failed in this run; `thresher log NAME --outcome failed` lists them.
    Exit code 130: interrupted.

    With --spider its callbacks read the pages and say which are fetched next, in place of all links
    (docs/guides/spiders.md).

    \b
    Example:
      thresher crawl docs --workers 2 --max-pages 10000
      thresher crawl shop --spider shop.spiders:Prices -a country=de --settings shop.settings
    """
    from pipeline import summary
    from pipeline.crawl import Limits
    from pipeline.crawl import crawl as run_crawl
    from pipeline.progress import stderr_progress
    from pipeline.project import Project

    limits = Limits(workers=workers, max_pages=max_pages, max_requests=max_requests, max_time_s=max_time)
    opened = Project.at(project)
    guest = _guest(opened, spider, argument or [], settings)
    crawled = run_crawl(
        opened, checked_name(name), limits, stderr_progress(), guest, update=update, verbose=verbose
    )
    say(as_json, summary.body(crawled), "\n".join(summary.lines(name, crawled)))
    end_crawl(crawled)


@app.command()
def rescrape(
    name: Annotated[str, typer.Argument(help="The crawl.")],
    domains: Annotated[
        list[str] | None,
        typer.Argument(help="Domains, with their subdomains; the whole crawl if none is named."),
    ] = None,
    max_age: Annotated[
        str,
        typer.Option("--max-age", help="Skip pages that were captured within this time, such as 12h or 7d."),
    ] = "",
    from_report: Annotated[
        bool,
        typer.Option(
            "--from-report", help="Order domains by the share of documents kept; skip domains with none."
        ),
    ] = False,
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="Ask for at most N pages.")] = None,
    scope: ScopeOption = "host",
    depth: DepthOption = None,
    add_only: Annotated[
        bool,
        typer.Option(
            "--add-only",
            help="Add the pages to the frontier and do not crawl: a crawl that runs elsewhere fetches them.",
        ),
    ] = False,
    workers: WorkersOption = 1,
    max_time: MaxTimeOption = None,
    update: UpdateOption = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Fetch archived pages of a crawl again.

    They go into the same archive, and links that are new on them are followed. Servers are asked whether a page has changed (ETag, Last-Modified); a page that has not changed costs a revisit record.
    If the command is killed, type it again: it goes on where it was.

    \b
    Example:
      thresher rescrape docs example.org --max-age 7d
      thresher rescrape docs --from-report --budget 10000 --add-only
    """
    from pipeline import summary
    from pipeline.crawl import Limits
    from pipeline.crawl import crawl as run_crawl
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.rescrape import Plan
    from pipeline.rescrape import rescrape as run_rescrape
    from pipeline.steer import milliseconds

    at = Project.at(project)
    plan = Plan(
        crawl=checked_name(name),
        domains=tuple(domains or ()),
        from_report=from_report,
        budget=budget,
        older_than_s=milliseconds(max_age) // 1000 if max_age else 0,
        scope=scope,
        max_depth=depth,
    )
    found = run_rescrape(at, plan, update=update)
    line = f"{name}: {found.pages:,} pages to ask for again, {found.added:,} added, {found.known:,} known"
    if add_only:
        say(as_json, asdict(found), line)
        return
    crawled = run_crawl(at, name, Limits(workers=workers, max_time_s=max_time), stderr_progress())
    said = "\n".join((line, *summary.lines(name, crawled)))
    say(as_json, {**summary.body(crawled), **asdict(found)}, said)
    end_crawl(crawled)


@app.command()
def refetch(
    name: Annotated[str, typer.Argument(help="The source; it must be processed.")],
    crawl: Annotated[str, typer.Option("--crawl", help="Crawl to add their URLs to.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write their URLs to instead, one a line.")
    ] = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Have a crawl fetch whole what a source holds truncated.

    Common Crawl truncates long pages, and a quarter of its PDFs. Their URLs are added to a crawl, or written to a file.

    \b
    Example:
      thresher refetch cc --crawl whole && thresher crawl whole
      thresher refetch cc --out truncated.txt
    """
    from core import InputError
    from pipeline import said
    from pipeline.project import Project
    from pipeline.refetch import listed
    from pipeline.refetch import refetch as run_refetch

    at = Project.at(project)
    if bool(crawl) == (out is not None):
        raise InputError("refetch: give either --crawl NAME or --out FILE")
    if out is not None:
        count = listed(at, checked_name(name), out)
        say(as_json, {"out": str(out), "urls": count}, f"{out}: {count:,} URLs of what {name} holds cut off")
        return
    refusals = Refusals()
    seeded = run_refetch(at, checked_name(name), checked_name(crawl), refusals.show)
    refusals.end()
    say(as_json, asdict(seeded), said.seeded_line(seeded, crawl))


@app.command()
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
        int | None, typer.Option("--files", min=1, help="Common Crawl: ingest the first N files.")
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option("--segment", help="Common Crawl: ingest files of this segment; repeatable."),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain",
            help="Common Crawl: ingest single records of this domain and its subdomains; repeatable.",
        ),
    ] = None,
    domains: Annotated[
        Path | None,
        typer.Option("--domains", help="Common Crawl: the same for a file of domains, one a line."),
    ] = None,
    url_prefix: Annotated[
        list[str] | None,
        typer.Option(
            "--url-prefix", help="Common Crawl: ingest single records whose URL begins with this; repeatable."
        ),
    ] = None,
    mime: Annotated[
        list[str] | None,
        typer.Option("--mime", help="Common Crawl: select records of this media type; repeatable."),
    ] = None,
    status: Annotated[
        list[int] | None,
        typer.Option(
            "--status", help="Common Crawl: select records of this HTTP status, 200 by default; repeatable."
        ),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            "--language",
            help="Common Crawl: select records mostly in this language, such as eng or deu; repeatable.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="Common Crawl: ingest at most N of the selected records."),
    ] = None,
    index: Annotated[
        IndexName, typer.Option("--index", help="Common Crawl: index to ask, cdx or columnar.")
    ] = "cdx",
    project: ProjectOption = HERE,
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
    from pipeline.brought import run_commoncrawl, run_ingest
    from pipeline.ingest import Ways
    from pipeline.project import Project
    from pipeline.wanted import Wanted, is_meant
    from storage.inputs.columns import Columns

    wanted = Wanted(
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
    if any(map(is_meant, inputs)):
        run_commoncrawl(opened, checked_name(name), inputs, wanted, as_json)
        return
    if wanted != Wanted(index=index):
        raise InputError(
            "--files, --segment, --domain and their like choose from Common Crawl: give commoncrawl:CC-MAIN-... with them"
        )
    columns = Columns(text=text_column, html=html_column, url=url_column, id=id_column)
    run_ingest(
        opened.store, checked_name(name), inputs, Ways(columns=columns, by_line=by_line, site=site), as_json
    )


@app.command()
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
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Extract the text of what is new in the archive, and judge it.

    \b
    Example:
      thresher process docs
      thresher process docs --follow
    """
    from pipeline import recipe, said
    from pipeline.follow import follow as follow_sources
    from pipeline.process import NAME, forget, step
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.quarantine import release

    opened = Project.at(project)
    # A crawl may be followed before it has sealed anything.
    chosen = tuple(map(checked_name, names)) if follow and names else _sources(opened, names)
    step(opened.config.filters)  # what is wrong with it is said before anything is forgotten
    if redo:
        for name in chosen:
            forget(opened.store, name)
    for name in chosen if retry else ():
        release(opened.store, NAME, name)
    with opened.crew(workers) as crew:
        made = follow_sources if follow else recipe.process_sources
        ran = made(opened, chosen, crew, stderr_progress())
    say(as_json, asdict(ran), said.ran_line(ran))
    for each in ran.quarantined:
        echo(f"thresher: part {each.part} is in quarantine: {each.reason}", err=True)
    if ran.quarantined:
        raise typer.Exit(1)


@app.command(name="dedup")
def dedup_command(names: Names = None, project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Find exact and near duplicates across the sources.

    \b
    Example:
      thresher dedup docs cc
    """
    from pipeline import recipe, report
    from pipeline.progress import stderr_progress
    from pipeline.project import Project

    opened = Project.at(project)
    with opened.crew(1) as crew:
        manifest = recipe.find_duplicates(opened, _sources(opened, names), crew, stderr_progress())
    removed = {kind: manifest.counts.get(f"{kind}.documents", 0) for kind in report.KINDS}
    line = ", ".join(f"{count:,} {kind}" for kind, count in removed.items())
    say(as_json, {"table": manifest.outputs[0].name, "removed": removed}, f"duplicates: {line}")


@app.command()
def export(
    out: OutOption,
    tokenizer: Annotated[
        Path, typer.Option("--tokenizer", help="A Hugging Face tokenizer.json (docs/guides/tokenizer.md).")
    ],
    names: Names = None,
    workers: CoresOption = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Write what is kept as tokenized Parquet shards.

    \b
    Example:
      thresher export --out out --tokenizer tokenizer.json docs cc
    """
    from pipeline import recipe, said
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from shards.tokenizer import load as load_tokenizer

    opened = Project.at(project)
    vocabulary = load_tokenizer(tokenizer)
    with opened.crew(workers) as crew:
        dataset, _ = recipe.export_dataset(
            opened, _sources(opened, names), out, vocabulary, crew, stderr_progress()
        )
    say(as_json, said.dataset_body(out, dataset), said.dataset_line(out, dataset))


@app.command(name="export-wacz")
def export_wacz_command(
    name: Annotated[str, typer.Argument(help="A crawl or an ingest.")],
    out: Annotated[Path, typer.Option("--out", help="WACZ file to write; an existing one is replaced.")],
    title: Annotated[
        str, typer.Option("--title", help="Title in the file; the name of the crawl by default.")
    ] = "",
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Write the archive of a crawl as one WACZ file.

    ReplayWeb.page opens it. WARC files in Zstandard are compressed anew with gzip, for that is what readers of WACZ know.

    \b
    Example:
      thresher export-wacz docs --out docs.wacz
    """
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.wacz import export_wacz

    made = export_wacz(Project.at(project).store, checked_name(name), out, title, stderr_progress())
    anew = f" ({made.recompressed} compressed anew with gzip)" if made.recompressed else ""
    line = f"wrote {out}: {made.pages:,} pages in {made.archives} WARC files{anew}, {made.bytes:,} bytes"
    say(as_json, {"file": str(out), **asdict(made)}, line)


@app.command()
def run(
    seeds_file: Annotated[str, typer.Argument(metavar="SEEDS", help="File of URLs, one URL, or -.")],
    out: OutOption,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            help="A Hugging Face tokenizer.json (docs/guides/tokenizer.md); without one each byte is a token.",
        ),
    ] = None,
    crawl: CrawlOption = "main",
    scope: ScopeOption = "domain",
    depth: DepthOption = None,
    workers: CoresOption = None,
    max_pages: Annotated[
        int | None, typer.Option("--max-pages", min=1, help="Pages to fetch in all, earlier runs included.")
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option(
            "--max-requests", min=1, help="Requests to make in all, earlier runs and robots.txt included."
        ),
    ] = None,
    max_time: MaxTimeOption = None,
    update: UpdateOption = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Do the whole job, from URLs to shards and a report.

    It seeds, crawls, extracts, filters, removes duplicates, tokenizes and writes shards. If it is killed, type the same command
    again: it goes on where it was.

    \b
    Example:
      thresher run seeds.txt --out out --tokenizer tokenizer.json
    """
    from pipeline import recipe, report, said, summary
    from pipeline.crawl import Limits
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.seed import Plan

    opened = Project.at(project)
    plan = Plan(crawl=checked_name(crawl), scope=scope, max_depth=depth)
    limits = Limits(
        workers=workers or usable_cores(),
        max_pages=max_pages,
        max_requests=max_requests,
        in_all=True,
        max_time_s=max_time,
    )
    refusals = Refusals()
    job = recipe.run(
        opened,
        seeds_file,
        plan,
        out,
        tokenizer,
        limits,
        workers,
        stderr_progress(),
        refusals.show,
        update=update,
    )
    refusals.end()
    if not as_json:
        echo("\n".join(summary.lines(crawl, job.crawled)))
        report.render(job.funnel, console())
    body = {
        "seeded": asdict(job.seeded),
        "crawled": summary.body(job.crawled),
        "funnel": job.funnel.to_dict(),
        "dataset": said.dataset_body(out, job.dataset),
    }
    say(as_json, body, said.dataset_line(out, job.dataset))


@app.command(name="report")
def report_command(
    names: Names = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the funnel into this PNG, SVG or PDF.")
    ] = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show the funnel: where every record went, in filter order.

    \b
    Example:
      thresher report docs --plot funnel.png
    """
    from pipeline import report
    from pipeline.project import Project

    opened = Project.at(project)
    funnel = report.funnel_of(opened, _sources(opened, names))
    if plot is not None:
        report.plot(funnel, plot)
    if as_json:
        print_json(funnel.to_dict())
    else:
        report.render(funnel, console())


@app.command(name="status")
def status_command(
    as_metrics: Annotated[
        bool, typer.Option("--metrics", help="Print the figures in the format that Prometheus reads.")
    ] = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show how far every source has come, and what waits for what. Ends with exit code 1 if the frontier of a crawl is lost.

    \b
    Example:
      thresher status --json
    """
    from pipeline import status
    from pipeline.metrics import metrics
    from pipeline.project import Project

    opened = Project.at(project)
    found = status.status(opened)
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


@app.command(name="verify")
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
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Hash and read everything stored, and name every damage.

    Files that dead workers left unsealed are named as well; they are no damage, and the next `crawl` seals them.

    \b
    Example:
      thresher verify && thresher verify out
    """
    from pipeline.inspection import Options, inspect

    options = Options(datasets=tuple(datasets or ()), repair=repair, accept_loss=accept_loss, deep=deep)
    inspect(project, options, as_json)


frontier_app.command(name="hosts")(hosts_command)
app.command(name="log")(log_command)
app.command(name="show")(show_command)
app.add_typer(frontier_app, name="frontier", help="What a crawl asks first, later, again, or not at all.")
catalog_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(catalog_app, name="catalog", help="The catalog: a cache of the storage in a database.")


@catalog_app.command(name="rebuild")
def rebuild_command(project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Make the catalog again from the storage alone.

    Readers see the old version until the new one is complete. If the command is killed, the old version stays.

    \b
    Example:
      thresher catalog rebuild
    """
    from pipeline import catalog
    from pipeline.project import Project

    found = catalog.rebuild(Project.at(project))
    line = (
        f"read {found.manifests:,} manifests and {found.runs:,} runs; they tell of {found.files:,} archive files "
        f"of {found.sources:,} sources"
    )
    say(as_json, asdict(found), line)


def main() -> NoReturn:
    """Run a command; turn every error into its line and its exit code."""
    run_command(app)


def _guest(project: Project, spider: str, arguments: list[str], settings: str) -> Guest | None:
    from crawler.guest import Guest

    if not spider:
        if arguments or settings:
            raise InputError("-a and --settings are for a spider; name it with --spider package.module:Class")
        return None
    pairs = [argument.partition("=") for argument in arguments]
    for name, equals, _ in pairs:
        if not name.isidentifier() or not equals:
            raise InputError(f"-a {name}: give NAME=VALUE, as in -a country=de")
    return Guest(
        spider=spider,
        arguments=tuple((name, value) for name, _, value in pairs),
        settings=settings,
        directory=project.directory,
    )


def _lines(path: Path) -> list[str]:
    """The lines of a file that say something."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def _sources(project: Project, names: list[str] | None) -> tuple[str, ...]:
    known = project.sources(())
    for name in names or ():
        if name not in known:
            raise InputError(
                f"{name!r}: nothing is archived under that name; known are: {', '.join(known) or 'none'}"
            )
    if not known:
        raise InputError(
            f"{project.directory}: nothing is archived yet; run `thresher crawl` or `thresher ingest`"
        )
    return project.sources(tuple(names or ()))
