"""`Connection`: one client of an S3-compatible server, in an event loop that runs in a thread of its own.

1. Thread and client start with the first request. Requests of all threads run side by side.
2. A connection belongs to the process that started it; another process makes its own.
3. Before the first real request the connection lists the bucket once, because the reply to a list names wrong keys, an
   unknown bucket and refused access by plain codes, which the reply to a HEAD request cannot. The first process of a
   command waits for that reply only as long as `RequestSender.send_first` does; its worker processes wait with the
   usual patience, because the server has answered before.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import aioboto3
from botocore.exceptions import BotoCoreError, ClientError
from botocore.handlers import add_expect_header

from core.printable_address import redact_secrets
from storage.s3.loop_thread import LoopThread
from storage.s3.request_retry import RetryPolicy
from storage.s3.requests import RequestSender
from storage.s3.s3_client import MAX_REQUESTS, open_client
from storage.s3.s3_errors import user_error

T = TypeVar("T")

MAX_PARTS_IN_MEMORY = 4
"""Parts of uploads and blocks of whole reads in memory at the same time, over all threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLocation:
    """Name a place in a bucket: an object's key is `prefix` and its name."""

    bucket: str
    prefix: str = ""
    """Empty, or ends with a slash."""
    endpoint: str | None = None
    """None: the AWS_* variables and the profile say which."""

    @property
    def uri(self) -> str:
        """The address as it is configured."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


class Connection:
    """See the module. `close` ends the thread and cancels the requests that are on their way."""

    def __init__(
        self, location: BucketLocation, retry_policy: RetryPolicy, *, has_answered: bool = False
    ) -> None:
        """Open nothing yet. `has_answered` says whether the server has answered another process of the same command."""
        self.location = location
        self._loop = LoopThread(f"storage {location.uri}")
        self._pid = os.getpid()
        self._requests = RequestSender(location.uri, retry_policy, at_once=MAX_REQUESTS)
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening = asyncio.Lock()
        self._is_checked = False
        self._has_answered = has_answered
        self.part_slots = asyncio.Semaphore(MAX_PARTS_IN_MEMORY)
        self.capabilities: dict[str, bool] = {}
        """What this process has found out about the server: which conditions it honours."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`; cancel the work if the wait is interrupted. Call it from any thread but the
        loop's own.
        """
        return self.result(self.submit(work))

    def result(self, future: Future[T]) -> T:
        """Return the result of submitted work. Raise the client's errors as errors of one line for the user."""
        try:
            with client_errors_as_thresher_errors(self._requests):
                return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` and return at once. Raise `ValueError` after `close`, and in a process that did not start the
        connection.
        """
        if self._pid != os.getpid():
            work.close()
            raise ValueError(f"the connection to {self.location.uri} came over a fork: open a new one")
        return self._loop.submit(work)

    def waiting_ms(self) -> int | None:
        """Return for how many milliseconds the server has answered nothing; None if it answers."""
        return self._requests.waiting_ms()

    async def send(self, attempt: Callable[[Any], Awaitable[T]]) -> T:
        """Return the result of `attempt(client)`, which sends one request and reads its reply. Send it again as long as
        that can help.

        Raise `ClientError` if the server refuses the request, `Unavailable` when the time of the retry policy is over.
        """
        client = await self._opened()
        if not self._is_checked:
            first = self._requests.send if self._has_answered else self._requests.send_first
            await first(
                lambda: client.list_objects_v2(
                    Bucket=self.location.bucket, Prefix=self.location.prefix, MaxKeys=1
                )
            )
            self._is_checked = True
        return await self._requests.send(lambda: attempt(client))

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Return the reply to one operation on the bucket. `operation` is a method of the client, such as
        `put_object`.
        """
        result: dict[str, Any] = await self.send(
            lambda client: getattr(client, operation)(Bucket=self.location.bucket, **arguments)
        )
        return result

    async def call_once(self, operation: str, limit_s: float, **arguments: Any) -> None:
        """Try an operation once, for at most `limit_s` seconds, and ignore its failure: it only tidies up."""
        if self._client is None:
            return
        with suppress(ClientError, BotoCoreError, OSError, TimeoutError):
            async with asyncio.timeout(limit_s):
                await getattr(self._client, operation)(Bucket=self.location.bucket, **arguments)

    def close(self) -> None:
        """End the thread and its network connections. Do nothing in a process that did not start them."""
        if self._pid == os.getpid():
            self._loop.close(self._stack.aclose)

    async def _opened(self) -> Any:
        async with self._opening:
            if self._client is None:
                self._client = await open_client(
                    self._stack, self.location.uri, aioboto3.Session(), endpoint=self.location.endpoint
                )
                # `Expect: 100-continue` costs every put a round trip, and a gateway that does not know it would
                # let us wait.
                self._client.meta.events.unregister("before-call.s3", add_expect_header)
                address = redact_secrets(self._client.meta.endpoint_url)
                self._requests.subject = f"{self.location.uri} at {address}"
        return self._client


async def gather_all(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results, in order. The first error cancels the other works and is raised unchanged."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


@contextmanager
def client_errors_as_thresher_errors(requests: RequestSender) -> Iterator[None]:
    """Raise what the client raises as an error of one line for the user."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise user_error(error, requests.subject) from error
