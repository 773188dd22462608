"""`serve`: run the console until it is interrupted."""

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from thresher.core import InputError
from thresher.pipeline.console.live_console import Console
from thresher.pipeline.console.web.access import AccessRules
from thresher.pipeline.console.web.console_app import create_app
from thresher.pipeline.console.web.http_server import ConsoleServer
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.output import warn

TOKEN_VARIABLE = "THRESHER_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
BACKLOG = 128
"""Connections that the kernel holds until they are accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Where the console listens, and who may use it."""

    host: str = "127.0.0.1"
    port: int = 8450
    token_file: Path | None = None
    """File with the token; the variable `THRESHER_CONSOLE_TOKEN` counts if there is none."""
    proxy_header: str = ""
    proxy_networks: tuple[str, ...] = ()


def serve(project: OpenProject, options: ServeOptions) -> None:
    """Serve the console until SIGINT or SIGTERM. Raise `InputError` if strangers could use the console, or if the
    address is taken.
    """
    rules = AccessRules.of(
        host=options.host,
        token=_token(options.token_file),
        proxy_header=options.proxy_header,
        proxy_networks=options.proxy_networks,
    )
    listening = _listen(options.host, options.port)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    with listening, project.frontier_address() as address:
        server = ConsoleServer(create_app(Console(project, address), rules))
        host, port = listening.getsockname()[:2]
        warn(f"console of {project.directory}: http://{f'[{host}]' if ':' in host else host}:{port}/")
        asyncio.run(server.serve(sockets=[listening]))


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--token-file {file}: cannot be read ({error}); give a file with one line"
        ) from None
    if not token:
        raise InputError(f"--token-file {file}: is empty; write the token into it")
    return token


def _listen(host: str, port: int) -> socket.socket:
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(BACKLOG)
        except OSError:
            found.close()
            raise
    except OSError as error:
        raise InputError(
            f"--host {host} --port {port}: cannot listen there ({error.strerror or error}); give another address"
        ) from None
    return found
