"""`thresher seed`, `crawl`, `rescrape`, `refetch`: what fills the archive from the web.

A command parses, calls one function, and prints what came of it. It imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core import InputError
from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CrawlOption,
    DepthOption,
    JsonOption,
    MaxPagesOption,
    MaxRequestsOption,
    MaxTimeOption,
    ProjectOption,
    ScopeOption,
    UpdateOption,
    WorkersOption,
    check_name,
)
from pipeline.commands.results import Refusals, end_crawl
from pipeline.terminal.output import print_result

if TYPE_CHECKING:
    from crawler.spiders import SpiderSpec
    from pipeline.project import Project


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
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Add URLs to a crawl's frontier. Known ones change nothing, unless they are to be asked for again.

    \b
    Example:
      thresher seed seeds.txt --crawl docs --scope host --depth 5
      thresher seed https://example.org/news/ --crawl news --revisit 12h
    """
    from pipeline.commands import results
    from pipeline.crawls.seed import SeedPlan, parse_revisit
    from pipeline.crawls.seed import seed_file as run_seed
    from pipeline.project import Project

    plan = SeedPlan(
        crawl=check_name(crawl),
        scope=scope,
        max_depth=depth,
        priority=priority,
        revisit_s=parse_revisit(revisit) if revisit else 0,
        again=again,
    )
    refusals = Refusals()
    seeded = run_seed(Project.at(project), file, plan, refusals.show, links=links, update=update)
    refusals.end()
    print_result(as_json, asdict(seeded), results.seed_line(seeded, crawl))


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
    project: ProjectOption = CURRENT_DIRECTORY,
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
    from pipeline.fleet import crawl_summary
    from pipeline.fleet.crawl_command import CrawlLimits
    from pipeline.fleet.crawl_command import crawl as run_crawl
    from pipeline.project import Project
    from pipeline.terminal.progress import stderr_progress

    limits = CrawlLimits(workers=workers, max_pages=max_pages, max_requests=max_requests, max_time_s=max_time)
    opened = Project.at(project)
    guest = _parse_spider(opened, spider, argument or [], settings)
    crawled = run_crawl(
        opened, check_name(name), limits, stderr_progress(), guest, update=update, verbose=verbose
    )
    print_result(as_json, crawl_summary.body(crawled), "\n".join(crawl_summary.lines(name, crawled)))
    end_crawl(crawled)


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
    project: ProjectOption = CURRENT_DIRECTORY,
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
    from pipeline.crawls.operator_commands import parse_duration_ms
    from pipeline.crawls.rescrape import RescrapePlan
    from pipeline.crawls.rescrape import add_rescrapes as run_rescrape
    from pipeline.fleet import crawl_summary
    from pipeline.fleet.crawl_command import CrawlLimits
    from pipeline.fleet.crawl_command import crawl as run_crawl
    from pipeline.project import Project
    from pipeline.terminal.progress import stderr_progress

    at = Project.at(project)
    plan = RescrapePlan(
        crawl=check_name(name),
        domains=tuple(domains or ()),
        from_report=from_report,
        budget=budget,
        older_than_s=parse_duration_ms(max_age) // 1000 if max_age else 0,
        scope=scope,
        max_depth=depth,
    )
    found = run_rescrape(at, plan, update=update)
    line = f"{name}: {found.pages:,} pages to ask for again, {found.added:,} added, {found.known:,} known"
    if add_only:
        print_result(as_json, asdict(found), line)
        return
    crawled = run_crawl(at, name, CrawlLimits(workers=workers, max_time_s=max_time), stderr_progress())
    said = "\n".join((line, *crawl_summary.lines(name, crawled)))
    print_result(as_json, {**crawl_summary.body(crawled), **asdict(found)}, said)
    end_crawl(crawled)


def refetch(
    name: Annotated[str, typer.Argument(help="The source; it must be processed.")],
    crawl: Annotated[str, typer.Option("--crawl", help="Crawl to add their URLs to.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write their URLs to instead, one a line.")
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
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
    from pipeline.commands import results
    from pipeline.crawls.refetch import refetch_truncated as run_refetch
    from pipeline.crawls.refetch import write_urls
    from pipeline.project import Project

    at = Project.at(project)
    if bool(crawl) == (out is not None):
        raise InputError("refetch: give either --crawl NAME or --out FILE")
    if out is not None:
        count = write_urls(at, check_name(name), out)
        print_result(
            as_json, {"out": str(out), "urls": count}, f"{out}: {count:,} URLs of what {name} holds cut off"
        )
        return
    refusals = Refusals()
    seeded = run_refetch(at, check_name(name), check_name(crawl), refusals.show)
    refusals.end()
    print_result(as_json, asdict(seeded), results.seed_line(seeded, crawl))


def _parse_spider(project: Project, spider: str, arguments: list[str], settings: str) -> SpiderSpec | None:
    from crawler.spiders import SpiderSpec

    if not spider:
        if arguments or settings:
            raise InputError("-a and --settings are for a spider; name it with --spider package.module:Class")
        return None
    pairs = [argument.partition("=") for argument in arguments]
    for name, equals, _ in pairs:
        if not name.isidentifier() or not equals:
            raise InputError(f"-a {name}: give NAME=VALUE, as in -a country=de")
    return SpiderSpec(
        class_path=spider,
        arguments=tuple((name, value) for name, _, value in pairs),
        settings_path=settings,
        directory=project.directory,
    )
