"""`Http1`: a connection that speaks HTTP/1.1, one exchange after the other.

1. Bytes go to a `ResponseReader` as they arrive. The connection is aborted as soon as the reader wants no more, so that
   memory is bounded whatever the server sends.
2. Bytes that arrive without a request answer nothing. The connection is closed, so that they can never be taken for the
   response to the next request. This also holds if they lie in the socket when the connection is to be used again.
3. A connection is used again only if the framing alone says where the response ends, and nothing followed that end.
"""

import asyncio
import select
from collections.abc import Callable
from typing import cast

from thresher.core.capture import HttpProtocol, TlsSession
from thresher.crawler.wire.fetch_failure import one_line
from thresher.crawler.wire.http.exchange import ExchangeFailure, ExchangeResult, ExchangeTimer
from thresher.crawler.wire.http.request import HeaderList, Request, archive_bytes, wire_bytes
from thresher.crawler.wire.http.response_reader import ResponseReader
from thresher.crawler.wire.limits import Limits

_VERSIONS: dict[str, HttpProtocol] = {"1.0": "http/1.0", "0.9": "http/0.9"}


class Http1(asyncio.Protocol):
    """One connection. With `absolute_form` the requests go to a proxy, and `proxy_headers` are not archived."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, absolute_form: bool = False, proxy_headers: HeaderList = ()
    ) -> None:
        self._loop, self._absolute, self._proxy = loop, absolute_form, proxy_headers
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._timer: ExchangeTimer | None = None
        self._waiter: asyncio.Future[tuple[ExchangeFailure | None, str]] | None = None
        self.peer = ""
        self.tls: TlsSession | None = None
        self.protocol: HttpProtocol = "http/1.1"
        self.is_usable = True
        """Whether another exchange may start."""
        self.on_close: Callable[[], None] | None = None
        """Called when an idle connection ends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes to the reader; close the connection if there is no exchange."""
        reader, timer = self._reader, self._timer
        if reader is None or timer is None:
            self.close()
            return
        timer.add_bytes(len(data))
        if reader.feed(data):
            self._end("protocol" if reader.fault else None, reader.fault or "")
        elif reader.awaits_close:
            timer.wait_for_close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange, if there is one."""
        self.is_usable = False
        if self._reader is not None:
            self._reader.close()
            self._end(_close_failure(self._reader, exc), one_line(exc, "the connection was closed"))
        if self.on_close is not None:
            self.on_close()

    def is_quiet(self) -> bool:
        """Return whether the connection is still open, and no byte came without a request."""
        if not self.is_usable or self._transport is None or self._transport.is_closing():
            return False
        found = self._transport.get_extra_info("socket")
        poll = select.poll()
        poll.register(found.fileno(), select.POLLIN)
        return not poll.poll(0)

    async def exchange(self, request: Request, limits: Limits, left_s: float) -> ExchangeResult:
        """Send a request, and read the response to its end or as far as it comes. Never raise for what a server
        does.
        """
        assert self._transport is not None
        assert self._reader is None
        sent = wire_bytes(request, absolute_form=self._absolute, proxy_headers=self._proxy)
        reader = self._reader = ResponseReader(limits.max_body, method=request.method)
        self._waiter = self._loop.create_future()
        timer = self._timer = ExchangeTimer(self._loop, limits, left_s, self._expire)
        self._transport.write(sent)
        if self._transport.is_closing():
            self._end("disconnect", "the connection was closed")
        try:
            failure, detail = await self._waiter
        finally:
            timer.cancel()
            self._reader = self._timer = None
            if not reader.keep_alive:
                self.close()
        if reader.head is not None:
            self.protocol = _VERSIONS.get(reader.head.version, "http/1.1")
        return ExchangeResult(
            request=archive_bytes(request, absolute_form=self._absolute)
            if request.secret_names or self._proxy
            else sent,
            message=reader.message(),
            failure="broken" if reader.is_broken and failure in {None, "disconnect"} else failure,
            detail=detail,
            first_byte_ms=timer.first_byte_ms,
        )

    def close(self) -> None:
        """Abort the connection, even during an exchange."""
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()

    def _expire(self, failure: ExchangeFailure | None) -> None:
        if self._reader is not None:
            self._reader.close()
        self._end(failure, "time-out")

    def _end(self, failure: ExchangeFailure | None, detail: str) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result((failure, detail))

    def __repr__(self) -> str:
        return f"<{self.protocol} with {self.peer or 'nobody'}>"


def _close_failure(reader: ResponseReader, error: Exception | None) -> ExchangeFailure | None:
    """Return which failure the end of the connection is for the response; None if the response is complete."""
    if reader.ends_at_close and error is None:
        return None
    whole = reader.message()
    return None if whole is not None and whole.is_complete else "disconnect"
