"""`Patience`: how long calls are made again before their server is given up, and how long they rest in between.

1. One patience holds for everything that is asked for together, whatever goes wrong with it and on how many servers.
2. Rests are drawn evenly from nothing to a bound that doubles ("full jitter", Brooker, AWS Architecture Blog, 2015),
   so that the thousand calls that a failing server has turned away do not come back to it in step.
"""

import asyncio
import random
import time

from redis.exceptions import AuthenticationError, AuthorizationError, RedisError

from core import Unavailable
from frontier.takeover import TAKEOVER_REPLY_PREFIX, takeover_error

RETRY_TIMEOUT_S = 30.0
"""A cluster with the usual node timeout of 15 s has promoted a replica after 16 to 24 s."""
_FIRST_S = 0.02
_LONGEST_S = 1.0

NO_REPLY_ERRORS = (RedisError, OSError, TimeoutError)
"""What carrying calls raises where no reply came: refused, reset, timed out, still loading its data."""


class RetryDeadline:
    """A deadline, `total_s` from now."""

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._deadline = time.monotonic() + total_s

    @property
    def remaining_s(self) -> float:
        """Seconds until patience is over; 0 where it is."""
        return max(self._deadline - time.monotonic(), 0.0)

    async def back_off(self, attempt: int, where: str, trouble: Exception) -> None:
        """Sleep before the next attempt, the first being number 0.

        Raises `Unavailable` naming the server and its trouble where patience is over, or where no patience helps.
        """
        if isinstance(trouble, AuthenticationError | AuthorizationError):
            raise refusal_error(where, trouble) from trouble
        left = self.remaining_s
        if not left:
            raise Unavailable(
                f"{where} has failed for {self._total_s:.0f} s: {one_line(trouble)}; see to it and run again"
            ) from trouble
        await asyncio.sleep(random.uniform(0, min(left, _LONGEST_S, _FIRST_S * 2 ** min(attempt, 10))))


def refusal_error(where: str, refusal: Exception) -> Unavailable:
    """What to raise where a server will not do it, however often it is asked."""
    if str(refusal).startswith(TAKEOVER_REPLY_PREFIX):
        return takeover_error(str(refusal).removeprefix(TAKEOVER_REPLY_PREFIX))
    return Unavailable(f"{where} failed: {one_line(refusal)}; see to it and run again")


def one_line(error: Exception) -> str:
    """What an error says, without line breaks and final dot."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
