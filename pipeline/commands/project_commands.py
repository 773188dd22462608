"""`thresher init`: a project and its configuration.

A command parses, calls one function, and prints what came of it. It imports what it needs when it runs: `--help` and errors are there at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
)
from pipeline.new_project import create
from pipeline.terminal.output import print_result

if TYPE_CHECKING:
    pass


def init(
    directory: Annotated[Path, typer.Argument(help="Project directory.")] = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write a commented thresher.toml.

    An existing one is left as it is.

    \b
    Example:
      thresher init my-crawl
    """
    path = create(directory)
    print_result(as_json, {"wrote": str(path)}, f"wrote {path}; set project.contact in it before you crawl")
