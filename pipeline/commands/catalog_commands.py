"""`thresher catalog`: the cache of the storage in a database.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    ProjectOption,
)
from thresher.pipeline.terminal.output import print_result

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command(name="rebuild")
def rebuild_command(project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False) -> None:
    """Make the catalog again from the storage alone.

    Readers see the old version until the new one is complete. If the command is killed, the old version stays.

    \b
    Example:
      thresher catalog rebuild
    """
    from thresher.pipeline import catalog_refresh
    from thresher.pipeline.open_project import OpenProject

    found = catalog_refresh.rebuild(OpenProject.at(project))
    line = (
        f"read {found.manifests:,} manifests and {found.runs:,} runs; they list {found.files:,} archive files "
        f"of {found.sources:,} sources"
    )
    print_result(as_json, asdict(found), line)
