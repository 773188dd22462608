"""`S3Source`: the files of Common Crawl in S3, or in a server with the same interface.

Keys, region and endpoint come from the AWS_* variables and profiles. If there are no keys, requests are unsigned:
Common Crawl's own bucket refuses unsigned requests, a mirror may accept them.
"""

from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError

from thresher.storage.commoncrawl.transport.response_kind import DamagedReply, ResponseError
from thresher.storage.commoncrawl.transport.source import Head, head_from_response
from thresher.storage.commoncrawl.transport.window import Window
from thresher.storage.request_retry import retry_after_ms
from thresher.storage.s3.async_client import MAX_ASYNC_REQUESTS, AsyncClient
from thresher.storage.s3.s3_errors import code, headers, status

PIECE = 64 << 10
"""Bytes that are handed over at a time. A connection that breaks loses what lies in aiohttp's buffer: twice as many."""


class S3Source:
    """A `FileSource` in S3. It belongs to the event loop of its first request."""

    window = Window(width=MAX_ASYNC_REQUESTS / 2, max_width=MAX_ASYNC_REQUESTS)
    """S3 carries thousands of requests a second below one prefix, and says when it does not."""

    def __init__(self, bucket: str, prefix: str, user_agent: str) -> None:
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._client = AsyncClient(self.uri, extra=Config(user_agent_extra=user_agent), needs_keys=False)

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
        await self._client.close()

    async def _ask(self, key: str, span: str, into: bytearray, etag: str, asked: range | None) -> Head:
        condition = {"IfMatch": etag} if etag else {}

        async def attempt(s3: Any) -> Head:
            reply = await s3.get_object(
                Bucket=self._bucket, Key=f"{self._prefix}{key}", Range=span, **condition
            )
            async with reply["Body"]:
                metadata = reply["ResponseMetadata"]
                head = head_from_response(
                    metadata["HTTPStatusCode"], reply.get("ContentRange", ""), reply["ETag"], asked
                )
                received = 0
                while piece := await reply["Body"].read(PIECE):
                    received += len(piece)
                    into.extend(piece)
            if received != reply["ContentLength"]:
                raise DamagedReply(f"{received} bytes instead of {reply['ContentLength']}")
            return head

        try:
            return await self._client.ask(attempt)
        except ClientError as error:
            raise ResponseError(status(error), code(error), retry_after_ms(headers(error))) from error
