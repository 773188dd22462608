"""`Exchange`: what one request and its response put on the wire, taken down as it passes.

aiohttp drives the connection; `Tee` is its protocol with an ear on both directions.

1. Whoever begins an exchange names it in `CURRENT`. The connection that takes it on begins it anew: what an
   earlier, broken connection took down of it is forgotten.
2. Once `received` is longer than its limit the connection is torn down, so that memory is bounded whatever the
   server sends: chunk extensions, trailers and heads count like bodies.
3. Bytes that arrive while no exchange is open answer nothing. The connection is closed, so that they can never
   be taken for the answer to the next request.
4. An exchange is with the one address that it names: a new connection goes there and nowhere else, and a connection
   that was kept is used again only if it leads there.
"""

import asyncio
import socket
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, cast

from aiohttp import TCPConnector
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler

from crawler.address import meant


class Exchange:
    """The bytes of one exchange so far."""

    __slots__ = ("_tee", "address", "fresh", "kept", "limit", "overflown", "peer", "received", "sent")

    def __init__(self, limit: int, address: str, *, fresh: bool = False) -> None:
        """`fresh` asks for a connection of its own."""
        self.limit, self.address, self.fresh = limit, address, fresh
        self.kept = False  # whether its connection had served before
        self.sent, self.received = bytearray(), bytearray()
        self.peer = ""
        self.overflown = False
        self._tee: Tee | None = None

    def begin(self, tee: "Tee") -> None:
        """Take down what passes through that connection from here on."""
        self._tee = tee
        self.peer = tee.peer
        self.sent, self.received = bytearray(), bytearray()

    def end(self) -> None:
        """Take down no more."""
        if self._tee is not None and self._tee.exchange is self:
            self._tee.exchange = None

    def __repr__(self) -> str:
        return (
            f"<exchange with {self.peer or 'nobody'}: {len(self.sent)} sent, {len(self.received)} received>"
        )


CURRENT: ContextVar[Exchange] = ContextVar("CURRENT")


class Tee(ResponseHandler):
    """aiohttp's client protocol; every byte of the open exchange also goes into it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.exchange: Exchange | None = None
        self.peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who the peer is, and listen to what is written."""
        super().connection_made(transport)
        self.peer = str(transport.get_extra_info("peername")[0])
        self.transport = cast("asyncio.Transport", _Recorder(cast("asyncio.Transport", transport), self))

    def set_response_params(self, **params: Any) -> None:
        """Begin the current exchange: aiohttp calls this once before each request."""
        self.exchange = CURRENT.get()
        self.exchange.begin(self)
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Take the bytes down and pass them on; aiohttp calls with none to go on after a pause."""
        exchange = self.exchange
        # What is left over after an upgrade is passed in a second time.
        if data and not self._upgraded:
            if exchange is None:
                self.force_close()
                if self._parser is not None and self.transport is not None:
                    self.transport.abort()
                    return
            else:
                exchange.received += data
                if len(exchange.received) > exchange.limit:
                    exchange.overflown = True
                    if self.transport is not None:
                        self.transport.abort()
                    return
        super().data_received(data)


class _Recorder:
    """A transport that takes down what is written to it."""

    __slots__ = ("_tee", "_transport")

    def __init__(self, transport: asyncio.Transport, tee: Tee) -> None:
        self._transport, self._tee = transport, tee

    def write(self, data: bytes) -> None:
        if self._tee.exchange is not None:
            self._tee.exchange.sent += data
        self._transport.write(data)

    def writelines(self, chunks: Iterable[bytes]) -> None:
        self.write(b"".join(chunks))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class TeeConnector(TCPConnector):
    """aiohttp's connector, whose connections are `Tee`s, each to the address of the exchange that it is made for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("Any", lambda: Tee(self._loop))

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, from the cache where they are there. Raises `OSError` where it has none."""
        return [found["host"] for found in await super()._resolve_host(host, port)]

    async def _resolve_host(self, host: str, port: int, traces: Any = None) -> list[ResolveResult]:  # noqa: ARG002
        address = CURRENT.get().address
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
        ]

    async def _get(self, key: Any, traces: Any) -> Any:
        exchange = CURRENT.get()
        if exchange.fresh:
            return None
        wanted = meant(exchange.address)
        while (connection := await super()._get(key, traces)) is not None:
            if meant(cast("Tee", connection.protocol).peer) == wanted:
                exchange.kept = True
                return connection
            connection.close()
        return None
