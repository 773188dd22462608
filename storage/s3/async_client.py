"""`AsyncClient`: the S3 client for many requests at the same time, in one event loop.

aioboto3 needs no thread for a request, so hundreds may wait for a distant server. A cancelled request closes its
socket. Keys, region, endpoint and settings are those of the boto3 client (`s3_client`). aiohttp refuses a reply whose
head was cut off. The import of this module takes 0.2 s of CPU beside boto3, so import it where it is used.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import aioboto3
import aiobotocore.session
from aiobotocore.config import AioConfig
from aiohttp import ClientError as TransportError
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import HTTPClientError

from thresher.core import InputError
from thresher.core.printable_address import redact_secrets
from thresher.storage.s3.s3_client import (
    client_config,
    configured_endpoint,
    correct_requests,
    share_data_files,
)

T = TypeVar("T")

MAX_ASYNC_REQUESTS = 64
"""Connections that one client keeps: at 50 ms a reply that is 1,280 replies a second."""


class AsyncClient:
    """A client that is opened for its first request, in the loop of that request."""

    def __init__(
        self, uri: str, *, endpoint: str | None = None, extra: Config | None = None, needs_keys: bool = True
    ) -> None:
        """Open nothing yet. The arguments are those of `s3_client.open_client`. Without `needs_keys`, requests are
        unsigned if there are no keys.
        """
        self._uri, self._endpoint, self._extra, self._needs_keys = uri, endpoint, extra, needs_keys
        self._opening = asyncio.Lock()
        self._resources = AsyncExitStack()
        self._client: Any = None

    async def ask(self, attempt: Callable[[Any], Awaitable[T]]) -> T:
        """Return the result of `attempt(client)`. A connection that is lost is botocore's `HTTPClientError`.

        Raise `InputError`, which names the address, if the configured endpoint is no URL.
        """
        async with self._opening:
            if self._client is None:
                self._client = await self._open()
        try:
            return await attempt(self._client)
        except TransportError as error:  # aiobotocore lets some of aiohttp's pass
            raise HTTPClientError(error=error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._resources.aclose()

    async def _open(self) -> Any:
        core = aiobotocore.session.get_session()
        share_data_files(core)
        session = aioboto3.Session(botocore_session=core)
        endpoint = self._endpoint or configured_endpoint(session)
        config = AioConfig().merge(client_config(session, endpoint))
        config = config.merge(Config(max_pool_connections=MAX_ASYNC_REQUESTS))
        if self._extra is not None:
            config = config.merge(self._extra)
        if not self._needs_keys and await core.get_credentials() is None:
            config = config.merge(Config(signature_version=UNSIGNED))
        try:
            client = await self._resources.enter_async_context(
                session.client("s3", endpoint_url=endpoint, config=config)
            )
        except ValueError as error:  # botocore raises it for an endpoint that is no URL
            raise InputError(
                f"{self._uri}: {redact_secrets(str(error))}; correct AWS_ENDPOINT_URL_S3"
            ) from error
        correct_requests(client)
        return client
