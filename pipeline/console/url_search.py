"""`UrlSearches`: the history of URLs, searched in the background.

Indexes and logs are read from end to end, which takes seconds per million records. A client gets what is found so far
and asks again. `THREADS` searches run at a time, `MAX_WAITING` wait; the results of `KEPT` searches are kept.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from thresher.core import Unavailable, Url
from thresher.pipeline.console.slow_reading import reading_problem
from thresher.pipeline.reports.history import FileUri, History

THREADS = 2
MAX_WAITING = 8
KEPT = 64
KEPT_S = 60.0
"""Seconds for which a result is not searched again."""


@dataclass(slots=True)
class Search:
    """One search. `found` grows while it runs."""

    started_at: float
    found: list[History] = field(default_factory=list)
    error: str = ""
    is_done: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class UrlSearches:
    """The searches of one console."""

    def __init__(
        self,
        history: Callable[[Url | FileUri], Iterator[History]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._history, self._clock = history, clock
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="url-search")
        self._searches: OrderedDict[str, Search] = OrderedDict()
        self._is_closed = False

    async def search(self, url: Url | FileUri, wait_s: float = 0.15) -> Search:
        """Return the search for a URL, begun now or within the last minute. Wait `wait_s` for its end at most. Raise
        `Unavailable` if too many searches wait.
        """
        found = self._searches.get(url.text)
        if found is None or (found.is_done and self._clock() - found.started_at > KEPT_S):
            if sum(not each.is_done for each in self._searches.values()) >= THREADS + MAX_WAITING:
                raise Unavailable("many URLs are being searched for; try again in a minute")
            found = self._searches[url.text] = Search(started_at=self._clock())
            loop = asyncio.get_running_loop()
            self._executor.submit(self._run, url, found, loop)
        self._searches.move_to_end(url.text)
        self._remove_old()
        if not found.is_done:
            try:
                async with asyncio.timeout(wait_s):
                    await found.ended.wait()
            except TimeoutError:
                pass
        return found

    def close(self) -> None:
        """Begin no further search, and let those that run end at their next source."""
        self._is_closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _run(self, url: Url | FileUri, search: Search, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for history in self._history(url):
                search.found.append(history)
                if self._is_closed:
                    return
        except Exception as error:  # noqa: BLE001 - else a search that failed would look like one that found nothing
            search.error = reading_problem(error)
        finally:
            search.is_done = True
            if not self._is_closed:
                loop.call_soon_threadsafe(search.ended.set)

    def _remove_old(self) -> None:
        while len(self._searches) > KEPT:
            oldest = next((text for text, each in self._searches.items() if each.is_done), None)
            if oldest is None:
                return
            del self._searches[oldest]
