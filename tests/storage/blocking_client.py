"""`BlockingClient`: aioboto3 as if it were boto3, so that the promises of a store can be tried with it."""

import io
from types import SimpleNamespace

from tests.loop_thread import LoopThread
from thresher.storage.s3.async_client import AsyncClient


class BlockingClient:
    """Every operation of an S3 client. A body is read whole."""

    def __init__(self, uri, session=None, *, endpoint=None):
        self.meta = SimpleNamespace(endpoint_url=endpoint or uri)
        self._client = AsyncClient(uri, endpoint=endpoint)
        self._loop = LoopThread()
        self._is_closed = False

    def __getattr__(self, operation):
        def call(**arguments):
            async def attempt(s3):
                reply = await getattr(s3, operation)(**arguments)
                if operation == "get_object":
                    async with reply["Body"]:
                        reply["Body"] = io.BytesIO(await reply["Body"].read())
                return reply

            return self._loop.run(self._client.ask(attempt))

        return call

    def close(self):
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.run(self._client.close())
        self._loop.close()
