"""`SourceClient`: sends requests to a source, retries them, and limits how many are in flight.

1. A failed request is sent again after a random pause (`storage.request_retry`, full jitter). Received bytes are
   kept, and the next request asks for the rest. The number of attempts is not limited; the time without a new byte is.
2. `window` decides how many requests may be in flight.
3. Until the server has sent a first response, a 403 or no response at all is retried for a shorter time, because a
   wrong name or a missing permission is more likely than an overloaded server.
4. The event loop runs in a thread of its own. Any thread may call the client.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from aiohttp import ClientError as TransportError
from botocore.exceptions import BotoCoreError

from thresher.core import CorruptData, InputError, ThresherError, Unavailable
from thresher.storage.commoncrawl.transport.response_kind import ResponseError, RetryDecision, retry_decision
from thresher.storage.commoncrawl.transport.source import FileSource, Head
from thresher.storage.commoncrawl.transport.window import Window, grow, halve
from thresher.storage.loop_thread import LoopThread
from thresher.storage.request_retry import RetryPolicy, monotonic_ms, pause_ms, remaining_ms
from thresher.storage.s3.s3_errors import user_error

T = TypeVar("T")
RETRY_POLICY = RetryPolicy(total_ms=30 * 60_000, first_ms=500, longest_ms=60_000)
"""Retries end after half an hour without one byte. Common Crawl's own advice is to wait and to send fewer requests."""
DOUBTFUL_RETRY_MS = 60_000
"""Milliseconds for which a 403 or no response is retried before the server has sent its first response."""
ATTEMPT_S = 300
"""Seconds of one request at most; bytes received by then are kept."""
BLOCK = 8 << 20
"""Bytes of one request for a piece of a large file."""
WARN_AFTER_MS = 20_000
"""Milliseconds without progress after which a warning is logged."""
_log = logging.getLogger(__name__)


class RangeRequest(NamedTuple):
    """A range of a file to read; `context` is the caller's own value and is returned with the result."""

    key: str
    first: int
    length: int
    context: Any = None


class SourceClient:
    """Read files of one source from any thread, with the rules of this module. `close` ends its thread."""

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
        self.window = window or source.window
        self._now_ms, self._sleep, self._chance = now_ms, sleep, chance
        self._in_flight = 0
        self._changed = asyncio.Condition()
        self._has_answered = False
        self._warned = False
        self._loop = LoopThread("commoncrawl")

    @property
    def uri(self) -> str:
        """The base address of all keys."""
        return self._source.uri

    def head(self, key: str) -> Head:
        """Return the size and the entity tag of a file. Raise `InputError` if it does not exist."""
        into = bytearray()
        return self.result(key, self.submit(self._get(key, range(1), into, "")))

    def read(self, key: str, first: int, length: int, etag: str = "") -> bytes:
        """Return `length` bytes of a file from `first` on, fewer at its end.

        Raise `InputError` if the file does not exist, `CorruptData` if it no longer has the entity tag `etag`.
        """
        return self.result(key, self.submit(self.fetch(key, first, length, etag)))

    def tails(self, keys: Iterable[str], length: int) -> Iterator[tuple[str, bytes, Head]]:
        """Yield each file's key, last `length` bytes and head, in the order of the keys; later files are read ahead."""
        for key, response in self._loop.read_ahead((key, length, self._tail(key, length)) for key in keys):
            yield key, *self.result(key, response)

    def read_all(self, key: str) -> bytes:
        """Return all bytes of a small file. Raise as `read` does."""
        head = self.head(key)
        return b"".join(self.read_ahead(pieces(key, head), etag=head.etag))

    def read_ahead(self, requests: Iterable[RangeRequest], etag: str = "") -> Iterator[bytes]:
        """Yield the bytes of each request, in order; read ahead as `LoopThread` does. Raise as `read` does."""
        for request, response in self.fetch_ahead(requests, etag):
            yield self.result(request.key, response)

    def fetch_ahead(
        self, requests: Iterable[RangeRequest], etag: str = ""
    ) -> Iterator[tuple[RangeRequest, Future[bytes]]]:
        """Yield each request and the future of its bytes, in order, for callers that handle failures themselves.

        The future raises `ResponseError` if the bytes do not exist.
        """
        return self._loop.read_ahead(
            (request, request.length, self.fetch(request.key, request.first, request.length, etag))
            for request in requests
        )

    async def fetch(self, key: str, first: int, length: int, etag: str = "") -> bytes:
        """Return `length` bytes of a file from `first` on, fewer at its end.

        Raise `ResponseError` if they do not exist.
        """
        into = bytearray()
        if length:
            await self._get(key, range(first, first + length), into, etag)
        return bytes(into)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` in the client's thread and return its future at once."""
        return self._loop.submit(work)

    def close(self) -> None:
        """Cancel the requests in flight, close the connections and end the thread."""
        self._loop.close(self._source.close)

    def result(self, key: str, response: Future[T]) -> T:
        """Wait for the response and return it. Raise a `ThresherError` of one line if the request failed for good."""
        try:
            return response.result()
        except ResponseError as error:
            raise self._user_error(key, error) from error
        except (BotoCoreError, TransportError) as error:
            raise user_error(error, self.uri) from error
        except BaseException:
            response.cancel()
            raise

    def _user_error(self, key: str, error: ResponseError) -> ThresherError:
        """Return the user's error for a response that no retry changes."""
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
            head = await self._source.tail(key, length, into)
            return bytes(into), head

        return await self._send(key, attempt, lambda: 0)

    async def _get(self, key: str, span: range, into: bytearray, etag: str) -> Head:
        """Fetch one span in as many requests as it takes."""

        async def attempt() -> Head:
            # The connection was lost after the last byte: fetch the span again for its head.
            if len(into) == len(span):
                into.clear()
            return await self._source.get(key, span[len(into) :], into, etag)

        return await self._send(key, attempt, lambda: len(into))

    async def _send(self, key: str, attempt: Callable[[], Awaitable[T]], received: Callable[[], int]) -> T:
        since: int | None = None
        failures, before = 0, 0
        while True:
            sent = await self._acquire_slot()
            try:
                async with asyncio.timeout(ATTEMPT_S):
                    result = await attempt()
            except Exception as error:
                decision = retry_decision(error)
                if decision is None:
                    raise
            else:
                self._has_answered, self._warned = True, False
                self.window = grow(self.window)
                return result
            finally:
                await self._release_slot()
            now = self._now_ms()
            if decision.is_slow_down:
                self._has_answered = self._has_answered or not decision.is_doubtful
                # Requests that wait for the window have no time limit of their own, so the pause is limited here.
                rest = min(decision.wait_ms, self._patience.total_ms)
                self.window = halve(self.window, sent_ms=sent, now_ms=now, rest_ms=rest)
            if received() > before:
                failures, since, before = 0, None, received()
            failures += 1
            since = now if since is None else since
            await self._pause(key, decision, failures, since)

    async def _pause(self, key: str, decision: RetryDecision, failures: int, since: int) -> None:
        patience = self._patience
        if decision.is_doubtful and not self._has_answered:
            patience = RetryPolicy(
                total_ms=min(DOUBTFUL_RETRY_MS, patience.total_ms),
                first_ms=patience.first_ms,
                longest_ms=patience.longest_ms,
            )
        pause = pause_ms(patience, failures, self._chance(), decision.wait_ms)
        await self._sleep(min(pause, remaining_ms(patience, since, self._now_ms())) / 1000)
        waited = self._now_ms() - since
        if waited >= WARN_AFTER_MS and not self._warned:
            self._warned = True
            _log.warning(
                "%s gives nothing for now (%s); asking again for up to %d s",
                self.uri,
                decision.reason,
                patience.total_ms // 1000,
            )
        if remaining_ms(patience, since, self._now_ms()) == 0:
            why = "; the name may be wrong, or it needs credentials" if decision.is_doubtful else ""
            raise Unavailable(
                f"{self.uri}{key}: nothing for {patience.total_ms // 1000} s ({decision.reason}){why}; "
                "run the same command again later, it continues where it stopped"
            )

    async def _acquire_slot(self) -> int:
        """Wait until the window admits one more request; return the time in milliseconds at which it is sent."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self.window.admits(self._in_flight))
                now = self._now_ms()
                rest = self.window.rest_until_ms - now
                if rest <= 0:
                    self._in_flight += 1
                    return now
            await self._sleep(rest / 1000)

    async def _release_slot(self) -> None:
        async with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()


def pieces(key: str, head: Head, block: int = BLOCK) -> Iterator[RangeRequest]:
    """Yield the requests for a whole file, in order."""
    for first in range(0, head.size, block):
        yield RangeRequest(key, first, min(block, head.size - first))
