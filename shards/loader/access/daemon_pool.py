"""Threads that do not keep a process alive: what they do may be cut off at any instruction."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Generic, TypeVar

Result = TypeVar("Result")


class DaemonPool(Generic[Result]):
    """Runs calls in the order in which they were submitted.

    The threads of `concurrent.futures` finish all submitted calls before the interpreter ends: here, gigabytes of
    downloads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Result], Callable[[], Result]] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        self._started = False
        self._lock = threading.Lock()

    def submit(self, call: Callable[[], Result]) -> Future[Result]:
        """Run a call in one of the threads."""
        with self._lock:
            if not self._started:
                self._started = True
                for thread in self._threads:
                    thread.start()
        future: Future[Result] = Future()
        self._calls.put((future, call))
        return future

    def close(self) -> None:
        """Let the threads end after the calls that they are at. Cancel the other calls first."""
        for _ in self._threads:
            self._calls.put(None)

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - whoever waits for the result raises it
                    future.set_exception(error)
            del item, future
