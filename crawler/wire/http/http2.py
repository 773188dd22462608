"""`Http2`: a connection that speaks HTTP/2 (library `h2`), one exchange after the other.

1. An exchange is recorded in the syntax of HTTP/1.1: the pseudo headers as the request line, `host` and the status
   line, the other headers in the order and the case in which they went over the wire, the body as the DATA frames carry
   it. The record contains nothing that was not sent.
2. The server may not push, and its frames are counted: a flood of frames without content ends the connection.
3. A failure before the response has begun is a `protocol` failure, and the caller may repeat the request in HTTP/1.1.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from thresher.core.capture import HttpProtocol, TlsSession
from thresher.crawler.wire.fetch_failure import one_line
from thresher.crawler.wire.http.exchange import ExchangeFailure, ExchangeResult, ExchangeTimer
from thresher.crawler.wire.http.frames import FrameLimiter
from thresher.crawler.wire.http.message import Message, read_head
from thresher.crawler.wire.http.request import Request, archive_bytes
from thresher.crawler.wire.limits import MAX_HEAD_BYTES, MAX_INTERIM, Limits

WINDOW = 1 << 20
"""Bytes that a server may send before they are acknowledged."""
_PIECE = 16 << 10
_LINE_BREAKS = b"\r\n\0"


class Http2(asyncio.Protocol):
    """One connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._h2.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: WINDOW,
                SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD_BYTES,
            },
        )
        self._transport: asyncio.Transport | None = None
        self._stream: _Stream | None = None
        self._frames = FrameLimiter()
        self.peer = ""
        self.tls: TlsSession | None = None
        self.protocol: HttpProtocol = "h2"
        self.is_usable = True
        self.on_close: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the preface and our settings."""
        self._transport = cast("asyncio.Transport", transport)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Read the bytes piece by piece, so that a flood is noticed while it comes."""
        for at in range(0, len(data), _PIECE):
            piece = data[at : at + _PIECE]
            try:
                self._frames.feed(piece)
                for event in self._h2.receive_data(piece):
                    self._handle_event(event)
            # hpack raises more than its own exceptions.
            except (H2Error, ValueError, IndexError, TypeError, KeyError) as error:
                self._fail(one_line(error))
                break
        self._flush()
        if not self.is_usable and self._stream is None:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange, if there is one."""
        self.is_usable = False
        self._fail(one_line(exc, "the connection was closed"), "disconnect")
        if self.on_close is not None:
            self.on_close()

    def is_quiet(self) -> bool:
        """Return whether the connection is open. Bytes between two exchanges name the stream that they belong to."""
        return self.is_usable and self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: Request, limits: Limits, left_s: float) -> ExchangeResult:
        """Send a request, and read the response to its end or as far as it comes. Never raise for what a server
        does.
        """
        assert self._transport is not None
        self._frames.reset()
        waiter: asyncio.Future[tuple[ExchangeFailure | None, str]] = self._loop.create_future()
        timer = ExchangeTimer(self._loop, limits, left_s, lambda failure: self._finish(failure, "time-out"))
        response = self._stream = _Stream(waiter, timer, limits.max_body, request.method)
        try:
            response.stream = self._h2.get_next_available_stream_id()
            self._send(request, response.stream)
            failure, detail = await waiter
        except H2Error as error:
            failure, detail = "protocol", one_line(error)
        finally:
            timer.cancel()
            self._stream = None
            if not response.ended:
                self.close()
        return ExchangeResult(
            request=archive_bytes(request, header_case="lower"),
            message=response.message(),
            failure=failure,
            detail=detail,
            first_byte_ms=timer.first_byte_ms,
        )

    def close(self) -> None:
        """Abort the connection, even during an exchange."""
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()

    def _send(self, request: Request, stream: int) -> None:
        target = request.target
        headers = [
            (":method", request.method),
            (":scheme", target.scheme),
            (":authority", target.authority),
            (":path", target.path),
            *((name.lower(), value) for name, value in request.headers),
        ]
        self._h2.send_headers(stream, headers, end_stream=not request.body)
        size = self._h2.max_outbound_frame_size
        for at in range(0, len(request.body), size):
            self._h2.send_data(
                stream, request.body[at : at + size], end_stream=at + size >= len(request.body)
            )
        self._flush()

    def _handle_event(self, event: Event) -> None:
        response = self._stream
        if isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
        if isinstance(event, ConnectionTerminated):
            self.is_usable = False
            if response is not None and (event.last_stream_id or 0) < response.stream:
                self._finish("protocol", f"GOAWAY {event.error_code}")
        elif response is not None and getattr(event, "stream_id", None) == response.stream:
            self._handle_stream_event(response, event)

    def _handle_stream_event(self, response: "_Stream", event: Event) -> None:
        """Handle an event of the open stream."""
        response.timer.add_bytes(len(getattr(event, "data", None) or b"head"))
        match event:
            case DataReceived(data=data):
                response.add(data or b"")
                if response.cut:
                    self._finish(None, "")
            case InformationalResponseReceived():
                response.interim += 1
                if response.interim > MAX_INTERIM:
                    self._fail("too many interim responses")
            case ResponseReceived(headers=headers):
                if not response.begin(headers or []):
                    self._fail("no HTTP response")
            case StreamEnded():
                response.ended = response.head != b""
                self._finish(None if response.ended else "protocol", "no HTTP response")
            case StreamReset(error_code=code):
                response.ended = bool(response.head) and code == ErrorCodes.NO_ERROR
                failure: ExchangeFailure = "disconnect" if response.head else "protocol"
                self._finish(None if response.ended else failure, f"RST_STREAM {code}")

    def _fail(self, why: str, failure: ExchangeFailure = "protocol") -> None:
        self.is_usable = False
        if self._stream is not None:
            self._finish("disconnect" if self._stream.head else failure, why)

    def _finish(self, failure: ExchangeFailure | None, detail: str) -> None:
        if self._stream is not None and not self._stream.waiter.done():
            self._stream.waiter.set_result((failure, detail))

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def __repr__(self) -> str:
        return f"<h2 with {self.peer or 'nobody'}>"


class _Stream:
    """One stream and what came over it."""

    __slots__ = (
        "_body",
        "_max_body",
        "_method",
        "cut",
        "ended",
        "head",
        "interim",
        "stream",
        "timer",
        "waiter",
    )

    def __init__(self, waiter: Any, timer: ExchangeTimer, max_body: int, method: str) -> None:
        self.waiter, self.timer, self._max_body, self._method = waiter, timer, max_body, method
        self.stream = self.interim = 0
        self.head = b""
        self._body = bytearray()
        self.cut = self.ended = False

    def begin(self, headers: Any) -> bool:
        """Take in the head; return whether it can be written in the syntax of HTTP/1.1."""
        status = next((value for name, value in headers if name == b":status"), b"")
        rest = [(name, value) for name, value in headers if not name.startswith(b":")]
        if not status.isdigit() or any(
            each in _LINE_BREAKS for pair in rest for text in pair for each in text
        ):
            return False
        lines = b"".join([b"%b: %b\r\n" % pair for pair in rest])
        self.head = b"HTTP/1.1 %b \r\n%b\r\n" % (status, lines)
        return True

    def add(self, data: bytes) -> None:
        """Take in a piece of the body."""
        self._body += data
        self.cut = len(self._body) > self._max_body

    def message(self) -> Message | None:
        """Return the response as far as it came."""
        head = read_head(self.head) if self.head else None
        if head is None:
            return None
        body = bytes(self._body[: self._max_body])
        return Message(
            response=self.head + body,
            head_length=head.length,
            status=head.status,
            headers=head.headers,
            payload=body,
            is_complete=self.ended and not self.cut,
            is_over_limit=self.cut,
        )
