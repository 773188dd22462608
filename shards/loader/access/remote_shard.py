"""A shard in a bucket, read block by block: for the first batches, while the whole shard is being downloaded."""

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from thresher.core import CorruptData
from thresher.shards.formats.checked_file import (
    BLOCK_BYTES,
    HEADER_BYTES,
    REMEDY,
    Blocks,
    Header,
    block_count,
    check_frame,
)
from thresher.shards.formats.tokens import MAGIC, TokensLayout
from thresher.shards.loader.datasets import LoaderShard, check_counts
from thresher.shards.loader.loader_metrics import LoaderMetrics

HELD_BLOCKS = 8
"""Blocks of a shard that stay in memory: more than the rows of one batch need of it, mostly."""


class RemoteShard:
    """The token ids and ends of a shard. Slices read what they need, and check it."""

    def __init__(self, shard: LoaderShard, metrics: LoaderMetrics) -> None:
        """Read the header and the checksums: two requests. Raise `CorruptData` if they are not what was sealed."""
        where = shard.where
        self._file = shard.store.open(shard.file.name)
        self._metrics = metrics
        head = self._file.read(HEADER_BYTES)
        self.layout = TokensLayout.of(Header.from_bytes(head, MAGIC, where), where)
        stop = self.layout.stop
        if stop + 8 * block_count(stop) != shard.file.bytes:
            raise CorruptData(
                f"{where}: its header does not fit the {shard.file.bytes} bytes that were sealed; {REMEDY}"
            )
        sums = self._read(stop, shard.file.bytes, where)
        check_frame(head, sums, shard.frame_sha256, where)
        check_counts(shard, self.layout, where)
        self._blocks = Blocks(np.frombuffer(sums, "<u8"), stop, where)
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self._where = where
        self._ends: npt.NDArray[np.uint64] | None = None

    def __getitem__(self, span: slice, /) -> bytes:
        """Return the bytes of a slice of the token ids, checked."""
        return self._bytes(HEADER_BYTES + span.start, HEADER_BYTES + span.stop)

    def hold(self, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> None:
        """Read the blocks of some spans of tokens, as many as stay in memory."""
        begins = (starts * self.layout.id_bytes) // BLOCK_BYTES
        lasts = (np.maximum(starts + lengths, 1) * self.layout.id_bytes - 1) // BLOCK_BYTES
        for block in np.unique(np.concatenate((begins, lasts)))[:HELD_BLOCKS].tolist():
            self._block(block)

    @property
    def ends(self) -> npt.NDArray[np.uint64]:
        """For each document the index behind its last token."""
        if self._ends is None:
            self._ends = np.frombuffer(self._bytes(self.layout.ends, self.layout.stop), "<u8")
        return self._ends

    def close(self) -> None:
        """Close the connection to the object."""
        self._file.close()

    def _bytes(self, start: int, stop: int) -> bytes:
        first, last = ((offset - HEADER_BYTES) // BLOCK_BYTES for offset in (start, max(start, stop - 1)))
        data = b"".join(self._block(number) for number in range(first, last + 1)) if stop > start else b""
        skipped = start - HEADER_BYTES - first * BLOCK_BYTES
        return data[skipped : skipped + stop - start]

    def _block(self, number: int) -> bytes:
        if number not in self._held:
            data = self._read(*self._blocks.span(number), self._where)
            self._blocks.check(number, data)
            self._held[number] = data
            if len(self._held) > HELD_BLOCKS:
                self._held.popitem(last=False)
        return self._held[number]

    def _read(self, start: int, stop: int, where: str) -> bytes:
        self._file.seek(start)
        data = self._file.read(stop - start)
        if len(data) != stop - start:
            raise CorruptData(f"{where}: cut off at offset {start + len(data)}; {REMEDY}")
        self._metrics.add(direct_bytes=len(data))
        return data
