"""`Client`: asks a source as often as patience allows, and never too much at a time.

1. A request that failed goes out again after a pause drawn by `storage.s3.request_retry` (full jitter), for as long as nothing of it comes:
   whatever came is kept, and the next request asks for the rest. There is no number of attempts, only a time.
2. How many are out at the same time is `window`'s to say.
3. Before anything was answered at all, a 403 and silence are believed sooner: a wrong name or a missing right is likelier than a
   crowd.
4. The event loop runs in a thread of its own; calls may come from any thread.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from aiohttp import ClientError as TransportError
from botocore.exceptions import BotoCoreError

from core import CorruptData, InputError, ThresherError, Unavailable
from storage.commoncrawl.transport.response_kind import ResponseError, RetryDecision, retry_decision
from storage.commoncrawl.transport.source import FileSource, Head
from storage.commoncrawl.transport.window import Window, grow, halve
from storage.s3.loop_thread import LoopThread
from storage.s3.request_retry import RetryPolicy, pause_ms, remaining_ms
from storage.s3.requests import monotonic_ms
from storage.s3.s3_errors import user_error

A = TypeVar("A")
T = TypeVar("T")
RETRY_POLICY = RetryPolicy(total_ms=30 * 60_000, first_ms=500, longest_ms=60_000)
"""Half an hour without one byte; Common Crawl's own advice is to wait, and to ask less."""
DOUBTFUL_RETRY_MS = 60_000
"""How long a 403 or silence is taken for a crowd before anything was answered."""
ATTEMPT_S = 300
"""Of one request; what came by then is kept."""
READ_AHEAD_BYTES = 64 << 20
"""Bytes that are asked for ahead of who reads them."""
READ_AHEAD_REQUESTS = 64
WARN_AFTER_MS = 20_000
"""A shorter wait is nothing to tell anybody of."""
_log = logging.getLogger(__name__)


class RangeRequest(NamedTuple):
    """Bytes of a file that somebody wants; `context` is what they are to them."""

    key: str
    first: int
    length: int
    context: Any = None


class SourceClient:
    """See the module. `close` ends its thread."""

    def __init__(
        self,
        source: FileSource,
        *,
        patience: RetryPolicy = RETRY_POLICY,
        window: Window | None = None,
        now_ms: Callable[[], int] = monotonic_ms,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._source = source
        self._patience = patience
        self.window = window or Window()
        self._now_ms, self._sleep, self._chance = now_ms, sleep, chance
        self._out = 0
        self._changed = asyncio.Condition()
        self._answered = False
        self._told = False
        self._loop = LoopThread("commoncrawl")

    @property
    def uri(self) -> str:
        """The base of all keys."""
        return self._source.uri

    def head(self, key: str) -> Head:
        """Size and entity tag of a file. Raises `InputError` where there is none."""
        into = bytearray()
        return self.result(key, self.submit(self._get(key, range(1), into, "")))

    def read(self, key: str, first: int, length: int, etag: str = "") -> bytes:
        """Bytes of a file, fewer at its end. Raises `InputError` where there is none, `CorruptData` where it is another by now."""
        return self.result(key, self.submit(self.fetch(key, first, length, etag)))

    def tails(self, keys: Iterable[str], length: int) -> Iterator[tuple[str, bytes, Head]]:
        """The last bytes of each file, in the order of the keys, some asked for ahead."""
        for key, came in self._in_order((key, length, self._tail(key, length)) for key in keys):
            yield key, *self.result(key, came)

    def read_all(self, key: str) -> bytes:
        """All bytes of a small file."""
        told = self.head(key)
        return b"".join(self.read_ahead(pieces(key, told), etag=told.etag))

    def read_ahead(self, asks: Iterable[RangeRequest], etag: str = "") -> Iterator[bytes]:
        """What is asked for, in order, asked ahead as far as `READ_AHEAD_BYTES` goes. Raises as `read` does."""
        for ask, came in self.fetch_ahead(asks, etag):
            yield self.result(ask.key, came)

    def fetch_ahead(
        self, asks: Iterable[RangeRequest], etag: str = ""
    ) -> Iterator[tuple[RangeRequest, Future[bytes]]]:
        """The same, for who wants to see to failures: the future raises `Answered` where there are no such bytes."""
        return self._in_order(
            (ask, ask.length, self.fetch(ask.key, ask.first, ask.length, etag)) for ask in asks
        )

    async def fetch(self, key: str, first: int, length: int, etag: str = "") -> bytes:
        """Bytes of a file, fewer at its end. Raises `Answered` where there are none."""
        into = bytearray()
        if length:
            await self._get(key, range(first, first + length), into, etag)
        return bytes(into)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin the work and return at once."""
        return self._loop.submit(work)

    def close(self) -> None:
        """End the thread and the connections; what is on its way ends with it."""
        self._loop.close(self._source.close)

    def _in_order(
        self, works: Iterable[tuple[A, int, Coroutine[Any, Any, T]]]
    ) -> Iterator[tuple[A, Future[T]]]:
        """Each work's subject and outcome, in order; begun ahead as far as `READ_AHEAD_BYTES` goes, by the bytes of each."""
        waiting: deque[tuple[A, int, Future[T]]] = deque()
        held = 0
        try:
            for subject, size, work in works:
                waiting.append((subject, size, self.submit(work)))
                held += size
                while waiting and (held > READ_AHEAD_BYTES or len(waiting) > READ_AHEAD_REQUESTS):
                    done, freed, came = waiting.popleft()
                    held -= freed
                    yield done, came
            while waiting:
                done, _, came = waiting.popleft()
                yield done, came
        finally:
            for _, _, came in waiting:
                came.cancel()

    def result(self, key: str, came: Future[T]) -> T:
        """The result, or one line of what is in the way."""
        try:
            return came.result()
        except ResponseError as error:
            raise self._line(key, error) from error
        except (BotoCoreError, TransportError) as error:
            raise user_error(error, self.uri) from error
        except BaseException:
            came.cancel()
            raise

    def _line(self, key: str, error: ResponseError) -> ThresherError:
        """What a definite answer comes to for the user."""
        where = f"{self.uri}{key}"
        if error.status == 412:
            return CorruptData(f"{where} was replaced while it was read; run the command again")
        if error.is_missing:
            return InputError(
                f"{where}: there is no such file; correct the name of the crawl, or ingest.commoncrawl"
            )
        if 200 <= error.status < 300:
            return InputError(f"{where}: the server sends no ranges of files; correct ingest.commoncrawl")
        return InputError(f"{where}: refused ({error}); correct ingest.commoncrawl or the credentials")

    async def _tail(self, key: str, length: int) -> tuple[bytes, Head]:
        async def attempt() -> tuple[bytes, Head]:
            into = bytearray()
            told = await self._source.tail(key, length, into)
            return bytes(into), told

        return await self._send(key, attempt, lambda: 0)

    async def _get(self, key: str, span: range, into: bytearray, etag: str) -> Head:
        """One span, in as many requests as it takes."""

        async def attempt() -> Head:
            if len(into) == len(span):  # it was lost behind its last byte
                into.clear()
            return await self._source.get(key, span[len(into) :], into, etag)

        return await self._send(key, attempt, lambda: len(into))

    async def _send(self, key: str, attempt: Callable[[], Awaitable[T]], came: Callable[[], int]) -> T:
        since: int | None = None
        failures, had = 0, 0
        while True:
            sent = await self._acquire_slot()
            try:
                async with asyncio.timeout(ATTEMPT_S):
                    result = await attempt()
            except Exception as error:
                found = retry_decision(error)
                if found is None:
                    raise
            else:
                self._answered, self._told = True, False
                self.window = grow(self.window)
                return result
            finally:
                await self._release_slot()
            now = self._now_ms()
            if found.is_slow_down:
                self._answered = self._answered or not found.is_doubtful
                # Who waits for others has no end of its own.
                rest = min(found.wait_ms, self._patience.total_ms)
                self.window = halve(self.window, sent_ms=sent, now_ms=now, rest_ms=rest)
            if came() > had:
                failures, since, had = 0, None, came()
            failures += 1
            since = now if since is None else since
            await self._pause(key, found, failures, since)

    async def _pause(self, key: str, found: RetryDecision, failures: int, since: int) -> None:
        patience = self._patience
        if found.is_doubtful and not self._answered:
            patience = RetryPolicy(
                total_ms=min(DOUBTFUL_RETRY_MS, patience.total_ms),
                first_ms=patience.first_ms,
                longest_ms=patience.longest_ms,
            )
        pause = pause_ms(patience, failures, self._chance(), found.wait_ms)
        await self._sleep(min(pause, remaining_ms(patience, since, self._now_ms())) / 1000)
        waited = self._now_ms() - since
        if waited >= WARN_AFTER_MS and not self._told:
            self._told = True
            _log.warning(
                "%s gives nothing for now (%s); asking again for up to %d s",
                self.uri,
                found.reason,
                patience.total_ms // 1000,
            )
        if remaining_ms(patience, since, self._now_ms()) == 0:
            why = "; the name may be wrong, or it needs credentials" if found.is_doubtful else ""
            raise Unavailable(
                f"{self.uri}{key}: nothing for {patience.total_ms // 1000} s ({found.reason}){why}; "
                "run the same command again later, it goes on where it was"
            )

    async def _acquire_slot(self) -> int:
        """Wait for a place; returns when the request goes out."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self.window.admits(self._out))
                now = self._now_ms()
                rest = self.window.rest_until_ms - now
                if rest <= 0:
                    self._out += 1
                    return now
            await self._sleep(rest / 1000)

    async def _release_slot(self) -> None:
        async with self._changed:
            self._out -= 1
            self._changed.notify_all()


BLOCK = 8 << 20
"""Bytes of one request for a piece of a large file."""


def pieces(key: str, told: Head, block: int = BLOCK) -> Iterator[RangeRequest]:
    """The requests for all of a file, in order."""
    for first in range(0, told.size, block):
        yield RangeRequest(key, first, min(block, told.size - first))
