"""`Deadline`: a limit on the time of what is done, one piece after another. One thread watches all pieces."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread

CHECKS_PER_LIMIT = 8
"""A piece may take an eighth longer than its limit. A thread that slept until each limit would cost more than most
pieces do."""


class Deadline:
    """Calls `on_passed` if a piece takes longer than its limit. The calls come from another thread."""

    def __init__(self, on_passed: Callable[[], object]) -> None:
        self._on_passed = on_passed
        self._state = Condition()
        self._until: float | None = None
        self._pause_s = float("inf")
        self._thread: Thread | None = None
        self._closed = 0
        """How often it was closed: each time ends the thread that was started before."""

    @contextmanager
    def within(self, limit_s: float) -> Iterator[None]:
        """Limit the body to `limit_s` seconds. After the body, `on_passed` is not called for it any more."""
        with self._state:
            self._until = time.monotonic() + limit_s
            if limit_s / CHECKS_PER_LIMIT < self._pause_s:
                self._pause_s = limit_s / CHECKS_PER_LIMIT
                self._state.notify()
            if self._thread is None:
                self._thread = Thread(target=self._watch, args=(self._closed,), daemon=True, name="deadline")
                self._thread.start()
        try:
            yield
        finally:
            with self._state:
                self._until = None

    def close(self) -> None:
        """End the thread."""
        with self._state:
            thread, self._thread = self._thread, None
            self._closed += 1
            self._state.notify_all()
        if thread is not None:
            thread.join()

    def _watch(self, closed: int) -> None:
        # The number comes from outside: a thread may get its first turn only after it was closed.
        with self._state:
            while self._closed == closed:
                if self._until is not None and time.monotonic() > self._until:
                    self._until = None
                    self._on_passed()
                self._state.wait(self._pause_s)

    def __repr__(self) -> str:
        return f"<deadline {'passed or idle' if self._until is None else 'under way'}>"
