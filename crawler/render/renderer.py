"""`Renderer`: the browser of one worker: which pages it renders, how many at a time, and when it is replaced.

1. `auto` renders pages that give evidence (`crawler.render.render_need`), `always` every HTML page. A host may have a
   rule of its own. A page that is incomplete, or whose status is not 200, is never rendered.
2. At most `MAX_TABS` tabs are open at a time; the other pages wait.
3. The browser is started before the first page, so that a missing program is known at once. It is replaced after
   `PAGES_A_BROWSER` pages, or when it takes too much memory: the old one ends with its last tab. If a browser dies, the
   next one renders its pages once more.
4. A rendering that fails is data, like all failures of a page. Only a browser that cannot be started raises.
"""

import asyncio

from thresher.core import Capture
from thresher.crawler.reading.rendered_page import RenderedPage, RenderReport
from thresher.crawler.render.chromium.browser import Browser, start_browser
from thresher.crawler.render.chromium.program import MAX_TABS, find_browser
from thresher.crawler.render.render_need import render_need
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.render.tab import BrowserGoneError, render
from thresher.crawler.subresources.fetchers import SubresourceFetchers
from thresher.crawler.wire import WireSettings, utc_ms
from thresher.crawler.wire.session import Session
from thresher.frontier import Lease
from thresher.storage.warc.payload import decode_content
from thresher.storage.warc.records import mime_of

PAGES_A_BROWSER = 200
"""Pages after which a browser is replaced."""
SNIFF_BYTES = 512 << 10
"""Bytes of a page that are decoded to decide whether it needs a browser."""
HTML = frozenset({"text/html", "application/xhtml+xml"})


class Renderer:
    """Renders the pages of one worker. `close` ends its browser."""

    def __init__(
        self,
        fetchers: SubresourceFetchers,
        *,
        settings: RenderSettings,
        wire: WireSettings,
        user_agent: str,
        with_images: bool = False,
    ) -> None:
        """Render with the browser of `settings`. `wire.timeout` is the time for one page, in seconds, and
        `wire.max_body` bounds its DOM, in bytes. Images and fonts are fetched `with_images`, and for screenshots.

        Raise `InputError` if there is no browser.
        """
        self._fetchers, self._settings, self._wire, self.user_agent = fetchers, settings, wire, user_agent
        self._with_images = with_images
        self._program = find_browser(settings.browser)
        self._tabs = asyncio.Semaphore(MAX_TABS)
        self._starting = asyncio.Lock()
        self._browser: Browser | None = None
        self._old: set[Browser] = set()
        self._stopping: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the browser. Raise `InputError` if it cannot have its sandbox, and `Unavailable` if it does not
        start.
        """
        self._browser = await self._start_browser()

    async def render_page(
        self, lease: Lease, capture: Capture, session: Session | None = None
    ) -> RenderedPage | None:
        """Return what a browser makes of a captured page; None if the page is not to be rendered. `session` is the
        login that the page was captured under.
        """
        if not self._should_render(capture):
            return None
        async with self._tabs:
            for _ in range(2):
                try:
                    return await self._render(lease, capture, session)
                except BrowserGoneError:
                    continue
            return _crashed_page(capture)

    async def close(self) -> None:
        """Stop the browser, and those before it."""
        every = {*self._old, *([self._browser] if self._browser else [])}
        self._browser = None
        self._old.clear()
        await asyncio.gather(*(browser.stop() for browser in every), *self._stopping)

    def _should_render(self, capture: Capture) -> bool:
        if capture.status != 200 or capture.truncated or mime_of(capture.header("content-type")) not in HTML:
            return False
        mode = self._settings.mode(capture.url.host)
        if mode != "auto":
            return mode == "always"
        body, _ = decode_content(capture.payload, capture.header("content-encoding") or "", SNIFF_BYTES)
        return render_need(body) is not None

    async def _render(self, lease: Lease, capture: Capture, session: Session | None) -> RenderedPage:
        browser = await self._acquire_browser()
        deadline = asyncio.get_running_loop().time() + self._wire.timeout
        fetcher = self._fetchers.fetcher(lease, capture, deadline=deadline, session=session)
        try:
            return await render(
                browser,
                capture,
                fetcher,
                user_agent=(session and session.user_agent) or self.user_agent,
                deadline=deadline,
                max_bytes=self._wire.max_body,
                with_images=self._with_images,
                with_screenshots=self._settings.screenshot,
                behaviours=self._settings.behaviours_of(capture.url),
                session=session,
            )
        finally:
            browser.open_pages -= 1
            self._clear()

    async def _acquire_browser(self) -> Browser:
        async with self._starting:
            now = self._browser
            if now is None or not now.is_alive or now.is_over_memory or now.total_pages >= PAGES_A_BROWSER:
                if now is not None:
                    self._old.add(now)
                self._browser = now = await self._start_browser()
            # Count it before another task runs: an old browser ends once no page is open in it.
            now.total_pages += 1
            now.open_pages += 1
            return now

    async def _start_browser(self) -> Browser:
        return await start_browser(self._program, sandbox=self._settings.browser_sandbox)

    def _clear(self) -> None:
        """Stop the old browsers that have no open pages."""
        for browser in [one for one in self._old if not one.open_pages]:
            self._old.discard(browser)
            stopping = asyncio.create_task(browser.stop())
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    def __repr__(self) -> str:
        return f"<renderer: {self._browser}>"


def _crashed_page(capture: Capture) -> RenderedPage:
    return RenderedPage(
        url=capture.url.wire,
        html=b"",
        title="",
        subresources=(),
        refusals={},
        report=RenderReport(problem="render_crash"),
        started_ms=utc_ms(),
        elapsed_ms=0,
        browser="",
    )
