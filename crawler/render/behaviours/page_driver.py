"""`PageDriver`: call into a page that is done, let it react, and say when it is enough.

1. After each step the page's clock runs for `STEP_MS`, and on while something is fetched.
2. No step begins after `MAX_STEPS` steps, after `TIME_SHARE` of the time that the page has left, or when the page has
   `MAX_ELEMENTS` elements. Its requests have the limits of all parts (`crawler.subresources.subresource_fetcher`).
   `cut` says which bound it was: what the page would have shown is then not all in the archive.
"""

import asyncio
from contextlib import suppress
from typing import Any

from playwright.async_api import CDPSession, Page

from thresher.crawler.render.behaviours.page_script import CALL, PAGE_SCRIPT
from thresher.crawler.render.chromium.isolated_world import call_function
from thresher.crawler.render.page_clock import PageClock, Requests
from thresher.crawler.render.screenshots import MAX_HEIGHT

STEP_MS = 2_000
"""Milliseconds of the page's clock after a step: time for what waits until a reader stops."""
MAX_ROUNDS = 4
"""Times that the clock runs on after a step because something is still fetched."""
MAX_STEPS = 100
"""Steps of all behaviours of a page together."""
TIME_SHARE = 0.75
"""Share of the time that the page has left, after which no step begins. The rest is for reading the page."""
MAX_ELEMENTS = 50_000
MAX_CALL_S = 2.0
"""Seconds for one call into the page, the frames included that it waits for."""
STOPPING_REFUSALS = ("too_many", "too_large", "late")
"""Reasons for which no further part of a page is fetched."""
CUTTING_REFUSALS = (*STOPPING_REFUSALS, "repeated", "not_its_turn")
"""Reasons for which a part is missing that a step may have asked for."""


class PageDriver:
    """The page of one tab, as behaviours act in it."""

    def __init__(  # noqa: PLR0913 - a tab and its time
        self,
        page: Page,
        session: CDPSession,
        world: int,
        requests: Requests,
        clock: PageClock,
        *,
        deadline: float,
        width: int,
        shows_images: bool,
    ) -> None:
        """`deadline` is that of the page, by the event loop's clock; `width` is that of its window, in pixels;
        `shows_images` says that images are fetched.
        """
        self._images = {"value": shows_images}
        self._page, self._session, self._world, self._width = page, session, world, width
        self._requests, self._clock = requests, clock
        now = asyncio.get_running_loop().time()
        self._stop_at = now + TIME_SHARE * (deadline - now)
        self._refusals_before = requests.refusals.copy()
        self._measured = {"elements": 0, "height": 0}
        self.step_count = 0
        self.cut = ""
        """The bound that forbade a step; empty if none did."""

    async def begin(self) -> dict[str, bool]:
        """Bring the functions of `PAGE_SCRIPT` into the page. Return what there is to do."""
        return self._seen(await call_function(self._session, self._world, PAGE_SCRIPT, self._images))

    async def look(self) -> dict[str, bool]:
        """Return what there is to do by now."""
        return self._seen(await self.call("lookAgain", self._images["value"]))

    def _seen(self, found: dict[str, Any] | None) -> dict[str, bool]:
        found = found or {}
        self._measured = {name: int(found.get(name, value)) for name, value in self._measured.items()}
        return found

    async def call(self, name: str, *values: object) -> Any:
        """Return what a function of `PAGE_SCRIPT` returns; None if it raises, or if no frame comes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_CALL_S):
                arguments = [{"value": value} for value in (name, *values)]
                return await call_function(self._session, self._world, CALL, *arguments)
        return None

    async def run_clock(self, duration_ms: int) -> None:
        """Let the page's clock run for a time, in its own milliseconds."""
        await self._clock.run(duration_ms)

    def may_go_on(self) -> bool:
        """Return whether no bound forbids another step, or note which one does."""
        self.cut = self._bound()
        return not self.cut

    def end(self) -> None:
        """Note whether something was refused that a step may have asked for."""
        since = self._requests.refusals - self._refusals_before
        if self.step_count and not self.cut:
            self.cut = next((reason for reason in CUTTING_REFUSALS if since[reason]), "")

    async def measure(self) -> None:
        """Measure the page, so that `settle` knows whether it grows from now on."""
        self._measured = await self._measure()

    @property
    def element_count(self) -> int:
        """Elements of the page when it was last measured."""
        return self._measured["elements"]

    async def settle(self) -> bool:
        """Let the page react to a step. Return whether it grew."""
        before = self._measured
        self.step_count += 1
        for _ in range(MAX_ROUNDS):
            requests_before = self._requests.request_count
            await self._clock.run(STEP_MS)
            if not self._requests.pending_count and self._requests.request_count == requests_before:
                break
        self._measured = await self._measure()
        return any(self._measured[name] > before[name] for name in before)

    @property
    def is_tall(self) -> bool:
        """Whether the page has the tall window."""
        window = self._page.viewport_size
        return window is None or window["height"] == MAX_HEIGHT

    async def resize(self, *, tall: bool) -> None:
        """Give the page a window, tall or as a reader has it, in which it begins at its top."""
        height = MAX_HEIGHT if tall else self._width * 9 // 16
        await self._page.set_viewport_size({"width": self._width, "height": height})
        await self.call("scrollToTop")
        await self.measure()

    async def _measure(self) -> dict[str, int]:
        measured = await self.call("measure") or {}
        return {name: int(value) for name, value in measured.items()} or self._measured

    def _bound(self) -> str:
        if self.step_count >= MAX_STEPS:
            return "steps"
        if asyncio.get_running_loop().time() >= self._stop_at:
            return "time"
        if self._measured["elements"] > MAX_ELEMENTS:
            return "elements"
        return next((reason for reason in STOPPING_REFUSALS if self._requests.refusals[reason]), "")

    def __repr__(self) -> str:
        return f"<page driver: {self.step_count} steps, cut: {self.cut or 'no'}>"
