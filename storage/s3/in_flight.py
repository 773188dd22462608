"""`InFlight`: the requests of one connection that are on the wire, and what ends them early.

1. An attempt ends early when its time limit is over, when its job is cancelled, or when the connection is closed. Then
   its socket is shut down, which wakes the thread that waits for it: for the head of a reply, for the rest of a body,
   or to send. The timeouts of boto3 count the time without a byte, so a server that sends a byte a minute would hold a
   request for ever.
2. A job is work in a daemon thread of its own, which another thread may cancel. A thread costs nothing beside the
   parts and blocks of some MB that jobs transfer. A daemon thread does not delay the end of its process.
3. A request that the calling thread sends itself is ended by Ctrl-C, because that interrupts the wait for the socket.
"""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")

STOP_S = 5
"""Seconds for which the end of cancelled jobs is awaited. Their sockets are shut, so only the look-up of a name can
last longer.
"""


class Attempt:
    """One request. The thread that sends it gives it the socket; any thread may end it early."""

    __slots__ = ("_socket", "ended_by", "ends_s", "job")

    def __init__(self, ends_s: float, job: "Job[object] | None") -> None:
        self.ends_s = ends_s
        """When its time limit is over, by `time.monotonic`."""
        self.job = job
        self.ended_by: Exception | None = None
        """Why it was ended early."""
        self._socket: socket.socket | None = None

    def remaining_s(self) -> float:
        """Return how many seconds are left, some milliseconds at least: a timeout of 0 means not to wait at all."""
        return max(0.01, self.ends_s - time.monotonic())

    def attach(self, sock: socket.socket | None) -> None:
        """Take the socket on which the request is sent."""
        self._socket = sock
        self._shut_if_ended()

    def end(self, why: Exception) -> None:
        """End the attempt: its thread raises `why`."""
        self.ended_by = self.ended_by or why
        self._shut_if_ended()

    def _shut_if_ended(self) -> None:
        # `attach` and `end` each write their half before they read the other's, so one of them sees both.
        if self.ended_by is not None and self._socket is not None:
            with suppress(OSError):
                # SSLSocket.shutdown would take the TLS state away from the thread that reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Job(Generic[T]):
    """Work that runs in a thread of its own. See `InFlight.start`."""

    def __init__(self, in_flight: "InFlight", work: Callable[[], T]) -> None:
        self.is_cancelled = False
        self._in_flight = in_flight
        self._work = work
        self.future: Future[T] = Future()

    def result(self) -> T:
        """Wait for the end of the work. Return its result, or raise its error. Cancel it if the wait is interrupted."""
        try:
            return self.future.result()
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """End the request that the job sends, and let it send no other. Do nothing if it has ended."""
        self._in_flight.cancel(self)

    def carry_out(self) -> None:
        """Run the work in the calling thread."""
        _thread.job = self
        try:
            self.future.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            self.future.set_exception(error)


class _Thread(threading.local):
    """What the calling thread does now."""

    attempt: Attempt | None = None
    job: Job | None = None  # type: ignore[type-arg]


_thread = _Thread()


def current_attempt() -> Attempt | None:
    """Return the attempt that the calling thread makes; None outside of `InFlight.attempt`."""
    return _thread.attempt


class InFlight:
    """See the module. `name` names the connection in errors and its threads in stack dumps."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._running: set[Attempt] = set()
        self._watcher: threading.Thread | None = None
        self._wakes_s = math.inf
        """When the watcher looks for overdue attempts next."""
        self._is_closed = False

    @contextmanager
    def attempt(self, limit_s: float) -> Iterator[None]:
        """Bound one attempt of the calling thread, which ends with the context.

        Raise `TimeoutError` if it takes longer than `limit_s` seconds, `CancelledError` if the thread's job is
        cancelled, and `ValueError` if the connection is closed.
        """
        mine = Attempt(time.monotonic() + limit_s, _thread.job)
        with self._changed:
            self._check_open()
            self._running.add(mine)
            self._watch_until(mine.ends_s)
        _thread.attempt = mine
        try:
            yield
        except Exception as error:
            if (
                mine.ended_by is None and time.monotonic() >= mine.ends_s
            ):  # it ended before the watcher looked
                mine.ended_by = self._overdue_error()
            if mine.ended_by is not None:
                raise mine.ended_by from error
            raise
        finally:
            _thread.attempt = None
            with self._changed:  # from here on nobody shuts the socket, which is the pool's again
                self._running.discard(mine)
        if mine.ended_by is not None:  # a body without a length looks whole, wherever it was cut off
            raise mine.ended_by

    def pause(self, seconds: float) -> None:
        """Wait. Raise as `attempt` does if the job is cancelled or the connection is closed."""
        until = time.monotonic() + seconds
        with self._changed:
            self._check_open()
            while (rest := until - time.monotonic()) > 0:
                self._changed.wait(rest)
                self._check_open()

    def start(self, work: Callable[[], T]) -> Job[T]:
        """Start `work` in a thread of its own."""
        job = Job(self, work)
        threading.Thread(target=job.carry_out, name=f"job of {self._name}", daemon=True).start()
        return job

    def run_all(self, slots: threading.Semaphore, works: Iterable[Callable[[], T]]) -> list[T]:
        """Return all results, in order. Each work runs as a job and holds one of `slots`.

        The first error cancels the other works and is raised unchanged when they have ended. So does an interrupt.
        """
        jobs: list[Job[T]] = []
        errors: list[BaseException] = []

        def carry_out(work: Callable[[], T]) -> T:
            try:
                return work()
            except BaseException as error:
                errors.append(error)
                raise
            finally:
                slots.release()

        try:
            for work in works:
                slots.acquire()
                if errors:
                    slots.release()
                    break
                jobs.append(self.start(partial(carry_out, work)))
            wait([job.future for job in jobs], return_when=FIRST_EXCEPTION)
        finally:
            # This does nothing if all works have ended.
            for job in jobs:
                job.cancel()
            wait([job.future for job in jobs], STOP_S)
        if errors:
            raise errors[0]
        return [job.future.result() for job in jobs]

    def cancel(self, job: Job[T]) -> None:
        """See `Job.cancel`."""
        with self._changed:
            job.is_cancelled = True
            for each in self._running:
                if each.job is job:
                    each.end(CancelledError())
            self._changed.notify_all()

    def close(self) -> None:
        """End all attempts and pauses, and let no other begin: they raise `ValueError`."""
        with self._changed:
            self._is_closed = True
            for each in self._running:
                each.end(self.closed_error())
            self._changed.notify_all()

    def _check_open(self) -> None:
        if self._is_closed:
            raise self.closed_error()
        if _thread.job is not None and _thread.job.is_cancelled:
            raise CancelledError

    def closed_error(self) -> ValueError:
        """Return the error of a request after `close`."""
        return ValueError(f"the connection to {self._name} was closed: open a new one")

    def _overdue_error(self) -> TimeoutError:
        return TimeoutError(f"a request to {self._name} took longer than its limit")

    def _watch_until(self, ends_s: float) -> None:
        """Let the watcher look at that time at the latest."""
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name=f"limits of {self._name}", daemon=True)
            self._watcher.start()
        if ends_s < self._wakes_s:
            self._wakes_s = ends_s
            self._changed.notify_all()

    def _watch(self) -> None:
        """End the attempts whose time is over."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                for each in self._running:
                    if each.ends_s <= now:
                        each.end(self._overdue_error())
                self._wakes_s = min(
                    (each.ends_s for each in self._running if each.ends_s > now), default=math.inf
                )
                self._changed.wait(None if self._wakes_s == math.inf else self._wakes_s - now)
