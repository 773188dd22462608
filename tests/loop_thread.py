"""`LoopThread`: an event loop in a thread of its own, for servers that run beside what a test does."""

import asyncio
import threading


class LoopThread:
    """Runs from the start until `close`, which cancels what is left and closes the loop."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def run(self, work, timeout_s=60):
        """Return what the coroutine returns in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _live(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._over.wait()
