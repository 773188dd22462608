"""`Requests`: sends each request as often as `patience` says, and never too many at once.

It belongs to one event loop. The decisions are those of `storage.s3.request_retry`; here is only what waits and sends.
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
"""How long the first request waits for a first reply. The frontier's server is given as long (`frontier.link.redis_client`)."""
WARN_AFTER_MS = 5_000
"""A shorter outage is nothing to tell anybody of."""
_log = logging.getLogger(__name__)


def monotonic_ms() -> int:
    """Milliseconds of a clock that is never set."""
    return time.monotonic_ns() // 1_000_000


class RequestSender:
    """The requests to one server. `subject` begins the line that says that it does not answer."""

    def __init__(
        self,
        subject: str,
        patience: RetryPolicy,
        *,
        at_once: int,
        now_ms: Callable[[], int] = monotonic_ms,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.subject = subject
        self._patience = patience
        self._slots = asyncio.Semaphore(at_once)
        self._now_ms = now_ms
        self._sleep = sleep
        self._chance = chance
        self._circuit = Circuit()
        self._reason = ""
        self._told: int | None = None

    def waiting_ms(self) -> int | None:
        """For how long nothing has been answered, since the first failure; None while all is well."""
        since = self._circuit.since_ms
        return None if since is None else self._now_ms() - since

    async def send_first(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """`send` for the first request to a server that never answered before: it may be the wrong address. Raises
        `Unavailable` when `FIRST_REPLY_MS` have passed since the call without any reply; a reply, also one that asks for time, begins
        the usual patience.
        """
        shorter = min(FIRST_REPLY_MS, self._patience.total_ms)
        return await self._carry(attempt, replace(self._patience, total_ms=shorter), since_ms=self._now_ms())

    async def send(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first attempt that gets an answer; a definite refusal is raised as it is.

        Raises `Unavailable` at the end of the patience.
        """
        return await self._carry(attempt, self._patience)

    async def _carry(
        self, attempt: Callable[[], Awaitable[T]], patience: RetryPolicy, since_ms: int | None = None
    ) -> T:
        """`since_ms`: when the patience begins; at the first failure where it is not said."""
        since = since_ms
        failures = 0
        while True:
            async with self._slots:
                self._circuit, turn = admit(self._circuit, self._now_ms())
                if turn.wait_ms == 0:
                    outcome = await self._attempted(
                        attempt, turn, remaining_ms(patience, since, self._now_ms())
                    )
                    if not isinstance(outcome, RetryableFailure):
                        return outcome
                    if outcome.has_reply:
                        patience = self._patience
                    failures += 1
                    pause = pause_ms(self._patience, failures, self._chance(), outcome.wait_ms)
                else:
                    pause = turn.wait_ms
            now = self._now_ms()
            since = now if since is None else since
            await self._sleep(min(pause, remaining_ms(patience, since, now)) / 1000)
            self._tell(patience)
            if remaining_ms(patience, since, self._now_ms()) == 0:
                remedy = (
                    "see to it and run the command again"
                    if patience is self._patience
                    else "start it, or correct AWS_ENDPOINT_URL_S3"
                )
                raise Unavailable(
                    f"{self.subject} has not answered for {patience.total_ms // 1000} s ({self._reason}); {remedy}"
                )

    def _tell(self, patience: RetryPolicy) -> None:
        """Say, once an outage, whom everybody waits for."""
        since = self._circuit.since_ms
        if since is not None and since != self._told and self._now_ms() - since >= WARN_AFTER_MS:
            self._told = since
            _log.warning(
                "%s does not answer (%s); asking again for up to %d s",
                self.subject,
                self._reason,
                patience.total_ms // 1000,
            )

    async def _attempted(
        self, attempt: Callable[[], Awaitable[T]], turn: Admission, limit_ms: int
    ) -> T | RetryableFailure:
        try:
            # A server that sends a byte now and then would else hold the request for ever.
            async with asyncio.timeout(limit_ms / 1000):
                result = await attempt()
        except Exception as error:
            found = retryable_failure(error)
            if found is None:
                is_answer = isinstance(error, ClientError)
                self._circuit = (
                    record_answer(self._circuit) if is_answer else record_cancellation(self._circuit, turn)
                )
                raise
            self._reason = found.reason
            self._circuit = record_failure(
                self._circuit,
                self._patience,
                turn,
                self._now_ms(),
                chance=self._chance(),
                at_least_ms=found.wait_ms,
            )
            return found
        except BaseException:
            self._circuit = record_cancellation(self._circuit, turn)
            raise
        self._circuit = record_answer(self._circuit)
        return result
