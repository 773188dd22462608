"""One browser in a thread of its own, for tests that each need a tab of it."""

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from crawler.decode_budget import DecodeBudget
from crawler.render.chromium.browser import start_browser
from crawler.render.chromium.program import find_browser
from crawler.render.subresource_cache import SubresourceCache
from crawler.render.subresource_robots import Permission
from crawler.render.subresources import HostLocks, SubresourceFetcher
from crawler.render.tab import render
from crawler.wire import Client, acquire_at_once, parse_networks, utc_ms
from frontier import canonicalize
from tests.crawler.server import Server
from tests.loop_thread import LoopThread

AGENT = "thresher/test (+mailto:test@example.org)"


class UnlimitedPageLease:
    """A lease of a page whose hosts are asked at once, but for what robots.txt forbids."""

    def __init__(self, *, forbidden=(), enter=acquire_at_once):
        self._forbidden, self._enter = forbidden, enter

    def enter(self, *, waited):
        return self._enter

    async def permission(self, url, fetch):
        return Permission(refusal="robots" if url.text.endswith(self._forbidden) else "")

    def holds(self, host):
        return False

    async def turn(self, host, *, delay_ms, most_ms, may_burst):
        return 0

    async def left(self, host, *, delay_ms, answer=None):
        pass


class BrowserThread:
    """Pages are served, fetched and rendered in the stage's event loop."""

    def __init__(self, *, sandbox):
        self._loop = LoopThread()
        self.browser = self.run(start_browser(find_browser(""), sandbox=sandbox))
        self._kept = None

    def run(self, coroutine, timeout=60):
        return self._loop.run(coroutine, timeout)

    def close(self):
        self.run(self.browser.stop())
        self._loop.close()

    @contextmanager
    def cache_parts(self):
        """Keep answers from one page to the next."""
        self._kept = SubresourceCache(utc_ms)
        yield
        self._kept = None

    def render(self, answers, path="/", **options):
        """What the browser makes of a page of a server that gives these answers, and the server."""
        return self.run(self._render(answers, path, **options))

    async def _render(self, answers, path, **options):
        async with Server(answers).serve() as server, client() as asking:
            return await self.tab(asking, server.url + path, **options), server

    async def tab(self, asking, url, *, seconds=8.0, robots=(), most_bytes=1 << 20, peer=None):
        """`peer` is where the page is said to come from."""
        url = canonicalize(url)

        capture = await asking.get(url)
        if peer is not None:
            capture = replace(capture, peer=peer)
        until = asyncio.get_running_loop().time() + seconds
        parts = SubresourceFetcher(
            asking,
            page=capture,
            lease=UnlimitedPageLease(forbidden=tuple(robots)),
            host_locks=HostLocks(),
            cache=SubresourceCache(utc_ms) if self._kept is None else self._kept,
            decode_budget=DecodeBudget(),
            deadline=until,
        )
        self.browser.open_pages += 1
        try:
            return await render(
                self.browser,
                capture,
                parts,
                user_agent=AGENT,
                deadline=until,
                most_bytes=most_bytes,
            )
        finally:
            self.browser.open_pages -= 1


@asynccontextmanager
async def client():
    made = Client(user_agent=AGENT, max_body=10 << 20, timeout_s=5, allow=parse_networks(("127.0.0.1/32",)))
    try:
        yield made
    finally:
        await made.close()
