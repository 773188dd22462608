"""`time_limit`: a limit of time that the event loop itself cannot use up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from thresher.crawler.wire.http.exchange import STALL_S


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Raise `TimeoutError` in the context after `seconds`, as `asyncio.timeout` does.

    If the timer fires late, because the event loop was busy with something else, it is put off once by the same time:
    nobody has read yet what the server sent meanwhile.
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
