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

    @contextmanager
    def within(self, limit_s: float) -> Iterator[None]:
        """Limit the body to `limit_s` seconds. After the body, `on_passed` is not called for it any more."""
        with self._state:
            self._until = time.monotonic() + limit_s
            if limit_s / CHECKS_PER_LIMIT < self._pause_s:
                self._pause_s = limit_s / CHECKS_PER_LIMIT
                self._state.notify()
            if self._thread is None:
                self._thread = Thread(target=self._watch, daemon=True, name="deadline")
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
            self._state.notify()
        if thread is not None:
            thread.join()

    def _watch(self) -> None:
        with self._state:
            mine = self._thread
            while self._thread is mine:
                if self._until is not None and time.monotonic() > self._until:
                    self._until = None
                    self._on_passed()
                self._state.wait(self._pause_s)

    def __repr__(self) -> str:
        return f"<deadline {'passed or idle' if self._until is None else 'under way'}>"
