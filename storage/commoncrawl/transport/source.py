"""`Source`: bytes of the files of Common Crawl, however they are reached. `web` and `bucket` are the two.

1. One call is one request. It appends to `into` what came, also where it raises: whoever asks goes on behind that.
2. What the server answered otherwise is `answer.Answered`; a lost connection is what the library raises, a body that is too short
   `storage.s3.s3_errors.Damaged`.
"""

import re
from typing import NamedTuple, Protocol

from storage.commoncrawl.transport.response_kind import DamagedReply, ResponseError

CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class Head(NamedTuple):
    """What an answer tells of its file."""

    size: int
    etag: str


class FileSource(Protocol):
    """One place that has the files."""

    @property
    def uri(self) -> str:
        """The base, as it is configured; no secrets."""
        ...

    async def get(self, key: str, span: range, into: bytearray, etag: str = "") -> Head:
        """Bytes `span` of the file, which are asked for with `If-Match` where its `etag` is known."""
        ...

    async def tail(self, key: str, length: int, into: bytearray) -> Head:
        """The last bytes of the file; all of it where it has fewer."""
        ...

    async def close(self) -> None:
        """Let go of the connections."""
        ...


def head_from_response(status: int, content_range: str, etag: str, asked: range | None) -> Head:
    """What a successful answer to a ranged request tells. Raises `Answered` for one that sends something else, `Damaged` for
    another range than `asked` (None: the last bytes, however many there are).
    """
    found = CONTENT_RANGE.fullmatch(content_range)
    if status != 206 or found is None:
        raise ResponseError(status, "NoRanges")
    first, last, size = map(int, found.groups())
    if asked is not None and (first, last + 1) != (asked.start, min(asked.stop, size)):
        raise DamagedReply(f"bytes {first}-{last} instead of {asked.start}-{asked.stop - 1}")
    return Head(size, etag)
