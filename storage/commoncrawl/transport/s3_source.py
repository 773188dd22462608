"""`Bucket`: the files of Common Crawl in S3, or in a server that speaks as it does.

Keys, region and endpoint are those of the AWS_* variables and profiles; where there are no keys, requests go unsigned (Common Crawl's
own bucket refuses those, mirrors may not).
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
    """A `Source`. It belongs to the event loop in which it is first asked."""

    def __init__(self, bucket: str, prefix: str, user_agent: str) -> None:
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._user_agent = user_agent
        self._stack = AsyncExitStack()
        self._client: Any = None

    @property
    def uri(self) -> str:
        """The address."""
        return f"s3://{self._bucket}/{self._prefix}"

    async def get(self, key: str, span: range, into: bytearray, etag: str = "") -> Head:
        """Bytes `span` of the file."""
        return await self._ask(key, f"bytes={span.start}-{span.stop - 1}", into, etag, span)

    async def tail(self, key: str, length: int, into: bytearray) -> Head:
        """The last bytes of the file."""
        return await self._ask(key, f"bytes=-{length}", into, "", None)

    async def close(self) -> None:
        """Let go of the connections."""
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
            told = head_from_response(
                reply["ResponseMetadata"]["HTTPStatusCode"],
                reply.get("ContentRange", ""),
                reply["ETag"],
                asked,
            )
            came = 0
            async for piece in body.content.iter_chunked(PIECE):
                came += len(piece)
                into += piece
            if came != int(reply["ContentLength"]):
                raise DamagedReply(f"{came} bytes instead of {reply['ContentLength']}")
            return told

    async def _opened(self) -> Any:
        if self._client is None:
            session = aioboto3.Session()
            extra = Config(user_agent_extra=self._user_agent)
            if await session.get_credentials() is None:
                extra = extra.merge(Config(signature_version=UNSIGNED))
            self._client = await open_client(self._stack, self.uri, session, extra=extra)
        return self._client
