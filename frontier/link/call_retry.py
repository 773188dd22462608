"""`RetryDeadline`: how long failed calls are repeated, and how long they wait between two attempts.

1. One deadline holds for all calls that are made together, whatever fails and on how many servers.
2. Waits are drawn evenly from zero to a bound that doubles ("full jitter", Brooker, AWS Architecture Blog, 2015), so
   that the thousand calls that a failing server has turned away do not come back to it in step.
3. A server is given up only when an attempt that began after the deadline has failed. So a process that was stopped
   until after the deadline, or a machine that slept, gives up no server that works.
"""

import asyncio
import random
import time

from redis.exceptions import AuthenticationError, AuthorizationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from thresher.core import Unavailable
from thresher.frontier.takeover import TAKEOVER_REPLY_PREFIX, takeover_error

RETRY_TIMEOUT_S = 30.0
"""Seconds: a cluster with the usual node timeout of 15 s has promoted a replica after 16 to 24 s."""
_FIRST_S = 0.02
_MAX_PAUSE_S = 1.0

NO_REPLY_ERRORS = (RedisError, OSError, TimeoutError)
"""Errors of calls that got no reply: refused, reset, timed out, or the server still loads its data."""


class NoReplicaError(RedisConnectionError):
    """No replica had the writes by the deadline. The call is not repeated: it would write nothing the second time, and
    WAIT on a new connection would then acknowledge it.
    """


class RetryDeadline:
    """A deadline, `total_s` seconds from its creation."""

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._deadline = time.monotonic() + total_s
        self._last_attempts: set[str] = set()
        """The servers that are called for the last time."""

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline; 0 after it."""
        return max(self._deadline - time.monotonic(), 0.0)

    async def back_off(self, attempt: int, where: str, error: Exception) -> None:
        """Sleep before the next attempt; the first attempt is number 0.

        Raise `Unavailable` with the server's name and error if no repetition can help, or if the deadline was over
        before the attempt began.
        """
        if isinstance(error, AuthenticationError | AuthorizationError):
            raise refusal_error(where, error) from error
        remaining_s = self.remaining_s
        if not remaining_s:
            if where in self._last_attempts or isinstance(error, NoReplicaError):
                raise Unavailable(
                    f"{where} has failed for {self._total_s:.0f} s: {one_line(error)}; see to it and run again"
                ) from error
            self._last_attempts.add(where)
        await asyncio.sleep(
            random.uniform(0, min(remaining_s, _MAX_PAUSE_S, _FIRST_S * 2 ** min(attempt, 10)))
        )


def refusal_error(where: str, refusal: Exception) -> Unavailable:
    """Return the error for a server that refuses a call however often it is asked."""
    if str(refusal).startswith(TAKEOVER_REPLY_PREFIX):
        return takeover_error(str(refusal).removeprefix(TAKEOVER_REPLY_PREFIX))
    return Unavailable(f"{where} failed: {one_line(refusal)}; see to it and run again")


def one_line(error: Exception) -> str:
    """Return the text of an error without line breaks and final dot."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
