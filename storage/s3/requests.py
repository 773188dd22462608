"""`RequestSender`: sends each request as often as its `RetryPolicy` allows, and never too many at once.

Any thread may send. `storage.request_retry` makes the decisions; this module only waits and sends.
"""

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

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

    `in_flight` bounds the time of each attempt, and ends attempts and pauses that are no longer wanted.
    """

    def __init__(  # noqa: PLR0913 - the clock, the pause and chance are arguments, for tests
        self,
        subject: str,
        policy: RetryPolicy,
        in_flight: InFlight,
        *,
        at_once: int,
        now_ms: Callable[[], int] = monotonic_ms,
        sleep: Callable[[float], None] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.subject = subject
        self._policy = policy
        self._in_flight = in_flight
        self._slots = threading.Semaphore(at_once)
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

    def _send_until_answered(
        self, attempt: Callable[[], T], policy: RetryPolicy, since_ms: int | None = None
    ) -> T:
        """`since_ms` is when the time of the policy starts; None means at the first failure."""
        since = since_ms
        failures = 0
        while True:
            with self._slots:
                admission = self._admit()
                if admission.wait_ms == 0:
                    outcome = self._attempt(attempt, admission, remaining_ms(policy, since, self._now_ms()))
                    if not isinstance(outcome, RetryableFailure):
                        return outcome
                    if outcome.has_reply:
                        policy = self._policy
                    failures += 1
                    pause = pause_ms(self._policy, failures, self._chance(), outcome.wait_ms)
                else:
                    pause = admission.wait_ms
            now = self._now_ms()
            since = now if since is None else since
            self._sleep(min(pause, remaining_ms(policy, since, now)) / 1000)
            self._warn_once(policy)
            if remaining_ms(policy, since, self._now_ms()) == 0:
                remedy = (
                    "see to it and run the command again"
                    if policy is self._policy
                    else "start it, or correct AWS_ENDPOINT_URL_S3"
                )
                raise Unavailable(
                    f"{self.subject} has not answered for {policy.total_ms // 1000} s ({self._reason}); {remedy}"
                )

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

    def _attempt(self, attempt: Callable[[], T], admission: Admission, limit_ms: int) -> T | RetryableFailure:
        try:
            # Without a limit, a server that sends a byte now and then would hold the request for ever.
            with self.timer.time(), self._in_flight.attempt(limit_ms / 1000):
                result = attempt()
        except Exception as error:
            found = retryable_failure(error)
            if found is None:
                is_answer = isinstance(error, ClientError)
                self._record_answer() if is_answer else self._record_cancellation(admission)
                raise
            is_cut_off = isinstance(error, TimeoutError) and limit_ms < self._policy.total_ms
            self._record_failure(found, admission, is_cut_off=is_cut_off)
            return found
        except BaseException:
            self._record_cancellation(admission)
            raise
        self._record_answer()
        return result

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
