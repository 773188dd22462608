"""`CallTimer`: counts the calls of a store by how long they take."""

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager

from thresher.core.call_times import BUCKETS_S, NO_CALLS, CallTimes


class CallTimer:
    """The calls of one process so far, of all threads together. A pickled timer starts at zero."""

    __slots__ = ("_calls", "_lock", "_us")

    def __init__(self) -> None:
        self._us, self._calls, self._lock = 0, list(NO_CALLS), threading.Lock()

    @contextmanager
    def time(self) -> Iterator[None]:
        """Count the context as one call, also if it raises."""
        started = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            with self._lock:
                self._us += int(elapsed * 1e6)
                self._calls[bisect_left(BUCKETS_S, elapsed)] += 1

    @property
    def times(self) -> CallTimes:
        """The calls so far."""
        with self._lock:
            return CallTimes(us=self._us, calls=tuple(self._calls))

    def __reduce__(self) -> tuple[type["CallTimer"], tuple[()]]:
        return CallTimer, ()

    def __repr__(self) -> str:
        return f"<call timer: {sum(self._calls)} calls>"
