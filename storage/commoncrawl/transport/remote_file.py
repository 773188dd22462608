"""`RemoteFile`: a file of Common Crawl as a seekable file; only the blocks that are read are fetched.

The most recently used blocks are kept. The columns of a table are read side by side, and bisection of a sorted file
returns to the same blocks.
"""

from collections import OrderedDict
from typing import TYPE_CHECKING

from thresher.storage.commoncrawl.transport.source import Head
from thresher.storage.commoncrawl.transport.source_client import SourceClient
from thresher.storage.seekable import SeekableFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class RemoteFile(SeekableFile):
    """A seekable remote file that keeps at most `keep` blocks of `block` bytes.

    All reads are of one version of the file, because `head` holds its entity tag.
    """

    def __init__(self, client: SourceClient, key: str, head: Head, *, block: int, keep: int) -> None:
        super().__init__(head.size)
        self._client, self._key, self._head = client, key, head
        self._size, self._keep = block, keep
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill a part of `buffer` with at most one request, and return its length; return 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._position >= self._head.size or not view:
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
                self._key, first, min(self._size, self._head.size - first), self._head.etag
            )
            self._blocks[number] = data
            if len(self._blocks) > self._keep:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return data
