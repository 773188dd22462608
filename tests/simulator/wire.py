"""`SimulatedClient`: the client of a worker in a world without a network; `InlineProcess`: its child process there."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.simulator.process import Process, run_traps
from tests.simulator.simulated_web import Request, Web
from thresher.core import Capture
from thresher.crawler.wire import FetchFailure, Postponement, SentExchange, acquire_at_once
from thresher.crawler.wire.network.probes import HostProbe

SILENT = 0.01
"""How likely a server does not answer at all, while faults last."""
LONGEST = 4
"""The most an exchange may take, in time-outs (`crawler.wire.limits`)."""


class Probes:
    """Our own side works."""

    resolved_at = 0.0

    def __init__(self, web: Web) -> None:
        self._web = web

    async def name_server_problem(self) -> str:
        return ""

    def route_problem(self, address: str = "") -> str:
        return ""

    async def address(self, url) -> str:
        return self._web.addresses[url.host]

    async def probe_host(self, url) -> HostProbe:
        return HostProbe(address=self._web.addresses[url.host], has_answered=True)


class SimulatedClient:
    """As `Client`; what it asks is written down where it is asked, at the moment at which it arrives."""

    def __init__(self, web: Web, process: Process, is_calm: Callable[[], bool], **told: Any) -> None:
        self._web, self._process, self._is_calm = web, process, is_calm
        self._on_request, self._on_exchange = told["on_request"], told["on_exchange"]
        self._timeout_s = told["settings"].timeout
        self.user_agent = told["user_agent"]
        self.probes = Probes(web)

    async def get(self, url, acquire=acquire_at_once, *, headers=(), max_body=None, session=None):
        world, web = self._process.world, self._web
        address = web.addresses.get(url.host)
        if address is None:
            return FetchFailure(reason="dns", detail="no such name")
        wait = await acquire(address)
        if wait:
            return Postponement(wait_ms=wait)
        run_traps(web.traps, self._process)
        await asyncio.sleep(world.latency())  # a connection is made
        self._on_request(address)
        started_ms, begun = self._process.wall_ms(), self._process.time()
        took = min(0.005 + world.latency() * (1 + 20 * world.random.random()), LONGEST * self._timeout_s)
        is_silent = not self._is_calm() and world.random.random() < SILENT
        if is_silent:
            took = self._timeout_s
        path = url.text.partition(url.host)[2]
        world.note(self._process.name, f"asks for {url.text}")
        request = Request(
            host=url.host,
            address=address,
            path=path,
            begun=world.now,
            ended=world.now + took,
            by=self._process,
        )
        web.requests.append(request)
        answer = None if is_silent else web.answer(url)
        try:
            await asyncio.sleep(took)
        finally:  # who breaks off closes the connection
            request.ended = min(request.ended, world.now)
            self._on_exchange(
                SentExchange(
                    host=url.host,
                    started_at=begun,
                    ended_at=self._process.time(),
                    requests=1,
                    bytes_received=0,
                    in_burst=False,
                )
            )
        if is_silent:
            return FetchFailure(reason="timeout_first_byte", detail="nobody answers", symptom="silent")
        if answer is None:
            return FetchFailure(reason="reset", detail="the connection was broken off", symptom="answered")
        status, fields, body = answer
        fields = [*fields, ("Content-Length", str(len(body)))]
        head = (
            f"HTTP/1.1 {status} Said\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
        )
        return Capture(
            url=url,
            request=f"GET {path} HTTP/1.1\r\nHost: {url.host}\r\nUser-Agent: {self.user_agent}\r\n\r\n".encode(),
            response=head.encode() + body,
            head_length=len(head),
            status=status,
            headers=tuple(fields),
            payload=body,
            started_ms=started_ms,
            elapsed_ms=round((self._process.time() - begun) * 1000),
            peer=address,
            truncated=None,
        )

    def add_cookies(self, cookies) -> None:
        """No cookies."""

    async def close(self) -> None:
        """Nothing is open."""


class InlineProcess:
    """As `PageProcess`, in the process itself."""

    async def call(self, work, *args, returns, accepts=lambda _: True):
        said = await asyncio.to_thread(work, *args)
        return said if accepts(said) else None

    def close(self) -> None:
        """There is no process."""
