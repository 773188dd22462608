"""The HTTP/1.1 server of the demo's web and of real sites: small, fast and deterministic.

1. A connection is kept until the client sends `Connection: close`, uses HTTP/1.0, or sends a request that is not valid;
   then it is closed after the response.
2. Only GET and HEAD are supported. Any other method gets 405, and the connection is closed because a body may follow.
3. Responses are sent in the order of their requests, so pipelining works.
4. There is no `Date` header, so that no response depends on the clock (RFC 9110, section 6.6.1 forbids the header to a
   server without a clock).
5. While a client does not read its responses, its requests are not read either.
"""

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from isal import igzip

from thresher.core.errors import Unavailable

MAX_HEAD = 65_536
"""Bytes of a request before its body at most; a longer request gets 431."""
CHUNKS = (1, 10, 100, 1_000, 4_096)
"""Sizes of the first chunks of a chunked response, in bytes; all later chunks have the last size."""

COMPRESSION = 3
"""Level of ISA-L that gives the same bytes everywhere. Pythons differ in their zlib and in the header they write."""

_TRIES = 50  # attempts to find one port that is free on every address
_TOGETHER = 262_144  # bytes; copying more costs more than a second system call


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The parts of a request that a server of pages needs."""

    address: str
    """Local address of the connection, which identifies the host."""
    method: str
    target: str
    """Path and query as sent, still percent-encoded; it always begins with a slash."""
    headers: dict[str, str]
    """Headers by name in lower case; of a repeated header, the last value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response to a request."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    """Headers, without those that describe the framing."""
    body: bytes = b""
    chunked: bool = False
    compressed: bool = False
    """Whether the body is compressed with gzip for clients that accept it."""


Responder = Callable[[Request], Response]


class Connection(asyncio.Protocol):
    """The connection of one client."""

    def __init__(self, respond: Responder, alive: set["Connection"]) -> None:
        self._respond = respond
        self._alive = alive
        self._buffer = bytearray()
        self._address = ""
        self._transport: asyncio.Transport | None = None

    def __repr__(self) -> str:
        return f"<Connection to {self._address}, {len(self._buffer)} bytes unread>"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport and the local address."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]
        self._alive.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Remove the connection from the open ones."""
        self._transport = None
        self._alive.discard(self)

    def pause_writing(self) -> None:
        """Stop reading requests until the client has read the responses."""
        if self._transport:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Continue reading requests."""
        if self._transport:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Answer every complete request in the buffer."""
        self._buffer += data
        while self._transport and (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            self._exchange(head)
        if len(self._buffer) > MAX_HEAD:
            self._send(Response(status=431), version="HTTP/1.1", close=True)

    def abort(self) -> None:
        """Close the connection without a response."""
        if self._transport:
            self._transport.abort()

    def _exchange(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        try:
            method, target, version = lines[0].split(" ")
        except ValueError:
            self._send(Response(status=400), version="HTTP/1.1", close=True)
            return
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (e.partition(":") for e in lines[1:])
        }
        close = version != "HTTP/1.1" or headers.get("connection", "").lower() == "close"
        if target.startswith("http://"):  # RFC 9112, section 3.2.2: servers accept the absolute form
            target = "/" + target[len("http://") :].partition("/")[2]
        if method not in {"GET", "HEAD"}:
            self._send(Response(status=405, headers=(("Allow", "GET, HEAD"),)), version=version, close=True)
            return
        request = Request(address=self._address, method=method, target=target, headers=headers)
        answer = self._respond(request)
        coded = answer.compressed and "gzip" in headers.get("accept-encoding", "")
        self._send(answer, version=version, close=close, bare=method == "HEAD", coded=coded)

    def _send(
        self, answer: Response, *, version: str, close: bool, bare: bool = False, coded: bool = False
    ) -> None:
        if self._transport is None:
            return
        body = igzip.compress(answer.body, COMPRESSION, mtime=0) if coded else answer.body
        head = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}", "Server: demo"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        if answer.compressed:
            head.append("Vary: Accept-Encoding")
        if coded:
            head.append("Content-Encoding: gzip")
        if answer.status == HTTPStatus.NOT_MODIFIED:
            bare = True
        elif answer.chunked and version == "HTTP/1.1":
            head.append("Transfer-Encoding: chunked")
            body = chunked_body(body)
        else:
            head.append(f"Content-Length: {len(body)}")
        if close:
            head.append("Connection: close")
        start = ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
        if bare or len(body) <= _TOGETHER:
            self._transport.write(start if bare else start + body)
        else:
            self._transport.write(start)
            self._transport.write(body)
        if close:
            self._transport.close()
            self._transport = None


def chunked_body(body: bytes) -> bytes:
    """Return the body in chunks of the sizes in `CHUNKS`, including the last, empty chunk."""
    framed, at, sizes = bytearray(), 0, list(CHUNKS)
    while at < len(body):
        piece = body[at : at + (sizes.pop(0) if len(sizes) > 1 else sizes[0])]
        framed += b"%x\r\n%b\r\n" % (len(piece), piece)
        at += len(piece)
    return bytes(framed + b"0\r\n\r\n")


class HttpServer:
    """A server on one port of several addresses, within a running event loop."""

    def __init__(self, respond: Responder) -> None:
        self._respond = respond
        self._servers: list[asyncio.Server] = []
        self._alive: set[Connection] = set()

    def __repr__(self) -> str:
        return f"<Listening on {len(self._servers)} addresses, {len(self._alive)} connections>"

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Accept connections on bound sockets."""
        loop = asyncio.get_running_loop()
        for bound_socket in sockets:
            server = await loop.create_server(
                lambda: Connection(self._respond, self._alive), sock=bound_socket, backlog=1024
            )
            self._servers.append(server)

    def stop(self) -> None:
        """Stop accepting, and close every connection."""
        for server in self._servers:
            server.close()
        for connection in list(self._alive):
            connection.abort()


def bind_sockets(addresses: Sequence[str], port: int = 0) -> tuple[int, list[socket.socket]]:
    """Return one port and a socket bound to it on every address; port 0 chooses one that is free on all addresses.

    Raise `Unavailable` if an address does not belong to this machine or the port is in use.
    """
    for _ in range(_TRIES):
        sockets: list[socket.socket] = []
        chosen, address = port, ""
        try:
            for address in addresses:
                one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(one)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind((address, chosen))
                chosen = one.getsockname()[1]
        except OSError as error:
            for one in sockets:
                one.close()
            if port or error.errno != errno.EADDRINUSE:
                raise Unavailable(
                    f"cannot listen on {address}:{chosen}: {error.strerror}; choose another"
                ) from error
            continue
        return chosen, sockets
    raise Unavailable(f"no port is free on all of {', '.join(addresses)}; end some servers")


@contextmanager
def serve_in_thread(respond: Responder, sockets: Sequence[socket.socket]) -> Iterator[None]:
    """Serve from a thread of this process until the context ends; `respond` runs in that thread."""
    loop = asyncio.new_event_loop()
    listening = HttpServer(respond)
    loop.run_until_complete(listening.start(sockets))
    thread = threading.Thread(target=loop.run_forever, name="demo web", daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(listening.stop)
        loop.call_soon_threadsafe(lambda: loop.call_later(0, loop.stop))  # after the connections have closed
        thread.join()
        loop.close()
