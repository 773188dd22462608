"""`take_screenshots`: pictures of a rendered page, as browsertrix-crawler takes them.

1. `view` is the window (PNG, `VIEW` pixels), `thumbnail` the same at a third of its size (JPEG), `fullPage` the page
   from its top (PNG), up to `MAX_HEIGHT` pixels of height. A page that is no taller than the window has no `fullPage`:
   `view` shows all of it.
2. The browser makes and scales the pictures. We never decode them.
3. A picture of more than `MAX_BYTES` is left out. The report of the rendering names each picture with its size, and
   the height of the page.
"""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from playwright.async_api import CDPSession, Page, ViewportSize

from thresher.crawler.reading.rendered_page import Screenshot, ScreenshotKind
from thresher.crawler.render.chromium.isolated_world import await_frames

WINDOW: ViewportSize = {"width": 1280, "height": 720}
"""Pixels of the window of a page that has no pictures."""
VIEW: ViewportSize = {"width": 1920, "height": 1080}
"""Pixels of the window, as in browsertrix-crawler."""
THUMBNAIL_SCALE = 1 / 3
MAX_HEIGHT = 8_000
"""Pixels of the tallest window, and so of the full page: as far as a reader might scroll."""
MAX_BYTES = 16 << 20
"""Bytes of one picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shot:
    kind: ScreenshotKind
    format: Literal["png", "jpeg"]
    height: int
    scale: float = 1.0


async def take_screenshots(page: Page, session: CDPSession, world: int) -> tuple[tuple[Screenshot, ...], int]:
    """Return the pictures of a page, and its height in pixels. Raise Playwright's `Error` if the tab is gone."""
    await page.set_viewport_size(VIEW)
    await await_frames(
        session, world
    )  # a page that lays itself out by script does so when it hears of its new size
    metrics: dict[str, Any] = await session.send("Page.getLayoutMetrics")
    height = int(metrics["cssContentSize"]["height"])
    taken = [
        Screenshot(
            kind=shot.kind, mime=f"image/{shot.format}", data=data, height=round(shot.height * shot.scale)
        )
        for shot in _shots(height)
        if len(data := await _take(session, shot)) <= MAX_BYTES
    ]
    return tuple(taken), height


def _shots(height: int) -> Iterator[_Shot]:
    yield _Shot(kind="view", format="png", height=VIEW["height"])
    yield _Shot(kind="thumbnail", format="jpeg", height=VIEW["height"], scale=THUMBNAIL_SCALE)
    if height > VIEW["height"]:
        yield _Shot(kind="fullPage", format="png", height=min(height, MAX_HEIGHT))


async def _take(session: CDPSession, shot: _Shot) -> bytes:
    taken: dict[str, Any] = await session.send(
        "Page.captureScreenshot",
        {
            "format": shot.format,
            "clip": {"x": 0, "y": 0, "width": VIEW["width"], "height": shot.height, "scale": shot.scale},
            "captureBeyondViewport": shot.height > VIEW["height"],
            "optimizeForSpeed": False,
        },
    )
    return b64decode(taken["data"])
