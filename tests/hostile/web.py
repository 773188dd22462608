"""`Web`: the hostile web, served from a thread of its own. Each row's host has its own address in 127.1.0.0/16.

All hosts listen on one port, so that rows can name each other before any host listens. The canary listens on 127.0.0.1.
"""

import asyncio
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.crawler.nameserver import NameServer
from tests.crawler.server import links, page, spelled
from tests.hostile.certificates import Authority
from tests.hostile.host import Host
from tests.hostile.rows.row import GOOD, Row, WebAddress
from tests.loop_thread import LoopThread

WORDS = ("", "about bread and water", "of rivers and their mouths", "on the making of chairs")


class Web:
    """Rows, and the hosts that play them."""

    def __init__(self, make: Callable[[WebAddress], list[Row]], directory: Path) -> None:
        self._make = make
        self.authority = Authority(directory)
        self.hosts: dict[str, Host] = {}
        """The hosts, by the name of the row."""
        self.rows: list[Row] = []
        self.canary = Host("127.0.0.1", {}, fallback=lambda _: page("the canary sings"))
        self.names = NameServer()
        self.there = WebAddress()

    @contextmanager
    def served(self) -> Iterator["Web"]:
        """Serve within this context."""
        self._loop = LoopThread()
        try:
            self._call(self._open())
            with self.names.served():
                yield self
        finally:
            self._call(self._close())
            self._loop.close()

    def url(self, row: Row) -> str:
        """Return the URL of the row's host, without a slash at its end."""
        host = row.host or self.hosts[row.name].address
        scheme = "https" if row.tls else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.there.port}"

    def late_s(self, begun: float, ended: float) -> float:
        """Return the seconds by which times that hosts noted between these two may be too late."""
        return self._loop.late_s(begun, ended)

    def _call(self, work):
        return self._loop.run(work)

    async def _open(self) -> None:
        canary = _free_port()
        await self.canary.serve(canary)
        for _ in range(50):
            self.there = WebAddress(port=random.randrange(20_000, 32_000), canary=canary)
            self.rows = self._make(self.there)
            self.hosts = self._hosts()
            try:
                for host in self.hosts.values():
                    await host.serve(self.there.port)
            except OSError:
                await asyncio.gather(*(host.close() for host in self.hosts.values()))
                continue
            return
        raise OSError("no port is free on all addresses of the web")

    async def _close(self) -> None:
        await asyncio.gather(*(host.close() for host in (self.canary, *self.hosts.values())))

    def _hosts(self) -> dict[str, Host]:
        variants = Counter[int]()
        found: dict[str, Host] = {}
        for row in self.rows:
            variants[row.number] += 1
            address = row.address or f"127.1.{row.number}.{variants[row.number]}"
            self.names |= names(row, address)
            tls = (
                self.authority.context(row.tls, row.host or address)
                if row.tls not in {None, "none"}
                else None
            )
            found[row.name] = Host(address, answers(row), fallback=row.fallback, tls=tls, talk=row.talk)
        return found


def names(row: Row, address: str):
    """Return what DNS knows of a row."""
    found = {row.host: ["@"]} if row.host else {}
    for name, said in {**found, **row.names}.items():
        found[name] = [address if one == "@" else one for one in said] if isinstance(said, list) else said
    return found


def answers(row: Row):
    """Return the responses of a row's host: the row's own, the index, and the good pages."""
    bad = [path for path in row.answers if path != "/"] if row.links is None else row.links
    index = links(
        GOOD[0], *(path.replace('"', "&quot;") for path in bad), *GOOD[1:], text=f"The index of {row.name}."
    )
    good = {
        path: page(f"<p>{row.name}: a text {WORDS[n]}, {spelled(row.number * 10 + n)}.</p>")
        for n, path in enumerate(GOOD, 1)
    }
    return {"/": index, **good, "/robots.txt": row.robots, **row.answers}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
