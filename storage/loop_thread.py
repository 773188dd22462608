"""`LoopThread`: an event loop in a thread of its own, for clients that any thread may call.

1. The thread starts with the first work. Works of all callers run side by side.
2. `close` cancels the works that are running, then lets the client close its connections, then ends the thread.
3. `read_ahead` starts works before the caller asks for their results, and bounds their number and bytes.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

A = TypeVar("A")
T = TypeVar("T")

READ_AHEAD_BYTES = 64 << 20
"""Bytes that are requested before the caller reads them, at most."""
READ_AHEAD_REQUESTS = 64
CLOSE_S = 5
"""How long `close` waits for cancelled works and connections: a server that does not answer must not delay the end of a
command.
"""


class LoopThread:
    """A loop that starts when it is needed. `name` names the thread in stack dumps; the thread keeps no process
    alive.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` and return at once. Raise `ValueError` after `close`."""
        try:
            loop = self._running_loop()
        except ValueError:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, loop)

    def read_ahead(
        self, works: Iterable[tuple[A, int, Coroutine[Any, Any, T]]]
    ) -> Iterator[tuple[A, Future[T]]]:
        """Start the works `(subject, size in bytes, work)` and yield each subject with its future, in order.

        Works are started ahead until their bytes exceed `READ_AHEAD_BYTES` or there are `READ_AHEAD_REQUESTS`. Works
        whose future was not yielded are cancelled when the iterator is closed.
        """
        waiting: deque[tuple[A, int, Future[T]]] = deque()
        held = 0
        try:
            for subject, size, work in works:
                waiting.append((subject, size, self.submit(work)))
                held += size
                while waiting and (held > READ_AHEAD_BYTES or len(waiting) > READ_AHEAD_REQUESTS):
                    done, freed, future = waiting.popleft()
                    held -= freed
                    yield done, future
            while waiting:
                done, _, future = waiting.popleft()
                yield done, future
        finally:
            for _, _, future in waiting:
                future.cancel()

    def close(self, close_client: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel all works, await `close_client()`, and let the thread end. Do nothing if the loop never started or is
        closed.
        """
        with self._lock:
            loop, self._loop, self._closed = self._loop, None, True
        if loop is None:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_cancel_all_then(close_client), loop).result(CLOSE_S)
        loop.call_soon_threadsafe(loop.stop)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise ValueError(f"the connection of {self._name} was closed: open a new one")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True).start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _cancel_all_then(close_client: Callable[[], Coroutine[Any, Any, None]]) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await close_client()
