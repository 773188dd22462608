"""`BlockingWatch`: name the code of a user's spider that blocks the event loop, and interrupt it if it goes on.

A callback that blocks (`time.sleep`, a request of its own, a regular expression that does not end) holds up its whole
worker: meanwhile the worker fetches, settles and reports nothing.

1. After `WARN_S` a warning names the method, the page and the line.
2. After `MAX_BLOCK_S` the watch raises an exception in that code, and the crawl ends with one line that names the same.
   The page is not settled. Until then the worker counts as alive and its leases hold (`crawler.worker`), so no other
   worker fetches its pages again.
3. Code that catches the exception is interrupted again. If code cannot be interrupted, because it is in a native
   library, its process is ended; the traceback goes to stderr.

The signal SIGALRM does this: it arrives while no other thread can run, and in the midst of a regular expression too.
Code that sets its own handler for SIGALRM switches the warnings and interruptions off.
"""

import asyncio
import faulthandler
import logging
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType

from thresher.core import InputError

logger = logging.getLogger(__name__)
WARN_S = 30.0
MAX_BLOCK_S = 300.0
INTERRUPT_INTERVAL_S = 5.0
"""Seconds between two interruptions."""
NATIVE_GRACE_S = 30.0
"""Seconds beyond `MAX_BLOCK_S` after which the process is ended if it could not be interrupted."""
TICK_S = 1.0
_CALLBACK = asyncio.Handle._run.__code__  # noqa: SLF001 - the frame in which an event loop runs a callback


class BlockingWatch:
    """Watches the running event loop, from the main thread."""

    def __init__(
        self,
        name: Callable[[list[FrameType]], str],
        stop: Callable[[InputError], None],
        *,
        warn_s: float = WARN_S,
        longest_s: float = MAX_BLOCK_S,
    ) -> None:
        """`name` describes the code at work from its stack, the innermost frame first. `stop` receives the error that
        ends the crawl.
        """
        self._name, self._stop, self._warn_s, self._longest_s = name, stop, warn_s, longest_s
        self._turn = 0.0
        self._warned = False

    async def run(self) -> None:
        """Watch until cancelled."""
        before = signal.signal(signal.SIGALRM, self._alarm)
        try:
            while True:
                self._turn, self._warned = time.monotonic(), False
                if signal.getsignal(signal.SIGALRM) == self._alarm:
                    signal.setitimer(signal.ITIMER_REAL, self._warn_s)
                faulthandler.dump_traceback_later(self._longest_s + NATIVE_GRACE_S, exit=True)
                await asyncio.sleep(min(TICK_S, self._warn_s / 2))
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _alarm(self, _: int, frame: FrameType | None) -> None:
        stack = list(_frames(frame))
        held_s = time.monotonic() - self._turn
        if not any(each.f_code is _CALLBACK for each in stack):
            return  # the loop waits for events: the process itself was stopped for a while
        if held_s < self._longest_s:
            if not self._warned:
                self._warned = True
                logger.warning("%s", self._line(stack, held_s))
            signal.setitimer(signal.ITIMER_REAL, max(self._longest_s - held_s, 0.01))
            return
        signal.setitimer(signal.ITIMER_REAL, INTERRUPT_INTERVAL_S)
        error = InputError(self._line(stack, held_s))
        self._stop(error)
        raise error

    def _line(self, stack: list[FrameType], held_s: float) -> str:
        return (
            f"{self._name(stack)} has held up its worker for {held_s:.0f} s;"
            " use `await`, or `await asyncio.to_thread(...)` for what blocks"
        )

    def __repr__(self) -> str:
        return f"<watch of the event loop, {self._longest_s:g} s>"


def source_location(stack: list[FrameType], directory: str, owner: object) -> str:
    """Return `FILE:LINE` of the innermost frame whose file is in a directory, or whose `self` is `owner`; without one,
    of the innermost frame.
    """
    for frame in stack:
        if frame.f_code.co_filename.startswith(directory) or frame.f_locals.get("self") is owner:
            return _place(frame)
    return _place(stack[0])


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
