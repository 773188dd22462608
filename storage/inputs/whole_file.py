"""Read files that count only if they are whole: examples of a training, texts of benchmarks.

An input of `ingest` that breaks off gives what stands before the break, and its records say so. A model that is trained
on the half of a file says nothing, so here a break is an error.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from thresher.core import InputError
from thresher.storage.inputs.decompression import DecompressedStream, decompress
from thresher.storage.warc.members import CUT_OFF

COMPRESSIONS = (".gz", ".bz2", ".zst")
"""Ends of the names of compressed files. Whether a file is unpacked is decided by its bytes alone."""
_PIECE = 1 << 20


def plain_name(name: str) -> str:
    """Return a file's name without the end that names its compression."""
    return next((name.removesuffix(end) for end in COMPRESSIONS if name.endswith(end)), name)


@contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """Yield the unpacked bytes of a file, plain or compressed with gzip, bzip2 or Zstandard.

    Raise `InputError` if it cannot be read, also while it is read; if it is cut off or damaged; or if it unpacks to
    more than `storage.inputs.decompression.max_unpacked_bytes`.
    """
    try:
        with path.open("rb") as file:
            unpacked = decompress(file, name=str(path)) if file.seekable() else None
            if unpacked is None:
                if file.seekable():
                    file.seek(0)
                yield file
            else:
                yield cast("BinaryIO", io.BufferedReader(_WholeStream(unpacked, str(path)), _PIECE))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


class _WholeStream(io.RawIOBase):
    """Unpacked bytes; an error in place of an early end."""

    def __init__(self, unpacked: DecompressedStream, name: str) -> None:
        super().__init__()
        self._unpacked, self._name = unpacked, name

    def readable(self) -> bool:
        """Return True. `io.RawIOBase` requires it."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of `buffer` and return its length; 0 at the end. Raise `InputError` if the end is early."""
        count = self._unpacked.readinto(buffer)
        if not count and self._unpacked.problem:
            how = "cut off" if self._unpacked.problem == CUT_OFF else "damaged"
            raise InputError(f"{self._name}: the compressed data are {how}; get the file again")
        return count
