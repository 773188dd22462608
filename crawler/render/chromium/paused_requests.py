"""The requests of a tab, each of which waits for an answer of ours (Chrome DevTools Protocol, domain Fetch)."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from playwright.async_api import CDPSession


async def pause_requests(session: CDPSession, on_paused: Callable[[dict[str, Any]], Awaitable[None]]) -> str:
    """Pause every request of the tab from now on, and hand it to `on_paused`. Return the id of the tab's own frame."""
    tree: dict[str, Any] = await session.send("Page.getFrameTree")
    session.on("Fetch.requestPaused", on_paused)
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})
    return str(tree["frameTree"]["frame"]["id"])


async def fulfill(
    session: CDPSession, key: str, status: int, headers: Iterable[tuple[str, str]], body: str
) -> None:
    """Answer a paused request. `body` is in Base64."""
    await session.send(
        "Fetch.fulfillRequest",
        {
            "requestId": key,
            "responseCode": status,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers],
            "body": body,
        },
    )


async def fail(session: CDPSession, key: str, reason: str) -> None:
    """Let a paused request fail for a reason of the protocol, such as `Aborted`."""
    await session.send("Fetch.failRequest", {"requestId": key, "errorReason": reason})
