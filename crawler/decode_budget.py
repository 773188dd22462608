"""`DecodeBudget`: how many bytes of decoded bodies a worker holds at once. A body that needs more waits.

A response of 64 KiB may decode to 64 MiB (`storage.warc.records.PAYLOAD_LIMIT`). The lease handler itself decodes a
page up to `crawler.reading.page_response.HEAVY_PAGE_BYTES`, and leaves longer bodies to another process, one at a time.
A browser and a user's spider receive whole bodies and hold them as long as they like. This budget counts those bodies.

1. A body of up to `SMALL_BODY_BYTES` is not counted, because a worker has few leases, and each has one body.
2. A longer body is decoded only when there is room for the longest body possible. The bytes that it turns out not to
   need are free at once. Waiting bodies have their turn in the order in which they came.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from thresher.core import Capture
from thresher.storage.warc.payload import TOO_LONG, decode_content
from thresher.storage.warc.records import PAYLOAD_LIMIT

MAX_BUDGET_BYTES = 2 * PAYLOAD_LIMIT
"""Bytes held at once, small bodies not counted."""
SMALL_BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A body that is held."""

    body: bytes
    problem: str | None
    """Why the body could not be decoded as its headers say (`storage.warc.payload`); None if it could."""
    reserved_bytes: int
    """Bytes to `release` once nobody holds the body."""


class DecodeBudget:
    """The bytes of one worker."""

    def __init__(self, max_bytes: int = MAX_BUDGET_BYTES) -> None:
        """Start with `max_bytes` free bytes: at least `PAYLOAD_LIMIT`, or a long body would wait for ever."""
        self.free_bytes = max_bytes
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def decode(self, capture: Capture) -> DecodedBody:
        """Return the body without its content encoding, as soon as there is room for it."""
        encodings = capture.content_encoding
        body, problem = decode_content(capture.payload, encodings, SMALL_BODY_BYTES)
        if problem != TOO_LONG:
            return DecodedBody(body, problem, 0)
        del body
        if not encodings:  # the body is the capture's own bytes, which are in memory already
            return DecodedBody(*decode_content(capture.payload, "", PAYLOAD_LIMIT), 0)
        await self._reserve(PAYLOAD_LIMIT)
        body = b""
        try:
            # The longest body takes a tenth of a second: too long for the event loop.
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
        """Free bytes that nobody holds any more, and start the bodies that wait for them."""
        self.free_bytes += number
        while self._waiting and self.free_bytes >= PAYLOAD_LIMIT:
            first = self._waiting.popleft()
            if not first.done():  # the waiting task may have been cancelled
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
        return f"<decode budget: {self.free_bytes} bytes free, {len(self._waiting)} waiting>"
