"""Options and arguments that several commands share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from thresher.core import InputError
from thresher.pipeline.commands.about.completion import (
    complete_crawls,
    complete_sources,
    complete_verdict_sets,
)

if TYPE_CHECKING:
    from thresher.crawler.spiders import SpiderSpec
    from thresher.pipeline.open_project import OpenProject

ScopeKind = Literal["any", "domain", "host", "prefix"]
CURRENT_DIRECTORY = Path()

PROJECT_VARIABLE = "THRESHER_PROJECT"

ProjectOption = Annotated[
    Path,
    typer.Option("--project", envvar=PROJECT_VARIABLE, help="Use the thresher.toml in this directory."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
CoresOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Run N worker processes. The default is one per core."),
]
ScopeOption = Annotated[
    ScopeKind,
    typer.Option(
        "--scope",
        help="Follow links from a seed within this scope: any, or the seed's domain, host or path prefix.",
    ),
]
DepthOption = Annotated[
    int | None,
    typer.Option(
        "--depth", min=0, help="Follow links at most N steps away from a seed. The default is no limit."
    ),
]
UpdateOption = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Replace the crawl's contact, delays, budgets and trap rules with those of thresher.toml, for all of its "
        "workers.",
    ),
]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Run N worker processes.")]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Names of crawls and ingests to work on. The default is all of them.",
        autocompletion=complete_sources,
    ),
]
VerdictsOption = Annotated[
    str,
    typer.Option(
        "--verdicts",
        help="Use this set of verdicts, which `thresher judge --name` made. The default is the verdicts of `process`.",
        autocompletion=complete_verdict_sets,
    ),
]
CrawlOption = Annotated[
    str, typer.Option("--crawl", help="Use the crawl with this name.", autocompletion=complete_crawls)
]
CrawlName = Annotated[str, typer.Argument(help="Name of the crawl.", autocompletion=complete_crawls)]
SourceName = Annotated[
    str, typer.Argument(help="Name of the crawl or ingest.", autocompletion=complete_sources)
]
MaxPagesOption = Annotated[
    int | None,
    typer.Option(
        "--max-pages",
        min=1,
        help="Stop after N fetched pages. Pages that are missing, redirect, fail or are refused do not count. The "
        "default is no limit.",
    ),
]
MaxRequestsOption = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        min=1,
        help="Stop after N requests with any outcome, requests for robots.txt included. The default is no limit.",
    ),
]
MaxTimeOption = Annotated[
    float | None,
    typer.Option("--max-time", min=0, help="Stop after this many seconds. The default is no limit."),
]
SpiderOption = Annotated[
    str,
    typer.Option("--spider", help="Crawl with your own Scrapy spider, given as package.module:Class."),
]
SpiderArgumentOption = Annotated[
    list[str] | None, typer.Option("-a", help="Pass NAME=VALUE to the spider; repeatable.")
]
SpiderSettingsOption = Annotated[
    str, typer.Option("--settings", help="Use the Scrapy settings in this module, as package.module.")
]
OutOption = Annotated[
    str,
    typer.Option(
        "--out", help="Write the dataset into this directory: a new one, or that of the same dataset."
    ),
]


class GroupedOptions(TyperCommand):
    """A command that lists options with a `rich_help_panel` under that heading, after all other options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Required by click: write the options of `--help`."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            heading = getattr(parameter, "rich_help_panel", None) or (
                "Arguments" if parameter.param_type_name == "argument" else "Options"
            )
            if record := parameter.get_help_record(ctx):
                groups.setdefault(heading, []).append(record)
        for heading in sorted(groups, key=lambda name: name not in {"Arguments", "Options"}):
            with formatter.section(heading):
                formatter.write_dl(groups[heading])


def check_name(name: str) -> str:
    """Return the name of a crawl or an ingest. Raise `InputError` if it is not a valid name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError(
            f"name {name!r}: use up to 100 letters, digits, '-', '_' and '.', a letter or digit first"
        )
    return name


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def require_sources(project: OpenProject, names: list[str] | None) -> tuple[str, ...]:
    """Return the sources with these names, or all if `names` is empty.

    Raise `InputError` if a name has no archived data, or if nothing is archived at all.
    """
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


def followed_sources(project: OpenProject, names: list[str] | None) -> tuple[str, ...]:
    """Return the sources whose crawls are followed: these, also before they have sealed a file, or all."""
    return tuple(map(check_name, names)) if names else require_sources(project, names)


def parse_spider(project: OpenProject, spider: str, arguments: list[str], settings: str) -> SpiderSpec | None:
    """Return the spider that the options name; None if they name none. Raise `InputError` if they are wrong."""
    from thresher.crawler.spiders import SpiderSpec

    if not spider:
        if arguments or settings:
            raise InputError("-a and --settings need a spider; name it with --spider package.module:Class")
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
