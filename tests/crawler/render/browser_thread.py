"""One browser in a thread of its own, for tests that each need a tab of it."""

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from tests.crawler.flat_settings import wire_client
from tests.crawler.server import Server
from tests.loop_thread import LoopThread
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.render.behaviours.behaviour_script import Behaviours
from thresher.crawler.render.chromium.browser import start_browser
from thresher.crawler.render.chromium.program import find_browser
from thresher.crawler.render.tab import render
from thresher.crawler.subresources.subresource_cache import SubresourceCache
from thresher.crawler.subresources.subresource_fetcher import HostLocks, SubresourceFetcher
from thresher.crawler.subresources.subresource_robots import Permission
from thresher.crawler.wire import WireSettings, acquire_at_once, utc_ms
from thresher.frontier import canonicalize

AGENT = "thresher/test (+mailto:test@example.org)"


class UnlimitedPageLease:
    """A lease of a page whose hosts are requested at once, except where robots.txt forbids it."""

    def __init__(self, *, forbidden=(), acquire=acquire_at_once):
        self._forbidden, self._acquire = forbidden, acquire

    def acquire(self, *, has_waited):
        return self._acquire

    async def permission(self, url, fetch):
        return Permission(refusal="robots" if url.text.endswith(self._forbidden) else "")

    def holds(self, host):
        return False

    async def reserve_turn(self, host, *, delay_ms, max_wait_ms, may_burst):
        return 0

    async def end_turn(self, host, *, delay_ms, answer=None):
        pass


class BrowserThread:
    """Serves, fetches and renders pages in one event loop of its own."""

    def __init__(self, *, sandbox, with_pictures=False):
        self._loop = LoopThread()
        self._with_pictures = with_pictures
        self.browser = self.run(start_browser(find_browser(""), sandbox=sandbox))
        self._kept = None

    def run(self, coroutine, timeout=60):
        return self._loop.run(coroutine, timeout)

    def close(self):
        self.run(self.browser.stop())
        self._loop.close()

    @contextmanager
    def cache_parts(self):
        """Keep the subresource cache from one page to the next."""
        self._kept = SubresourceCache(utc_ms)
        yield
        self._kept = None

    def render(self, answers, path="/", **options):
        """Return what the browser makes of a page of a server with these answers, and the server."""
        return self.run(self._render(answers, path, **options))

    async def _render(self, answers, path, **options):
        async with Server(answers).serve() as server, client() as http_client:
            return await self.tab(http_client, server.url + path, **options), server

    async def tab(
        self,
        http_client,
        url,
        *,
        seconds=8.0,
        robots=(),
        max_bytes=1 << 20,
        peer=None,
        behaviours=(),
        script=None,
    ):
        """`peer` is the address from which the page is said to come."""
        url = canonicalize(url)

        capture = await http_client.get(url)
        if peer is not None:
            capture = replace(capture, peer=peer)
        until = asyncio.get_running_loop().time() + seconds
        parts = SubresourceFetcher(
            http_client,
            page=capture,
            lease=UnlimitedPageLease(forbidden=tuple(robots)),  # type: ignore[arg-type]
            host_locks=HostLocks(),
            cache=SubresourceCache(utc_ms) if self._kept is None else self._kept,
            decode_budget=DecodeBudget(),
            deadline=until,
            wire=WireSettings(),
        )
        self.browser.open_pages += 1
        try:
            return await render(
                self.browser,
                capture,
                parts,
                user_agent=AGENT,
                deadline=until,
                max_bytes=max_bytes,
                with_screenshots=self._with_pictures,
                behaviours=Behaviours(names=behaviours, script=script),
            )
        finally:
            self.browser.open_pages -= 1


@asynccontextmanager
async def client():
    made = wire_client(AGENT, max_body=10 << 20, timeout=5, allow_networks=("127.0.0.1/32",))
    try:
        yield made
    finally:
        await made.close()
