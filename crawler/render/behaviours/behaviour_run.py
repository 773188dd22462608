"""`BehaviourRun`: do in a page that is done what a reader would do to see the rest of it, within bounds.

1. First we look at the page. If it needs nothing, that was all: one call into the browser.
2. `consent` answers the banner of a consent product, `more` clicks the buttons that load more
   (`crawler.render.behaviours.button_script`).
3. `scroll` goes to the end of the page, and of the panes in it that scroll by themselves, until nothing is added. Then
   it goes once from the top to the end through a tall window, so that everything comes into view. Only pages that
   listen for that are scrolled.
4. `next` clicks a button that shows the next page in place of this one. What it replaces is kept, and stands before the
   last page in the DOM. A link to the next page is not clicked: it is a link like others. `autoplay` starts media.
5. After each step the page's clock runs for `STEP_MS`, and on while something is fetched.
6. A page without an end is left after `MAX_STEPS` steps, after `TIME_SHARE` of its time, or when it has `MAX_ELEMENTS`
   elements. Its requests have the limits of all parts (`crawler.subresources.subresource_fetcher`). The report says
   which bound cut a behaviour: what the page would have shown is then not all in the archive.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from playwright.async_api import CDPSession, Page

from thresher.crawler.reading.rendered_page import BehaviourName, BehaviourReport
from thresher.crawler.render.behaviours.button_words import BUTTON_WORDS
from thresher.crawler.render.behaviours.consent_rules import RULES_VALUE
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
MAX_TURNS = 5
"""Times that a page is scrolled again because it had a button that loads more."""
MAX_BANNERS = 3
"""Clicks on the buttons of consent banners."""
MAX_FAILURES = 3
"""Clicks in a row that add nothing, after which no further button that loads more is tried."""
MAX_CALL_S = 2.0
"""Seconds for one call into the page, the frames included that it waits for."""
_BUTTONS = frozenset({"consent", "more", "next"})
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
        shows_images: bool,
    ) -> None:
        """`deadline` is that of the page, by the event loop's clock. `shows_images` says that images are fetched."""
        self._page, self._session, self._world = page, session, world
        self._requests, self._clock, self._names = requests, clock, names
        self._shows_images = shows_images
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
        await call_function(
            self._session, self._world, PAGE_SCRIPT, {"value": RULES_VALUE}, {"value": BUTTON_WORDS}
        )
        seen = await self._call("lookForButtons") or {} if _BUTTONS.intersection(self._names) else {}
        if seen.get("consent") and "consent" in self._names:
            await self._answer_consent()
            seen = await self._call("lookForButtons") or {}
        has_grown = grew_in_tall_window
        for _ in range(MAX_TURNS):
            if seen.get("more") and "more" in self._names:
                await self._load_more()
            if "scroll" not in self._names or not await self._scroll(width, has_grown=has_grown):
                break
            # The rest of the page may have another button.
            seen, has_grown = await self._call("lookForButtons") or {}, False
            if not seen.get("more"):
                break
        if "autoplay" in self._names and await self._call("play"):
            self._actions["autoplay"] = "played"
            await self._settle()
        if seen.get("next") and "next" in self._names:
            await self._turn_pages()
        if self._steps and not self._cut:
            self._cut = self._cutting_refusal()

    async def _answer_consent(self) -> None:
        """Answer the banner, as the first of its buttons says that may be clicked."""
        for _ in range(MAX_BANNERS):
            found = await self._call("consent") if self._may_go_on() else None
            if found is None:
                return
            self._actions["consent"] = f"{found['name']} {found['answer'] or 'left alone'}"
            if not found["answer"]:
                return
            await self._settle()

    async def _load_more(self) -> None:
        """Click what loads more, until there is no such button or its clicks add nothing."""
        clicks = failures = 0
        self._measured = await self._measure()
        while failures < MAX_FAILURES and self._may_go_on() and await self._call("more") is not None:
            clicks += 1
            if await self._settle():
                failures = 0
            else:
                failures += 1
                await self._call("spend")
        self._actions["more"] = _times(clicks, "click")

    async def _turn_pages(self) -> None:
        """Click what shows the next page in place of this one, and put those that were replaced before the last."""
        clicks = 0
        while self._may_go_on() and await self._call("next") is not None:
            clicks += 1
            await self._settle()
            if not await self._call("keepReplaced"):
                break
        await self._call("showReplaced")
        self._actions["next"] = _times(clicks, "click")

    async def _scroll(self, width: int, *, has_grown: bool) -> bool:
        """Scroll to the end until nothing is added, then through everything once. Return whether anything was added.
        `has_grown` says that the page adds what comes into view.
        """
        seen = await self._call("look", self._shows_images) or {}
        if not (has_grown or seen.get("isTall")):
            return False
        steps_before = self._steps
        self._measured = before = await self._measure()
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
                if has_grown or seen.get("view"):
                    # Only what has been out of view can come into view, and the page hears of each in its turn.
                    await self._call("leaveEnd")
                    await self._clock.run(LEAVE_MS)
                await self._call("scrollToEnd")
                if not await self._settle():
                    break
                has_grown = True
        if has_grown or is_tall or seen.get("lazy"):
            await self._resize(width, MAX_HEIGHT)
            while self._may_go_on() and await self._call("scrollOn"):
                await self._settle()
        await self._call("scrollToTop")
        self._actions["scroll"] = _times(self._steps - steps_before, "step")
        return self._measured["elements"] > before["elements"]

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


def _times(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
