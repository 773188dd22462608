"""`BehaviourRun`: do in a page that is done what a reader would do to see the rest of it.

1. First we look at the page. If it needs nothing, that was all: one call into the browser.
2. `consent` answers the banner of a consent product. Then the user's own script runs, if there is one for the page
   (`crawler.render.behaviours.behaviour_script`). `more` clicks the buttons that load more.
3. `scroll` goes to the end of the page, and of the panes in it that scroll by themselves, until nothing is added. Then
   it goes once from the top to the end through a tall window, so that everything comes into view. Only pages that
   listen for that are scrolled.
4. `next` clicks a button that shows the next page in place of this one. What it replaces is kept, and stands before the
   last page in the DOM. A link to the next page is not clicked: it is a link like others. `autoplay` starts media.
5. A page without an end is left (`crawler.render.behaviours.page_driver`), and the report says so.
"""

from collections.abc import Mapping

from thresher.crawler.reading.rendered_page import BehaviourReport
from thresher.crawler.render.behaviours.behaviour_script import Behaviours
from thresher.crawler.render.behaviours.page_driver import PageDriver
from thresher.crawler.render.behaviours.script_run import run_script
from thresher.crawler.render.page_clock import LEAVE_MS

VERSION = 1
"""Rises when the same page would get other behaviours than before."""
MAX_TURNS = 5
"""Times that a page is scrolled again because it had a button that loads more."""
MAX_BANNERS = 3
"""Consent banners of a page that are answered."""
MAX_FAILURES = 3
"""Clicks in a row that add nothing, after which no further button that loads more is tried."""


class BehaviourRun:
    """The behaviours of one page, in the tab that shows it."""

    def __init__(self, driver: PageDriver, behaviours: Behaviours) -> None:
        self._driver, self._behaviours = driver, behaviours
        self._actions: dict[str, str] = {}

    @property
    def report(self) -> BehaviourReport:
        """What was done so far."""
        return BehaviourReport(
            version=VERSION, names=self._behaviours.names, actions=dict(self._actions), cut=self._driver.cut
        )

    async def run(self, *, grew_in_tall_window: bool) -> None:
        """Do all of it. `grew_in_tall_window` says what `wait_until_done` returned."""
        driver, names = self._driver, self._behaviours.names
        seen = await driver.begin()
        if seen.get("consent") and "consent" in names:
            await self._answer_consent()
            seen = await driver.look()
        if self._behaviours.script is not None:
            self._actions["script"] = await run_script(driver, self._behaviours.script)
            seen = await driver.look()
        has_grown = grew_in_tall_window
        for _ in range(MAX_TURNS):
            if seen.get("more") and "more" in names:
                await self._load_more()
                seen = await driver.look()
            if "scroll" not in names or not (has_grown or seen.get("isTall")):
                break
            if not await self._scroll(seen, has_grown=has_grown):
                break
            # The rest of the page may have another button.
            seen, has_grown = await driver.look(), False
            if not seen.get("more"):
                break
        if "autoplay" in names and (count := await driver.call("play")):
            self._actions["autoplay"] = f"{count} started"
            await driver.settle()
        if seen.get("next") and "next" in names:
            await self._turn_pages()
        driver.end()

    async def _answer_consent(self) -> None:
        """Answer each banner once, as the first of its buttons says that may be clicked."""
        answers = []
        for _ in range(MAX_BANNERS):
            found = await self._driver.call("consent") if self._driver.may_go_on() else None
            if found is None:
                break
            answers.append(f"{found['name']} {found['answer'] or 'left alone'}")
            await self._driver.settle()
        self._actions["consent"] = ", ".join(answers)

    async def _load_more(self) -> None:
        """Click what loads more, until there is no such button or its clicks add nothing."""
        driver, clicks, failures = self._driver, 0, 0
        await driver.measure()
        while failures < MAX_FAILURES and driver.may_go_on() and await driver.call("more") is not None:
            clicks += 1
            if await driver.settle():
                failures = 0
            else:
                failures += 1
                await driver.call("spend")
        self._actions["more"] = _times(clicks, "click")

    async def _turn_pages(self) -> None:
        """Click what shows the next page in place of this one, and put those that were replaced before the last."""
        driver, clicks = self._driver, 0
        while driver.may_go_on() and await driver.call("next") is not None:
            clicks += 1
            await driver.settle()
            if not await driver.call("keepReplaced"):
                break
        await driver.call("showReplaced")
        self._actions["next"] = _times(clicks, "click")

    async def _scroll(self, seen: Mapping[str, bool], *, has_grown: bool) -> bool:
        """Scroll to the end until nothing is added, then through everything once. Return whether anything was added.
        `has_grown` says that the page adds what comes into view.
        """
        driver = self._driver
        if has_grown:
            await driver.measure()
        steps_before, elements_before, was_tall = driver.step_count, driver.element_count, driver.is_tall
        waits_for_view = bool(seen.get("view"))
        if was_tall and not has_grown and driver.may_go_on():
            # The end of the page has not been in view so far.
            await driver.call("scrollToEnd", waits_for_view)
            has_grown = await driver.settle()
        if has_grown or not was_tall:
            if was_tall:
                await driver.resize(tall=False)
            while driver.may_go_on():
                if has_grown or waits_for_view:
                    # Only what has been out of view can come into view, and the page hears of each in its turn.
                    await driver.call("leaveEnd")
                    await driver.run_clock(LEAVE_MS)
                await driver.call("scrollToEnd", waits_for_view)
                if not await driver.settle():
                    break
                has_grown = True
        if has_grown or was_tall or seen.get("lazy"):
            await driver.resize(tall=True)
            while driver.may_go_on() and await driver.call("scrollOn"):
                await driver.settle()
        await driver.call("scrollToTop")
        self._actions["scroll"] = _times(driver.step_count - steps_before, "step")
        return driver.element_count > elements_before

    def __repr__(self) -> str:
        return f"<behaviours: {self.report}>"


def _times(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
