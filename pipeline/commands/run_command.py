"""`thresher run`: the whole job, from URLs to shards.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    CrawlOption,
    DepthOption,
    JsonOption,
    MaxTimeOption,
    OutOption,
    ProjectOption,
    ScopeOption,
    UpdateOption,
    check_name,
    usable_cores,
)
from thresher.pipeline.commands.results import Refusals
from thresher.pipeline.terminal.output import console, echo, print_result


def run(
    seeds_file: Annotated[
        str,
        typer.Argument(
            metavar="SEEDS",
            help="Read URLs from this file, or from - (standard input); or crawl this one URL.",
        ),
    ],
    out: OutOption,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            help="Tokenize with this Hugging Face tokenizer.json (docs/guides/tokenizer.md). By default each byte is a "
            "token.",
        ),
    ] = None,
    crawl: CrawlOption = "main",
    scope: ScopeOption = "domain",
    depth: DepthOption = None,
    workers: CoresOption = None,
    max_pages: Annotated[
        int | None,
        typer.Option(
            "--max-pages",
            min=1,
            help="Fetch at most N pages in all, earlier runs included. The default is no limit.",
        ),
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option(
            "--max-requests",
            min=1,
            help="Make at most N requests in all, earlier runs and robots.txt included. The default is no limit.",
        ),
    ] = None,
    max_time: MaxTimeOption = None,
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Do the whole job, from URLs to shards and a report.

    It seeds, crawls, extracts, filters, removes duplicates, tokenizes and writes shards. If the command is killed, type
    it again: it continues.

    \b
    Example:
      thresher run seeds.txt --out out --tokenizer tokenizer.json
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.crawls.seed import SeedPlan
    from thresher.pipeline.fleet import crawl_summary
    from thresher.pipeline.fleet.crawl_call import CrawlLimits
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.reports import report
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    plan = SeedPlan(crawl=check_name(crawl), scope=scope, max_depth=depth)
    limits = CrawlLimits(
        workers=workers or usable_cores(),
        max_pages=max_pages,
        max_requests=max_requests,
        is_cumulative=True,
        max_time_s=max_time,
    )
    refusals = Refusals()
    job = recipe.run_all(
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
        echo("\n".join(crawl_summary.lines(crawl, job.crawl_summary)))
        report.render(job.funnel, console())
    body = {
        "seeded": asdict(job.seed_summary),
        "crawled": crawl_summary.body(crawl, job.crawl_summary),
        "funnel": job.funnel.to_dict(),
        "dataset": results.dataset_body(out, job.dataset),
    }
    print_result(as_json, body, results.dataset_line(out, job.dataset))
