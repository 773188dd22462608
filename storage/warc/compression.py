"""Compression of archive files: each record is a member of its own, so that seeking to its offset is enough to read it.

gzip is what every tool reads. Zstandard (`.warc.zst`, a frame a record, as the draft of the IIPC has it, without
dictionary) is smaller; FastWARC reads it, most others do not yet.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, cast, get_args

import zstandard
from isal import igzip

from core import InputError

Compression = Literal["gzip", "zstd"]
Compress = Callable[[bytes], bytes]

GZIP_LEVEL = 1
"""isal compresses some 2.5 times as fast as zlib's level 1, to about the size of its level 3. At its levels 1 and 2 one small record
in some thousand is compressed otherwise by another process (isal 1.9.1, ISA-L 2.32.1): for what is written once."""
REPEATABLE_LEVEL = 3
"""The same bytes in every process (48,000 records, 8 processes), in 1.5 times the time of level 1: for what is made again."""
ZSTD_LEVEL = 3
"""Zstandard's own default."""
SUFFIXES: Mapping[Compression, str] = {"gzip": ".warc.gz", "zstd": ".warc.zst"}
"""How the name of a file ends that is compressed so."""
ARCHIVE_SUFFIXES = (*SUFFIXES.values(), ".warc.lz4", ".warc")
"""How the names of archive files end, those that were brought in among them."""


def compressor(compression: Compression) -> Compress:
    """Make the function that turns a record into a member. It belongs to one thread."""
    if compression == "gzip":
        return partial(igzip.compress, compresslevel=GZIP_LEVEL, mtime=0)
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress


def gzip_member(record: bytes) -> bytes:
    """The record as one gzip member, without time or name in its header. The same record gives the same member in every process."""
    compressed: bytes = igzip.compress(record, REPEATABLE_LEVEL, mtime=0)
    return compressed


def compression_of(name: str) -> Compression | None:
    """How a file of ours is compressed, by its name; None for any other name."""
    return next((kind for kind, suffix in SUFFIXES.items() if name.endswith(suffix)), None)


def stem(name: str) -> str:
    """The name of an archive file without its ending; of any other, the name."""
    return next((name.removesuffix(ending) for ending in ARCHIVE_SUFFIXES if name.endswith(ending)), name)


def require_compression(name: str) -> Compression:
    """The name of a compression. Raise `InputError` for any other."""
    if name not in get_args(Compression):
        raise InputError(f"{name!r} is no compression of archive files: give {' or '.join(SUFFIXES)}")
    return cast("Compression", name)
