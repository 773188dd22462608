"""`Interceptor`: pause each request of a tab before it is sent, then answer it, refuse it or leave it unanswered.

1. Chromium asks us in place of the network (the Fetch domain of its DevTools protocol), and enforces CORS on our
   answers as on the network's. So it receives the server's headers and no others: Playwright's own routing would add
   headers that let the page read everything, and say yes to every preflight.
2. A redirect is passed on: the browser follows it, and judges each hop.
3. The tab stays at its page. The first document is the archived response; every other document is a link, or a frame.
"""

import asyncio
from base64 import b64encode
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from playwright.async_api import CDPSession, Error

from thresher.core import Capture
from thresher.crawler.decode_budget import SMALL_BODY_BYTES
from thresher.crawler.reading.outcome import REDIRECT_STATUSES
from thresher.crawler.render.chromium import dom
from thresher.crawler.render.chromium.paused_requests import fail, fulfill, pause_requests
from thresher.crawler.subresources import request_rules
from thresher.crawler.subresources.subresource_fetcher import SubresourceFetcher, SubresourceRequest

MAX_NAVIGATIONS = 100
"""Addresses to which the scripts of a page would navigate that are recorded at most."""
PICTURE_KINDS = request_rules.VISIBLE_KINDS - request_rules.ALLOWED_KINDS
"""Kinds of requests that leave the page at rest while they are refused: it may have hundreds of them."""
EMPTY_IMAGE = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
"""A GIF of one transparent pixel. A refused image is answered with it, because a page that hears of an error may ask
for another image in its place, without end."""
DOCUMENT = "document"
FAVICON = "/favicon.ico"
"""The file that the browser requests itself, whatever the page contains."""


class Interceptor:
    """The requests of one tab. `error` is the first fault of ours: the caller that renders the page raises it."""

    def __init__(
        self,
        capture: Capture,
        fetcher: SubresourceFetcher,
        *,
        allowed_kinds: Collection[str] = request_rules.ALLOWED_KINDS,
    ) -> None:
        self._capture, self._fetcher, self._allowed_kinds = capture, fetcher, allowed_kinds
        self._session: CDPSession
        self._frame = ""
        self._is_document_served = False
        self._tasks: set[asyncio.Task[Capture | str]] = set()
        self._redirects: dict[str, SubresourceRequest] = {}
        self.request_count = self.pending_count = 0
        self.refusals: Counter[str] = Counter()
        self.navigations: dict[str, None] = {}
        self.error: Exception | None = None
        self.declares_closed_root = False
        """Whether the page's HTML itself declares a closed shadow root."""

    async def begin(self, session: CDPSession) -> None:
        """Pause every request of the tab from now on."""
        self._session = session
        self._frame = await pause_requests(session, self._on_paused)

    def refuse(self, reason: str) -> None:
        """Count a refused request or action of the page."""
        self.refusals[reason] += 1

    def close(self) -> None:
        """Cancel all fetches."""
        for task in self._tasks:
            task.cancel()

    async def _on_paused(self, event: dict[str, Any]) -> None:
        key, request = event["requestId"], event["request"]
        kind = request_rules.request_kind(event["resourceType"], request["headers"])
        if kind not in PICTURE_KINDS or kind in self._allowed_kinds:
            self.request_count += 1
        try:
            if kind == DOCUMENT:
                await self._navigate(key, request["url"], event["frameId"], request["method"])
                return
            asked_for = request_rules.preflight_method(request["method"], request["headers"])
            method = asked_for or request["method"]
            reason = request_rules.refusal(
                method=method, kind=kind, url=request["url"], allowed_kinds=self._allowed_kinds
            )
            if reason:
                if reason != "other" or not request["url"].endswith(FAVICON):
                    self.refuse(reason)
                if reason == "image":
                    await fulfill(self._session, key, 200, [("content-type", "image/gif")], EMPTY_IMAGE)
                else:
                    await fail(self._session, key, "BlockedByClient")
                return
            subresource = SubresourceRequest(
                url=request["url"], method=request["method"], headers=request["headers"], kind=kind
            )
            await self._fetch(key, event.get("networkId", key), subresource)
        except Error:
            pass  # the page is closed, or no longer waits for the request

    async def _navigate(self, key: str, url: str, frame: str, method: str) -> None:
        if frame != self._frame:
            self.refuse("frame")
        elif not self._is_document_served:
            self._is_document_served = True
            await self._fulfill(key, self._capture, without=("x-frame-options",))
            return
        else:
            self.refuse("navigation")
            is_link = method in request_rules.ALLOWED_METHODS and len(url) <= request_rules.MAX_URL_LENGTH
            if is_link and len(self.navigations) < MAX_NAVIGATIONS:
                self.navigations[url] = None
        await fail(self._session, key, "Aborted")

    async def _fetch(self, key: str, network: str, subresource: SubresourceRequest) -> None:
        if before := self._redirects.pop(network, None):
            subresource = replace(subresource, hops=before.hops + 1, has_left_site=before.has_left_site)
        self.pending_count += 1
        try:
            task = asyncio.create_task(self._fetcher.fetch(subresource))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            found = await task
        except asyncio.CancelledError:
            return  # the tab is closed
        except Exception as error:  # noqa: BLE001 - a fault of ours: the caller of `render` raises it
            self.error = self.error or error
            return
        finally:
            self.pending_count -= 1
        if isinstance(found, str):
            self.refuse(found)
            await fail(self._session, key, "Failed")
            return
        if found.status in REDIRECT_STATUSES and subresource.method != request_rules.PREFLIGHT:
            self._redirects[network] = replace(
                subresource, has_left_site=self._fetcher.leaves_site(subresource)
            )
        await self._fulfill(key, found)

    async def _fulfill(self, key: str, capture: Capture, *, without: tuple[str, ...] = ()) -> None:
        if not 200 <= capture.status <= 599:
            await fail(self._session, key, "Failed")
            return
        headers = request_rules.response_headers(capture.headers, without=without)
        if not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("content-type", "text/html" if capture is self._capture else "text/plain"))
        async with self._fetcher.decode_budget.hold(capture) as body:
            if capture is self._capture:
                self.declares_closed_root = dom.declares_closed(body)
            await fulfill(self._session, key, capture.status, headers, await _encoded(body))

    def __repr__(self) -> str:
        refused = sum(self.refusals.values())
        return (
            f"<interceptor: {self.request_count} requests, {self.pending_count} pending, {refused} refused>"
        )


async def _encoded(body: bytes) -> str:
    if len(body) <= SMALL_BODY_BYTES:
        return b64encode(body).decode()
    return await asyncio.to_thread(lambda: b64encode(body).decode())
