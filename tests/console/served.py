"""A console that serves a project on loopback, in a thread of this process."""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

from thresher.pipeline.console.live_console import Console
from thresher.pipeline.console.web.access import AccessRules
from thresher.pipeline.console.web.console_app import create_app
from thresher.pipeline.console.web.http_server import ConsoleServer
from thresher.pipeline.open_project import OpenProject


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedConsole:
    console: Console
    loop: asyncio.AbstractEventLoop
    port: int
    rules: AccessRules
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, path, *, headers=None, body=None, keep_cookie=True) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"Host": f"127.0.0.1:{self.port}", "Accept": "text/html", **(headers or {})}
        if self.cookies and keep_cookie and "Cookie" not in given:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, path, body=body, headers=given)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            if keep_cookie and (cookie := found.get("set-cookie")):
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            return Answer(status=response.status, headers=found, body=response.read())
        finally:
            connection.close()

    def get(self, path, **named) -> Answer:
        return self.request("GET", path, **named)

    def api(self, path, **named) -> Answer:
        return self.request("GET", path, headers={"Accept": "application/json"}, **named)

    def post_form(self, path, values, **headers) -> Answer:
        given = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        return self.request("POST", path, headers=given, body=urlencode(values))

    def post_json(self, path, values, **headers) -> Answer:
        given = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        return self.request("POST", path, headers=given, body=json.dumps(values))

    def run(self, answer):
        """The result of a coroutine in the console's event loop."""
        return asyncio.run_coroutine_threadsafe(answer, self.loop).result(60)


@contextmanager
def served_console(project: OpenProject, rules: AccessRules | None = None) -> Iterator[ServedConsole]:
    rules = rules or AccessRules.of(host="127.0.0.1")
    loops: list[asyncio.AbstractEventLoop] = []
    started = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening, project.frontier_address() as address:
        console = Console(project, address)
        server = _Server(create_app(console, rules))

        async def serve() -> None:
            loops.append(asyncio.get_running_loop())
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.005)
            started.set()
            await serving

        thread = threading.Thread(target=lambda: asyncio.run(serve()), name="console")
        thread.start()
        try:
            assert started.wait(30)
            port = listening.getsockname()[1]
            yield ServedConsole(console=console, loop=loops[0], port=port, rules=rules)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


class _Server(ConsoleServer):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the tests' main thread."""
        yield
