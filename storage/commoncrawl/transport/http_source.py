"""`HttpSource`: the files of Common Crawl over HTTP, from `https://data.commoncrawl.org/` or a mirror of it."""

import re
from urllib.parse import urljoin

import aiohttp

from thresher.storage.commoncrawl.transport.response_kind import DamagedReply, ResponseError
from thresher.storage.commoncrawl.transport.source import Head, head_from_response
from thresher.storage.commoncrawl.transport.window import Window
from thresher.storage.request_retry import retry_after_ms

CONNECT_S = 15
SILENT_S = 60
"""Seconds without a byte after which a request fails."""
PIECE = 256 << 10
CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,64})</Code>")


class HttpSource:
    """A `FileSource` over HTTP. It belongs to the event loop of its first request."""

    window = Window()

    def __init__(self, base: str, user_agent: str) -> None:
        self._base = base if base.endswith("/") else f"{base}/"
        # Files are fetched as they are stored: if a proxy compressed them again, offsets would not match.
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "identity"}
        self._session: aiohttp.ClientSession | None = None

    @property
    def uri(self) -> str:
        """The base address of all files."""
        return self._base

    async def get(self, key: str, span: range, into: bytearray, etag: str = "") -> Head:
        """Append the bytes `span` of the file to `into`, as `FileSource.get` specifies."""
        return await self._ask(key, f"bytes={span.start}-{span.stop - 1}", into, etag, span)

    async def tail(self, key: str, length: int, into: bytearray) -> Head:
        """Append the last `length` bytes of the file to `into`."""
        return await self._ask(key, f"bytes=-{length}", into, "", None)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, key: str, span: str, into: bytearray, etag: str, asked: range | None) -> Head:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S)
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                timeout=timeout,
                auto_decompress=False,
                connector=aiohttp.TCPConnector(limit=0),
            )
        headers = {"Range": span, **({"If-Match": etag} if etag else {})}
        async with self._session.get(urljoin(self._base, key), headers=headers, max_redirects=3) as reply:
            if reply.status >= 300 or reply.status < 200:
                fields = {name.lower(): value for name, value in reply.headers.items()}
                found = CODE.search(await reply.content.read(4096))
                raise ResponseError(reply.status, found[1].decode() if found else "", retry_after_ms(fields))
            head = head_from_response(
                reply.status, reply.headers.get("Content-Range", ""), reply.headers.get("ETag", ""), asked
            )
            expected = reply.content_length
            received = 0
            async for piece in reply.content.iter_chunked(PIECE):
                received += len(piece)
                into += piece
            if expected is not None and received != expected:
                raise DamagedReply(f"{received} bytes instead of {expected}")
            return head
