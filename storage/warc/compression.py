"""Compression of archive files: each record is a member of its own, so a reader can seek to its offset and read it
alone.

Every tool reads gzip. Zstandard (`.warc.zst`, a frame a record, by the draft of the IIPC, without a dictionary) is
smaller; FastWARC reads it, most others do not yet.
"""

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, cast, get_args

import xxhash
import zstandard
from isal import igzip

from thresher.core import InputError

Compression = Literal["gzip", "zstd"]
Compress = Callable[[bytes], bytes]

GZIP_LEVEL = 1
"""isal compresses about 2.5 times as fast as zlib's level 1, to about the size of its level 3. At its levels 1 and 2,
about one small record in a thousand compresses differently in another process (isal 1.9.1, ISA-L 2.32.1), so this level
is for what is written once.
"""
REPEATABLE_LEVEL = 3
"""Gives the same bytes in every process (48,000 records, 8 processes), in 1.5 times the time of level 1, so it is for
what is made again.
"""
ZSTD_LEVEL = 3
"""Zstandard's own default."""
MAX_BLOCK = 128 << 10
"""Bytes of a block of Zstandard at most."""
SUFFIXES: Mapping[Compression, str] = {"gzip": ".warc.gz", "zstd": ".warc.zst"}
"""The suffix of a file's name for each compression."""
ARCHIVE_SUFFIXES = (*SUFFIXES.values(), ".warc.lz4", ".warc")
"""The suffixes of archive files' names, ingested ones included."""


def compressor(compression: Compression) -> Compress:
    """Return the function that turns a record into a member. It belongs to one thread."""
    if compression == "gzip":
        return partial(igzip.compress, compresslevel=GZIP_LEVEL, mtime=0)
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress


def gzip_member(record: bytes) -> bytes:
    """Return the record as one gzip member, without time or name in its header. The same record gives the same member
    in every process.
    """
    compressed: bytes = igzip.compress(record, REPEATABLE_LEVEL, mtime=0)
    return compressed


def stored_member(record: bytes, compression: Compression) -> bytes:
    """Return the record as a member that holds its bytes as they are, so that the length of the member depends only on
    the length of the record.
    """
    if compression == "gzip":
        packer = zlib.compressobj(0, wbits=31)
        return packer.compress(record) + packer.flush()
    # RFC 8878, section 3.1.1: a single segment, its size in 4 bytes, a checksum; raw blocks of at most 128 KiB.
    blocks = [record[at : at + MAX_BLOCK] for at in range(0, len(record), MAX_BLOCK)]
    headers = [len(block) << 3 | (number == len(blocks)) for number, block in enumerate(blocks, 1)]
    return b"".join(
        [
            b"\x28\xb5\x2f\xfd\xa4",
            len(record).to_bytes(4, "little"),
            *(header.to_bytes(3, "little") + block for header, block in zip(headers, blocks, strict=True)),
            (xxhash.xxh64_intdigest(record) & 0xFFFFFFFF).to_bytes(4, "little"),
        ]
    )


def compression_of(name: str) -> Compression | None:
    """Return how a file of ours is compressed, by its name; None for any other name."""
    return next((kind for kind, suffix in SUFFIXES.items() if name.endswith(suffix)), None)


def stem(name: str) -> str:
    """Return the name of an archive file without its suffix, and any other name unchanged."""
    return next((name.removesuffix(ending) for ending in ARCHIVE_SUFFIXES if name.endswith(ending)), name)


def require_compression(name: str) -> Compression:
    """Return `name` if it names a compression. Raise `InputError` if not."""
    if name not in get_args(Compression):
        raise InputError(f"{name!r} is no compression of archive files: give {' or '.join(SUFFIXES)}")
    return cast("Compression", name)
