"""`FileSource`: the interface to the bytes of Common Crawl's files. `HttpSource` and `S3Source` implement it.

1. One call is one request. It appends every received byte to `into`, even if it raises, so that the caller can continue
   after them.
2. If the server responds with anything else than the bytes, the call raises `ResponseError`. If the body is too
   short, it raises `DamagedReply`. If the connection is lost, it raises the library's own error.
"""

import re
from typing import NamedTuple, Protocol

from thresher.storage.commoncrawl.transport.response_kind import DamagedReply, ResponseError
from thresher.storage.commoncrawl.transport.window import Window

CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)", re.ASCII)


class Head(NamedTuple):
    """Size and entity tag of a file, from a response."""

    size: int
    etag: str


class FileSource(Protocol):
    """A server that has the files."""

    window: Window
    """How many requests the server gets at first, and at most."""

    @property
    def uri(self) -> str:
        """The base address as it is configured, without secrets."""
        ...

    async def get(self, key: str, span: range, into: bytearray, etag: str = "") -> Head:
        """Append the bytes `span` of the file to `into`. If `etag` is not empty, send it as `If-Match`."""
        ...

    async def tail(self, key: str, length: int, into: bytearray) -> Head:
        """Append the last `length` bytes of the file to `into`; the whole file if it is shorter."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def head_from_response(status: int, content_range: str, etag: str, requested: range | None) -> Head:
    """Return the size and the entity tag from a successful response to a request for a range.

    Raise `ResponseError` if the response is not a range, `DamagedReply` if it is another range than `requested`.
    `requested` is None for a request for the last bytes, whose range the client cannot know.
    """
    found = CONTENT_RANGE.fullmatch(content_range)
    if status != 206 or found is None:
        raise ResponseError(status, "NoRanges")
    first, last, size = map(int, found.groups())
    if requested is not None and (first, last + 1) != (requested.start, min(requested.stop, size)):
        raise DamagedReply(f"bytes {first}-{last} instead of {requested.start}-{requested.stop - 1}")
    return Head(size, etag)
