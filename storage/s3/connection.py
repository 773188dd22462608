"""`Connection`: one client of an S3-compatible server, in an event loop that runs in a thread of its own.

1. Thread and client come with the first request. Calls from any thread are carried out side by side.
2. A connection belongs to the process that began it; another process makes its own.
3. Before the first request proper the bucket is listed once: wrong keys, an unknown bucket and refused access
   are told by that in plain codes, which a HEAD request cannot. A command waits for that reply only as long as `Requests.reach`
   does; its worker processes, whose server has answered before, wait with the usual patience.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import aioboto3
from botocore.config import Config
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.exceptions import BotoCoreError, ClientError
from botocore.handlers import add_expect_header

from core import InputError
from core.printable_address import redact_secrets
from storage.s3.request_retry import RetryPolicy
from storage.s3.requests import RequestSender
from storage.s3.s3_errors import user_error

T = TypeVar("T")

MAX_REQUESTS = 16
"""Requests on the wire at the same time."""
MAX_PARTS_IN_MEMORY = 4
"""Parts of uploads and blocks of whole reads in memory at the same time, over all threads."""
CONNECT_S = 10
READ_S = 60
"""Seconds without a byte. A contended conditional put takes SeaweedFS up to 8 s (measured)."""
CLOSE_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLocation:
    """What a `Bucket` stands for: objects are named `prefix` + name in it."""

    bucket: str
    prefix: str = ""
    """Empty, or ends with a slash."""
    endpoint: str | None = None
    """None: as the AWS_* variables and the profile say."""

    @property
    def uri(self) -> str:
        """The address as it is configured."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


class Connection:
    """See the module. `close` ends the thread; requests that are on their way end with it."""

    def __init__(self, place: BucketLocation, patience: RetryPolicy, *, answered: bool = False) -> None:
        """`answered` says whether the server has answered another process of the same command."""
        self.location = place
        self._patience = patience
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()
        self._closed = False
        self._requests = RequestSender(place.uri, patience, at_once=MAX_REQUESTS)
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening = asyncio.Lock()
        self._greeted = False
        self._answered = answered
        self.part_slots = asyncio.Semaphore(MAX_PARTS_IN_MEMORY)
        self.capabilities: dict[str, bool] = {}
        """What was found out of the server, once a process."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, from any thread but the loop's own; called off if the wait is interrupted."""
        return self.result(self.submit(work))

    def result(self, future: Future[T]) -> T:
        """The result of what was begun; errors are one line each."""
        try:
            with client_errors_as_thresher_errors(self._requests):
                return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin `work` and return at once. Raises `ValueError` after `close`, and in another process."""
        if self._closed or self._pid != os.getpid():
            work.close()
            raise ValueError(
                f"the connection to {self.location.uri} was closed, or came over a fork: open anew"
            )
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def waiting_ms(self) -> int | None:
        """For how long the server has answered nothing; None while all is well."""
        return self._requests.waiting_ms()

    async def send(self, attempt: Callable[[Any], Awaitable[T]]) -> T:
        """The result of `attempt(client)`, which is one request with the reading of its reply, sent again while
        that can help. Raises `ClientError` for a definite refusal, `Unavailable` at the end of the patience.
        """
        client = await self._opened()
        if not self._greeted:
            first = self._requests.send if self._answered else self._requests.send_first
            await first(
                lambda: client.list_objects_v2(
                    Bucket=self.location.bucket, Prefix=self.location.prefix, MaxKeys=1
                )
            )
            self._greeted = True
        return await self._requests.send(lambda: attempt(client))

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """The reply to one operation on the bucket, named as the client names it."""
        result: dict[str, Any] = await self.send(
            lambda client: getattr(client, operation)(Bucket=self.location.bucket, **arguments)
        )
        return result

    async def call_once(self, operation: str, limit_s: float, **arguments: Any) -> None:
        """Tidy up: one attempt, whose failure matters to nobody."""
        if self._client is None:
            return
        with suppress(ClientError, BotoCoreError, OSError, TimeoutError):
            async with asyncio.timeout(limit_s):
                await getattr(self._client, operation)(Bucket=self.location.bucket, **arguments)

    def close(self) -> None:
        """End the thread and its connections; a process that did not begin them leaves them alone."""
        if self._pid != os.getpid():
            return
        with self._lock:
            loop, self._loop, self._closed = self._loop, None, True
        if loop is not None:
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._end(), loop).result(CLOSE_S)
            loop.call_soon_threadsafe(loop.stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_serve, args=(self._loop,), name=f"storage {self.location.uri}", daemon=True
                ).start()
            return self._loop

    async def _opened(self) -> Any:
        async with self._opening:
            if self._client is None:
                session = aioboto3.Session()
                endpoint = self.location.endpoint or configured_endpoint(session)
                try:
                    self._client = await self._stack.enter_async_context(
                        session.client("s3", endpoint_url=endpoint, config=client_config(session, endpoint))
                    )
                except ValueError as error:  # what botocore says of an endpoint that is no URL
                    raise InputError(
                        f"{self.location.uri}: {redact_secrets(str(error))}; correct AWS_ENDPOINT_URL_S3"
                    ) from error
                # Asking leave to send (Expect: 100-continue) costs every put a round trip, and a gateway that does
                # not know it would leave us waiting.
                self._client.meta.events.unregister("before-call.s3", add_expect_header)
                at = redact_secrets(self._client.meta.endpoint_url)
                self._requests.subject = f"{self.location.uri} at {at}"
        return self._client

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._stack.aclose()


async def gather_all(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results, in order; the first error ends the other works and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


@contextmanager
def client_errors_as_thresher_errors(requests: RequestSender) -> Iterator[None]:
    """Turns what the client raises into one line for the user."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise user_error(error, requests.subject) from error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def configured_endpoint(session: Any) -> str | None:
    """AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or the profile's, in botocore's own order; None: AWS."""
    core = session._session  # noqa: SLF001  aioboto3 shows it in no other way
    if core.get_config_variable("ignore_configured_endpoint_urls"):
        return None
    endpoint: str | None = ConfiguredEndpointProvider(
        full_config=core.full_config, scoped_config=core.get_scoped_config(), client_name="s3"
    ).provide()
    return endpoint


def client_config(session: Any, endpoint: str | None) -> Config:
    """Path-style addresses where an endpoint is given, for few servers have a DNS name for each bucket;
    botocore's choice (the bucket in the host name, where it can be) on AWS. A profile's own choice stands.
    """
    chosen = session._session.get_scoped_config().get("s3", {})  # noqa: SLF001
    style = chosen.get("addressing_style") if isinstance(chosen, dict) else None
    return Config(
        retries={"total_max_attempts": 1, "mode": "standard"},  # `RequestSender` alone sends again
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        max_pool_connections=MAX_REQUESTS,
        s3={"addressing_style": style or ("path" if endpoint else "auto")},
        # We send and check SHA-256 ourselves; older servers do not know the trailers of the default.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        user_agent_appid="thresher",
    )
