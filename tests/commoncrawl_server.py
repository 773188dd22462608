"""A server of files by ranges that answers, and fails, as the one of Common Crawl does."""

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep

HOST = "127.0.0.1"


@dataclass(frozen=True)
class ErrorResponse:
    """Answer so, without the file."""

    status: int
    code: str = "SlowDown"
    retry_after_s: int | None = None


@dataclass(frozen=True)
class CutResponse:
    """Close behind so many bytes of the body."""

    after: int


@dataclass(frozen=True)
class DelayedResponse:
    """Hold the answer back."""

    seconds: float


@dataclass(frozen=True)
class BlockedResponse:
    """Hold the answer back until then."""

    until: threading.Event


Fault = ErrorResponse | CutResponse | DelayedResponse | BlockedResponse | None


@dataclass
class RequestRange:
    """One request that arrived."""

    path: str
    first: int
    last: int
    headers: dict[str, str]


@dataclass
class Server:
    """The files below `root`, and what is to go wrong: `plan` is asked once a request."""

    root: Path
    plan: Callable[[RequestRange], Fault] = lambda asked: None
    requests: list[RequestRange] = field(default_factory=list)
    port: int = 0
    out: int = 0
    most_out: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def requests_with(self, text: str) -> list[RequestRange]:
        """Requests whose path holds the text."""
        return [each for each in self.requests if text in each.path]


def scripted(*faults: Fault, path: str = "") -> Callable[[RequestRange], Fault]:
    """One after the other, to requests whose path holds the text; then nothing."""
    left = list(faults)
    lock = threading.Lock()

    def plan(asked: RequestRange) -> Fault:
        with lock:
            return left.pop(0) if left and path in asked.path else None

    return plan


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a head and a body in two writes would wait 40 ms for each other
    state: Server

    def do_GET(self) -> None:
        state = self.state
        with state.lock:
            state.out += 1
            state.most_out = max(state.most_out, state.out)
        self.answer()

    def answer(self) -> None:
        state = self.state
        path = self.path.lstrip("/")
        file = state.root / path
        size = file.stat().st_size if file.is_file() else 0
        first, last = self.span(size)
        asked = RequestRange(path, first, last, {name.lower(): value for name, value in self.headers.items()})
        with state.lock:
            state.requests.append(asked)
        fault = state.plan(asked)
        if isinstance(fault, ErrorResponse):
            wait = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
            return self.send(fault.status, error(fault.code), {"Content-Type": "application/xml", **wait})
        if isinstance(fault, DelayedResponse):
            sleep(fault.seconds)
        if isinstance(fault, BlockedResponse):
            fault.until.wait(60)
        if not file.is_file():
            return self.send(404, error("NoSuchKey"), {"Content-Type": "application/xml"})
        if first >= size:
            return self.send(416, error("InvalidRange"), {})
        with file.open("rb") as opened:
            opened.seek(first)
            data = opened.read(last - first + 1)
        etag = f'"{hashlib.md5(file.read_bytes()).hexdigest()}"'
        if self.headers.get("If-Match") not in (None, etag):
            return self.send(412, error("PreconditionFailed"), {})
        told = {"ETag": etag, "Content-Range": f"bytes {first}-{first + len(data) - 1}/{size}"}
        if isinstance(fault, CutResponse):
            self.send(206, data[: fault.after], told, length=len(data))
            self.close_connection = True
            return None
        return self.send(206, data, told)

    def span(self, size: int) -> tuple[int, int]:
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        if not first:
            return max(0, size - int(last)), size - 1
        return int(first), min(int(last), size - 1)

    def send(self, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
        with self.state.lock:  # before the last byte: who has that may ask again at once
            self.state.out -= 1
        self.send_response(status)
        for name, value in {
            **headers,
            "Content-Length": str(len(body) if length is None else length),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


def error(code: str) -> bytes:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>Please reduce your request rate.</Message></Error>'.encode()


class Quiet(ThreadingHTTPServer):
    """Says nothing of those who went away before the end."""

    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve_files(root: Path) -> Iterator[Server]:
    state = Server(root)
    handler = type("Bound", (Handler,), {"state": state})
    with Quiet((HOST, 0), handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join(10)
