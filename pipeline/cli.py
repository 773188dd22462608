"""What a user types. Each command parses, calls one function of the pipeline, and says what came of it.

A command imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from core import InputError
from pipeline import config
from pipeline.terminal import Refusals, console, print_json, run_command, say

if TYPE_CHECKING:
    from crawler.guest import Guest
    from pipeline.project import Project

ScopeKind = Literal["any", "domain", "host", "prefix"]
IndexName = Literal["cdx", "columnar"]
RankName = Literal["first", "rich", "usual", "last"]
app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

ProjectOption = Annotated[
    Path, typer.Option("--project", envvar="THRESHER_PROJECT", help="Directory that holds thresher.toml.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Worker processes.")]
CoresOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Worker processes; one for each core by default.")
]
Names = Annotated[list[str] | None, typer.Argument(help="Crawls and ingests; all where none is named.")]
CrawlOption = Annotated[str, typer.Option("--crawl", help="Name of the crawl.")]
ScopeOption = Annotated[
    ScopeKind,
    typer.Option("--scope", help="How far links are followed from a seed: any, domain, host or prefix."),
]
DepthOption = Annotated[
    int | None, typer.Option("--depth", min=0, help="Links to follow from a seed at most.")
]
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
    str, typer.Option("--out", help="Directory of the dataset, new or of the same dataset.")
]
CrawlName = Annotated[str, typer.Argument(help="The crawl.")]
HostName = Annotated[str, typer.Argument(help="Host name as in its URLs, without port.")]
HERE = Path()


@app.callback()
def thresher() -> None:
    """From a list of URLs to training tokens.

    \b
    Example:
      thresher init && thresher run seeds.txt --out out --tokenizer tokenizer.json
    """


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(help="Project directory.")] = HERE, as_json: JsonOption = False
) -> None:
    """Write a commented thresher.toml. An existing one is left alone.

    \b
    Example:
      thresher init my-crawl
    """
    path = directory / config.FILE
    if path.exists():
        raise InputError(f"{path}: is there already and was left as it is")
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
            help="File of URLs (list, CSV, sitemap, feed, WAT; plain or packed), -, or one URL, of a page, sitemap or feed."
        ),
    ],
    crawl: CrawlOption = "main",
    scope: ScopeOption = "domain",
    depth: DepthOption = None,
    priority: Annotated[int, typer.Option("--priority", help="Larger is sooner.")] = 0,
    revisit: Annotated[
        str,
        typer.Option(
            "--revisit", help="Visit again after a time from 1h to 365d, such as 12h; each visit adapts it."
        ),
    ] = "",
    links: Annotated[
        bool, typer.Option("--links", help="Of a WAT file, the links of its pages too.")
    ] = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Add URLs to a crawl's frontier. Known ones change nothing.

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
        crawl=_name(crawl),
        scope=scope,
        max_depth=depth,
        priority=priority,
        revisit_s=revisit_s(revisit) if revisit else 0,
    )
    refusals = Refusals()
    seeded = run_seed(Project.at(project), file, plan, refusals.show, links=links)
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
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Crawl until the frontier drains or a limit is reached.

    Ctrl-C drains: what is in flight is archived. A second one stops at once. Run again to go on.

    With --spider its callbacks read the pages and say which are fetched next, in place of all links
    (docs/guides/spiders.md).

    \b
    Example:
      thresher crawl docs --workers 2 --max-pages 10000
      thresher crawl shop --spider shop.spiders:Prices -a country=de --settings shop.settings
    """
    from pipeline.crawl import Limits
    from pipeline.crawl import crawl as run_crawl
    from pipeline.progress import stderr_progress
    from pipeline.project import Project

    limits = Limits(workers=workers, max_pages=max_pages, max_requests=max_requests, max_time_s=max_time)
    opened = Project.at(project)
    guest = _guest(opened, spider, argument or [], settings)
    stats = run_crawl(opened, _name(name), limits, stderr_progress(), guest).stats
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(stats.outcomes.items()) if count)
    left = stats.waiting + stats.later + stats.leased
    rest = "the frontier is drained" if stats.drained else f"{left:,} URLs wait; run again to go on"
    say(
        as_json,
        {**asdict(stats), "drained": stats.drained},
        f"{name}: {outcomes or 'nothing fetched'} by {stats.requests:,} requests; {rest}",
    )


@app.command()
def rescrape(
    name: Annotated[str, typer.Argument(help="The crawl.")],
    domains: Annotated[
        list[str] | None, typer.Argument(help="Domains, subdomains included; all of the crawl without any.")
    ] = None,
    max_age: Annotated[
        str, typer.Option("--max-age", help="Leave pages that were captured within a time such as 12h or 7d.")
    ] = "",
    from_report: Annotated[
        bool,
        typer.Option(
            "--from-report", help="Domains of which most was kept first, none of which nothing was."
        ),
    ] = False,
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="Pages to ask for at most.")] = None,
    scope: ScopeOption = "host",
    depth: DepthOption = None,
    add_only: Annotated[
        bool, typer.Option("--add-only", help="Let them wait for a crawl that runs, or is to run, elsewhere.")
    ] = False,
    workers: WorkersOption = 1,
    max_time: MaxTimeOption = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Fetch pages of a crawl again that its archive has, into the same archive, and what has become new on them.

    Servers are asked whether a page has changed (ETag, Last-Modified); one that has not costs a revisit record.
    Killed and typed again, it goes on where it was.

    \b
    Example:
      thresher rescrape docs example.org --max-age 7d
      thresher rescrape docs --from-report --budget 10000 --add-only
    """
    from pipeline.crawl import Limits
    from pipeline.crawl import crawl as run_crawl
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.rescrape import Plan
    from pipeline.rescrape import rescrape as run_rescrape
    from pipeline.steer import milliseconds

    at = Project.at(project)
    plan = Plan(
        crawl=_name(name),
        domains=tuple(domains or ()),
        from_report=from_report,
        budget=budget,
        older_than_s=milliseconds(max_age) // 1000 if max_age else 0,
        scope=scope,
        max_depth=depth,
    )
    found = run_rescrape(at, plan)
    line = f"{name}: {found.pages:,} pages to ask for again, {found.added:,} added, {found.known:,} known"
    if add_only:
        say(as_json, asdict(found), line)
        return
    stats = run_crawl(at, name, Limits(workers=workers, max_time_s=max_time), stderr_progress()).stats
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(stats.outcomes.items()) if count)
    say(
        as_json,
        {**asdict(found), "outcomes": stats.outcomes, "drained": stats.drained},
        f"{line}; in all {outcomes}",
    )


@app.command()
def refetch(
    name: Annotated[str, typer.Argument(help="The source, processed.")],
    crawl: Annotated[str, typer.Option("--crawl", help="Crawl in which they are to wait.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write their URLs to instead, one a line.")
    ] = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Have pages and PDFs fetched whole that a source holds cut off, as Common Crawl cuts them.

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
        count = listed(at, _name(name), out)
        say(as_json, {"out": str(out), "urls": count}, f"{out}: {count:,} URLs of what {name} holds cut off")
        return
    refusals = Refusals()
    seeded = run_refetch(at, _name(name), _name(crawl), refusals.show)
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
    html_column: Annotated[str, typer.Option(help="Column that holds the HTML of a page.")] = "",
    url_column: Annotated[str, typer.Option(help="Column that holds its URL.")] = "",
    id_column: Annotated[str, typer.Option(help="Column that holds the input's own id.")] = "",
    by_line: Annotated[
        bool, typer.Option("--by-line", help="A plain text has a document a line, and is not one itself.")
    ] = False,
    site: Annotated[
        str,
        typer.Option(help="Host that a Posts.xml of Stack Exchange is of, where its folder does not say."),
    ] = "",
    files: Annotated[
        int | None, typer.Option("--files", min=1, help="Of Common Crawl: the first so many files.")
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option("--segment", help="Of Common Crawl: files of this segment; repeatable."),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain", help="Of Common Crawl: single records of this domain and all below it; repeatable."
        ),
    ] = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", help="The same for a file of domains, one a line.")
    ] = None,
    url_prefix: Annotated[
        list[str] | None,
        typer.Option("--url-prefix", help="Of Common Crawl: single records whose URL begins so; repeatable."),
    ] = None,
    mime: Annotated[
        list[str] | None, typer.Option("--mime", help="Of those: of this media type; repeatable.")
    ] = None,
    status: Annotated[
        list[int] | None,
        typer.Option("--status", help="Of those: of this HTTP status, 200 by default; repeatable."),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option("--language", help="Of those: mostly in this language, as eng or deu; repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Of those: so many at most.")] = None,
    index: Annotated[
        IndexName, typer.Option("--index", help="Which of Common Crawl's indexes is asked: cdx or columnar.")
    ] = "cdx",
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Bring in what was made elsewhere: archives, tables, texts, and what Common Crawl has.

    WARC, WAT, WET, ARC and WACZ; JSON lines, CSV, Parquet and Arrow; plain text, HTML, PDF; tar files of them;
    dumps of Wikipedia (pages-articles) and Stack Exchange (Posts.xml). Plain, or compressed with gzip, bzip2 or Zstandard.
    Typed again it goes on where it was; what is there is known.

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
        run_commoncrawl(opened, _name(name), inputs, wanted, as_json)
        return
    if wanted != Wanted(index=index):
        raise InputError(
            "--files, --segment, --domain and their like choose from Common Crawl: give commoncrawl:CC-MAIN-... with them"
        )
    columns = Columns(text=text_column, html=html_column, url=url_column, id=id_column)
    run_ingest(opened.store, _name(name), inputs, Ways(columns=columns, by_line=by_line, site=site), as_json)


@app.command()
def process(
    names: Names = None,
    workers: CoresOption = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Forget what was made before, and make it again.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on until the crawl that is running is drained.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try parts again that were put into quarantine.")
    ] = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Extract and judge what is new.

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
    chosen = tuple(map(_name, names)) if follow and names else _sources(opened, names)
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
        typer.echo(f"thresher: part {each.part} is in quarantine: {each.reason}", err=True)
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
    tokenizer: Annotated[Path, typer.Option("--tokenizer", help="A Hugging Face tokenizer.json.")],
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
    out: Annotated[Path, typer.Option("--out", help="The WACZ file; one that is there is replaced.")],
    title: Annotated[str, typer.Option("--title", help="What it is called; its name by default.")] = "",
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Write the archive of a crawl as one WACZ file, to be opened with ReplayWeb.page.

    WARC files in Zstandard are compressed anew with gzip, which is what readers of WACZ know.

    \b
    Example:
      thresher export-wacz docs --out docs.wacz
    """
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.wacz import export_wacz

    made = export_wacz(Project.at(project).store, _name(name), out, title, stderr_progress())
    anew = f" ({made.recompressed} compressed anew with gzip)" if made.recompressed else ""
    line = f"wrote {out}: {made.pages:,} pages in {made.archives} WARC files{anew}, {made.bytes:,} bytes"
    say(as_json, {"file": str(out), **asdict(made)}, line)


@app.command()
def run(
    seeds_file: Annotated[str, typer.Argument(metavar="SEEDS", help="File of URLs, one URL, or -.")],
    out: OutOption,
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", help="A Hugging Face tokenizer.json; bytes are tokens without one."),
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
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """The whole job: seed, crawl, archive, extract, filter, dedup, tokenize, shards, report.

    Killed at any moment, the same command goes on where it was.

    \b
    Example:
      thresher run seeds.txt --out out --tokenizer tokenizer.json
    """
    from pipeline import recipe, report, said
    from pipeline.crawl import Limits
    from pipeline.progress import stderr_progress
    from pipeline.project import Project
    from pipeline.seed import Plan

    opened = Project.at(project)
    plan = Plan(crawl=_name(crawl), scope=scope, max_depth=depth)
    limits = Limits(
        workers=workers or _cores(),
        max_pages=max_pages,
        max_requests=max_requests,
        in_all=True,
        max_time_s=max_time,
    )
    refusals = Refusals()
    job = recipe.run(
        opened, seeds_file, plan, out, tokenizer, limits, workers, stderr_progress(), refusals.show
    )
    refusals.end()
    if not as_json:
        report.render(job.funnel, console())
    body = {
        "seeded": asdict(job.seeded),
        "crawled": {**asdict(job.crawled), "drained": job.crawled.drained},
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
    """The funnel: where every record went, in filter order.

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
    as_metrics: Annotated[bool, typer.Option("--metrics", help="Print it as Prometheus reads it.")] = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """What every source has come to, and who waits for whom.

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
        typer.echo(metrics(found, opened.cache_stats), nl=False)
    elif as_json:
        print_json(found)
    else:
        status.render(found, console())


@app.command(name="verify")
def verify_command(
    datasets: Annotated[
        list[str] | None, typer.Argument(help="Export directories; the storage without any.")
    ] = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Let damaged parts that can be made again be made at the next run."),
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option(
            "--accept-loss",
            help="Seal damaged archive files anew as they are, without the records that cannot be read.",
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
    """Hash and read again everything that was sealed, and name every damage.

    What dead workers left unsealed is named too, and is no damage: the next `crawl` seals it.

    \b
    Example:
      thresher verify && thresher verify out
    """
    from pipeline.inspection import Options, inspect
    from pipeline.project import Project

    options = Options(datasets=tuple(datasets or ()), repair=repair, accept_loss=accept_loss, deep=deep)
    inspect(Project.at(project), options, as_json)


catalog_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(catalog_app, name="catalog", help="The catalog, which is only a cache of the storage.")


@catalog_app.command(name="rebuild")
def rebuild_command(project: ProjectOption = HERE, as_json: JsonOption = False) -> None:
    """Make the catalog again from storage alone.

    Who reads it meanwhile sees the old one; killed, it is as it was.

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


frontier_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(frontier_app, name="frontier", help="What a crawl asks first, later, or not at all.")


@frontier_app.command(name="hold")
def hold_command(
    name: CrawlName,
    host: HostName,
    how_long: Annotated[str, typer.Option("--for", help="A time such as 90s, 15m, 1h or 2d.")] = "1h",
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Ask a host nothing for a time.

    \b
    Example:
      thresher frontier hold docs example.org --for 2d
    """
    from pipeline import steer
    from pipeline.project import Project

    steer.hold(Project.at(project), name, host, how_long)
    say(as_json, {"held": host, "for": how_long}, f"{name}: {host} is asked nothing for {how_long}")


@frontier_app.command(name="resume")
def resume_command(
    name: CrawlName, host: HostName, project: ProjectOption = HERE, as_json: JsonOption = False
) -> None:
    """Let a host go on, whatever held it; one that was given up lives again.

    \b
    Example:
      thresher frontier resume docs example.org
    """
    from pipeline import steer
    from pipeline.project import Project

    steer.resume(Project.at(project), name, host)
    say(as_json, {"resumed": host}, f"{name}: {host} is asked again, at its own pace")


@frontier_app.command(name="drop")
def drop_command(
    name: CrawlName,
    scope: Annotated[str, typer.Argument(help="domain:NAME, host:NAME or prefix:URL.")],
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Bar a part of the web from a crawl: what waits of it is refused, what is found of it not let in.

    \b
    Example:
      thresher frontier drop docs domain:example.org
      thresher frontier drop docs prefix:https://example.org/forum/
    """
    from pipeline import steer
    from pipeline.project import Project

    dropped = steer.drop(Project.at(project), name, scope)
    later = (
        "; what waits under a prefix is refused when its turn comes" if scope.startswith("prefix:") else ""
    )
    say(
        as_json,
        {"barred": scope, "dropped": dropped},
        f"{name}: {scope} is barred, {dropped:,} waiting pages refused{later}",
    )


@frontier_app.command(name="prefer")
def prefer_command(
    name: CrawlName,
    domains: Annotated[
        list[str] | None, typer.Argument(help="Registered domains, all hosts of which are meant.")
    ] = None,
    rank: Annotated[RankName, typer.Option("--rank", help="first, rich, usual or last.")] = "first",
    from_report: Annotated[
        bool,
        typer.Option("--from-report", help="Rank each domain by the share of its documents that was kept."),
    ] = False,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Ask the hosts of a domain before others, or after them.

    \b
    Example:
      thresher frontier prefer docs example.org example.com --rank rich
      thresher frontier prefer docs --from-report
    """
    from pipeline import steer
    from pipeline.project import Project

    if from_report == bool(domains):
        raise InputError("prefer: name domains, or say --from-report, one of the two")
    if from_report:
        ranked = steer.prefer_yields(Project.at(project), name)
        told = ", ".join(f"{count:,} {rank}" for rank, count in ranked.items())
        say(as_json, {"ranked": ranked}, f"{name}: domains by what was kept of them: {told}")
        return
    assert domains is not None
    steer.prefer(Project.at(project), name, domains, rank)
    say(as_json, {"rank": rank, "domains": domains}, f"{name}: {len(domains)} domains are ranked {rank}")


def main() -> NoReturn:
    """Run a command; turn every error into its line and its exit code."""
    run_command(app)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


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


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError(
            f"name {name!r}: use up to 100 letters, digits, '-', '_' and '.', a letter or digit first"
        )
    return name


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
