"""`redis_client`: redis-py's client of one server, without repetitions and timeouts of its own; `reply_timeout` adds
the timeout.

1. The client repeats nothing: links have a deadline of their own (`frontier.link.call_retry`).
2. A task that waits for a server can be cancelled at any moment. redis-py with a socket timeout writes under
   asyncio.wait_for, which before Python 3.12 loses a cancellation that comes just when the write is over
   (python/cpython#86296): the call goes on, and so does the loop around it that should have ended. So the client has no
   socket timeout.
3. Only time in which the client looks for a reply counts as silence. If this process is stopped, or gets no CPU, the
   server may have answered long ago; the reply is read before the next stretch of time counts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

from redis.asyncio import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Lost
from redis.retry import Retry

REPLY_TIMEOUT_S = 5.0
"""Seconds that a server has to answer, or to take a write: redis-py's own default. Functions take milliseconds."""
_STRETCHES = 10
"""Parts of `REPLY_TIMEOUT_S`, between which the client looks for a reply. However long this process is stopped, that
counts as one of them.
"""
PARSER_ERRORS = (TypeError, ValueError, LookupError, AttributeError, RecursionError, MemoryError, SystemError)
"""Errors that parsers of replies raise, redis-py's and ours. `MemoryError` comes from a reply that claims a thousand
million items, `SystemError` from an ASK or MOVED that names no server: redis-py raises within hiredis.
"""
HOST, PORT = "localhost", 6379
"""Host and port if an address names none."""
TimeoutReset: TypeAlias = Callable[[], None]


def redis_client(options: Mapping[str, Any]) -> Redis:
    """Return a client that leaves replies as bytes; `options` are those that `redis.asyncio.connection.parse_url` makes
    of an address.
    """
    plain = {"retry": Retry(NoBackoff(), 0), "socket_timeout": None}
    return Redis.from_pool(ConnectionPool(**{**options, **plain}))


@contextmanager
def reject_non_replies() -> Iterator[None]:
    """Raise `Lost` if the body receives what is no reply: another program listens there, or bytes were lost."""
    try:
        yield
    except PARSER_ERRORS as error:
        raise Lost(f"it answers what is no reply ({type(error).__name__}: {error})") from error


@asynccontextmanager
async def reply_timeout() -> AsyncIterator[TimeoutReset]:
    """Raise `Lost` if the body takes longer than `REPLY_TIMEOUT_S` in which replies are looked for, or as
    `reject_non_replies` does; calling the `TimeoutReset` begins that time anew.
    """
    try:
        with reject_non_replies():
            async with asyncio.timeout(None) as limit:
                silence = _Silence(limit)
                try:
                    yield silence.reset
                finally:
                    silence.close()
    except TimeoutError as error:
        raise Lost(f"it has said nothing for {REPLY_TIMEOUT_S:g} s") from error


class _Silence:
    """Lets a timeout expire after `_STRETCHES` stretches of time without a reset."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._left = _STRETCHES
        self._timer = self._next()

    def reset(self) -> None:
        """Begin anew. The stretch in progress does not count, because it began before."""
        self._left = _STRETCHES + 1

    def close(self) -> None:
        """Stop counting."""
        self._timer.cancel()

    def _next(self) -> asyncio.TimerHandle:
        return self._loop.call_later(REPLY_TIMEOUT_S / _STRETCHES, self._end_stretch)

    def _end_stretch(self) -> None:
        self._left -= 1
        if self._left:
            self._timer = self._next()
        else:
            self._limit.reschedule(self._loop.time())
