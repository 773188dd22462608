"""`DecodedBytes`: how many bytes of decoded bodies a worker holds at once. Who wants more waits.

A response of 64 KiB may stand for 64 MiB (`storage.warc.records.PAYLOAD_LIMIT`). The lease handler decodes bodies only
up to `crawler.reading.page_response.HEAVY_PAGE_BYTES`, and leaves longer ones to another process, one at a time. A
browser and a user's spider are given whole bodies, which they hold for as long as they like: these are counted here.

1. A body of up to `SMALL` bytes is held without asking: a worker has few leases, and each has one.
2. A longer one is decoded only when there is room for the longest that there may be; what it does not need of that is
   free at once. Those that wait have their turn in the order in which they came.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core import Capture
from storage.warc.payload import TOO_LONG, decode_content
from storage.warc.records import PAYLOAD_LIMIT

MAX_BUDGET_BYTES = 2 * PAYLOAD_LIMIT
"""Bytes held at once, small bodies not counted."""
SMALL_BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A body that is held."""

    body: bytes
    problem: str | None
    """Why the body is not what was meant, if it is not (`storage.warc.payload`)."""
    reserved_bytes: int
    """Bytes to `release` once nobody holds the body."""


class DecodeBudget:
    """The bytes of one worker."""

    def __init__(self, most: int = MAX_BUDGET_BYTES) -> None:
        """`most` is at least the longest body."""
        self.free_bytes = most
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def decode(self, capture: Capture) -> DecodedBody:
        """Return the body without its content encoding, as soon as there is room for it."""
        encodings = capture.content_encoding
        body, problem = decode_content(capture.payload, encodings, SMALL_BODY_BYTES)
        if problem != TOO_LONG:
            return DecodedBody(body, problem, 0)
        del body
        if not encodings:  # the capture's own bytes, which are held already
            return DecodedBody(*decode_content(capture.payload, "", PAYLOAD_LIMIT), 0)
        await self._reserve(PAYLOAD_LIMIT)
        body = b""
        try:
            # A tenth of a second for the longest: too long for the event loop.
            body, problem = await asyncio.to_thread(decode_content, capture.payload, encodings, PAYLOAD_LIMIT)
        finally:
            self.release(PAYLOAD_LIMIT - len(body))
        return DecodedBody(body, problem, len(body))

    @asynccontextmanager
    async def hold(self, capture: Capture) -> AsyncIterator[bytes]:
        """Hold the body, without its content encoding, within the context."""
        decoded = await self.decode(capture)
        try:
            yield decoded.body
        finally:
            self.release(decoded.reserved_bytes)

    def release(self, number: int) -> None:
        """Say that so many bytes are held no longer."""
        self.free_bytes += number
        while self._waiting and self.free_bytes >= PAYLOAD_LIMIT:
            first = self._waiting.popleft()
            if not first.done():  # whoever waited may be gone
                self.free_bytes -= PAYLOAD_LIMIT
                first.set_result(None)

    async def _reserve(self, number: int) -> None:
        if self.free_bytes >= number and not self._waiting:
            self.free_bytes -= number
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(number)
            raise

    def __repr__(self) -> str:
        return f"<decoded bytes: {self.free_bytes} free, {len(self._waiting)} wait>"
