"""`serve`: run the console until it is interrupted."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core import InputError
from pipeline.open_project import OpenProject
from pipeline.terminal.output import warn

TOKEN_VARIABLE = "THRESHER_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
MAX_CONNECTIONS = 200
"""Connections at a time; more get 503."""
MAX_HEAD = 32 << 10
"""Bytes of a request's head."""
EXTRA = "the console needs FastAPI, uvicorn and Jinja2; install the extra 'console' (docs/guides/install.md)"


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
    """Serve the console until SIGINT or SIGTERM. Raise `InputError` if the extra is missing, if strangers could use the
    console, or if the address is taken.
    """
    try:
        import uvicorn  # noqa: PLC0415 - an optional extra

        from pipeline.console.live_console import Console  # noqa: PLC0415 - imports the extra
        from pipeline.console.web.access import AccessRules  # noqa: PLC0415
        from pipeline.console.web.console_app import create_app  # noqa: PLC0415
        from pipeline.console.web.slow_clients import PatientProtocol  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {
            "uvicorn",
            "fastapi",
            "starlette",
            "jinja2",
            "markupsafe",
        }:
            raise
        raise InputError(EXTRA) from None
    rules = AccessRules.of(
        host=options.host,
        token=_token(options.token_file),
        proxy_header=options.proxy_header,
        proxy_networks=options.proxy_networks,
    )
    listening = _listen(options.host, options.port)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    with listening, project.frontier_address() as address:
        app = create_app(Console(project, address), rules)
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            loop="asyncio",
            access_log=False,
            log_config=None,
            proxy_headers=False,  # whoever sends X-Forwarded-For is not believed
            server_header=False,
            date_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=MAX_HEAD,
        )
        host, port = listening.getsockname()[:2]
        warn(f"console of {project.directory}: http://{f'[{host}]' if ':' in host else host}:{port}/")

        class Server(uvicorn.Server):
            """Ends in peace on SIGINT and SIGTERM: a console has no work to continue, so its exit code is 0."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                loop = asyncio.get_running_loop()
                for signum in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(signum, self.handle_exit, signum, None)
                yield

        asyncio.run(Server(config).serve(sockets=[listening]))


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
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        raise InputError(
            f"--host {host} --port {port}: cannot listen there ({error.strerror or error}); give another address"
        ) from None
    return found
