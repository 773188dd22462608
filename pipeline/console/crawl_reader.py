"""`CrawlReader`: questions to the frontiers of a project's crawls, over one link that lasts as long as the console.

1. A question ends after `TIMEOUT_S`: a server that does not respond gives an error in the page, not a page that hangs.
2. Only crawls whose archive is in the project's storage are shown, as `thresher status` does it.
3. A frontier is opened again after `REOPEN_S`, because its settings may have changed, and at once if its crawl was made
   anew or its server was replaced.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from thresher.core import CorruptData, InputError, Unavailable
from thresher.core.printable_address import printable_address
from thresher.frontier import Frontier, crawl_names
from thresher.frontier.link.call import Link
from thresher.frontier.link.connect import connect
from thresher.frontier.link.lost_frontier import lost_frontier_error
from thresher.storage.storage_id import read_storage_id
from thresher.storage.store import Store

T = TypeVar("T")
TIMEOUT_S = 3.0
REOPEN_S = 60.0
MAX_CRAWLS = 200
"""Crawls that the console shows; more would make the first page too long to read."""


class UnknownCrawl(InputError):
    """The project has no crawl of this name."""


class CrawlReader:
    """The link, and the frontiers that were opened on it."""

    def __init__(self, store: Store, address: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._store, self._address, self._timeout_s = store, address, timeout_s
        self._link: Link | None = None
        self._connecting = asyncio.Lock()
        self._frontiers: dict[str, tuple[Frontier, float]] = {}

    async def names(self) -> list[str]:
        """Return the names of the crawls that anything was ever added to, sorted, at most `MAX_CRAWLS`. Raise
        `Unavailable` if the server does not respond in time.
        """
        return (await self._in_time(self._names()))[:MAX_CRAWLS]

    async def ask(self, crawl: str, question: Callable[[Frontier], Awaitable[T]]) -> T:
        """Return the answer to a question about one crawl. Raise `UnknownCrawl` if the project has no such crawl,
        `CorruptData` if its frontier is lost, and `Unavailable` if the server does not respond in time.
        """
        try:
            return await self._in_time(self._ask(crawl, question))
        except CorruptData:
            if self._frontiers.pop(crawl, None) is None:
                raise
        return await self._in_time(self._ask(crawl, question))

    def reopen(self, crawl: str) -> None:
        """Open the frontier of a crawl again with the next question: an action may have changed its settings."""
        self._frontiers.pop(crawl, None)

    async def aclose(self) -> None:
        """Close the link."""
        if self._link is not None:
            await self._link.aclose()
            self._link = None

    async def _names(self) -> list[str]:
        return await crawl_names(await self._connected())

    async def _ask(self, crawl: str, question: Callable[[Frontier], Awaitable[T]]) -> T:
        frontier, opened_at = self._frontiers.get(crawl, (None, 0.0))
        if frontier is None or time.monotonic() - opened_at >= REOPEN_S:
            frontier = await self._open(crawl)
            if len(self._frontiers) >= MAX_CRAWLS:
                self._frontiers.clear()
            self._frontiers[crawl] = frontier, time.monotonic()
        return await question(frontier)

    async def _open(self, crawl: str) -> Frontier:
        link = await self._connected()
        if crawl not in await crawl_names(link):
            raise UnknownCrawl(f"crawl {crawl!r}: there is no crawl of this name in the frontier")
        frontier = Frontier(link, crawl)
        if not await frontier.crawl.exists():
            raise lost_frontier_error(crawl)
        await frontier.open()
        storage = frontier.crawl.storage
        if storage is not None and storage.id != await asyncio.to_thread(read_storage_id, self._store):
            raise UnknownCrawl(
                f"crawl {crawl!r}: its archive is in another storage, {printable_address(storage.uri)}"
            )
        return frontier

    async def _connected(self) -> Link:
        async with self._connecting:
            if self._link is None:
                self._link = await connect(self._address)
            return self._link

    async def _in_time(self, answer: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await answer
        except TimeoutError:
            raise Unavailable(
                f"the frontier at {printable_address(self._address)} does not respond within {self._timeout_s:g} s"
            ) from None

    def __repr__(self) -> str:
        return f"<reader of {len(self._frontiers)} crawls>"
