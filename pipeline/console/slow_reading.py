"""`SlowReading`: a value that takes long to read, read in a thread and kept, however many clients ask for it.

1. At most one thread reads a value at a time. Clients get the last value, with its age.
2. A reading that took t seconds of CPU is not repeated for t / `duty` seconds, and not for ten times the time that it
   took. So readings cost at most that share of a CPU, however large the project is.
3. Nothing is read unless a client asks.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeVar

from thresher.core import ThresherError

LOGGER = logging.getLogger(__name__)
T = TypeVar("T")
UNEXPECTED = "it cannot be read; what the console printed says why"
DUTY = 0.005
"""Share of one CPU that the readings of one value take at most, unless the caller says otherwise."""
MAX_WALL_SHARE = 0.1
"""Share of the time in which a value is being read: the storage has other readers."""
MIN_AGE_S = 5.0
FIRST_WAIT_S = 0.15
"""Seconds that a client waits for a value that was never read: a page opens in 0.3 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[T]):
    """A value, or why there is none."""

    value: T | None
    """None while it is read for the first time, and if it never could be read."""
    error: str = ""
    """Why the last attempt failed; empty if it did not."""
    age_s: float = 0.0
    attempt_s: float = 0.0
    """Seconds for which the next value is being read by now; 0 if it is not."""

    @property
    def is_pending(self) -> bool:
        """Whether the value is being read for the first time."""
        return self.value is None and not self.error


class SlowReading(Generic[T]):
    """One value and the thread that reads it."""

    def __init__(
        self,
        read: Callable[[], T],
        executor: Executor,
        *,
        duty: float = DUTY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._executor, self._duty, self._clock = read, executor, duty, clock
        self._value: T | None = None
        self._error = ""
        self._read_at: float | None = None
        self._rest_until = self._cpu_s = self._began_at = 0.0
        self._running: asyncio.Future[None] | None = None

    async def get(self, wait_s: float = FIRST_WAIT_S) -> Reading[T]:
        """Return the last value, and begin a new reading if it is old. The first reading is waited for, for `wait_s`
        seconds at most.
        """
        if self._running is None and self._clock() >= self._rest_until:
            self._began_at = self._clock()
            self._running = asyncio.ensure_future(self._refresh())
        if self._read_at is None and self._running is not None:
            await asyncio.wait({self._running}, timeout=wait_s)
        age_s = 0.0 if self._read_at is None else self._clock() - self._read_at
        attempt_s = 0.0 if self._running is None else self._clock() - self._began_at
        return Reading(value=self._value, error=self._error, age_s=age_s, attempt_s=attempt_s)

    def expire(self) -> None:
        """Let the next client begin a new reading: something has changed."""
        self._rest_until = 0.0

    async def _refresh(self) -> None:
        started = self._clock()
        try:
            self._value = await asyncio.get_running_loop().run_in_executor(self._executor, self._timed)
            self._error = ""
        except Exception as error:  # noqa: BLE001 - else clients would be told for ever that it is being read
            self._error = reading_problem(error)
        finally:
            ended = self._clock()
            self._read_at, self._running = ended, None
            rests = (MIN_AGE_S, self._cpu_s / self._duty, (ended - started) / MAX_WALL_SHARE)
            self._rest_until = ended + max(rests)

    def _timed(self) -> T:
        began = time.thread_time()
        try:
            return self._read()
        finally:
            self._cpu_s = time.thread_time() - began

    def __repr__(self) -> str:
        return f"<reading of {self._read!r}>"


def reading_problem(error: Exception) -> str:
    """Return what clients are told of an exception. The traceback of one that nobody expected goes to the log."""
    match error:
        case ThresherError():
            return str(error)
        case OSError():
            return f"{error.filename or 'the storage'}: {error.strerror or error}"
        case _:
            LOGGER.error("a reading failed", exc_info=error)
            return UNEXPECTED
