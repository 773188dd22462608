"""`Parts`: what one page asks for while it is rendered, fetched by our own client.

1. A part is fetched like a page: by the same client, past the same guard, and its exchange is archived byte for byte.
2. All happens under the lease of the page, whose host is held as long. One host is asked one thing at a time, whichever
   tab wants it, and every address is entered before it is asked (`crawler.entrance`); its turn is waited for, if it is near.
3. On the page's own origin its robots.txt is obeyed. Of other origins none is read: what the page needs from them is
   fetched on its behalf, as every browser does.
4. Redirects are followed here, each hop an exchange of its own, for browsers that intercept cannot follow them.
5. A page has so many parts, bytes, hops and seconds, and no more.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from weakref import WeakValueDictionary

from core import Capture, Url
from crawler.decoded import DecodedBytes
from crawler.outcome import REDIRECTS
from crawler.render.kept import Kept
from crawler.rendered import Part
from crawler.wire import Client, Enter, Wait
from frontier import NotAUrl, canonical

MOST_PARTS = 200
"""Exchanges that one page may ask for."""
MOST_SAME = 3
"""How often a page may ask for one URL: who asks oftener waits for news, and those are not ours."""
MOST_ALIKE = 32
"""The same for URLs that differ in their query alone."""
MOST_BYTES = 32 << 20
"""Bytes of responses, all parts of a page together."""
HOPS = 5
"""Redirects of one part."""
PATIENCE_S = 5.0
"""How long one part waits for the turns of its addresses."""

Hosts = WeakValueDictionary[str, asyncio.Lock]
"""Who asks a host something holds its lock."""


class Parts:
    """The parts of one page. `enter` and `allowed` are asked before each exchange."""

    def __init__(
        self,
        client: Client,
        *,
        origin: str,
        enter: Callable[[bool], Enter],
        allowed: Callable[[Url], Awaitable[bool]],
        hosts: Hosts,
        kept: Kept,
        decoded: DecodedBytes,
        until: float,
    ) -> None:
        """`enter` is told whether its turn was waited for already; `until` is a time of the event loop's clock."""
        self._client, self._origin, self._enter, self._allowed = client, origin, enter, allowed
        self._hosts, self._kept, self._until = hosts, kept, until
        self._exchanges = self._bytes = 0
        self._wanted: Counter[str] = Counter()
        self.fetched: list[Part] = []
        self.decoded = decoded
        """What the bodies that the browser is given are taken from."""

    async def fetch(
        self, wanted: str, *, method: str, headers: Sequence[tuple[str, str]], kind: str
    ) -> Capture | str:
        """What was answered in the end, or the reason for which there is no answer."""
        if method == "GET" and (kept := self._kept.get(wanted, headers)) is not None:
            return kept
        place = wanted.partition("?")[0] + "?"
        self._wanted.update((wanted, place))
        if self._wanted[wanted] > MOST_SAME or self._wanted[place] > MOST_ALIKE:
            return "repeated"
        target, base = wanted, ""
        for _ in range(HOPS + 1):
            try:
                url = canonical(target, base) if base else canonical(target)
            except NotAUrl:
                return "bad_url"
            found = await self._exchange(url, method, headers, kind)
            if isinstance(found, str):
                return found
            location = found.header("location")
            if found.status not in REDIRECTS or not location:
                if method == "GET" and not base:
                    self._kept.put(wanted, headers, found, kind)
                return found
            target, base = location, url.wire
        return "too_many_hops"

    async def _exchange(
        self, url: Url, method: str, headers: Sequence[tuple[str, str]], kind: str
    ) -> Capture | str:
        if url.origin == self._origin and not await self._allowed(url):
            return "robots"
        async with self._hosts.setdefault(url.host, asyncio.Lock()):
            if self._exchanges >= MOST_PARTS:
                return "too_many"
            if self._bytes >= MOST_BYTES:
                return "too_large"
            self._exchanges += 1
            return await self._in_turn(url, method, headers, kind)

    async def _in_turn(
        self, url: Url, method: str, headers: Sequence[tuple[str, str]], kind: str
    ) -> Capture | str:
        patience_s, waited = PATIENCE_S, False
        while (left_s := self._left_s()) > 0:
            found = await self._client.get(
                url,
                self._enter(waited),
                headers=headers,
                method=method,
                max_body=MOST_BYTES - self._bytes,
                timeout_s=left_s,
            )
            if isinstance(found, Capture):
                self._bytes += len(found.response)
                self.fetched.append(Part(capture=found, kind=kind))
                return found
            if not isinstance(found, Wait):
                return found.reason if found.reason.endswith("_blocked") else "unreachable"
            wait_s = found.ms / 1000
            if wait_s > min(patience_s, self._left_s()):
                return "not_its_turn"
            patience_s -= wait_s
            await asyncio.sleep(wait_s)
            waited = True
        return "late"

    def _left_s(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    def __repr__(self) -> str:
        return f"<parts: {self._exchanges} exchanges, {self._bytes} bytes>"
