"""`render`: one page in one tab, from the archived response to the DOM that its scripts made of it.

1. Each page has a fresh context: no cookie, cache or storage of another page. Only a page under a session has the
   session's cookies and storage. Its first document is the archived response, which is not requested again. Every other
   request goes to `crawler.render.intercept`, and from there to `crawler.subresources.subresource_fetcher` or nowhere.
2. The page's clock is virtual (`crawler.render.page_clock`). At the page's deadline (in real time) its scripts are
   stopped, and the DOM is taken as it is.
3. The DOM is read as a reader sees it (`crawler.render.chromium.dom`), up to a length.
4. If screenshots are wanted (`crawler.render.screenshots`), the page may ask for images and fonts, has a larger window,
   and always gets the tall one, in which images load that wait to be near the window. The pictures are taken last.
5. Behaviours (`crawler.render.behaviours`) act in the page once it is done.
6. A page never waits for a person: dialogs are dismissed, windows closed, downloads cancelled, permissions denied. Each
   is counted.
7. A fault of a tab affects only its own page. If the whole browser has ended, `render` raises `BrowserGoneError`.
"""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from playwright.async_api import (
    BrowserContext,
    CDPSession,
    Dialog,
    Download,
    Error,
    Page,
)

from thresher.core import Capture
from thresher.crawler.reading.rendered_page import (
    BehaviourReport,
    RenderedPage,
    RenderProblem,
    RenderReport,
    Screenshot,
)
from thresher.crawler.render.behaviours.behaviour_run import BehaviourRun
from thresher.crawler.render.behaviours.behaviour_script import Behaviours
from thresher.crawler.render.behaviours.page_driver import PageDriver
from thresher.crawler.render.chromium import dom
from thresher.crawler.render.chromium.browser import Browser
from thresher.crawler.render.chromium.init_script import INIT_SCRIPT, has_used
from thresher.crawler.render.chromium.isolated_world import create_world
from thresher.crawler.render.intercept import Interceptor
from thresher.crawler.render.page_clock import PageClock, wait_until_done
from thresher.crawler.render.screenshots import VIEW, WINDOW, take_screenshots
from thresher.crawler.subresources import request_rules
from thresher.crawler.subresources.subresource_fetcher import SubresourceFetcher
from thresher.crawler.wire.session import Session

GRACE_S = 3.0
"""Seconds beyond its deadline in which a tab must deliver its DOM; it has the same time again to close."""
EXIT_WAIT_S = 1.0
"""Seconds to wait for the event that a browser has ended."""
MEMORY_KILL_WINDOW_S = 2.0
"""Seconds. If a tab crashes within this time after one was killed for its memory, it counts as the killed one."""

NO_BEHAVIOURS = Behaviours()
SCREENSHOT_GRACE_S = 2.0
"""Seconds beyond its deadline in which all screenshots of a page must be taken."""


class BrowserGoneError(Exception):
    """The browser ended, with all its tabs."""


async def render(  # noqa: PLR0913 - one page, and how it is rendered
    browser: Browser,
    capture: Capture,
    fetcher: SubresourceFetcher,
    *,
    user_agent: str,
    deadline: float,
    max_bytes: int,
    with_images: bool = False,
    with_screenshots: bool = False,
    behaviours: Behaviours = NO_BEHAVIOURS,
    session: Session | None = None,
) -> RenderedPage:
    """Return the rendering of a captured page. `deadline` is by the event loop's clock; `max_bytes` bounds the DOM.
    Images and fonts are fetched `with_images`, and for screenshots.

    Raise `BrowserGoneError` if the browser ended. Whatever the page does raises nothing.
    """
    tab = _Tab(
        browser,
        capture,
        fetcher,
        deadline=deadline,
        max_bytes=max_bytes,
        with_images=with_images or with_screenshots,
        with_screenshots=with_screenshots,
        behaviours=behaviours,
        session=session,
    )
    started_ms, started_at = time.time_ns() // 1_000_000, time.monotonic()
    problem = await tab.run(user_agent)
    return RenderedPage(
        url=capture.url.wire,
        html=tab.html,
        title=tab.title,
        subresources=tuple(fetcher.subresources),
        refusals=dict(tab.refusals),
        report=RenderReport(
            problem=problem, navigations=tab.navigations, behaviours=tab.behaviour_report(problem)
        ),
        started_ms=started_ms,
        elapsed_ms=round((time.monotonic() - started_at) * 1000),
        browser=browser.name,
        screenshots=tab.screenshots,
        page_height=tab.page_height,
    )


class _Tab:
    def __init__(  # noqa: PLR0913 - as `render`
        self,
        browser: Browser,
        capture: Capture,
        fetcher: SubresourceFetcher,
        *,
        deadline: float,
        max_bytes: int,
        with_images: bool,
        with_screenshots: bool,
        behaviours: Behaviours,
        session: Session | None,
    ) -> None:
        self._browser, self._capture, self._fetcher = browser, capture, fetcher
        self._deadline, self._max_bytes = deadline, max_bytes
        self._session = session
        self._page: Page | None = None
        self._with_images, self._with_screenshots = with_images, with_screenshots
        self._behaviours = behaviours
        self._behaviour_run: BehaviourRun | None = None
        kinds = request_rules.VISIBLE_KINDS if with_images else request_rules.ALLOWED_KINDS
        self._requests = Interceptor(capture, fetcher, allowed_kinds=kinds)
        self._has_closed_root = False
        self._crashed, self._closed = asyncio.Event(), asyncio.Event()
        self.html, self.title = b"", ""
        self.screenshots: tuple[Screenshot, ...] = ()
        self.page_height: int | None = None

    async def run(self, user_agent: str) -> RenderProblem:
        """Fill `html` and `title` as far as the page permits. Raise what the fetcher raises: a fault of ours."""
        problem = await self._problem(user_agent)
        if self._requests.error is not None:
            raise self._requests.error
        return problem

    @property
    def refusals(self) -> Counter[str]:
        """What the page was refused, by reason."""
        return self._requests.refusals

    @property
    def navigations(self) -> tuple[str, ...]:
        """Addresses to which its scripts would have navigated."""
        return tuple(self._requests.navigations)

    def behaviour_report(self, problem: RenderProblem) -> BehaviourReport | None:
        """Return what behaviours did; a problem of the rendering cut them, and so did the bound of the DOM."""
        if self._behaviour_run is None:
            return None
        report = self._behaviour_run.report
        too_long = "bytes" if report.actions and len(self.html) >= self._max_bytes else ""
        return replace(report, cut=report.cut or problem or too_long)

    async def _problem(self, user_agent: str) -> RenderProblem:
        context: BrowserContext | None = None
        try:
            async with asyncio.timeout_at(self._deadline + GRACE_S):
                context = await self._browser.chromium.new_context(
                    user_agent=user_agent,
                    service_workers="block",
                    accept_downloads=False,
                    locale="en-US",
                    viewport=VIEW if self._with_screenshots else WINDOW,
                    storage_state=None if self._session is None else self._session.browser_state(),
                )
                return await self._render_in(context)
        except TimeoutError:
            return "render_timeout"
        except Error as error:
            return await self._exit_problem(error)
        finally:
            self._requests.close()
            if context is not None:
                await self._close(context)

    async def _render_in(self, context: BrowserContext) -> RenderProblem:
        await context.add_init_script(INIT_SCRIPT)
        context.on("page", self._on_page)
        page = self._page = await context.new_page()
        page.on("crash", lambda _: self._crashed.set())
        page.on("close", lambda _: self._closed.set())
        page.on("dialog", self._on_dialog)
        page.on("download", self._on_download)
        page.on("websocket", lambda _: self._requests.refuse("websocket"))
        session = await context.new_cdp_session(page)
        await self._requests.begin(session)
        working = asyncio.create_task(self._load(page, session))
        ends = [asyncio.create_task(event.wait()) for event in (self._crashed, self._closed)]
        try:
            await asyncio.wait({working, *ends}, return_when=asyncio.FIRST_COMPLETED)
            is_lost = self._crashed.is_set() or self._closed.is_set()
            return await self._exit_problem() if is_lost else working.result()
        finally:
            for task in (working, *ends):
                task.cancel()
            await asyncio.gather(working, *ends, return_exceptions=True)

    async def _load(self, page: Page, session: CDPSession) -> RenderProblem:
        problem: RenderProblem = ""
        try:
            async with asyncio.timeout_at(self._deadline):
                await page.goto(self._capture.url.wire, wait_until="commit", timeout=0)
                world = await create_world(session)
                await self._wait(page, session, world)
                self._has_closed_root = self._requests.declares_closed_root or await has_used(
                    session, world, "closed"
                )
        except TimeoutError:
            # The page may have a closed shadow root, and can no longer be asked.
            problem, self._has_closed_root = "render_timeout", True
            await session.send("Runtime.terminateExecution")
            await session.send("Emulation.setScriptExecutionDisabled", {"value": True})
            world = await create_world(session)
        self.html, self.title = await dom.read_dom(
            session,
            world,
            requested_url=self._capture.url.wire,
            max_bytes=self._max_bytes,
            has_closed=self._has_closed_root,
        )
        if self._with_screenshots and not problem:
            await self._take_screenshots(page, session, world)
        return problem

    async def _wait(self, page: Page, session: CDPSession, world: int) -> None:
        """Wait until the page is done, and do what a reader would do to see the rest of it."""
        clock, width = PageClock(session), (VIEW if self._with_screenshots else WINDOW)["width"]
        has_grown = await wait_until_done(
            page, session, world, self._requests, clock, width=width, always_tall=self._with_images
        )
        if not self._behaviours.is_empty:
            driver = PageDriver(
                page,
                session,
                world,
                self._requests,
                clock,
                deadline=self._deadline,
                width=width,
                shows_images=self._with_images,
            )
            self._behaviour_run = BehaviourRun(driver, self._behaviours)
            await self._behaviour_run.run(grew_in_tall_window=has_grown)

    async def _take_screenshots(self, page: Page, session: CDPSession, world: int) -> None:
        try:
            async with asyncio.timeout_at(self._deadline + SCREENSHOT_GRACE_S):
                self.screenshots, self.page_height = await take_screenshots(page, session, world)
        except TimeoutError:
            self._requests.refuse("screenshot")

    async def _on_dialog(self, dialog: Dialog) -> None:
        self._requests.refuse("dialog")
        # A yes to a `beforeunload` dialog lets the page navigate: the navigation is refused, and recorded as a link.
        with suppress(Error):
            await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())

    async def _on_download(self, download: Download) -> None:
        self._requests.refuse("download")
        with suppress(Error):
            await download.cancel()

    async def _on_page(self, page: Page) -> None:
        if page is self._page or self._page is None:
            return
        self._requests.refuse("window")
        with suppress(Error):
            await page.close()

    async def _exit_problem(self, error: Error | None = None) -> RenderProblem:
        """Return why the tab is gone. A closed tab may be the first sign that its browser has ended."""
        if not self._crashed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(EXIT_WAIT_S):
                    await self._browser.exit_event.wait()
        if not self._browser.is_alive:
            raise BrowserGoneError from error
        is_memory = time.monotonic() - self._browser.tab_killed_at < MEMORY_KILL_WINDOW_S
        return "render_memory" if is_memory else "render_crash"

    async def _close(self, context: BrowserContext) -> None:
        try:
            async with asyncio.timeout(GRACE_S):
                await context.close()
        except (Error, TimeoutError):
            # It keeps memory that it should have released: it gets no further pages.
            self._browser.is_over_memory = True
