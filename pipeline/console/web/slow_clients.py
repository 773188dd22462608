"""`PatientProtocol`: uvicorn's HTTP/1.1 protocol, but not for ever patient.

uvicorn waits without limit for the first request of a connection, and for the rest of a request. A client that opens
connections and sends one byte a minute would take all of them. Here a request must be whole within `REQUEST_S`.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 15.0


class PatientProtocol(H11Protocol):
    """One connection."""

    request_s = REQUEST_S
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._start()

    def handle_events(self) -> None:
        """Begin to wait when a request begins, and stop when it is whole."""
        super().handle_events()
        if self.conn.their_state.__name__ in {"DONE", "MUST_CLOSE", "CLOSED"}:
            self._stop()

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn closes a connection that stays idle."""
        self._start()
        super().on_response_complete()  # ends the wait if the next request is here already

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._stop()
        self._deadline = asyncio.get_running_loop().call_later(self.request_s, self._close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()
