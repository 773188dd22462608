"""`thresher run`: the whole job.

A command parses, calls one function, and prints what came of it. It imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands.options import (
    HERE,
    CoresOption,
    CrawlOption,
    DepthOption,
    JsonOption,
    MaxTimeOption,
    OutOption,
    ProjectOption,
    ScopeOption,
    UpdateOption,
    checked_name,
    usable_cores,
)
from pipeline.commands.results import Refusals
from pipeline.terminal.output import console, echo, say

if TYPE_CHECKING:
    pass


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
    from pipeline import recipe
    from pipeline.commands import results
    from pipeline.crawls.seed import Plan
    from pipeline.fleet import crawl_summary
    from pipeline.fleet.crawl_command import Limits
    from pipeline.project import Project
    from pipeline.reports import report
    from pipeline.terminal.progress import stderr_progress

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
        echo("\n".join(crawl_summary.lines(crawl, job.crawled)))
        report.render(job.funnel, console())
    body = {
        "seeded": asdict(job.seeded),
        "crawled": crawl_summary.body(job.crawled),
        "funnel": job.funnel.to_dict(),
        "dataset": results.dataset_body(out, job.dataset),
    }
    say(as_json, body, results.dataset_line(out, job.dataset))
