"""`thresher init`: create a project and its configuration.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
)
from thresher.pipeline.terminal.output import print_result


def init(
    directory: Annotated[
        Path, typer.Argument(help="Directory of the project. It is created if it does not exist.")
    ] = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write a commented thresher.toml.

    An existing thresher.toml is not changed.

    \b
    Example:
      thresher init my-crawl
    """
    from thresher.pipeline.new_project import create

    path = create(directory)
    print_result(as_json, {"wrote": str(path)}, f"wrote {path}; set project.contact in it before you crawl")
