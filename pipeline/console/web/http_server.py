"""`ConsoleServer`: uvicorn with bounds: connections, bytes of a head, and seconds of patience."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from thresher.pipeline.console.web.request_guard import RequestGuard
from thresher.pipeline.console.web.slow_clients import PatientProtocol

MAX_CONNECTIONS = 200
"""Connections at a time; more get 503."""
MAX_HEAD = 32 << 10
"""Bytes of a request's head."""
KEEP_ALIVE_S = 10
END_S = 3
"""Seconds that requests under way get when the console ends."""


class ConsoleServer(uvicorn.Server):
    """Serves an application until SIGINT or SIGTERM, and then ends in peace: a console leaves no work undone."""

    def __init__(self, app: RequestGuard) -> None:
        super().__init__(
            uvicorn.Config(
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
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=END_S,
                h11_max_incomplete_event_size=MAX_HEAD,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals in the event loop. uvicorn's own handlers raise the signal again at the end."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, self.handle_exit, signum, None)
        yield
