"""Options and arguments that several commands have."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from core import InputError

ScopeKind = Literal["any", "domain", "host", "prefix"]
HERE = Path()

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


def checked_name(name: str) -> str:
    """Return the name of a crawl or an ingest. Raise `InputError` for what cannot be one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError(
            f"name {name!r}: use up to 100 letters, digits, '-', '_' and '.', a letter or digit first"
        )
    return name


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))
