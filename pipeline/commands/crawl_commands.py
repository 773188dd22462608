"""`thresher seed`, `crawl`, `rescrape`, `refetch`: the commands that fill the archive from the web.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thresher.core import InputError
from thresher.pipeline.commands.about.completion import complete_crawls, complete_sources
from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CrawlName,
    CrawlOption,
    DepthOption,
    JsonOption,
    MaxPagesOption,
    MaxRequestsOption,
    MaxTimeOption,
    ProjectOption,
    ScopeKind,
    ScopeOption,
    SpiderArgumentOption,
    SpiderOption,
    SpiderSettingsOption,
    UpdateOption,
    WorkersOption,
    check_name,
    parse_spider,
)
from thresher.pipeline.commands.results import Refusals, end_crawl
from thresher.pipeline.terminal.output import print_result


def seed(
    file: Annotated[
        str,
        typer.Argument(
            help="Read URLs from this file (list, CSV, sitemap, feed or WAT; plain or compressed), or from standard "
            "input if it is -. The URL of a page, a sitemap or a feed may stand in its place."
        ),
    ],
    crawl: CrawlOption = "main",
    scope: ScopeOption = "domain",
    depth: DepthOption = None,
    priority: Annotated[
        int, typer.Option("--priority", help="Fetch URLs with a larger priority sooner.")
    ] = 0,
    revisit: Annotated[
        str,
        typer.Option(
            "--revisit",
            help="Visit each page again after this time, between 1h and 365d, such as 12h. Each visit adapts the "
            "interval. By default pages are visited once.",
        ),
    ] = "",
    links: Annotated[
        bool, typer.Option("--links", help="Add the links of the pages too, if the file is a WAT file.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Fetch known seeds once more, and try hosts that were given up once more."
        ),
    ] = False,
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Add URLs to a crawl's frontier. Known URLs change nothing, unless --again is given.

    \b
    Example:
      thresher seed seeds.txt --crawl docs --scope host --depth 5
      thresher seed https://example.org/news/ --crawl news --revisit 12h
    """
    from thresher.pipeline.commands import results
    from thresher.pipeline.crawls.seed import SeedPlan, parse_revisit
    from thresher.pipeline.crawls.seed import seed_file as run_seed
    from thresher.pipeline.open_project import OpenProject

    plan = SeedPlan(
        crawl=check_name(crawl),
        scope=scope,
        max_depth=depth,
        priority=priority,
        revisit_s=parse_revisit(revisit) if revisit else 0,
        again=again,
    )
    refusals = Refusals()
    seeded = run_seed(OpenProject.at(project), file, plan, refusals.show, links=links, update=update)
    refusals.end()
    print_result(as_json, asdict(seeded), results.seed_line(seeded, crawl))


def crawl(
    name: CrawlName = "main",
    workers: WorkersOption = 1,
    max_pages: MaxPagesOption = None,
    max_requests: MaxRequestsOption = None,
    max_time: MaxTimeOption = None,
    spider: SpiderOption = "",
    argument: SpiderArgumentOption = None,
    settings: SpiderSettingsOption = "",
    update: UpdateOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show each line of the crawl log when it is written.")
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Crawl until the frontier drains or a limit is reached.

    The first Ctrl-C drains: requests in flight finish and are archived. A second one stops at once. Run the command
    again to continue.

    Exit code 3: the frontier is drained, and pages failed in this run; `thresher log NAME --outcome failed` lists them.
    Exit code 130: interrupted.

    With --spider the spider's callbacks read the pages and choose the next requests. Other links are not followed
    (docs/guides/spiders.md).

    \b
    Example:
      thresher crawl docs --workers 2 --max-pages 10000
      thresher crawl shop --spider shop.spiders:Prices -a country=de --settings shop.settings
    """
    from thresher.pipeline.fleet import crawl_summary
    from thresher.pipeline.fleet.crawl_call import CrawlLimits
    from thresher.pipeline.fleet.crawl_command import crawl as run_crawl
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.progress import stderr_progress

    limits = CrawlLimits(workers=workers, max_pages=max_pages, max_requests=max_requests, max_time_s=max_time)
    opened = OpenProject.at(project)
    spider_spec = parse_spider(opened, spider, argument or [], settings)
    crawled = run_crawl(
        opened, check_name(name), limits, stderr_progress(), spider_spec, update=update, verbose=verbose
    )
    print_result(as_json, crawl_summary.body(name, crawled), "\n".join(crawl_summary.lines(name, crawled)))
    end_crawl(crawled)


def rescrape(
    name: CrawlName,
    domains: Annotated[
        list[str] | None,
        typer.Argument(
            help="Domains to fetch again, with their subdomains. The default is all domains of the crawl."
        ),
    ] = None,
    max_age: Annotated[
        str,
        typer.Option(
            "--max-age",
            help="Skip pages captured within this time, such as 12h or 7d. By default none is skipped.",
        ),
    ] = "",
    from_report: Annotated[
        bool,
        typer.Option(
            "--from-report", help="Order domains by the share of documents kept; skip domains with none."
        ),
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, help="Fetch at most N pages again. By default all are fetched."),
    ] = None,
    scope: Annotated[
        ScopeKind | None,
        typer.Option(
            "--scope",
            help="Follow new links within this scope: any, or the domain, host or path prefix of the page that has "
            "them. The default is the scope that the page has in the crawl.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            min=0,
            help="Follow new links at most N steps away from a page that is fetched again. The default is the depth "
            "that the page and its links have in the crawl.",
        ),
    ] = None,
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

    New captures go into the same archive, and new links on the pages are followed as far as the crawl followed the
    others. Requests ask servers whether the page has changed (ETag, Last-Modified); an unchanged page adds only a
    revisit record.
    If the command is killed, type it again: it continues.

    \b
    Example:
      thresher rescrape docs example.org --max-age 7d
      thresher rescrape docs --from-report --budget 10000 --add-only
    """
    from thresher.pipeline.crawls.operator_commands import parse_duration_ms
    from thresher.pipeline.crawls.rescrape import RescrapePlan
    from thresher.pipeline.crawls.rescrape import add_rescrapes as run_rescrape
    from thresher.pipeline.fleet import crawl_summary
    from thresher.pipeline.fleet.crawl_call import CrawlLimits
    from thresher.pipeline.fleet.crawl_command import crawl as run_crawl
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    plan = RescrapePlan(
        crawl=check_name(name),
        domains=tuple(domains or ()),
        from_report=from_report,
        budget=budget,
        older_than_s=parse_duration_ms(max_age) // 1000 if max_age else 0,
        scope=scope,
        max_depth=depth,
    )
    found = run_rescrape(opened, plan, update=update)
    line = f"{name}: {found.pages:,} pages to fetch again, {found.added:,} added, {found.known:,} known"
    if add_only:
        print_result(as_json, asdict(found), line)
        return
    crawled = run_crawl(opened, name, CrawlLimits(workers=workers, max_time_s=max_time), stderr_progress())
    text = "\n".join((line, *crawl_summary.lines(name, crawled)))
    print_result(as_json, {**crawl_summary.body(name, crawled), **asdict(found)}, text)
    end_crawl(crawled)


def refetch(
    name: Annotated[
        str,
        typer.Argument(help="Name of the source. It must be processed.", autocompletion=complete_sources),
    ],
    crawl: Annotated[
        str, typer.Option("--crawl", help="Add the URLs to this crawl.", autocompletion=complete_crawls)
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the URLs to this file instead, one per line.")
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Add the URLs of truncated pages to a crawl.

    The crawl downloads them in full. Common Crawl truncates long pages, among them a quarter of its PDFs. With --out
    the URLs are written to a file.

    \b
    Example:
      thresher refetch cc --crawl whole && thresher crawl whole
      thresher refetch cc --out truncated.txt
    """
    from thresher.pipeline.commands import results
    from thresher.pipeline.crawls.refetch import refetch_truncated as run_refetch
    from thresher.pipeline.crawls.refetch import write_urls
    from thresher.pipeline.open_project import OpenProject

    opened = OpenProject.at(project)
    if bool(crawl) == (out is not None):
        raise InputError("refetch: give either --crawl NAME or --out FILE")
    if out is not None:
        count = write_urls(opened, check_name(name), out)
        print_result(
            as_json,
            {"out": str(out), "urls": count},
            f"{out}: {count:,} URLs of pages that {name} holds only truncated",
        )
        return
    refusals = Refusals()
    seeded = run_refetch(opened, check_name(name), check_name(crawl), refusals.show)
    refusals.end()
    print_result(as_json, asdict(seeded), results.seed_line(seeded, crawl))
