"""Isolated worlds of Chromium: JavaScript of ours in a tab that sees the page, and that the page does not see."""

from typing import Any

from playwright.async_api import CDPSession


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
