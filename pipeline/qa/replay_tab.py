"""`replay_page`: one page of an archive in one tab, where the archive answers every request.

1. Nothing goes to the network, which the browser does not have. What the archive does not have is answered with 404, as
   players answer it.
2. The page's clock is virtual and begins at the time of the capture. The page gets the window that it had in the crawl,
   so that the same archive looks the same again.
3. Frames are replayed with their page, and emptied before it is compared with a record that shows none. The tab does
   not follow its scripts to another page.
4. A page never waits for a person, and what it does raises nothing but `BrowserGoneError`.
"""

import asyncio
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Dialog, Download, Error, Page, ViewportSize

from thresher.crawler.reading.outcome import REDIRECT_STATUSES
from thresher.crawler.reading.rendered_page import BehaviourName, Screenshot
from thresher.crawler.render.behaviours.behaviour_run import BehaviourRun
from thresher.crawler.render.behaviours.behaviour_script import Behaviours
from thresher.crawler.render.behaviours.page_driver import PageDriver
from thresher.crawler.render.chromium import dom
from thresher.crawler.render.chromium.browser import Browser
from thresher.crawler.render.chromium.init_script import INIT_SCRIPT
from thresher.crawler.render.chromium.isolated_world import await_frames, call_function, create_world
from thresher.crawler.render.chromium.paused_requests import fail, fulfill, pause_requests
from thresher.crawler.render.page_clock import PageClock, wait_until_done
from thresher.crawler.render.screenshots import VIEW, WINDOW, take_screenshots
from thresher.crawler.render.tab import BrowserGoneError
from thresher.crawler.subresources import request_rules
from thresher.pipeline.qa.comparison import Fate
from thresher.pipeline.qa.wacz_lines import ListedPage
from thresher.storage.warc.records import ArchivedRecord

PAGE_S = 30.0
"""Seconds for one page."""
MAX_DOM_BYTES = 16 << 20
IGNORED_KINDS = frozenset({"ping", "cspviolationreport", "eventsource", "websocket", "preflight"})
"""Kinds that no archive answers, and no reader sees."""
TIMED_OUT, CRASHED, NO_CAPTURE = "timeout", "crashed", "not_in_archive"
_IMAGES = """
async function () {
  const get = (name) => { const get = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, name).get;
                          return node => get.call(node); };
  const source = get("currentSrc"), width = get("width"), height = get("height");
  const images = [...document.getElementsByTagName("img")].slice(0, 500), broken = [], tiny = [];
  await Promise.race([
    Promise.all(images.map(image => {
      if (image.getAttribute("width") <= 2 && image.hasAttribute("width")) tiny.push(source(image) || image.src);
      return source(image) ? image.decode().catch(() => broken.push(source(image))) : null;
    })),
    new Promise(done => {
      let frames = 60;
      const next = () => frames-- ? requestAnimationFrame(next) : done();
      next();
    }),
  ]);
  return {broken, tiny};
}
"""
_EMPTY_FRAMES = """
function () {
  for (const frame of document.querySelectorAll("iframe[src], frame[src]")) frame.src = "about:blank";
}
"""
Find = Callable[[str, int], ArchivedRecord | None]


@dataclass(slots=True)
class ReplayedPage:
    """What the browser made of a page."""

    html: bytes = b""
    title: str = ""
    problem: str = ""
    fates: dict[tuple[str, str], Fate] = field(default_factory=dict)
    """By kind and URL, of every part that the page asked for."""
    tiny: frozenset[str] = frozenset()
    """URLs of images of at most 2 pixels, which no reader sees."""
    screenshots: tuple[Screenshot, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedView:
    """How a page was seen when it was recorded."""

    has_picture: bool
    shows_frames: bool
    """Whether the record shows what is in frames."""
    behaviours: tuple[BehaviourName, ...] = ()
    """The behaviours that acted."""

    @property
    def window(self) -> ViewportSize:
        """The window in which the page is replayed."""
        return VIEW if self.has_picture else WINDOW


async def replay_page(browser: Browser, page: ListedPage, find: Find, view: RecordedView) -> ReplayedPage:
    """Return the replay of a page, seen as it was recorded. Raise `BrowserGoneError` if the browser ended."""
    replayed = ReplayedPage()
    context: BrowserContext | None = None
    try:
        async with asyncio.timeout(PAGE_S):
            context = await browser.chromium.new_context(
                service_workers="block",
                accept_downloads=False,
                locale="en-US",
                viewport=view.window,
            )
            await _load(context, page, find, view, replayed)
    except TimeoutError:
        replayed.problem = TIMED_OUT
    except Error as error:
        if not browser.is_alive:
            raise BrowserGoneError from error
        replayed.problem = replayed.problem or CRASHED
    finally:
        if context is not None:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(PAGE_S):
                    await context.close()
    return replayed


async def _load(
    context: BrowserContext, listed: ListedPage, find: Find, view: RecordedView, replayed: ReplayedPage
) -> None:
    await context.add_init_script(INIT_SCRIPT)
    page = await context.new_page()
    context.on("page", lambda other: _close(other, page))
    page.on("dialog", _dismiss)
    page.on("download", _cancel)
    session = await context.new_cdp_session(page)
    requests = _ReplayedRequests(listed, find, replayed)
    await requests.begin(session)
    loading = asyncio.create_task(_read(page, session, requests, replayed, listed, view))
    crashed = asyncio.Event()
    page.on("crash", lambda _: crashed.set())
    crash = asyncio.create_task(crashed.wait())
    try:
        await asyncio.wait({loading, crash}, return_when=asyncio.FIRST_COMPLETED)
        if crashed.is_set():
            replayed.problem = CRASHED
        else:
            await loading
    finally:
        for task in (loading, crash):
            task.cancel()
        await asyncio.gather(loading, crash, return_exceptions=True)


async def _read(
    page: Page,
    session: CDPSession,
    requests: "_ReplayedRequests",
    replayed: ReplayedPage,
    listed: ListedPage,
    view: RecordedView,
) -> None:
    deadline = asyncio.get_running_loop().time() + PAGE_S
    await page.goto(listed.url, wait_until="commit", timeout=0)
    world = await create_world(session)
    clock = PageClock(session, start_ms=listed.date_ms)
    has_grown = await wait_until_done(
        page, session, world, requests, clock, width=view.window["width"], always_tall=view.has_picture
    )
    if view.behaviours:
        driver = PageDriver(
            page,
            session,
            world,
            requests,
            clock,
            deadline=deadline,
            width=view.window["width"],
            shows_images=view.has_picture,
        )
        run = BehaviourRun(driver, Behaviours(names=view.behaviours))
        await run.run(grew_in_tall_window=has_grown)
    if not view.shows_frames:
        await call_function(session, world, _EMPTY_FRAMES)
        await await_frames(session, world)
    replayed.html, replayed.title = await dom.read_dom(
        session, world, requested_url=listed.url, max_bytes=MAX_DOM_BYTES, has_closed=True
    )
    images: dict[str, list[str]] = await call_function(session, world, _IMAGES)
    replayed.tiny = frozenset(images["tiny"])
    for url in images["broken"]:
        if replayed.fates.get(("image", url)) == "found":
            replayed.fates["image", url] = "broken"
    if view.has_picture:
        replayed.screenshots, _ = await take_screenshots(page, session, world)


class _ReplayedRequests:
    """The requests of one tab."""

    def __init__(self, listed: ListedPage, find: Find, replayed: ReplayedPage) -> None:
        self._listed, self._find, self._replayed = listed, find, replayed
        self._session: CDPSession
        self._frame, self._document = "", ""
        self.request_count = self.pending_count = 0
        self.refusals: Counter[str] = Counter()

    async def begin(self, session: CDPSession) -> None:
        """Answer every request of the tab from now on."""
        self._session = session
        self._frame = await pause_requests(session, self._on_paused)

    async def _on_paused(self, event: dict[str, Any]) -> None:
        self.request_count += 1
        key, request = event["requestId"], event["request"]
        url: str = request["url"].partition("#")[0]
        kind = request_rules.request_kind(event["resourceType"], request["headers"])
        network = event.get("networkId", key)
        is_page = kind == "document" and event["frameId"] == self._frame
        try:
            if request["method"] == request_rules.PREFLIGHT:
                await self._allow(key, request["headers"])
            elif is_page and self._document not in ("", network):
                await fail(self._session, key, "Aborted")
            else:
                if is_page:
                    self._document = network
                await self._answer(key, url, kind, is_page=is_page)
        except Error:
            with suppress(Error):  # the page is closed, or no longer waits for the request
                await fail(self._session, key, "Failed")

    async def _answer(self, key: str, url: str, kind: str, *, is_page: bool) -> None:
        found = self._find(url, self._listed.date_ms)
        fate = _fate(found)
        if is_page:
            if fate in ("missing", "broken"):
                self._replayed.problem = NO_CAPTURE if found is None else "broken"
        elif kind not in IGNORED_KINDS and not (kind == "other" and found is None):
            self._replayed.fates[kind, url] = fate
        if found is None or (found.status is None and found.type != "resource"):
            await self._fulfill(key, 404, [("content-type", "text/plain")], b"")
            return
        headers = request_rules.response_headers(found.headers, without=("x-frame-options",))
        await self._fulfill(key, found.status or 200, headers, found.payload)

    async def _allow(self, key: str, headers: dict[str, str]) -> None:
        asked = {name.lower(): value for name, value in headers.items()}
        allowed = [
            ("access-control-allow-origin", asked.get("origin", "*")),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", asked.get("access-control-request-method", "GET")),
            ("access-control-allow-headers", asked.get("access-control-request-headers", "")),
        ]
        await self._fulfill(key, 204, allowed, b"")

    async def _fulfill(self, key: str, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        code = status if 200 <= status <= 599 else 404
        await fulfill(self._session, key, code, headers, b64encode(body).decode())


def _fate(found: ArchivedRecord | None) -> Fate:
    if found is None:
        return "missing"
    if found.status is not None and found.status >= 400:
        return "error"
    return "found" if is_whole(found) else "broken"


def is_whole(record: ArchivedRecord) -> bool:
    """Return whether a record has all bytes that its server promised. Pure."""
    if record.truncated or record.problem is not None:
        return False
    if record.status in REDIRECT_STATUSES or record.status in (204, 304) or record.type != "response":
        return True
    promised = record.header("content-length") or ""
    is_framed = record.header("transfer-encoding") or record.header("content-encoding")
    return bool(is_framed) or not promised.isdecimal() or len(record.payload) >= int(promised)


async def _close(other: Page, own: Page) -> None:
    if other is not own:
        with suppress(Error):
            await other.close()


async def _dismiss(dialog: Dialog) -> None:
    with suppress(Error):
        await dialog.dismiss()


async def _cancel(download: Download) -> None:
    with suppress(Error):
        await download.cancel()
