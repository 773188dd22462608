"""`S3Source`: the files of Common Crawl in S3, or in a server with the same interface.

Keys, region and endpoint come from the AWS_* variables and profiles. If there are no keys, requests are unsigned:
Common Crawl's own bucket refuses unsigned requests, a mirror may accept them.
"""

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from thresher.storage.commoncrawl.transport.response_kind import DamagedReply, ResponseError
from thresher.storage.commoncrawl.transport.source import Head, head_from_response
from thresher.storage.request_retry import retry_after_ms
from thresher.storage.s3.in_flight import InFlight
from thresher.storage.s3.s3_client import open_client, open_session
from thresher.storage.s3.s3_errors import code, headers, status

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

PIECE = 64 << 10
"""Bytes that are handed over at a time. A connection that breaks loses less than this."""


class S3Source:
    """A `FileSource` in S3. Each request runs as a job in a thread of its own, because boto3 is synchronous."""

    def __init__(self, bucket: str, prefix: str, user_agent: str) -> None:
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._user_agent = user_agent
        self._in_flight = InFlight(self.uri)
        self._opening = threading.Lock()
        self._client: S3Client | None = None

    @property
    def uri(self) -> str:
        """The address of the bucket and the prefix."""
        return f"s3://{self._bucket}/{self._prefix}"

    async def get(self, key: str, span: range, into: bytearray, etag: str = "") -> Head:
        """Append the bytes `span` of the file to `into`, as `FileSource.get` specifies."""
        return await self._ask(key, f"bytes={span.start}-{span.stop - 1}", into, etag, span)

    async def tail(self, key: str, length: int, into: bytearray) -> Head:
        """Append the last `length` bytes of the file to `into`."""
        return await self._ask(key, f"bytes=-{length}", into, "", None)

    async def close(self) -> None:
        """Close the connections."""
        self._in_flight.close()
        if self._client is not None:
            self._client.close()

    async def _ask(self, key: str, span: str, into: bytearray, etag: str, asked: range | None) -> Head:
        loop = asyncio.get_running_loop()
        is_wanted = True

        def append(piece: bytes) -> None:
            if is_wanted:
                into.extend(piece)

        # Pieces are appended in the loop, so that none comes after a cancelled call, whose caller asks for the rest.
        job = self._in_flight.start(
            lambda: self._fetch(key, span, etag, asked, lambda piece: _call_in(loop, append, piece))
        )
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            is_wanted = False
            job.cancel()

    def _fetch(
        self, key: str, span: str, etag: str, asked: range | None, take: Callable[[bytes], None]
    ) -> Head:
        """Send one request and pass its bytes to `take`."""
        client = self._opened()
        name = f"{self._prefix}{key}"
        with self._in_flight.attempt(math.inf):  # `SourceClient` bounds the time, and cancels
            try:
                if etag:
                    reply = client.get_object(Bucket=self._bucket, Key=name, Range=span, IfMatch=etag)
                else:
                    reply = client.get_object(Bucket=self._bucket, Key=name, Range=span)
            except ClientError as error:
                raise ResponseError(status(error), code(error), retry_after_ms(headers(error))) from error
            with closing(reply["Body"]) as body:
                head = head_from_response(
                    reply["ResponseMetadata"]["HTTPStatusCode"],
                    reply.get("ContentRange", ""),
                    reply["ETag"],
                    asked,
                )
                received = 0
                while piece := body.read(PIECE):
                    received += len(piece)
                    take(piece)
                if received != reply["ContentLength"]:
                    raise DamagedReply(f"{received} bytes instead of {reply['ContentLength']}")
                return head

    def _opened(self) -> "S3Client":
        with self._opening:
            if self._client is None:
                session = open_session()
                extra = Config(user_agent_extra=self._user_agent)
                if session.get_credentials() is None:
                    extra = extra.merge(Config(signature_version=UNSIGNED))
                self._client = open_client(self.uri, session, extra=extra)
            return self._client


def _call_in(loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None], piece: bytes) -> None:
    loop.call_soon_threadsafe(take, piece)
