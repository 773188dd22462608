"""`PageClock`: the virtual clock of a page, and `wait_until_done`, which runs it in rounds until the page is done.

The clock stands still while a subresource is fetched, and jumps to the next timer when nothing else is left to do. So
what a page does within five seconds takes a fraction of a second, and a subresource that waits for its turn is not late
for the page. A page is done when five such seconds are over, nothing is being fetched and its next frames change
nothing; it is done after `ROUNDS` such rounds at the latest.
"""

import asyncio
from collections import Counter
from typing import Any, Protocol

from playwright.async_api import CDPSession, Page

from thresher.crawler.render.chromium import dom
from thresher.crawler.render.chromium.init_script import has_used
from thresher.crawler.render.chromium.isolated_world import await_frames
from thresher.crawler.render.screenshots import MAX_HEIGHT

ROUND_MS = 5_000
"""Milliseconds of the page's own clock."""
ROUNDS = 4
MAX_REQUESTS = 300
"""Requests, refused ones included, after which a page counts as one that never rests."""
FRAMES_S = 0.1
"""Seconds for some frames, which come in real time."""
LEAVE_MS = 100
"""Milliseconds of the page's clock in which it hears of what has left its view."""


class Requests(Protocol):
    """What a page has requested so far."""

    request_count: int
    pending_count: int
    refusals: Counter[str]


class PageClock:
    """The clock of the page that a tab shows. It stands unless it runs."""

    def __init__(self, session: CDPSession, *, start_ms: int | None = None) -> None:
        """With `start_ms`, UTC since the epoch, the clock shows that time at first."""
        self._session = session
        self._start = {} if start_ms is None else {"initialVirtualTime": start_ms / 1000}
        self._expired = asyncio.Event()
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: self._expired.set())

    async def run(self, duration_ms: int) -> None:
        """Let the page's clock run for a time, in its own milliseconds."""
        self._expired.clear()
        policy: dict[str, Any] = {"policy": "pauseIfNetworkFetchesPending", "budget": duration_ms}
        await self._session.send("Emulation.setVirtualTimePolicy", policy | self._start)
        self._start = {}
        await self._expired.wait()


async def wait_until_done(  # noqa: PLR0913 - a tab and its window
    page: Page,
    session: CDPSession,
    world: int,
    requests: Requests,
    clock: PageClock,
    *,
    width: int,
    always_tall: bool,
) -> bool:
    """Wait until the page is done, or has run for `ROUNDS` rounds. If a page waits for elements to come into view, or
    `always_tall`, it gets a tall window of `width` pixels once it is done otherwise. Return whether it grew in that.
    """
    size_before_tall: tuple[int, int] | None = None
    for _ in range(ROUNDS):
        await clock.run(ROUND_MS)
        requests_before = requests.request_count
        before = await dom.dom_size(session, world)
        await asyncio.sleep(FRAMES_S)
        if requests.request_count >= MAX_REQUESTS:
            break
        # Requests made now are answered in the next round: until then the page's clock stands.
        size = await dom.dom_size(session, world)
        if requests.pending_count or requests.request_count > requests_before or size != before:
            continue
        if size_before_tall is not None:
            return size > size_before_tall
        if not (always_tall or await has_used(session, world, "view")):
            return False
        size_before_tall = size
        # The page hears of what has left its view before it hears that the same has come into view.
        await await_frames(session, world)
        await clock.run(LEAVE_MS)
        await page.set_viewport_size({"width": width, "height": MAX_HEIGHT})
        await await_frames(session, world)
    return size_before_tall is not None
