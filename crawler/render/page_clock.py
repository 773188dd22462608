"""`wait_until_done`: the virtual clock of a page, which runs in rounds until the page is done.

The clock stands still while a subresource is fetched, and jumps to the next timer when nothing else is left to do. So
what a page does within five seconds takes a fraction of a second, and a subresource that waits for its turn is not late
for the page. A page is done when five such seconds are over, nothing is being fetched and its next frames change
nothing; it is done after `ROUNDS` such rounds at the latest.
"""

import asyncio
from contextlib import suppress
from typing import Any, Protocol

from playwright.async_api import CDPSession, Page

from thresher.crawler.render.chromium import dom
from thresher.crawler.render.chromium.init_script import has_used
from thresher.crawler.render.chromium.isolated_world import call_function
from thresher.crawler.render.screenshots import MAX_HEIGHT

ROUND_MS = 5_000
"""Milliseconds of the page's own clock."""
ROUNDS = 4
MAX_REQUESTS = 300
"""Requests, refused ones included, after which a page counts as one that never rests."""
FRAMES_S = 0.1
"""Seconds for some frames, which come in real time."""
MAX_FRAMES_S = 1.0
TWO_FRAMES = (
    "function () { return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))); }"
)


class Requests(Protocol):
    """What a page has requested so far."""

    request_count: int
    pending_count: int


async def wait_until_done(  # noqa: PLR0913 - a tab and its window
    page: Page,
    session: CDPSession,
    world: int,
    requests: Requests,
    *,
    width: int,
    always_tall: bool,
    start_ms: int | None = None,
) -> None:
    """Wait until the page is done, or has run for `ROUNDS` rounds. If a page waits for elements to come into view, or
    `always_tall`, it gets a tall window of `width` pixels once it is done otherwise. With `start_ms`, UTC since the
    epoch, the page's clock shows that time at first.
    """
    is_tall = False
    expired = asyncio.Event()
    session.on("Emulation.virtualTimeBudgetExpired", lambda _: expired.set())
    policy: dict[str, Any] = {"policy": "pauseIfNetworkFetchesPending", "budget": ROUND_MS}
    for number in range(ROUNDS):
        expired.clear()
        start = {"initialVirtualTime": start_ms / 1000} if start_ms is not None and not number else {}
        await session.send("Emulation.setVirtualTimePolicy", policy | start)
        await expired.wait()
        requests_before = requests.request_count
        before = await dom.dom_size(session, world)
        await asyncio.sleep(FRAMES_S)
        if requests.request_count >= MAX_REQUESTS:
            return
        # Requests made now are answered in the next round: until then the page's clock stands.
        if (
            requests.pending_count
            or requests.request_count > requests_before
            or await dom.dom_size(session, world) != before
        ):
            continue
        if is_tall or not (always_tall or await has_used(session, world, "view")):
            return
        is_tall = True
        await page.set_viewport_size({"width": width, "height": MAX_HEIGHT})
        with suppress(TimeoutError):  # the next frames tell the page which elements are in view
            async with asyncio.timeout(MAX_FRAMES_S):
                await call_function(session, world, TWO_FRAMES)
