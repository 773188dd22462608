"""`Host`: one host of the hostile web. It responds as it is told, and records every byte in both directions."""

import asyncio
import socket
import ssl
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

MAX_REQUEST_LENGTH = 1 << 20
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s: close() sends RST

ALLOW_ALL = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\nno such page."


@dataclass(slots=True)
class Exchange:
    """One request as it came, and what was sent in response so far."""

    raw: bytes
    connection: int
    begun: float
    """Seconds since the epoch at which the whole request had arrived."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sent: bytearray = field(default_factory=bytearray)
    ended: float = 0.0

    @property
    def path(self) -> str:
        return self.raw.split(b" ", 2)[1].decode("latin-1")

    def header(self, name: str) -> str | None:
        for line in self.raw.decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None

    async def send(self, data: bytes) -> None:
        """Send bytes. Raise `ConnectionError` if the client is gone."""
        self.sent += data
        await send(self.writer, data)

    async def wait_closed(self) -> None:
        """Wait until the client has closed the connection."""
        while await self.reader.read(1 << 16):
            pass

    def reset(self) -> None:
        """Abort the connection with RST."""
        reset(self.writer)

    def close(self) -> None:
        """Close the connection."""
        self.writer.close()


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send bytes. Raise `ConnectionError` if the client is gone."""
    if writer.transport.is_closing():
        raise ConnectionResetError
    writer.write(data)
    await writer.drain()
    await asyncio.sleep(0)  # a lost connection is noticed only after other tasks have run


def reset(writer: asyncio.StreamWriter) -> None:
    """Abort a connection with RST."""
    found = writer.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    writer.transport.abort()


Answer = bytes | Callable[[Exchange], Awaitable[None]]
ConnectionHandler = Callable[["Host", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Host:
    """Paths and their responses: bytes to send, or an async function of the exchange."""

    def __init__(
        self,
        address: str,
        answers: Mapping[str, Answer],
        *,
        fallback: Callable[[str], Answer | None] = lambda _: None,
        tls: ssl.SSLContext | None = None,
        talk: ConnectionHandler | None = None,
    ) -> None:
        """`talk` handles the whole connection, if a host does not speak HTTP as others do."""
        self.address, self.answers, self.fallback, self.tls, self.talk = address, answers, fallback, tls, talk
        self.log: list[Exchange] = []
        self.connected: list[float] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def paths(self) -> Counter[str]:
        """Return how often each path was requested."""
        return Counter(exchange.path for exchange in list(self.log))

    async def serve(self, port: int) -> None:
        """Listen. Raise `OSError` if the port is taken."""
        self._server = await asyncio.start_server(
            self._connected, self.address, port, ssl=self.tls, limit=MAX_REQUEST_LENGTH, backlog=512
        )

    async def close(self) -> None:
        """Stop, and abort every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected.append(time.time())
        number = len(self.connected)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if self.talk is not None:
                await self.talk(self, reader, writer)
            else:
                await self.http(reader, writer, number)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(task)
            writer.close()

    async def http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        """Speak HTTP/1.1 with keep-alive, until one side closes."""
        while not writer.is_closing():
            raw = await reader.readuntil(b"\r\n\r\n")
            await self.answer(Exchange(raw, number, time.time(), reader, writer))

    async def answer(self, exchange: Exchange) -> None:
        """Record the request, and respond to it."""
        self.log.append(exchange)
        answer = self.answers.get(exchange.path) or self.fallback(exchange.path) or NOT_FOUND
        try:
            if isinstance(answer, bytes):
                await exchange.send(answer)
            else:
                await answer(exchange)
        finally:
            exchange.ended = time.time()

    def __repr__(self) -> str:
        return f"<host {self.address}: {len(self.log)} requests>"
