"""Put documents of any length into sequences of one length.

`concat`    the documents of a shard, one after the other, cut every `length` tokens. Only the last sequence of a shard
            is padded, and almost every sequence begins within a document.
`best-fit`  a document of at most `length` tokens is never cut. A longer one is cut every `length` tokens, and its rest
            is packed like a document. Pieces are placed in decreasing length, each into the sequence with the least
            room that it fits (best-fit decreasing; Ding et al., "Fewer Truncations Improve Language Modeling",
            arXiv:2404.10830). Windows of documents are packed on their own, so memory is bounded.
`none`      one document a sequence, cut after `length` tokens and padded.

A sequence never crosses a shard, so a shard can be planned, fetched and read on its own. Every function here is pure:
equal documents give equal sequences.
"""

import itertools
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PACKINGS = ("best-fit", "concat", "none")
MAX_LENGTH = 1 << 22
"""Tokens of the longest sequence, 4,194,304: a worker that writes such rows takes up to 1 GB, and ten times as much for
ten times the length.
"""
WINDOW_DOCUMENTS = 1 << 16
"""Documents of a window of best-fit: some 20 MB of memory. Larger windows leave less padding."""

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Sequences as pieces of documents. A piece is a span of tokens of one document in a shard."""

    counts: IntArray
    """Pieces of each sequence."""
    starts: IntArray
    """First token of each piece; the pieces of a sequence stand together."""
    lengths: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingLoss:
    """What a packing costs."""

    sequences: int
    length: int
    tokens: int
    """Tokens of the documents."""
    placed: int
    """Tokens in sequences. The others were cut off (`none`)."""
    cut_documents: int
    """Documents that are not whole in one sequence."""

    @property
    def utilisation(self) -> float:
        """Share of the positions of all sequences that hold a token."""
        return self.placed / max(1, self.sequences * self.length)


def best_fit(lengths: IntArray, capacity: int) -> IntArray:
    """Return for each piece the number of its bin: best-fit decreasing, bins of `capacity`, numbers from 0.

    Every length must be in 1..capacity. Pieces of one length are placed together, so the time grows with the number of
    different lengths and not with the number of pairs. Memory grows with the number of pieces and not with `capacity`.
    """
    order = np.argsort(-lengths, kind="stable")
    ordered = lengths[order]
    edges = np.flatnonzero(np.diff(ordered, prepend=0, append=0)).tolist()
    bins = np.empty(len(lengths), np.int64)
    # Bins by their room, and the rooms that some bin has in order: the tightest fit is the first that is large enough.
    free: dict[int, deque[IntArray]] = {}
    rooms: list[int] = []
    opened = 0

    def release(room: int, emptied: IntArray) -> None:
        if not room or not len(emptied):
            return
        if room not in free:
            free[room] = deque()
            insort(rooms, room)
        free[room].append(emptied)

    for first, stop in itertools.pairwise(edges):
        size, place = int(ordered[first]), first
        while place < stop:
            at = bisect_left(rooms, size)
            fits = at < len(rooms)
            if fits:
                room = rooms[at]
                candidates = free[room].popleft()
            else:
                room = capacity
                new = -(-(stop - place) // (capacity // size))
                candidates = np.arange(opened, opened + new)
                opened += new
            # A bin that has taken one piece is the tightest for the next one, until it has no room for it.
            each = room // size
            taken = candidates[: -(-(stop - place) // each)]
            if len(taken) < len(candidates):
                free[room].appendleft(candidates[len(taken) :])
            count = min(stop - place, each * len(taken))
            in_last = count - each * (len(taken) - 1)
            taking = np.full(len(taken), each)
            taking[-1] = in_last
            bins[order[place : place + count]] = np.repeat(taken, taking)
            place += count
            if fits and not free[room]:
                del free[room], rooms[at]
            release(room - each * size, taken[:-1])
            release(room - in_last * size, taken[-1:])
    return bins


def pieces_of(ends: npt.NDArray[Any], first: int, length: int) -> tuple[IntArray, IntArray]:
    """Return starts and lengths of the pieces of documents, none longer than `length`; `first` is the first token."""
    stops = ends.astype(np.int64)
    starts = np.concatenate((np.array([first], np.int64), stops[:-1]))
    counts = -(-(stops - starts) // length)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    piece_starts = np.repeat(starts, counts) + number * length
    return piece_starts, np.minimum(length, np.repeat(stops, counts) - piece_starts)


def best_fit_windows(
    ends: npt.NDArray[np.uint64], length: int, window: int = WINDOW_DOCUMENTS
) -> Iterator[Pieces]:
    """Yield the best-fit sequences of a shard, a window of documents at a time.

    Sequences stand in the order of their first piece, and pieces in the order of the shard.
    """
    first = 0
    for begin in range(0, len(ends), window):
        documents = ends[begin : begin + window]
        starts, lengths = pieces_of(documents, first, length)
        first = int(documents[-1])
        if not len(starts):
            continue
        bins = best_fit(lengths, length)
        together = np.argsort(bins, kind="stable")
        counts = np.bincount(bins)
        first_pieces = together[np.cumsum(counts) - counts]
        rank = np.empty(len(counts), np.int64)
        rank[np.argsort(first_pieces)] = np.arange(len(counts))
        together = np.argsort(rank[bins], kind="stable")
        yield Pieces(counts=np.bincount(rank[bins]), starts=starts[together], lengths=lengths[together])


def concat_pieces(ends: npt.NDArray[np.uint64], tokens: int, sequences: IntArray, length: int) -> Pieces:
    """Return the pieces of some sequences of `concat`."""
    begin = sequences * length
    stop = np.minimum(begin + length, tokens)
    first = np.searchsorted(ends, begin.astype(np.uint64), side="right")
    last = np.searchsorted(ends, stop.astype(np.uint64), side="left")
    counts = last - first + 1
    row = np.repeat(np.arange(len(sequences)), counts)
    document = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    document_stops = ends[document].astype(np.int64)
    before = np.where(document > 0, ends[np.maximum(document, 1) - 1], 0).astype(np.int64)
    starts = np.maximum(before, begin[row])
    lengths = np.minimum(document_stops, stop[row]) - starts
    some = lengths > 0  # an empty document is no piece
    return Pieces(
        counts=np.bincount(row[some], minlength=len(sequences)), starts=starts[some], lengths=lengths[some]
    )


def document_pieces(ends: npt.NDArray[np.uint64], sequences: IntArray, length: int) -> Pieces:
    """Return the pieces of some sequences of `none`: sequence n is document n, and of one piece even if it is empty."""
    stops = ends[sequences].astype(np.int64)
    starts = np.where(sequences > 0, ends[np.maximum(sequences, 1) - 1], 0).astype(np.int64)
    return Pieces(
        counts=np.ones(len(sequences), np.int64), starts=starts, lengths=np.minimum(length, stops - starts)
    )


def sequence_count(packing: str, *, documents: int, tokens: int, length: int) -> int | None:
    """Return the number of sequences of a shard; None if only a plan can say (`best-fit`)."""
    return {"concat": -(-tokens // length), "none": documents}.get(packing)


def packing_loss(packing: str, ends: npt.NDArray[np.uint64], sequences: int, length: int) -> PackingLoss:
    """Return what a packing of a shard into so many sequences costs."""
    stops = ends.astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), stops[:-1]))[: len(stops)]
    sizes = stops - starts
    tokens = int(sizes.sum())
    cut = (starts // length != (stops - 1) // length) & (sizes > 0) if packing == "concat" else sizes > length
    return PackingLoss(
        sequences=sequences,
        length=length,
        tokens=tokens,
        placed=int(np.minimum(sizes, length).sum()) if packing == "none" else tokens,
        cut_documents=int(cut.sum()),
    )


def joined_loss(losses: Iterable[PackingLoss]) -> PackingLoss:
    """Return the loss of several shards of one length together."""
    each = list(losses)
    return PackingLoss(
        sequences=sum(loss.sequences for loss in each),
        length=each[0].length,
        tokens=sum(loss.tokens for loss in each),
        placed=sum(loss.placed for loss in each),
        cut_documents=sum(loss.cut_documents for loss in each),
    )
