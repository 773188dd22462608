"""A real HTTP server on loopback that misbehaves on purpose, and remembers every byte in both directions."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager, contextmanager

from tests.loop_thread import LoopThread

ALLOW_ALL = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def page(body, *headers, status="200 OK", kind="text/html; charset=utf-8"):
    body = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def links(*targets, text="x"):
    return page(f"<html><body>{text}" + "".join(f'<a href="{target}">x</a>' for target in targets))


def spelled(number):
    """Return a different word for every number, because digits do not count as text of a page."""
    return "".join("bcdfghjklm"[int(digit)] for digit in str(number))


def redirect(location, status="301 Moved"):
    return page("", f"Location: {location}", status=status)


class Server:
    """Paths to answers: bytes to send, or an async function of (request, writer)."""

    def __init__(self, answers=None, address="127.0.0.1"):
        self.answers = {"/robots.txt": ALLOW_ALL, **(answers or {})}
        self.fallback = None
        self.address = address
        self.requests = []
        self.sent = []
        self.connections = 0
        self.close_after = set()
        self._serving = set()

    @property
    def url(self):
        return f"http://{self.address}:{self.port}"

    @property
    def paths(self):
        return Counter(raw.split(b" ")[1].decode() for raw in list(self.requests))

    async def _serve(self, reader, writer):
        self.connections += 1
        self._serving.add(asyncio.current_task())
        try:
            while True:
                raw = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(raw)
                path = raw.split(b" ")[1].decode()
                answer = self.answers.get(path)
                if answer is None and self.fallback is not None:
                    answer = self.fallback(path)
                if answer is None:
                    answer = page("no such page", status="404 Not Found")
                if callable(answer):
                    await answer(raw, writer)
                else:
                    self.sent.append(answer)
                    writer.write(answer)
                await writer.drain()
                if path in self.close_after or writer.is_closing():
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(asyncio.current_task())
            writer.close()

    @asynccontextmanager
    async def serve(self, tls=None, port=0):
        server = await asyncio.start_server(self._serve, self.address, port, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            hanging = list(self._serving)
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging)

    @contextmanager
    def in_thread(self, port=0, *, tls=None):
        """Serve from a thread of its own, for crawls that run in this or another process."""
        loop, serving = LoopThread(), self.serve(tls, port)
        loop.run(serving.__aenter__())
        try:
            yield self
        finally:
            loop.run(serving.__aexit__(None, None, None))
            loop.close()
