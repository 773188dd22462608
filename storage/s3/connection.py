"""`Connection`: one client of an S3-compatible server, which all threads of a process share.

1. The client is made for the first request. Requests of all threads run side by side, each in the thread that sends it.
2. A connection belongs to the process that started it; another process makes its own.
3. Before the first real request the connection lists the bucket once, because the reply to a list names wrong keys, an
   unknown bucket and refused access by plain codes, which the reply to a HEAD request cannot. The first process of a
   command waits for that reply only as long as `RequestSender.send_first` does; its worker processes wait with the
   usual patience, because the server has answered before.
4. Requests of which hundreds are sent at the same time run in one event loop instead (`send_async`), with a client of
   aioboto3. Both clients share the retry policy and the circuit.
"""

import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from thresher.core.call_times import CallTimes
from thresher.core.printable_address import redact_secrets
from thresher.storage.loop_thread import READ_AHEAD_REQUESTS, LoopThread
from thresher.storage.request_retry import RetryPolicy
from thresher.storage.s3.in_flight import InFlight
from thresher.storage.s3.requests import RequestSender
from thresher.storage.s3.s3_client import MAX_REQUESTS, open_client, open_session
from thresher.storage.s3.s3_errors import user_error

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

    from thresher.storage.s3.async_client import AsyncClient

P = ParamSpec("P")
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
    """See the module. `close` ends the requests that are on their way, and the network connections."""

    def __init__(
        self, location: BucketLocation, retry_policy: RetryPolicy, *, has_answered: bool = False
    ) -> None:
        """Open nothing yet. `has_answered` says whether the server has answered another process of the same command."""
        self.location = location
        self.bucket = location.bucket
        self.in_flight = InFlight(location.uri)
        self.part_slots = threading.Semaphore(MAX_PARTS_IN_MEMORY)
        self.capabilities: dict[str, bool] = {}
        """What this process has found out about the server: which conditions it honours."""
        self._pid = os.getpid()
        self._requests = RequestSender(
            location.uri,
            retry_policy,
            self.in_flight,
            at_once=MAX_REQUESTS,
            async_at_once=READ_AHEAD_REQUESTS,
        )
        self._client: S3Client | None = None
        self.loop = LoopThread(location.uri)
        self._async_client: AsyncClient | None = None
        self._opening = threading.Lock()
        self._is_checked = False
        self._has_answered = has_answered

    def run(
        self, operation: Callable[Concatenate["Connection", P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Return the result of `operation(self, ...)`. Raise the client's errors as errors of one line for the user.

        Raise `ValueError` after `close`, and in a process that did not start the connection.
        """
        if self._pid != os.getpid():
            raise ValueError(f"the connection to {self.location.uri} came over a fork: open a new one")
        with _client_errors_as_thresher_errors(self._requests):
            return operation(self, *arguments, **options)

    def waiting_ms(self) -> int | None:
        """Return for how many milliseconds the server has answered nothing; None if it answers."""
        return self._requests.waiting_ms()

    def call_times(self) -> CallTimes:
        """Return the requests of this process and how long they took."""
        return self._requests.timer.times

    def send(self, attempt: Callable[["S3Client"], T]) -> T:
        """Return the result of `attempt(client)`, which sends one request and reads its reply. Send it again as long as
        that can help.

        Raise `ClientError` if the server refuses the request, `Unavailable` when the time of the retry policy is over.
        """
        self.check()
        client = self._opened()
        return self._requests.send(lambda: attempt(client))

    def check(self) -> None:
        """List the bucket unless that was done."""
        if not self._is_checked:
            client = self._opened()
            first = self._requests.send if self._has_answered else self._requests.send_first
            first(lambda: client.list_objects_v2(Bucket=self.bucket, Prefix=self.location.prefix, MaxKeys=1))
            self._is_checked = True

    async def send_async(self, attempt: Callable[[Any], Awaitable[T]]) -> T:
        """Return and raise what `send` does, in the loop of the connection. Call `check` before, in another thread."""
        if self._async_client is None:
            # Commands that send few requests are spared the import.
            from thresher.storage.s3.async_client import AsyncClient  # noqa: PLC0415

            self._async_client = AsyncClient(self.location.uri, endpoint=self.location.endpoint)
        client = self._async_client
        return await self._requests.send_async(lambda: client.ask(attempt))

    def wait(self, coming: Future[T]) -> T:
        """Return the result of work in the loop. Cancel the work if the wait is interrupted."""
        try:
            with _client_errors_as_thresher_errors(self._requests):
                return coming.result()
        except CancelledError:
            raise self.in_flight.closed_error() from None
        except BaseException:
            coming.cancel()
            raise

    def try_once(self, attempt: Callable[["S3Client"], object], limit_s: float) -> None:
        """Try a request once, for at most `limit_s` seconds, and ignore its failure: it only tidies up."""
        if self._client is None:
            return
        with suppress(ClientError, BotoCoreError, OSError, TimeoutError), self.in_flight.attempt(limit_s):
            attempt(self._client)

    def close(self) -> None:
        """End the requests and the network connections. Do nothing in a process that did not start them."""
        if self._pid == os.getpid():
            self.in_flight.close()
            self.loop.close(self._close_async_client)
            if self._client is not None:
                self._client.close()

    async def _close_async_client(self) -> None:
        if self._async_client is not None:
            await self._async_client.close()

    def _opened(self) -> "S3Client":
        with self._opening:
            if self._client is None:
                client = open_client(self.location.uri, open_session(), endpoint=self.location.endpoint)
                self._requests.subject = f"{self.location.uri} at {redact_secrets(client.meta.endpoint_url)}"
                self._client = client
            return self._client


@contextmanager
def _client_errors_as_thresher_errors(requests: RequestSender) -> Iterator[None]:
    """Raise what the client raises as an error of one line for the user."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise user_error(error, requests.subject) from error
