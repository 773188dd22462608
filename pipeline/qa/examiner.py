"""`Examiner`: texts of HTML and differences of pictures, read by the browser, so that what strangers wrote is parsed
within its walls alone.
"""

from base64 import b64encode
from typing import Any

from playwright.async_api import BrowserContext, CDPSession

from thresher.crawler.render.chromium.browser import Browser
from thresher.crawler.render.chromium.isolated_world import call_function, create_world

MAX_SIDE = 16_384
"""Pixels of a picture's longer side; a larger one is not compared."""
CHANNEL_DIFFERENCE = 25
"""Of 255: a pixel differs if one of its channels differs by more. Browsertrix compares with the same tenth."""
_TEXT = """
function (html) {
  const parsed = new DOMParser().parseFromString(html, "text/html"), found = [];
  const skipped = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TITLE"]);
  const walker = parsed.createTreeWalker(parsed, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentNode;
    if (!parent || !skipped.has(parent.nodeName)) found.push(walker.currentNode.data);
  }
  return found.join("\\n").slice(0, 4000000);
}
"""
_DIFFERENCE = """
async function (one, other, limit) {
  const pixels = async base64 => {
    const bytes = Uint8Array.from(atob(base64), each => each.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height);
  };
  const a = await pixels(one), b = await pixels(other);
  const width = Math.min(a.width, b.width), height = Math.min(a.height, b.height);
  const all = Math.max(a.width, b.width) * Math.max(a.height, b.height);
  let differing = all - width * height;
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
    const i = 4 * (y * a.width + x), j = 4 * (y * b.width + x);
    if (Math.abs(a.data[i] - b.data[j]) > limit || Math.abs(a.data[i + 1] - b.data[j + 1]) > limit ||
        Math.abs(a.data[i + 2] - b.data[j + 2]) > limit) differing++;
  }
  return differing / all;
}
"""


class Examiner:
    """A blank tab that reads for us."""

    def __init__(self, context: BrowserContext, session: CDPSession, world: int) -> None:
        self._context, self._session, self._world = context, session, world

    async def text(self, html: str) -> str:
        """Return the text of a page without that of its scripts and styles, up to four million characters."""
        return str(await call_function(self._session, self._world, _TEXT, {"value": html}))

    async def difference(self, one: bytes, other: bytes) -> float | None:
        """Return the share of pixels that differ, from 0 to 1. A part that only one picture has differs. None if one of
        them is too large, or no picture.
        """
        if not (_is_small(one) and _is_small(other)):
            return None
        found: Any = await call_function(
            self._session,
            self._world,
            _DIFFERENCE,
            {"value": b64encode(one).decode()},
            {"value": b64encode(other).decode()},
            {"value": CHANNEL_DIFFERENCE},
        )
        return float(found) if isinstance(found, int | float) else None

    async def close(self) -> None:
        """Close the tab."""
        await self._context.close()

    def __repr__(self) -> str:
        return "<examiner>"


async def open_examiner(browser: Browser) -> Examiner:
    """Open a blank tab."""
    context = await browser.chromium.new_context(service_workers="block")
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    return Examiner(context, session, await create_world(session))


def _is_small(picture: bytes) -> bool:
    if not picture.startswith(b"\x89PNG\r\n\x1a\n") or len(picture) < 24:
        return False
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    return 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= 4 * MAX_SIDE * 1024
