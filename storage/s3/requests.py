"""`RequestSender`: sends each request as often as its `RetryPolicy` allows, and never too many at once.

Any thread may send, and so may an event loop. Both keep to one policy and one circuit. `storage.request_retry` makes
the decisions; this module only waits and sends.
"""

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from botocore.exceptions import ClientError

from thresher.core import Unavailable
from thresher.storage.call_timer import CallTimer
from thresher.storage.request_retry import (
    Admission,
    Circuit,
    RetryPolicy,
    admit,
    monotonic_ms,
    pause_ms,
    record_answer,
    record_cancellation,
    record_failure,
    remaining_ms,
)
from thresher.storage.s3.in_flight import InFlight
from thresher.storage.s3.s3_errors import RetryableFailure, retryable_failure

T = TypeVar("T")

FIRST_REPLY_MS = 10_000
"""How long the first request waits for a first reply. The frontier's server gets as long
(`frontier.link.redis_client`).
"""
WARN_AFTER_MS = 5_000
"""A shorter outage is not logged."""
_log = logging.getLogger(__name__)


class RequestSender:
    """The requests to one server. `subject` begins the error line that says that the server does not answer.

    `in_flight` bounds the time of each attempt of a thread, and ends attempts and pauses that are no longer wanted.
    `at_once` bounds the requests of all threads, `async_at_once` those of the event loop.
    """

    def __init__(  # noqa: PLR0913 - the clock, the pause and chance are arguments, for tests
        self,
        subject: str,
        policy: RetryPolicy,
        in_flight: InFlight,
        *,
        at_once: int,
        async_at_once: int = 1,
        now_ms: Callable[[], int] = monotonic_ms,
        sleep: Callable[[float], None] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.subject = subject
        self._policy = policy
        self._in_flight = in_flight
        self._slots = threading.Semaphore(at_once)
        self._async_slots = asyncio.Semaphore(async_at_once)
        self._now_ms = now_ms
        self._sleep = sleep or in_flight.pause
        self._chance = chance
        self._changing = threading.Lock()
        """Held while the fields below are read and replaced."""
        self._circuit = Circuit()
        self._reason = ""
        self._warned_of: int | None = None
        self.timer = CallTimer()
        """Counts the attempts, those without an answer too."""

    def waiting_ms(self) -> int | None:
        """Return for how many milliseconds nothing has been answered, since the first failure; None if the server
        answers.
        """
        since = self._circuit.since_ms
        return None if since is None else self._now_ms() - since

    def send_first(self, attempt: Callable[[], T]) -> T:
        """Send the first request to a server that never answered before, because its address may be wrong. Raise
        `Unavailable` if no reply at all came within `FIRST_REPLY_MS` of the call. Any reply, even one that asks for
        time, starts the usual policy.
        """
        shorter = min(FIRST_REPLY_MS, self._policy.total_ms)
        return self._send_until_answered(
            attempt, replace(self._policy, total_ms=shorter), since_ms=self._now_ms()
        )

    def send(self, attempt: Callable[[], T]) -> T:
        """Return the result of the first attempt that gets an answer. Raise a definite refusal unchanged.

        Raise `Unavailable` when the time of the policy is over.
        """
        return self._send_until_answered(attempt, self._policy)

    async def send_async(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what `send` returns for an attempt that runs in the calling event loop. Only one loop may call."""
        sending = _Sending(policy=self._policy)
        outcome: _Outcome[T] = _Outcome(results=[])
        while True:
            async with self._async_slots:
                admission = self._admit()
                if admission.wait_ms == 0:
                    limit_ms = self._remaining_ms(sending)
                    with self._recording(outcome, admission, limit_ms):
                        async with asyncio.timeout(limit_ms / 1000):
                            outcome.results.append(await attempt())
                    if outcome.results:
                        return outcome.results[0]
                pause_s = self._pause_s(sending, admission if admission.wait_ms else outcome)
            await asyncio.sleep(pause_s)
            self._check_time(sending)

    def _send_until_answered(
        self, attempt: Callable[[], T], policy: RetryPolicy, since_ms: int | None = None
    ) -> T:
        """`since_ms` is when the time of the policy starts; None means at the first failure."""
        sending = _Sending(policy=policy, since_ms=since_ms)
        outcome: _Outcome[T] = _Outcome(results=[])
        while True:
            with self._slots:
                admission = self._admit()
                if admission.wait_ms == 0:
                    limit_ms = self._remaining_ms(sending)
                    # Without a limit, a server that sends a byte now and then would hold the request for ever.
                    with (
                        self._recording(outcome, admission, limit_ms),
                        self._in_flight.attempt(limit_ms / 1000),
                    ):
                        outcome.results.append(attempt())
                    if outcome.results:
                        return outcome.results[0]
                pause_s = self._pause_s(sending, admission if admission.wait_ms else outcome)
            self._sleep(pause_s)
            self._check_time(sending)

    def _remaining_ms(self, sending: "_Sending") -> int:
        """Return how long the next attempt may take; 0 means that the time of the policy is over."""
        return remaining_ms(sending.policy, sending.since_ms, self._now_ms())

    def _pause_s(self, sending: "_Sending", last: "Admission | _Outcome[T]") -> float:
        """Return how long to wait after an admission that was refused, or after an attempt that failed."""
        if isinstance(last, Admission):
            pause = last.wait_ms
        else:
            assert last.failure is not None
            if last.failure.has_reply:
                sending.policy = self._policy
            sending.failures += 1
            pause = pause_ms(self._policy, sending.failures, self._chance(), last.failure.wait_ms)
        if sending.since_ms is None:
            sending.since_ms = self._now_ms()
        return min(pause, self._remaining_ms(sending)) / 1000

    def _check_time(self, sending: "_Sending") -> None:
        """Raise `Unavailable` if the time of the policy is over."""
        self._warn_once(sending.policy)
        if self._remaining_ms(sending) > 0:
            return
        remedy = (
            "see to it and run the command again"
            if sending.policy is self._policy
            else "start it, or correct AWS_ENDPOINT_URL_S3"
        )
        total_s = sending.policy.total_ms // 1000
        raise Unavailable(f"{self.subject} has not answered for {total_s} s ({self._reason}); {remedy}")

    def _admit(self) -> Admission:
        with self._changing:
            self._circuit, admission = admit(self._circuit, self._now_ms())
        return admission

    def _warn_once(self, policy: RetryPolicy) -> None:
        """Log the outage, once."""
        with self._changing:
            since = self._circuit.since_ms
            if since is None or since == self._warned_of or self._now_ms() - since < WARN_AFTER_MS:
                return
            self._warned_of = since
        _log.warning(
            "%s does not answer (%s); asking again for up to %d s",
            self.subject,
            self._reason,
            policy.total_ms // 1000,
        )

    @contextmanager
    def _recording(self, outcome: "_Outcome[T]", admission: Admission, limit_ms: int) -> Iterator[None]:
        """Record how the attempt in the context ends. A failure after which the request may be sent again ends here."""
        try:
            with self.timer.time():
                yield
        except Exception as error:
            found = retryable_failure(error)
            if found is None:
                is_answer = isinstance(error, ClientError)
                self._record_answer() if is_answer else self._record_cancellation(admission)
                raise
            is_cut_off = isinstance(error, TimeoutError) and limit_ms < self._policy.total_ms
            self._record_failure(found, admission, is_cut_off=is_cut_off)
            outcome.results.clear()  # a body without a length looks whole, wherever it was cut off
            outcome.failure = found
        except BaseException:
            self._record_cancellation(admission)
            raise
        else:
            self._record_answer()

    def _record_answer(self) -> None:
        with self._changing:
            self._circuit = record_answer(self._circuit)

    def _record_cancellation(self, admission: Admission) -> None:
        with self._changing:
            self._circuit = record_cancellation(self._circuit, admission)

    def _record_failure(self, found: RetryableFailure, admission: Admission, *, is_cut_off: bool) -> None:
        with self._changing:
            if not is_cut_off or not self._reason:
                # An attempt that the end of the policy cut off must not hide why the attempts before it failed.
                self._reason = found.reason
            self._circuit = record_failure(
                self._circuit,
                self._policy,
                admission,
                self._now_ms(),
                chance=self._chance(),
                at_least_ms=found.wait_ms,
            )


@dataclass(slots=True, kw_only=True)
class _Outcome(Generic[T]):
    """How an attempt ended."""

    results: list[T]
    """Its result; empty if it failed."""
    failure: RetryableFailure | None = None


@dataclass(slots=True, kw_only=True)
class _Sending:
    """One request, from its first attempt to its last."""

    policy: RetryPolicy
    since_ms: int | None = None
    """When the time of the policy starts; None means at the first failure."""
    failures: int = 0
