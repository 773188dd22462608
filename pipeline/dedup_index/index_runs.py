"""Runs: the files of the index. A run holds signed rows of one type, sorted by the fields that identify them.

1. A run is a NumPy file (`.npy`) of a structured array: `numpy.load` opens it. Rows have a fixed size and hashes do not
   compress, so a row lies where its number says.
2. Rows are read in blocks. Behind the rows, where NumPy does not look, lie the fences: the first key of each block, and
   its checksum. A reader finds the blocks that its keys touch, and reads no others. Whoever names a run (`RunRef`)
   knows the digest of its header and fences, and every block that is read is compared with its checksum.
3. Rows of several runs add up (`filters.dedup.zsets`).
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core import CorruptData
from thresher.filters.dedup.zsets import IntArray, Rows, starts_of, total
from thresher.storage.store import Readable

BLOCK_BYTES = 4 << 10
"""Bytes of a block, rounded down to whole rows: what a reader takes for one key."""
GAP_BLOCKS = 2
"""So many blocks that no key touches are read along, because two reads cost more."""
SPAN_BLOCKS = 128
"""Blocks that are read at once at most."""
FILTER_BYTES = 16 << 20
"""Bytes that are read before rows of other keys are left out."""
KEY_RANGE = range(1 << 64)
COPIES = 8
"""Bytes of memory that a part takes for each byte of its rows: they are read, sorted and decided. Measured."""
_FENCE = np.dtype([("first", "<u8"), ("checksum", "<u8")])

Keys = npt.NDArray[np.uint64]
Span = tuple[int, int]


class RunReader(Protocol):
    """Reads pieces of objects; a `PartStore` does."""

    def read_spans(self, name: str, spans: Sequence[Span]) -> bytes:
        """Return the bytes of several spans, each an offset and a length, one after another."""
        ...


class RunRef(NamedTuple):
    """A run as its reader knows it."""

    name: str
    rows: int
    first: int
    """The smallest first word of a key; 0 if there are no rows."""
    last: int
    digest: str
    """SHA-256 of the header and the fences, in hexadecimal digits."""


def key_ranges(size: int, most: int) -> list[range]:
    """Divide all keys into ranges so that each has at most `most` of `size` bytes. Keys are hashes: they lie evenly."""
    count = -(-size // most) or 1
    return [range(*edges) for edges in pairwise(KEY_RANGE.stop * at // count for at in range(count + 1))]


def write_rows(file: BinaryIO, rows: Rows) -> None:
    """Write sorted rows as a run."""
    file.write(_header(rows.dtype, len(rows)))
    size = _block_rows(rows.dtype)
    fences = np.zeros(_blocks(rows.dtype, len(rows)), _FENCE)
    fences["first"] = rows[_key(rows.dtype)][::size]
    for at in range(0, len(fences), SPAN_BLOCKS):
        data = rows[at * size : (at + SPAN_BLOCKS) * size].tobytes()
        fences["checksum"][at : at + SPAN_BLOCKS] = _checksums(data, size * rows.itemsize)
        file.write(data)
    file.write(fences.tobytes())


def run_ref(store: Readable, name: str, rows: int, dtype: np.dtype[Any]) -> RunRef:
    """Return the reference to a run that was just sealed. Raise `CorruptData` if it is no run."""
    if not rows:
        return RunRef(name=name, rows=0, first=0, last=0, digest="")
    header = _header(dtype, rows)
    with store.open(name) as file:
        found = file.read(len(header))
        file.seek(len(header) + (rows - 1) * dtype.itemsize)
        last = np.frombuffer(file.read(dtype.itemsize), dtype)
        fences = file.read()
    if found != header or len(fences) != _blocks(dtype, rows) * _FENCE.itemsize or len(last) != 1:
        raise _damage(name, "it is not as long as its rows")
    return RunRef(
        name=name,
        rows=rows,
        first=int(np.frombuffer(fences, _FENCE)["first"][0]),
        last=int(last[_key(dtype)][0]),
        digest=_digest(header, fences),
    )


def rows_of_keys(store: RunReader, runs: Iterable[RunRef], keys: Keys, dtype: np.dtype[Any]) -> Rows:
    """Return the sum of the rows whose first word is among sorted `keys`. Raise `CorruptData` if a run is damaged."""
    found = [np.empty(0, dtype)]
    for run in runs:
        if not len(keys) or not run.rows or int(keys[-1]) < run.first or int(keys[0]) > run.last:
            continue
        fences = _fences(store, run, dtype)
        first = np.ascontiguousarray(fences["first"])
        # A block has the keys from its first one to the first one of the next block: equal keys may lie in both.
        starts = np.searchsorted(keys, first)
        stops = np.append(np.searchsorted(keys, first[1:], side="right"), len(keys))
        blocks = np.flatnonzero(stops > starts)
        found.extend(rows[_among(rows, keys)] for rows in _read(store, run, dtype, fences, blocks))
    return total(*found)


def rows_of_range(store: RunReader, runs: Iterable[RunRef], keys: range, dtype: np.dtype[Any]) -> Rows:
    """Return the sum of the rows whose first word is in a range. Raise `CorruptData` if a run is damaged."""
    found = [np.empty(0, dtype)]
    edges = np.array([keys.start, keys.stop - 1], np.uint64)
    for run in runs:
        if run.rows and run.first <= int(edges[1]) and run.last >= int(edges[0]):
            fences = _fences(store, run, dtype)
            first = fences["first"]
            start = max(int(np.searchsorted(first, edges[0], side="left")) - 1, 0)
            stop = int(np.searchsorted(first, edges[1], side="right"))
            for rows in _read(store, run, dtype, fences, np.arange(start, stop)):
                words = _first_words(rows)
                inside = int(np.searchsorted(words, edges[0])), int(np.searchsorted(words, edges[1], "right"))
                found.append(rows[slice(*inside)])
    return total(*found)


def _read(
    store: RunReader, run: RunRef, dtype: np.dtype[Any], fences: Rows, blocks: IntArray
) -> Iterator[Rows]:
    """Yield the rows of blocks, sorted, and some rows of blocks between them."""
    if not len(blocks):
        return
    ends = np.flatnonzero(np.diff(blocks) > GAP_BLOCKS)
    spans: list[range] = []
    for start, stop in zip(
        blocks[np.concatenate(([0], ends + 1))].tolist(),
        (blocks[np.concatenate((ends, [len(blocks) - 1]))] + 1).tolist(),
        strict=True,
    ):
        spans.extend(range(at, min(at + SPAN_BLOCKS, stop)) for at in range(start, stop, SPAN_BLOCKS))
    start, waiting = 0, 0
    for at, span in enumerate(spans):
        waiting += len(span) * BLOCK_BYTES
        if waiting >= FILTER_BYTES or at == len(spans) - 1:
            yield _rows(store, run, dtype, fences, spans[start : at + 1])
            start, waiting = at + 1, 0


def _rows(store: RunReader, run: RunRef, dtype: np.dtype[Any], fences: Rows, spans: Sequence[range]) -> Rows:
    begin, size, edges = len(_header(dtype, run.rows)), _block_rows(dtype), [0]
    checksums = fences["checksum"]
    pieces: list[Span] = []
    for span in spans:
        first, last = span.start * size, min(span.stop * size, run.rows)
        pieces.append((begin + first * dtype.itemsize, (last - first) * dtype.itemsize))
        edges.append(edges[-1] + pieces[-1][1])
    data = store.read_spans(run.name, pieces)
    if len(data) != edges[-1]:
        raise _damage(run.name, "it is shorter than its rows")
    view, length = memoryview(data), size * dtype.itemsize
    for span, (start, stop) in zip(spans, pairwise(edges), strict=True):
        if _checksums(view[start:stop], length) != checksums[span.start : span.stop].tolist():
            raise _damage(run.name, "a block does not have its checksum")
    return np.frombuffer(data, dtype)


def _fences(store: RunReader, run: RunRef, dtype: np.dtype[Any]) -> Rows:
    header = _header(dtype, run.rows)
    length = _blocks(dtype, run.rows) * _FENCE.itemsize
    behind = len(header) + run.rows * dtype.itemsize
    data = store.read_spans(run.name, [(0, len(header)), (behind, length)])
    if data[: len(header)] != header or _digest(header, data[len(header) :]) != run.digest:
        raise _damage(run.name, "its header or its fences were changed")
    return np.frombuffer(data, _FENCE, offset=len(header))


def _header(dtype: np.dtype[Any], rows: int) -> bytes:
    file = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows,)}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def _key(dtype: np.dtype[Any]) -> str:
    """Return the name of the first word of a key."""
    return (dtype.names or ("",))[0]


def _block_rows(dtype: np.dtype[Any]) -> int:
    return max(1, BLOCK_BYTES // dtype.itemsize)


def _blocks(dtype: np.dtype[Any], rows: int) -> int:
    return -(-rows // _block_rows(dtype))


def _checksums(data: bytes | memoryview, length: int) -> list[int]:
    view = memoryview(data)
    return [xxhash.xxh3_64_intdigest(view[at : at + length]) for at in range(0, len(view), length)]


def _digest(header: bytes, fences: bytes) -> str:
    return hashlib.sha256(header + fences).hexdigest()


def _first_words(rows: Rows) -> Keys:
    words: Keys = np.ascontiguousarray(rows[_key(rows.dtype)])
    return words


def _among(rows: Rows, keys: Keys) -> npt.NDArray[np.bool_]:
    """Return which sorted rows have one of sorted keys. Sorting both together is faster than a search for each row."""
    starts = starts_of(rows, (_key(rows.dtype),))
    words = _first_words(rows)[starts]
    near = keys[np.searchsorted(keys, words[0]) : np.searchsorted(keys, words[-1], side="right")]
    both = np.sort(np.concatenate((words, near)))
    is_there = np.zeros(len(words), np.bool_)
    is_there[np.searchsorted(words, both[1:][both[1:] == both[:-1]])] = True
    found: npt.NDArray[np.bool_] = np.repeat(is_there, np.diff(np.append(starts, len(rows))))
    return found


def _damage(name: str, detail: str) -> CorruptData:
    return CorruptData(
        f"the index of deduplication is damaged: {name}: {detail}; run `thresher verify --repair`, then the same "
        "command"
    )
