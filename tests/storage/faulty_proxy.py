"""`Proxy`: stands between a client and a real server, and does to single requests what networks and servers do.

The plan is asked once a request and says what happens to it; `scripted` and `at_random` make plans.
"""

import asyncio
import random
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tests.loop_thread import LoopThread

HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the plan may look at. `path` holds bucket, key and query."""

    method: str
    path: str
    is_conditional: bool = False


@dataclass(frozen=True)
class Answer:
    """Answer without asking the server."""

    status: int
    code: str
    retry_after_s: int | None = None


@dataclass(frozen=True)
class LoseRequest:
    """Reset the connection; the server never hears of the request."""


@dataclass(frozen=True)
class LoseReply:
    """Let the server carry the request out, and reset the connection instead of the reply."""


@dataclass(frozen=True)
class CutReply:
    """Send half of the reply's body, and close."""


@dataclass(frozen=True)
class CutHead:
    """Send the first two lines of the reply's head, and close."""


@dataclass(frozen=True)
class CorruptReply:
    """Change one byte of the reply's body."""


@dataclass(frozen=True)
class CorruptRequest:
    """Change one byte of the request's body."""


@dataclass(frozen=True)
class Delay:
    """Hold the request back."""

    seconds: float


@dataclass(frozen=True)
class Drip:
    """Send the reply a byte at a time, and for ever: the head, or the body after a whole head."""

    after_head: bool = False


@dataclass(frozen=True)
class DropCondition:
    """Pass the request on without its If-None-Match, as to a server that does not know it."""


Fault = (
    Drip
    | DropCondition
    | Answer
    | LoseRequest
    | LoseReply
    | CutReply
    | CutHead
    | CorruptReply
    | CorruptRequest
    | Delay
)
Plan = Callable[[Request], Fault | None]


def no_fault(request: Request) -> None:
    """Nothing happens."""


def scripted(*faults: Fault | None, method: str = "", path: str = "") -> Plan:
    """One fault after the other to the requests of a method whose path holds a text; then nothing."""
    left = list(faults)

    def plan(request: Request) -> Fault | None:
        return left.pop(0) if left and method in request.method and path in request.path else None

    return plan


def at_random(seed: int, share: float, *faults: Fault) -> Plan:
    """One of the faults to that share of the requests, the same for the same seed and order of requests."""
    draw = random.Random(seed)
    return lambda request: draw.choice(faults) if draw.random() < share else None


MIX = (
    Answer(503, "SlowDown"),
    Answer(500, "InternalError"),
    Answer(429, "TooManyRequests", retry_after_s=0),
    LoseRequest(),
    LoseReply(),
    CutReply(),
    CorruptRequest(),
    Delay(0.05),
)
"""Everything but what no protocol can see: a byte changed in a reply that bears no checksum."""


class Proxy:
    """Runs in a thread of its own. `seen` are the requests that arrived, in order; `replied` counts bytes of bodies."""

    def __init__(self, port: int) -> None:
        self.plan: Plan = no_fault
        self.seen: list[Request] = []
        self.replied = 0
        self._upstream = port
        self._loop = LoopThread()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self._port}"

    def accept(self) -> None:
        """Take connections (again), always at the same port."""
        self._wait(self._listen())

    def refuse(self) -> None:
        """Take no more connections, and cut those that are open."""
        self._wait(self._stop_listening())

    def _wait(self, work) -> None:
        self._loop.run(work, 30)

    async def _listen(self) -> None:
        self._writers: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=1 << 20)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _stop_listening(self) -> None:
        assert self._server
        self._server.close()
        for writer in list(self._writers):
            reset(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
            while await self._exchange(reader, writer):
                pass
        self._writers.discard(writer)
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        body = await reader.readexactly(length(head) or 0)
        request = Request(method=method, path=path, is_conditional=b"\r\nif-none-match:" in head.lower())
        self.seen.append(request)
        fault = self.plan(request)
        match fault:
            case LoseRequest():
                reset(writer)
                return False
            case Answer():
                writer.write(answer(fault, is_head=method == "HEAD"))
                await writer.drain()
                return True
            case CorruptRequest():
                body = flip_bit(body)
            case DropCondition():
                head = b"\r\n".join(
                    line for line in head.split(b"\r\n") if not line.lower().startswith(b"if-none-match:")
                )
            case Delay():
                await asyncio.sleep(fault.seconds)
        reply_head, reply = await self._ask(head, body, is_head=method == "HEAD")
        return await self._reply(writer, fault, reply_head, reply)

    async def _reply(
        self, writer: asyncio.StreamWriter, fault: Fault | None, reply_head: bytes, reply: bytes
    ) -> bool:
        """Send the server's reply as the fault has it; whether the connection goes on."""
        if isinstance(fault, LoseReply):
            reset(writer)
            return False
        if isinstance(fault, Drip):
            writer.write(reply_head if fault.after_head else b"HTTP/1.1 200 x\r\nX-Drip: ")
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)
            return False
        if isinstance(fault, CutHead):
            writer.write(b"".join(reply_head.splitlines(keepends=True)[:2]))
            await writer.drain()
            return False
        if isinstance(fault, CutReply):
            writer.write(reply_head + reply[: len(reply) // 2])
            await writer.drain()
            return False
        self.replied += len(reply)
        writer.write(reply_head + (flip_bit(reply) if isinstance(fault, CorruptReply) else reply))
        await writer.drain()
        return True

    async def _ask(self, head: bytes, body: bytes, *, is_head: bool) -> tuple[bytes, bytes]:
        """The server's whole reply, over a connection of its own."""
        reader, writer = await asyncio.open_connection(HOST, self._upstream, limit=1 << 20)
        try:
            writer.write(head + body)
            await writer.drain()
            reply_head = await reader.readuntil(b"\r\n\r\n")
            if is_head or reply_head.split(b" ", 2)[1] in (b"204", b"304"):
                return reply_head, b""
            count = length(reply_head)
            if count is not None:
                return reply_head, await reader.readexactly(count)
            return reply_head, await chunks(reader)
        finally:
            writer.close()

    def __repr__(self) -> str:
        return f"<proxy at {self.endpoint}>"


@contextmanager
def start_proxy(port: int) -> Iterator[Proxy]:
    """A proxy to the server at that port of this machine."""
    proxy = Proxy(port)
    proxy.accept()
    try:
        yield proxy
    finally:
        proxy.refuse()
        proxy._loop.close()


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, as a machine that died does when it is spoken to."""
    sock = writer.get_extra_info("socket")
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def answer(fault: Answer, *, is_head: bool) -> bytes:
    body = b"" if is_head else f"<Error><Code>{fault.code}</Code><Message>x</Message></Error>".encode()
    wait = "" if fault.retry_after_s is None else f"Retry-After: {fault.retry_after_s}\r\n"
    head = f"HTTP/1.1 {fault.status} x\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n{wait}\r\n"
    return head.encode() + body


def flip_bit(body: bytes) -> bytes:
    """One bit in the middle."""
    if not body:
        return body
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]


def length(head: bytes) -> int | None:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return None


async def chunks(reader: asyncio.StreamReader) -> bytes:
    """A chunked body as it stands on the wire."""
    raw = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        raw += line + await reader.readexactly(int(line.split(b";")[0], 16) + 2)
        if line.strip() == b"0":
            return raw
