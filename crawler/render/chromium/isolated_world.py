"""A world of our own in a tab: JavaScript that sees the page, and that the page does not see (Chromium's isolated worlds)."""

from typing import Any

from playwright.async_api import CDPSession


async def create_world(session: CDPSession) -> int:
    """Make one, for the document that the tab has now; returns its id."""
    tree: dict[str, Any] = await session.send("Page.getFrameTree")
    made: dict[str, Any] = await session.send(
        "Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "thresher"}
    )
    return int(made["executionContextId"])


async def call_function(session: CDPSession, context: int, function: str, *arguments: dict[str, Any]) -> Any:
    """Return what a function returns there. Arguments are values or objects, as Runtime.callFunctionOn has them."""
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
