"""Check that bytes are a whole fastText classifier, and read its labels.

fastText checks nothing: it reads a file that is cut off as if random numbers followed, and reads and writes beyond its
memory if the sizes in a file contradict each other. A model that passes here is read within its bounds.

The layout is that of version 12 (fastText, src/fasttext.cc, dictionary.cc, densematrix.cc, quantmatrix.cc and
productquantizer.cc).
"""

import struct
from typing import NamedTuple

MAGIC, VERSION = 793712314, 12
"""First numbers of a model."""
LABEL = "__label__"
SUPERVISED = 3
"""`model` of a classifier (src/args.h)."""
LOSSES = range(1, 5)
"""Numbers of the losses (src/args.h)."""
CENTROIDS = 256
"""Centroids of each part of a product quantizer."""
_HEADER = struct.Struct("<2i12id3iqq")
"""Magic and version; the arguments; size, words, labels, tokens and pruned entries of the dictionary."""
_SHAPE = struct.Struct("<qq")
_QUANTIZED = struct.Struct("<?qqi")
"""Whether norms are quantized, rows, columns, bytes of codes."""
_QUANTIZER = struct.Struct("<4i")
"""Columns, parts, columns of a part, columns of the last part."""


class _Shape(NamedTuple):
    rows: int
    columns: int


def labels(data: bytes) -> list[str]:
    """Return the labels of a classifier, without their prefix. Raise `ValueError` if `data` is no whole classifier."""
    if not data.startswith(struct.pack("<i", MAGIC)):
        raise ValueError("it is no fastText model")
    try:
        return _labels(data)
    except struct.error:
        raise ValueError("it is cut off") from None


def _labels(data: bytes) -> list[str]:
    header = _HEADER.unpack_from(data)
    if header[1] != VERSION:
        raise ValueError(f"it is no fastText model of version {VERSION}")
    columns, loss, kind, buckets, longest = (header[place] for place in (2, 8, 9, 10, 12))
    size, words, count, _, pruned = header[15:]
    if kind != SUPERVISED or not count:
        raise ValueError("it has no labels: it is no classifier")
    _require(columns > 0 and loss in LOSSES and min(words, count, buckets) >= 0 and size == words + count)
    _require(buckets > 0 or longest <= 0)
    at, found = _HEADER.size, []
    for number in range(size):
        end = data.find(b"\0", at)
        if end < 0:
            raise struct.error
        if number >= words:
            found.append(data[at:end].decode(errors="replace").removeprefix(LABEL))
        at = end + 10  # the terminator, a count of 8 bytes and a type of 1 byte
    at = _after(data, at, 8 * max(pruned, 0))
    is_quantized, at = _flag(data, at)
    _require(is_quantized or pruned < 0)
    rows = words + (buckets if pruned < 0 else pruned)
    at = _matrix_end(data, at, _Shape(rows, columns), is_quantized=is_quantized)
    is_output_quantized, at = _flag(data, at)
    _matrix_end(data, at, _Shape(count, columns), is_quantized=is_quantized and is_output_quantized)
    return found


def _matrix_end(data: bytes, at: int, shape: _Shape, *, is_quantized: bool) -> int:
    """Return where the matrix at `at` ends. Raise `ValueError` if it does not have this shape."""
    if not is_quantized:
        _require(_SHAPE.unpack_from(data, at) == shape)
        return _after(data, at + _SHAPE.size, 4 * shape.rows * shape.columns)
    has_norms, rows, columns, codes = _QUANTIZED.unpack_from(data, at)
    _require((rows, columns) == shape)
    at = _after(data, at + _QUANTIZED.size, codes)
    parts, at = _quantizer(data, at, columns)
    _require(codes == rows * parts)
    if has_norms:
        at = _after(data, at, rows)
        _, at = _quantizer(data, at, 1)
    return at


def _quantizer(data: bytes, at: int, columns: int) -> tuple[int, int]:
    """Return the parts of the product quantizer at `at`, and where it ends."""
    size, parts, width, last = _QUANTIZER.unpack_from(data, at)
    _require(size == columns and parts > 0 and width > 0 and 0 < last <= width)
    _require((parts - 1) * width + last == columns)
    return parts, _after(data, at + _QUANTIZER.size, 4 * columns * CENTROIDS)


def _flag(data: bytes, at: int) -> tuple[bool, int]:
    return struct.unpack_from("<?", data, at)[0], at + 1


def _after(data: bytes, at: int, length: int) -> int:
    _require(length >= 0)
    if at + length > len(data):
        raise struct.error
    return at + length


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("it is damaged: its sizes contradict each other")
