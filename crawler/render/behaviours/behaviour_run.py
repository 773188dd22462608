"""`BehaviourRun`: do in a page that is done what a reader would do to see the rest of it, within bounds.

1. First we look at the page. If it needs nothing, that was all: one call into the browser.
2. `scroll` goes to the end of the page, and of the panes in it that scroll by themselves, until nothing is added. Then
   it goes once from the top to the end through a tall window, so that everything comes into view. Only pages that
   listen for that are scrolled.
3. After each step the page's clock runs for `STEP_MS`, and on while something is fetched.
4. A page without an end is left after `MAX_STEPS` steps, after `TIME_SHARE` of its time, or when it has `MAX_ELEMENTS`
   elements. Its requests have the limits of all parts (`crawler.subresources.subresource_fetcher`). The report says
   which bound cut a behaviour: what the page would have shown is then not all in the archive.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from playwright.async_api import CDPSession, Page

from thresher.crawler.reading.rendered_page import BehaviourName, BehaviourReport
from thresher.crawler.render.behaviours.page_script import CALL, PAGE_SCRIPT
from thresher.crawler.render.chromium.isolated_world import call_function
from thresher.crawler.render.page_clock import LEAVE_MS, PageClock, Requests
from thresher.crawler.render.screenshots import MAX_HEIGHT

VERSION = 1
"""Rises when the same page would get other behaviours than before."""
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
"""Reasons for which a part is missing that a behaviour may have asked for."""


class BehaviourRun:
    """The behaviours of one page, in the tab that shows it."""

    def __init__(  # noqa: PLR0913 - a tab, and what is done in it
        self,
        page: Page,
        session: CDPSession,
        world: int,
        requests: Requests,
        clock: PageClock,
        *,
        names: Collection[BehaviourName],
        deadline: float,
    ) -> None:
        """`deadline` is that of the page, by the event loop's clock."""
        self._page, self._session, self._world = page, session, world
        self._requests, self._clock, self._names = requests, clock, names
        now = asyncio.get_running_loop().time()
        self._stop_at = now + TIME_SHARE * (deadline - now)
        self._refusals_before = requests.refusals.copy()
        self._steps = 0
        self._measured = {"elements": 0, "height": 0}
        self._actions: dict[str, str] = {}
        self._cut = ""

    @property
    def report(self) -> BehaviourReport:
        """What was done so far."""
        return BehaviourReport(
            version=VERSION, names=tuple(self._names), actions=dict(self._actions), cut=self._cut
        )

    async def run(self, *, grew_in_tall_window: bool, width: int) -> None:
        """Do all of it. `grew_in_tall_window` says what `wait_until_done` returned; `width` is that of the window."""
        await call_function(self._session, self._world, PAGE_SCRIPT)
        seen = await self._call("look") or {}
        if "scroll" in self._names and (grew_in_tall_window or seen.get("isTall")):
            await self._scroll(width, has_grown=grew_in_tall_window, waits_for_view=bool(seen.get("view")))
        if self._steps and not self._cut:
            self._cut = self._cutting_refusal()

    async def _scroll(self, width: int, *, has_grown: bool, waits_for_view: bool) -> None:
        """Scroll to the end until nothing is added, then through everything once."""
        steps_before = self._steps
        self._measured = await self._measure()
        window = self._page.viewport_size
        is_tall = window is None or window["height"] == MAX_HEIGHT
        if is_tall and not has_grown and self._may_go_on():
            # The end of the page has not been in view so far.
            await self._call("scrollToEnd")
            has_grown = await self._settle()
        if has_grown or not is_tall:
            if is_tall:
                await self._resize(width, width * 9 // 16)
            while self._may_go_on():
                if waits_for_view or has_grown:
                    # Only what has been out of view can come into view, and the page hears of each in its turn.
                    await self._call("leaveEnd")
                    await self._clock.run(LEAVE_MS)
                await self._call("scrollToEnd")
                if not await self._settle():
                    break
                has_grown = True
        if has_grown or is_tall:
            await self._resize(width, MAX_HEIGHT)
            while self._may_go_on() and await self._call("scrollOn"):
                await self._settle()
        await self._call("scrollToTop")
        done = self._steps - steps_before
        self._actions["scroll"] = f"{done} step{'s' if done != 1 else ''}"

    async def _resize(self, width: int, height: int) -> None:
        """Give the page a window, in which it begins at its top."""
        await self._page.set_viewport_size({"width": width, "height": height})
        await self._call("scrollToTop")
        self._measured = await self._measure()

    def _may_go_on(self) -> bool:
        """Return whether no bound forbids another step, or note which one does."""
        self._cut = self._bound()
        return not self._cut

    def _bound(self) -> str:
        if self._steps >= MAX_STEPS:
            return "steps"
        if asyncio.get_running_loop().time() >= self._stop_at:
            return "time"
        if self._measured["elements"] > MAX_ELEMENTS:
            return "elements"
        return next((reason for reason in STOPPING_REFUSALS if self._requests.refusals[reason]), "")

    def _cutting_refusal(self) -> str:
        since = self._requests.refusals - self._refusals_before
        return next((reason for reason in CUTTING_REFUSALS if since[reason]), "")

    async def _settle(self) -> bool:
        """Let the page react to a step. Return whether it grew."""
        before = self._measured
        self._steps += 1
        for _ in range(MAX_ROUNDS):
            requests_before = self._requests.request_count
            await self._clock.run(STEP_MS)
            if not self._requests.pending_count and self._requests.request_count == requests_before:
                break
        self._measured = await self._measure()
        return any(self._measured[name] > before[name] for name in before)

    async def _measure(self) -> dict[str, int]:
        return {
            name: int(value) for name, value in (await self._call("measure") or {}).items()
        } or self._measured

    async def _call(self, name: str, *values: object) -> Any:
        """Return what a function of `PAGE_SCRIPT` returns; None if it raises, or if no frame comes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_CALL_S):
                arguments = [{"value": value} for value in (name, *values)]
                return await call_function(self._session, self._world, CALL, *arguments)
        return None
