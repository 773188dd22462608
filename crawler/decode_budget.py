"""`DecodedBytes`: how many bytes of decoded bodies a worker holds at once. Who wants more waits.

A response of 64 KiB may stand for 64 MiB (`storage.warc.records.PAYLOAD_LIMIT`). What the steward reads itself it decodes up to
`crawler.page_process.HEAVY`, and leaves longer bodies to another process, one at a time. A browser and a user's spider are given
whole bodies, which they hold for as long as they like: these are counted here.

1. A body of up to `SMALL` bytes is held without asking: a worker has few leases, and each has one.
2. A longer one is decoded only when there is room for the longest that there may be; what it does not need of that is free at once.
   Those that wait have their turn in the order in which they came.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core import Capture
from crawler.wire import field
from storage.warc.payload import TOO_LONG, content_decoded
from storage.warc.records import PAYLOAD_LIMIT

MOST = 2 * PAYLOAD_LIMIT
"""Bytes held at once, small bodies not counted."""
SMALL = 1 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body that is held."""

    body: bytes
    problem: str | None
    """Why the body is not what was meant, if it is not (`storage.warc.payload`)."""
    held: int
    """Bytes to `give_back` once nobody holds the body."""


class DecodedBytes:
    """The bytes of one worker."""

    def __init__(self, most: int = MOST) -> None:
        """`most` is at least the longest body."""
        self.free = most
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def decode(self, capture: Capture) -> Decoded:
        """Return the body without its content encoding, as soon as there is room for it."""
        encodings = field(capture.headers, "content-encoding")
        body, problem = content_decoded(capture.payload, encodings, SMALL)
        if problem != TOO_LONG:
            return Decoded(body, problem, 0)
        del body
        if not encodings:  # the capture's own bytes, which are held already
            return Decoded(*content_decoded(capture.payload, "", PAYLOAD_LIMIT), 0)
        await self._take(PAYLOAD_LIMIT)
        body = b""
        try:
            # A tenth of a second for the longest: too long for the event loop.
            body, problem = await asyncio.to_thread(
                content_decoded, capture.payload, encodings, PAYLOAD_LIMIT
            )
        finally:
            self.give_back(PAYLOAD_LIMIT - len(body))
        return Decoded(body, problem, len(body))

    @asynccontextmanager
    async def decoded(self, capture: Capture) -> AsyncIterator[bytes]:
        """Hold the body, without its content encoding, within the context."""
        decoded = await self.decode(capture)
        try:
            yield decoded.body
        finally:
            self.give_back(decoded.held)

    def give_back(self, number: int) -> None:
        """Say that so many bytes are held no longer."""
        self.free += number
        while self._waiting and self.free >= PAYLOAD_LIMIT:
            first = self._waiting.popleft()
            if not first.done():  # whoever waited may be gone
                self.free -= PAYLOAD_LIMIT
                first.set_result(None)

    async def _take(self, number: int) -> None:
        if self.free >= number and not self._waiting:
            self.free -= number
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(number)
            raise

    def __repr__(self) -> str:
        return f"<decoded bytes: {self.free} free, {len(self._waiting)} wait>"
