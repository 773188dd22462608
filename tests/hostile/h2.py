"""A server of HTTP/2 that breaks the rules it is told to break. Frames are made by hand, because no library sends what
it must not.
"""

import asyncio
import struct
import time

import hpack

from tests.expect import expect
from tests.hostile.host import NOT_FOUND, Exchange, Host, send

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
LARGEST = 16_384
ENDLESS = 50 << 20


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class _Connection:
    def __init__(self, host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.host, self.reader, self.writer = host, reader, writer
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_allowed_table_size = 1 << 30
        self.number = len(host.connected)
        self.window, self.widened = 65_535, asyncio.Event()
        self.streams: dict[int, int] = {}
        self.initial = 65_535
        self.tasks: set[asyncio.Task[None]] = set()

    async def send(self, data: bytes) -> None:
        await send(self.writer, data)

    async def run(self, greeting: str) -> None:
        await self.reader.readexactly(len(PREFACE))
        settings = (
            b""
            if greeting != "settings"
            else b"".join(
                struct.pack(">HI", number, 0x7FFFFFFF if number in {4, 3} else 0xFFFFFF)
                for number in (1, 3, 4, 5, 6, 99)
            )
        )
        await self.send(frame(SETTINGS, 0, 0, settings))
        if greeting == "pings":
            self._start(self._flood(frame(PING, 0, 0, b"12345678")))
        if greeting == "settings flood":
            self._start(self._flood(frame(SETTINGS, 0, 0)))
        try:
            await self._read(greeting)
        finally:
            for task in self.tasks:
                task.cancel()

    async def _flood(self, one: bytes) -> None:
        for _ in range(2_000):
            await self.send(one * 100)

    def _start(self, work) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _read(self, greeting: str) -> None:  # noqa: C901 - one branch a frame
        block = b""
        while True:
            head = await self.reader.readexactly(9)
            length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
            stream = int.from_bytes(head[5:]) & 0x7FFFFFFF
            payload = await self.reader.readexactly(length)
            if kind == SETTINGS and not flags & ACK:
                for at in range(0, length, 6):
                    number, value = struct.unpack(">HI", payload[at : at + 6])
                    if number == 4:
                        self.initial = value
                await self.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                await self.send(frame(PING, ACK, 0, payload))
            elif kind == WINDOW:
                by = int.from_bytes(payload) & 0x7FFFFFFF
                if stream:
                    self.streams[stream] = self.streams.get(stream, self.initial) + by
                else:
                    self.window += by
                self.widened.set()
            elif kind in {HEADERS, CONTINUATION}:
                if kind == HEADERS and flags & 0x8:
                    payload = payload[1 : length - payload[0]]
                if kind == HEADERS and flags & 0x20:
                    payload = payload[5:]
                block += payload
                if flags & END_HEADERS:
                    asked, block = dict(self.decoder.decode(block)), b""
                    self._start(self._answer(stream, asked, greeting))
            elif kind == GOAWAY:
                return

    async def _answer(self, stream: int, asked, greeting: str) -> None:
        path = asked[":path"]
        lines = [f"{asked[':method']} {path} HTTP/2", *(f"{key}: {value}" for key, value in asked.items())]
        raw = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        exchange = Exchange(raw, self.number, time.time(), self.reader, self.writer)
        self.host.log.append(exchange)
        answer = self.host.answers.get(path) or NOT_FOUND
        wrong = getattr(self, "_" + path[1:].replace("-", "_"), None)
        try:
            if wrong is not None and path in self.host.answers:
                await wrong(stream, answer, exchange)
            else:
                await self._served(stream, expect(bytes, answer), exchange)
            if greeting == "goaway" and path != "/robots.txt":
                await self.send(frame(GOAWAY, 0, 0, struct.pack(">II", stream, 0)))
        finally:
            exchange.ended = time.time()

    def _head(self, answer: bytes, *more) -> tuple[bytes, bytes]:
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        return self.encoder.encode([(":status", status.split()[1]), *fields, *more]), body

    async def _served(self, stream: int, answer: bytes, exchange: Exchange, *more) -> None:
        head, body = self._head(answer, *more)
        await self.send(frame(HEADERS, END_HEADERS, stream, head))
        await self._body(stream, body)
        exchange.sent += answer

    async def _body(self, stream: int, body: bytes) -> None:
        at = 0
        while at < len(body):
            room = min(self.window, self.streams.setdefault(stream, self.initial), LARGEST, len(body) - at)
            if room <= 0:
                self.widened.clear()
                await self.widened.wait()
                continue
            self.window -= room
            self.streams[stream] -= room
            await self.send(frame(DATA, 0, stream, body[at : at + room]))
            at += room
        await self.send(frame(DATA, END_STREAM, stream))

    async def _reset(self, stream, answer, exchange) -> None:
        await self.send(frame(RST, 0, stream, struct.pack(">I", 2)))

    async def _torn(self, stream, answer, exchange) -> None:
        head, body = self._head(answer.replace(b"Content-Length: ", b"Content-Length: 9"))
        await self.send(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, 0, stream, body))
        exchange.sent += answer
        await self.send(frame(RST, 0, stream, struct.pack(">I", 2)))

    async def _refused(self, stream, answer, exchange) -> None:
        if sum(one.path == exchange.path for one in self.host.log) == 1:
            await self.send(frame(RST, 0, stream, struct.pack(">I", 7)))
        else:
            await self._served(stream, expect(bytes, answer), exchange)

    async def _goaway(self, stream, answer, exchange) -> None:
        await self.send(frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0)))
        self.writer.close()

    async def _continuation(self, stream, answer, exchange) -> None:
        head, _ = self._head(answer)
        await self.send(frame(HEADERS, 0, stream, head))
        piece = b"\0\x03x-y\x7f\xd1\x0e" + b"y" * 2000
        for _ in range(50_000):
            await self.send(frame(CONTINUATION, 0, stream, piece))

    async def _bomb(self, stream, answer, exchange) -> None:
        """Yield one large header, and then its index (62, the newest entry) over and over."""
        head = self.encoder.encode([(":status", "200")]) + b"\x40\x06x-bomb\x7f\xb9\x16" + b"y" * 3000
        head += b"\xbe" * 10_000
        await self.send(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, b"boom"))

    async def _frame(self, stream, answer, exchange) -> None:
        head, _ = self._head(answer)
        await self.send(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, 0, stream, b"z" * 5_000_000))

    async def _push(self, stream, answer, exchange) -> None:
        promised = self.encoder.encode(
            [(":method", "GET"), (":scheme", "https"), (":path", "/x"), (":authority", "x")]
        )
        await self.send(frame(PUSH, END_HEADERS, stream, struct.pack(">I", 2) + promised))
        await self._served(stream, expect(bytes, answer), exchange)

    async def _endless(self, stream, answer, exchange) -> None:
        head, _ = self._head(answer.replace(b"Content-Length: ", b"X-Length: "))
        await self.send(frame(HEADERS, END_HEADERS, stream, head))
        exchange.sent += answer
        await self._body(stream, b"z" * ENDLESS)

    async def _stall(self, stream, answer, exchange) -> None:
        await asyncio.sleep(600)

    async def _twice(self, stream, answer, exchange) -> None:
        await self._served(
            stream, answer, exchange, ("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-a", "1"), ("x-a", "1")
        )

    async def _no_status(self, stream, answer, exchange) -> None:
        head = self.encoder.encode([("content-type", "text/html")])
        await self.send(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, b"x"))


def h2_server(greeting: str):
    """Speak h2 if ALPN chose it, otherwise HTTP/1.1; `greeting` names what is wrong with the connection."""

    async def speak(host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        if chosen == "h2" and greeting == "http/1.1":
            await reader.read(64)
            writer.write(NOT_FOUND)
            await writer.drain()
        elif chosen == "h2":
            await _Connection(host, reader, writer).run(greeting)
        else:
            await host.http(reader, writer, len(host.connected))

    return speak
