"""Isolated worlds of Chromium: JavaScript of ours in a tab that sees the page, and that the page does not see."""

import asyncio
from contextlib import suppress
from typing import Any

from playwright.async_api import CDPSession

MAX_FRAMES_S = 1.0
_TWO_FRAMES = (
    "function () { return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))); }"
)


async def create_world(session: CDPSession) -> int:
    """Create a world for the document that the tab has now; return its id."""
    tree: dict[str, Any] = await session.send("Page.getFrameTree")
    created: dict[str, Any] = await session.send(
        "Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "thresher"}
    )
    return int(created["executionContextId"])


async def call_function(session: CDPSession, context: int, function: str, *arguments: dict[str, Any]) -> Any:
    """Return what a function returns in a world. Arguments are values or objects, as Runtime.callFunctionOn
    takes them.
    """
    found: dict[str, Any] = await session.send(
        "Runtime.callFunctionOn",
        {
            "functionDeclaration": function,
            "executionContextId": context,
            "arguments": list(arguments),
            "returnByValue": True,
            "awaitPromise": True,
        },
    )
    return found["result"].get("value")


async def await_frames(session: CDPSession, world: int) -> None:
    """Wait for the next two frames of the page, in which it takes notice of a new window: it hears of its size, and of
    the elements in view. A page that draws none is waited for a second at most.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_FRAMES_S):
            await call_function(session, world, _TWO_FRAMES)
