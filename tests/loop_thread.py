"""`LoopThread`: an event loop in a thread of its own, for servers that run beside what a test does."""

import asyncio
import threading
import time

TICK_S = 0.005


class LoopThread:
    """Runs from the start until `close`, which cancels what is left and closes the loop."""

    def __init__(self) -> None:
        self._stalls: list[tuple[float, float]] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def run(self, work, timeout_s=60):
        """Return what the coroutine returns in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def late_s(self, begun: float, ended: float) -> float:
        """Return the seconds by which what the loop did between the two times (of the clock) may have come late.

        On a busy machine the loop gets no processor for a while. What it measures then is wrong by as much.
        """
        return max((by for at, by in self._stalls if begun <= at and at - by <= ended), default=0.0)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _live(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        ticking = asyncio.create_task(self._tick())
        await self._over.wait()
        ticking.cancel()

    async def _tick(self) -> None:
        """Note each time that the loop goes on later than it wanted to."""
        while True:
            due = time.time() + TICK_S
            await asyncio.sleep(TICK_S)
            now = time.time()
            if now - due > TICK_S:
                self._stalls.append((now, now - due))
