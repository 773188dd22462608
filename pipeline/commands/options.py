"""Options and arguments that several commands have."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from core import InputError

if TYPE_CHECKING:
    from pipeline.project import Project

ScopeKind = Literal["any", "domain", "host", "prefix"]
CURRENT_DIRECTORY = Path()

PROJECT_VARIABLE = "THRESHER_PROJECT"

ProjectOption = Annotated[
    Path, typer.Option("--project", envvar=PROJECT_VARIABLE, help="Directory that holds thresher.toml.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
CoresOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Worker processes; one for each core by default.")
]
ScopeOption = Annotated[
    ScopeKind,
    typer.Option("--scope", help="How far links are followed from a seed: any, domain, host or prefix."),
]
DepthOption = Annotated[
    int | None, typer.Option("--depth", min=0, help="Follow links at most N steps away from a seed.")
]
UpdateOption = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Replace the crawl's contact, delays, budgets and rules on traps by those of thresher.toml, for all of its workers.",
    ),
]
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


class GroupedOptions(TyperCommand):
    """A command whose `--help` lists options with a `rich_help_panel` under that heading, behind all others."""

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
    """Return the name of a crawl or an ingest. Raise `InputError` for what cannot be one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError(
            f"name {name!r}: use up to 100 letters, digits, '-', '_' and '.', a letter or digit first"
        )
    return name


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def require_sources(project: Project, names: list[str] | None) -> tuple[str, ...]:
    """Return the sources of these names, all if none is named. Raise `InputError` for a name that has nothing archived."""
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
