"""The Zstandard dictionary in front of a WARC file (IIPC, Zstandard compression of WARC, section 2.3).

The file begins with a skippable frame that holds the dictionary of all other frames, compressed or not. With it, a
record of some hundred bytes is half as long as without it, because the words that all records of a file share stand in
the dictionary.
"""

from collections.abc import Callable, Sequence
from typing import BinaryIO

import zstandard

from thresher.core import InputError

FRAME = b"\x5d\x2a\x4d\x18"
"""First bytes of the skippable frame."""
DICTIONARY = b"\x37\xa4\x30\xec"
"""First bytes of a dictionary (RFC 8878, section 5)."""
PACKED = b"\x28\xb5\x2f\xfd"
"""First bytes of a dictionary that is compressed itself."""
MAX_BYTES = 1 << 27
"""Bytes of a dictionary at most, and of the window of its frames: what the `zstd` command accepts without an option
(`--long=27`).
"""
SIZE = 112_640
"""Bytes of a dictionary that is trained here: the default of the `zstd` command."""
LEVEL = 3


def read_dictionary(file: BinaryIO, name: str) -> tuple[zstandard.ZstdDecompressor, int]:
    """Return the decompressor for the frames of a file, which begins with a dictionary, and the offset of the first of
    them. Raise `InputError` if the dictionary is broken.
    """
    file.seek(0)
    head = file.read(8)
    size = int.from_bytes(head[4:], "little")
    data = file.read(min(size, MAX_BYTES))
    try:
        if data.startswith(PACKED):
            data = zstandard.ZstdDecompressor(max_window_size=MAX_BYTES).stream_reader(data).read(MAX_BYTES)
        if data.startswith(DICTIONARY):
            dictionary = zstandard.ZstdCompressionDict(data)
            engine = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=MAX_BYTES)
            return engine, len(head) + size
    except zstandard.ZstdError:
        pass
    raise InputError(f"{name}: the Zstandard dictionary at its beginning is broken; get the file again")


def train(samples: Sequence[bytes]) -> tuple[bytes, Callable[[bytes], bytes]]:
    """Return the frame of a dictionary made of `samples`, and the function that makes a record a frame with it. The
    same samples and records give the same bytes.

    Raise `zstandard.ZstdError` if the samples are too few or too short for a dictionary.
    """
    data = zstandard.train_dictionary(SIZE, list(samples)).as_bytes()
    dictionary = zstandard.ZstdCompressionDict(data)
    dictionary.precompute_compress(level=LEVEL)
    engine = zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary, write_checksum=True)
    return FRAME + len(data).to_bytes(4, "little") + data, engine.compress
