"""`at_most`: a limit of time that the event loop itself cannot use up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from crawler.wire.http.exchange import STALL_S


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Raise `TimeoutError` in the context after so many seconds, as `asyncio.timeout` does.

    A timer that comes late, because the event loop was busy with something else, is put off once by as much: what the server did
    meanwhile is not known yet.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds

    def expire() -> None:
        late = loop.time() - due
        limit.reschedule(loop.time() + (late if late > STALL_S else 0.0))

    async with asyncio.timeout(None) as limit:
        timer = loop.call_at(due, expire)
        try:
            yield
        finally:
            timer.cancel()
