"""A file of a fixed header, sections of data, and a checksum of each MiB of the data.

Both files that the loader maps into memory have this frame: shards of tokens and packing plans. A reader checks a block
when it first needs it, so opening costs one page however large the file is, and no damaged byte is ever used.

Layout, little-endian
1. The header, 4,096 bytes: magic (8 bytes), version (u32), a u32 of the format's own, six u64 of the format's own,
   the frame digest of the file that this one belongs to (32 bytes; zeros if there is none), XXH3-64 of all other header
   bytes (u64). The remaining bytes are zero.
2. The data. Every section begins at a multiple of 8 bytes.
3. XXH3-64 (u64) of each block of 1 MiB of the data; the last block may be shorter. The file ends here.

The frame digest is the SHA-256 of 1 and 3. The manifest of an export has it, so a reader that compares it when it opens
the file knows from a few KiB that every block will be the one that was sealed, or be refused.
"""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core import CorruptData, Unavailable
from thresher.shards.formats.mapped_file import REMEDIES, map_file

HEADER_BYTES = 4096
"""One page of memory, so that the data behind it can be mapped at a page boundary."""
BLOCK_BYTES = 1 << 20
"""XXH3 checks a block of this size in some 50 microseconds, and a bucket sends it in one request."""
VERSION = 2
NO_FRAME = "0" * 64
"""The frame digest of no file."""
_FIELDS = struct.Struct("<8sII6Q32s")
_DIGEST = struct.Struct("<Q")
_DIGEST_STOP = _FIELDS.size + _DIGEST.size
REMEDY = "run `thresher verify DIRECTORY --repair` on the export, then the same export again"

Words = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header's own fields of one format."""

    kind: int
    words: Words
    belongs_to: str = NO_FRAME
    """The frame digest of the file that this one belongs to, in hexadecimal digits."""

    def to_bytes(self, magic: bytes) -> bytes:
        """Return the 4,096 bytes of the header."""
        fields = _FIELDS.pack(magic, VERSION, self.kind, *self.words, bytes.fromhex(self.belongs_to))
        rest = bytes(HEADER_BYTES - _DIGEST_STOP)
        return fields + _DIGEST.pack(xxhash.xxh3_64_intdigest(fields + rest)) + rest

    @staticmethod
    def from_bytes(data: bytes, magic: bytes, where: str) -> "Header":
        """Return the header that `to_bytes` made. Raise `CorruptData`, which names `where`, for any other bytes."""
        if len(data) < HEADER_BYTES:
            raise CorruptData(
                f"{where}: cut off at offset {len(data)}, within the header of {HEADER_BYTES} bytes; {REMEDY}"
            )
        found, version, kind, *words, belongs_to = _FIELDS.unpack_from(data)
        if found != magic:
            raise CorruptData(f"{where}: offset 0 has {found!r}, not {magic!r}; {REMEDY}")
        rest = data[: _FIELDS.size] + data[_DIGEST_STOP:HEADER_BYTES]
        if _DIGEST.unpack_from(data, _FIELDS.size) != (xxhash.xxh3_64_intdigest(rest),):
            raise CorruptData(
                f"{where}: the header, offset 0 to {HEADER_BYTES}, does not match its checksum; {REMEDY}"
            )
        if version != VERSION:
            raise CorruptData(
                f"{where}: version {version} is not {VERSION}; read it with the Thresher that wrote it"
            )
        first, second, third, fourth, fifth, sixth = words
        return Header(
            kind=kind, words=(first, second, third, fourth, fifth, sixth), belongs_to=belongs_to.hex()
        )


def frame_digest(header: bytes, sums: Any) -> str:
    """Return the SHA-256 of a file's header and checksums."""
    digest = hashlib.sha256(header)
    digest.update(sums)
    return digest.hexdigest()


class CheckedWriter:
    """Writes the data behind a header that is completed last. Memory: 8 bytes for each MiB of data."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sums: list[int] = []
        self._hash = xxhash.xxh3_64()
        self._in_block = 0
        self.offset = HEADER_BYTES
        file.write(bytes(HEADER_BYTES))

    def write(self, data: npt.NDArray[Any]) -> None:
        """Append the bytes of an array."""
        view = memoryview(np.ascontiguousarray(data).data).cast("B")
        self._file.write(view)
        self.offset += len(view)
        while len(view):
            part = view[: BLOCK_BYTES - self._in_block]
            self._hash.update(part)
            self._in_block += len(part)
            view = view[len(part) :]
            if self._in_block == BLOCK_BYTES:
                self._end_block()

    def align(self) -> int:
        """Append zeros up to the next multiple of 8 bytes, and return that offset."""
        self.write(np.zeros(-self.offset % 8, np.uint8))
        return self.offset

    def close(self, magic: bytes, header: Header) -> str:
        """Write the checksums and the header, and return the frame digest. The caller closes the file."""
        if self._in_block:
            self._end_block()
        sums, head = np.array(self._sums, "<u8").tobytes(), header.to_bytes(magic)
        self._file.write(sums)
        self._file.seek(0)
        self._file.write(head)
        return frame_digest(head, sums)

    def _end_block(self) -> None:
        self._sums.append(self._hash.intdigest())
        self._hash.reset()
        self._in_block = 0


class Blocks:
    """The checksums of a file's data."""

    def __init__(self, sums: npt.NDArray[np.uint64], stop: int, where: str) -> None:
        self._sums = sums
        self._stop = stop
        self._where = where

    def span(self, block: int) -> tuple[int, int]:
        """Return where in the file a block begins and ends."""
        start = HEADER_BYTES + block * BLOCK_BYTES
        return start, min(start + BLOCK_BYTES, self._stop)

    def check(self, block: int, data: Any) -> None:
        """Raise `CorruptData` with the offset if `data` does not match the checksum of a block."""
        if xxhash.xxh3_64_intdigest(data) != int(self._sums[block]):
            start, stop = self.span(block)
            raise CorruptData(
                f"{self._where}: damaged between offset {start} and {stop}: these bytes do not match their "
                f"checksum at offset {self._stop + 8 * block}; {REMEDY}"
            )


class CheckedFile:
    """A mapped file. `check` must have been called for bytes before they are used.

    A file that is cut off while it is mapped is an error when one of the lost blocks is checked. If every block was
    checked before, reading the lost bytes kills the process (SIGBUS): replace a file by renaming, and cut none off.
    """

    def __init__(self, path: Path, magic: bytes, frame_sha256: str | None = None) -> None:
        """Map the file and read its header. If `frame_sha256` is given, the file must have that frame digest.

        Raise `CorruptData` if it is missing, cut off, of another format or another file, and `Unavailable` if the
        system does not let it be opened or mapped.
        """
        self.where = str(path)
        try:
            with path.open("rb", buffering=0) as file:
                head = file.read(HEADER_BYTES)
                self.header = Header.from_bytes(head, magic, self.where)
                self._map = map_file(file.fileno())
        except FileNotFoundError:
            raise CorruptData(f"{self.where} is missing; {REMEDY}") from None
        except OSError as error:
            remedy = REMEDIES.get(error.errno or 0, "")
            raise Unavailable(f"{self.where} cannot be read: {error.strerror or error}{remedy}") from None
        self._head = head
        self._expected = frame_sha256
        self._blocks: Blocks | None = None
        self._intact = np.zeros(0, np.uint8)
        self._unchecked = -1

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._map)

    @property
    def is_checked(self) -> bool:
        """Whether every block was checked. Callers for which finding spans is costly ask before they find them."""
        return not self._unchecked

    def seal(self, stop: int) -> None:
        """Say where the data ends, as the header has it.

        Raise `CorruptData` if that does not fit the file's size, or if the frame digest is not the expected one.
        """
        count = block_count(stop)
        if len(self._map) != stop + 8 * count:
            raise CorruptData(
                f"{self.where}: has {len(self._map)} bytes where its header says {stop + 8 * count}; {REMEDY}"
            )
        sums = self.array("<u8", count, stop)
        check_frame(self._head, sums, self._expected, self.where)
        self._blocks = Blocks(sums, stop, self.where)
        self._intact = np.zeros(count, np.uint8)
        self._unchecked = count

    def array(self, dtype: str, count: int, offset: int) -> npt.NDArray[Any]:
        """Return a section as an array that reads the file; not checked."""
        return self._map[offset : offset + count * np.dtype(dtype).itemsize].view(dtype)

    def check(self, start: int, stop: int) -> None:
        """Check the blocks that hold the bytes from `start` to `stop` of the file, each once."""
        if self.is_checked:
            return
        for block in range((start - HEADER_BYTES) // BLOCK_BYTES, block_count(stop)):
            self._check_block(block)

    def check_spans(self, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> None:
        """Check the blocks that hold these spans of bytes, each once."""
        if self.is_checked or not len(starts):
            return
        lowest, highest = int(starts.min()) - HEADER_BYTES, int(stops.max()) - HEADER_BYTES
        between = self._intact[lowest // BLOCK_BYTES : -(-highest // BLOCK_BYTES)]
        if between.all():
            return
        some = stops > starts
        firsts = (starts[some] - HEADER_BYTES) // BLOCK_BYTES
        lasts = (stops[some] - 1 - HEADER_BYTES) // BLOCK_BYTES
        touched = np.zeros(len(self._intact) + 1, np.int64)
        np.add.at(touched, firsts, 1)
        np.add.at(touched, lasts + 1, -1)
        for block in np.flatnonzero((np.cumsum(touched)[:-1] > 0) & (self._intact == 0)).tolist():
            self._check_block(block)

    def _check_block(self, block: int) -> None:
        assert self._blocks is not None, "seal comes first"
        if not self._intact[block]:
            first, last = self._blocks.span(block)
            self._require_length(last)
            self._blocks.check(block, self._map[first:last])
            self._intact[block] = 1
            self._unchecked -= 1

    def _require_length(self, last: int) -> None:
        """Raise `CorruptData` if the file is shorter than `last` now: reading the mapping would kill the process."""
        try:
            length = Path(self.where).stat().st_size
        except OSError:
            return  # a file that has no name any more keeps its bytes
        if length < last:
            raise CorruptData(
                f"{self.where}: cut off at offset {length} while it was read; it had {len(self._map)} bytes; {REMEDY}"
            )


def check_frame(header: bytes, sums: Any, expected: str | None, where: str) -> None:
    """Raise `CorruptData` if a file's header and checksums do not have the expected frame digest."""
    if expected is not None and frame_digest(header, sums) != expected:
        raise CorruptData(
            f"{where}: offset 0 to {HEADER_BYTES} and the checksums at its end are not what the manifest names: "
            f"damaged, or another file; {REMEDY}"
        )


def block_count(stop: int) -> int:
    """Return the number of blocks of data that ends at offset `stop`."""
    return -(-(stop - HEADER_BYTES) // BLOCK_BYTES)
