"""`Remote`: a file of Common Crawl as a seekable file, of which only the blocks are read that are asked for.

The blocks that were asked for last are kept: for the columns of a table, which are read side by side, and for who halves a sorted file
again and again.
"""

from collections import OrderedDict
from typing import TYPE_CHECKING

from storage.commoncrawl.transport.source import Head
from storage.commoncrawl.transport.source_client import SourceClient
from storage.seekable import SeekableFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class RemoteFile(SeekableFile):
    """All reads are of one object: `head` has its entity tag. `keep` blocks of `block` bytes are held at most."""

    def __init__(self, client: SourceClient, key: str, head: Head, *, block: int, keep: int) -> None:
        super().__init__(head.size)
        self._client, self._key, self._told = client, key, head
        self._size, self._keep = block, keep
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill as much of the buffer as is at hand after one request at most; 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._position >= self._told.size or not view:
            return 0
        number, start = divmod(self._position, self._size)
        data = self._block(number)
        count = min(len(view), len(data) - start)
        view[:count] = memoryview(data)[start : start + count]
        self._position += count
        return count

    def _block(self, number: int) -> bytes:
        data = self._blocks.get(number)
        if data is None:
            first = number * self._size
            data = self._client.read(
                self._key, first, min(self._size, self._told.size - first), self._told.etag
            )
            self._blocks[number] = data
            if len(self._blocks) > self._keep:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return data
