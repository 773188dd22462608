"""`S3Source`: the files of Common Crawl in S3, or in a server with the same interface.

Keys, region and endpoint come from the AWS_* variables and profiles. If there are no keys, requests are unsigned:
Common Crawl's own bucket refuses unsigned requests, a mirror may accept them.
"""

from contextlib import AsyncExitStack
from typing import Any

import aioboto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from storage.commoncrawl.transport.response_kind import DamagedReply, ResponseError
from storage.commoncrawl.transport.source import Head, head_from_response
from storage.s3.s3_client import open_client
from storage.s3.s3_errors import code, headers, retry_after_ms, status

PIECE = 256 << 10


class S3Source:
    """A `FileSource` in S3. It belongs to the event loop of its first request."""

    def __init__(self, bucket: str, prefix: str, user_agent: str) -> None:
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._user_agent = user_agent
        self._stack = AsyncExitStack()
        self._client: Any = None

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
        await self._stack.aclose()

    async def _ask(self, key: str, span: str, into: bytearray, etag: str, asked: range | None) -> Head:
        client = await self._opened()
        try:
            reply = await client.get_object(
                Bucket=self._bucket,
                Key=f"{self._prefix}{key}",
                Range=span,
                **({"IfMatch": etag} if etag else {}),
            )
        except ClientError as error:
            raise ResponseError(status(error), code(error), retry_after_ms(headers(error))) from error
        async with reply["Body"] as body:
            head = head_from_response(
                reply["ResponseMetadata"]["HTTPStatusCode"],
                reply.get("ContentRange", ""),
                reply["ETag"],
                asked,
            )
            received = 0
            async for piece in body.content.iter_chunked(PIECE):
                received += len(piece)
                into += piece
            if received != int(reply["ContentLength"]):
                raise DamagedReply(f"{received} bytes instead of {reply['ContentLength']}")
            return head

    async def _opened(self) -> Any:
        if self._client is None:
            session = aioboto3.Session()
            extra = Config(user_agent_extra=self._user_agent)
            if await session.get_credentials() is None:
                extra = extra.merge(Config(signature_version=UNSIGNED))
            self._client = await open_client(self._stack, self.uri, session, extra=extra)
        return self._client
