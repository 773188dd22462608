"""`RequestSender`: sends each request as often as its `RetryPolicy` allows, and never too many at once.

A sender belongs to one event loop. `storage.s3.request_retry` makes the decisions; this module only waits and sends.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from botocore.exceptions import ClientError

from core import Unavailable
from storage.s3.request_retry import (
    Admission,
    Circuit,
    RetryPolicy,
    admit,
    pause_ms,
    record_answer,
    record_cancellation,
    record_failure,
    remaining_ms,
)
from storage.s3.s3_errors import RetryableFailure, retryable_failure

T = TypeVar("T")

FIRST_REPLY_MS = 10_000
"""How long the first request waits for a first reply. The frontier's server gets as long
(`frontier.link.redis_client`).
"""
WARN_AFTER_MS = 5_000
"""A shorter outage is not logged."""
_log = logging.getLogger(__name__)


def monotonic_ms() -> int:
    """Readmission milliseconds of a clock that nobody sets."""
    return time.monotonic_ns() // 1_000_000


class RequestSender:
    """The requests to one server. `subject` begins the error line that says that the server does not answer."""

    def __init__(
        self,
        subject: str,
        policy: RetryPolicy,
        *,
        at_once: int,
        now_ms: Callable[[], int] = monotonic_ms,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.subject = subject
        self._policy = policy
        self._slots = asyncio.Semaphore(at_once)
        self._now_ms = now_ms
        self._sleep = sleep
        self._chance = chance
        self._circuit = Circuit()
        self._reason = ""
        self._warned_of: int | None = None

    def waiting_ms(self) -> int | None:
        """Readmission for how many milliseconds nothing has been answered, since the first failure; None if the server
        answers.
        """
        since = self._circuit.since_ms
        return None if since is None else self._now_ms() - since

    async def send_first(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Send the first request to a server that never answered before, because its address may be wrong. Raise
        `Unavailable` if no reply at all came within `FIRST_REPLY_MS` of the call. Any reply, even one that asks for
        time, starts the usual policy.
        """
        shorter = min(FIRST_REPLY_MS, self._policy.total_ms)
        return await self._send_until_answered(
            attempt, replace(self._policy, total_ms=shorter), since_ms=self._now_ms()
        )

    async def send(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Readmission the result of the first attempt that gets an answer. Raise a definite refusal unchanged.

        Raise `Unavailable` when the time of the policy is over.
        """
        return await self._send_until_answered(attempt, self._policy)

    async def _send_until_answered(
        self, attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, since_ms: int | None = None
    ) -> T:
        """`since_ms` is when the time of the policy starts; None means at the first failure."""
        since = since_ms
        failures = 0
        while True:
            async with self._slots:
                self._circuit, admission = admit(self._circuit, self._now_ms())
                if admission.wait_ms == 0:
                    outcome = await self._attempt(
                        attempt, admission, remaining_ms(policy, since, self._now_ms())
                    )
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
            await self._sleep(min(pause, remaining_ms(policy, since, now)) / 1000)
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

    def _warn_once(self, policy: RetryPolicy) -> None:
        """Log the outage, once."""
        since = self._circuit.since_ms
        if since is not None and since != self._warned_of and self._now_ms() - since >= WARN_AFTER_MS:
            self._warned_of = since
            _log.warning(
                "%s does not answer (%s); asking again for up to %d s",
                self.subject,
                self._reason,
                policy.total_ms // 1000,
            )

    async def _attempt(
        self, attempt: Callable[[], Awaitable[T]], admission: Admission, limit_ms: int
    ) -> T | RetryableFailure:
        try:
            # Without a limit, a server that sends a byte now and then would hold the request for ever.
            async with asyncio.timeout(limit_ms / 1000):
                result = await attempt()
        except Exception as error:
            found = retryable_failure(error)
            if found is None:
                is_answer = isinstance(error, ClientError)
                self._circuit = (
                    record_answer(self._circuit)
                    if is_answer
                    else record_cancellation(self._circuit, admission)
                )
                raise
            if not self._reason or limit_ms == self._policy.total_ms or not isinstance(error, TimeoutError):
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
            return found
        except BaseException:
            self._circuit = record_cancellation(self._circuit, admission)
            raise
        self._circuit = record_answer(self._circuit)
        return result
