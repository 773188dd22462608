"""Find the sequences of a run and copy them into batches."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.shards.loader.access.plans import Plans
from thresher.shards.loader.access.remote_shard import RemoteShard
from thresher.shards.loader.access.shard_access import ShardAccess
from thresher.shards.loader.epoch_order import EpochOrder
from thresher.shards.loader.loader_options import LoaderOptions
from thresher.shards.loader.schedule import Schedule
from thresher.shards.packed_rows import NOTHING, Batch, IdBytes, IdFormat, assemble
from thresher.shards.packing import IntArray, Pieces, concat_pieces, document_pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a schedule takes sequences from: shards in an order."""

    name: str
    shards: IntArray
    order: EpochOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Sequences that were found, in the order in which they were asked for, ready to be copied."""

    numbers: IntArray
    tokens: Sequence[IdBytes]
    """For each row, the token ids of its shard."""
    kind: IdFormat
    pieces: Pieces
    is_mapped: bool
    """Whether all shards are on this machine."""

    def batches(self, size: int, length: int, pad_id: int) -> Iterator[Batch]:
        """Copy `size` rows at a time, as `shards.packed_rows` does; `sequences` has the number of each row."""
        copied = assemble(self.tokens, self.pieces, length, pad_id, size, self.kind)
        for start, batch in zip(range(0, len(self.numbers), size), copied, strict=True):
            batch["sequences"] = self.numbers[start : start + size]
            yield batch


class SequenceReader:
    """Reads any sequence of a run by its number."""

    def __init__(
        self,
        sources: Sequence[Source],
        schedule: Schedule,
        access: ShardAccess,
        plans: Plans,
        options: LoaderOptions,
        kind: IdFormat,
    ) -> None:
        self._sources = sources
        self._schedule = schedule
        self._access = access
        self._plans = plans
        self._packing, self._kind = options.packing, kind
        self._epochs = options.epochs

    def place(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """Return for each sequence its shard, and its number in the shard."""
        places = self._schedule.places(numbers)
        shards, sequences = np.empty_like(numbers), np.empty_like(numbers)
        for number, source in enumerate(self._sources):
            mine = places.sources == number
            for epoch in sorted(set(places.epochs[mine].tolist())):  # np.unique would import numpy.ma
                here = mine & (places.epochs == epoch)
                local, sequences[here] = source.order.place(epoch, places.positions[here])
                shards[here] = source.shards[local]
        return shards, sequences

    def rows(self, numbers: IntArray) -> Rows:
        """Find sequences by their numbers. A negative number, of a row behind the end of the run, gives padding."""
        real = np.flatnonzero(numbers >= 0)
        shards, sequences = self.place(numbers[real])
        by_shard = np.argsort(shards, kind="stable")
        edges = np.flatnonzero(np.diff(shards[by_shard], prepend=-1, append=-1)).tolist()
        groups = [by_shard[start:stop] for start, stop in itertools.pairwise(edges)]
        found = self._find([(int(shards[members[0]]), sequences[members]) for members in groups])
        tokens: list[IdBytes] = [NOTHING] * len(numbers)
        for members, (ids, _) in zip(groups, found, strict=True):
            for row in real[members].tolist():
                tokens[row] = ids
        return Rows(
            numbers=numbers,
            tokens=tokens,
            kind=self._kind,
            pieces=_in_row_order([pieces for _, pieces in found], real[by_shard], len(numbers)),
            is_mapped=not any(isinstance(ids, RemoteShard) for ids, _ in found),
        )

    def _find(self, asked: Sequence[tuple[int, IntArray]]) -> list[tuple[IdBytes, Pieces]]:
        """Return for each shard its token ids and the pieces of some of its sequences, checked or about to be."""
        prepare = self._plans.prepare if self._packing == "best-fit" else self._access.prepare_ends
        prepare([number for number, _ in asked])
        found = [(number, self.pieces(number, sequences)) for number, sequences in asked]
        self._access.prepare((number, pieces.starts, pieces.lengths) for number, pieces in found)
        return [
            (self._access.tokens(number, pieces.starts, pieces.lengths), pieces) for number, pieces in found
        ]

    def pieces(self, shard: int, sequences: IntArray) -> Pieces:
        """Return the pieces of some sequences of a shard."""
        length = self._plans.length
        if self._packing == "best-fit":
            return self._plans.pieces(shard, sequences)
        ends = self._access.ends(shard)
        if self._packing == "concat":
            return concat_pieces(ends, int(ends[-1]), sequences, length)
        return document_pieces(ends, sequences, length)

    def reach(self, first: int) -> int:
        """Return up to which number, or a few more, the sequences from `first` on need the shards of one window."""
        left = [
            source.order.window(epoch, position).stop - position
            for source, (epoch, position) in zip(
                self._sources, self._schedule.next_of_each(first), strict=True
            )
        ]
        return self._schedule.reach(first, left)

    def expect(self, first: int, stop: int) -> None:
        """Tell the access which shards the sequences from `first` to `stop` need, and which those after them."""
        now: dict[int, None] = {}
        later: dict[int, None] = {}
        begins, ends = self._schedule.next_of_each(first), self._schedule.next_of_each(stop)
        for number in sorted({*self._schedule.mixed(first).tolist(), *self._schedule.mixed(stop).tolist()}):
            source, begin, end = self._sources[number], begins[number], ends[number]
            window = source.order.window(*begin)
            epoch = begin[0]
            now |= dict.fromkeys(source.shards[list(window.shards)].tolist())
            while (epoch, window.stop) < end:
                epoch, window = source.order.next_window(epoch, window)
                now |= dict.fromkeys(source.shards[list(window.shards)].tolist())
            epoch, window = source.order.next_window(epoch, window)
            if self._epochs is None or epoch < self._epochs:
                later |= dict.fromkeys(source.shards[list(window.shards)].tolist())
        self._access.expect(list(now), list(later))


def _in_row_order(found: Sequence[Pieces], rows: IntArray, count: int) -> Pieces:
    """Join pieces of sequences that stand for `rows` into pieces of rows 0..count-1."""
    if not found:
        nothing = np.zeros(0, np.int64)
        return Pieces(counts=np.zeros(count, np.int64), starts=nothing, lengths=nothing)
    joined = np.concatenate([each.counts for each in found])
    order = np.argsort(np.repeat(rows, joined), kind="stable")
    counts = np.zeros(count, np.int64)
    counts[rows] = joined
    return Pieces(
        counts=counts,
        starts=np.concatenate([each.starts for each in found])[order],
        lengths=np.concatenate([each.lengths for each in found])[order],
    )
