"""Shards in a bucket, read block by block: for the first batches, while the whole shards are being downloaded.

`open_shards` and `hold` read what hundreds of shards need in one round trip (`Store.read_ranges`). A block that is not
held then costs a round trip of its own.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

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
from thresher.storage.store import ByteRange

HELD_BLOCKS = 8
"""Blocks of a shard that stay in memory: more than the rows of one batch need of it, mostly."""
_Span = tuple[LoaderShard, int, int]
"""A shard, and where its bytes begin and end."""


class RemoteShard:
    """The token ids and ends of a shard. Slices read what they need, and check it."""

    def __init__(self, shard: LoaderShard, head: bytes, sums: bytes, metrics: LoaderMetrics) -> None:
        """Take the header and the checksums. Raise `CorruptData` if they are not what was sealed."""
        where = shard.where
        self.shard = shard
        self._metrics = metrics
        self.layout = TokensLayout.of(Header.from_bytes(head, MAGIC, where), where)
        stop = self.layout.stop
        if stop + 8 * block_count(stop) != shard.file.bytes:
            raise CorruptData(
                f"{where}: its header does not fit the {shard.file.bytes} bytes that were sealed; {REMEDY}"
            )
        check_frame(head, sums, shard.frame_sha256, where)
        check_counts(shard, self.layout, where)
        self._blocks = Blocks(np.frombuffer(sums, "<u8"), stop, where)
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self._ends: npt.NDArray[np.uint64] | None = None

    def __getitem__(self, span: slice, /) -> bytes:
        """Return the bytes of a slice of the token ids, checked."""
        return self._bytes(HEADER_BYTES + span.start, HEADER_BYTES + span.stop)

    def blocks(self, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> list[int]:
        """Return the blocks of some spans of tokens, as many as stay in memory."""
        begins = (starts * self.layout.id_bytes) // BLOCK_BYTES
        lasts = (np.maximum(starts + lengths, 1) * self.layout.id_bytes - 1) // BLOCK_BYTES
        found: list[int] = np.unique(np.concatenate((begins, lasts)))[:HELD_BLOCKS].tolist()
        return found

    def blocks_of_ends(self) -> list[int]:
        """Return the blocks of the ends, as many as stay in memory; none if the ends are there."""
        if self._ends is not None:
            return []
        return list(_blocks_between(self.layout.ends, self.layout.stop))[:HELD_BLOCKS]

    @property
    def ends(self) -> npt.NDArray[np.uint64]:
        """For each document the index behind its last token."""
        if self._ends is None:
            self._ends = np.frombuffer(self._bytes(self.layout.ends, self.layout.stop), "<u8")
        return self._ends

    def missing(self, blocks: Iterable[int]) -> list[tuple[int, _Span]]:
        """Return those blocks that are not held, each with its span."""
        return [
            (number, (self.shard, *self._blocks.span(number)))
            for number in blocks
            if number not in self._held
        ]

    def keep(self, number: int, data: bytes) -> None:
        """Hold a block. Raise `CorruptData` if it is not what was sealed."""
        self._blocks.check(number, data)
        self._held[number] = data
        if len(self._held) > HELD_BLOCKS:
            self._held.popitem(last=False)

    def _bytes(self, start: int, stop: int) -> bytes:
        data = b"".join(map(self._block, _blocks_between(start, stop)))
        skipped = (start - HEADER_BYTES) % BLOCK_BYTES
        return data[skipped : skipped + stop - start]

    def _block(self, number: int) -> bytes:
        if number not in self._held:
            hold([(self, [number])], self._metrics)
        return self._held[number]


def open_shards(shards: Sequence[LoaderShard], metrics: LoaderMetrics) -> list[RemoteShard]:
    """Read the headers and checksums of shards. Raise `CorruptData` if one is not what was sealed."""
    spans: list[_Span] = []
    for shard in shards:
        size = shard.file.bytes
        blocks = -(-(size - HEADER_BYTES) // (BLOCK_BYTES + 8))  # each block has a checksum of 8 bytes
        spans += [(shard, 0, HEADER_BYTES), (shard, size - 8 * blocks, size)]
    parts = _read(spans, metrics)
    return [RemoteShard(shard, next(parts), next(parts), metrics) for shard in shards]


def hold(wanted: Iterable[tuple[RemoteShard, Sequence[int]]], metrics: LoaderMetrics) -> None:
    """Read blocks of shards, and hold them. Raise `CorruptData` if one is not what was sealed."""
    missing = [(shard, *each) for shard, blocks in wanted for each in shard.missing(blocks)]
    for (shard, number, _), data in zip(
        missing, _read([span for _, _, span in missing], metrics), strict=True
    ):
        shard.keep(number, data)


def _read(spans: Iterable[_Span], metrics: LoaderMetrics) -> Iterator[bytes]:
    """Yield the bytes of each span; shards of one export are asked for at the same time."""
    for store, group in groupby(spans, lambda span: span[0].store):
        ranges = (
            ByteRange(name=shard.file.name, first=start, length=stop - start) for shard, start, stop in group
        )
        for data in store.read_ranges(ranges):
            metrics.add(direct_bytes=len(data))
            yield data


def _blocks_between(start: int, stop: int) -> range:
    """Return the blocks of the bytes between two offsets."""
    if stop <= start:
        return range(0)
    return range((start - HEADER_BYTES) // BLOCK_BYTES, (stop - 1 - HEADER_BYTES) // BLOCK_BYTES + 1)
