"""`thresher serve`: the web console."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.pipeline.commands.options import CURRENT_DIRECTORY, ProjectOption


def serve_command(
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Listen at this address. Any but a loopback address needs authentication."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Listen at this port; 0 for any free port.")
    ] = 8450,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help="Ask users for the token in this file. By default it is the value of THRESHER_CONSOLE_TOKEN.",
        ),
    ] = None,
    proxy_header: Annotated[
        str,
        typer.Option(
            "--trust-proxy-header",
            help="Take the name of the user from this header, such as X-Forwarded-User, which a proxy sets that "
            "authenticates users.",
        ),
    ] = "",
    proxy_networks: Annotated[
        list[str] | None,
        typer.Option("--proxy-network", help="Trust the header only from this network; repeatable."),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
) -> None:
    """Serve the web console, a JSON API, and metrics.

    Whoever reaches a loopback address of this machine may use a console without token. See docs/guides/console.md.

    \b
    Example:
      thresher serve
      THRESHER_CONSOLE_TOKEN=$(cat token) thresher serve --host 0.0.0.0
    """
    from thresher.pipeline.console.console_server import ServeOptions, serve
    from thresher.pipeline.open_project import OpenProject

    options = ServeOptions(
        host=host,
        port=port,
        token_file=token_file,
        proxy_header=proxy_header,
        proxy_networks=tuple(proxy_networks or ()),
    )
    serve(OpenProject.at(project, shows_damage=True), options)
