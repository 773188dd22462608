"""A block file: the bytes that were fetched under a key, with the key and a checksum.

1. A block is read back whole and unchanged, under its own key, or not at all.
2. Its modification time is when it was last read, to a second. Eviction uses this time.

Layout: magic, length of the key, length of the data, XXH3-128 of the data (all little-endian), the key in UTF-8, the
data. Every byte of the file is compared with something, so a changed byte is noticed anywhere.
"""

import os
import stat
import struct
import time
from contextlib import suppress

import xxhash

from thresher.core import CorruptData

MAGIC = b"thrblk\x00\x01"
HEAD = struct.Struct("<8sIQ16s")
TOUCH_NS = 1_000_000_000
"""The modification time of a block that is read repeatedly is written once in this many nanoseconds."""


def encoded(key: str) -> bytes:
    """Return any text as bytes, even with lone surrogates (names that were no UTF-8 have them)."""
    return key.encode("utf-8", "surrogatepass")


def name(key: bytes) -> str:
    """Return the name of the file of a key's block: 32 hexadecimal digits."""
    return xxhash.xxh3_128_hexdigest(key)


def size(key: bytes, data: bytes) -> int:
    """Return the size of the file in bytes."""
    return HEAD.size + len(key) + len(data)


def write(descriptor: int, key: bytes, data: bytes) -> None:
    """Write the block into an empty file. Raise `OSError` if there is no room."""
    head = HEAD.pack(MAGIC, len(key), len(data), xxhash.xxh3_128_digest(data)) + key
    offset = 0
    for part in (head, data):
        view = memoryview(part)
        while view:
            written = os.pwrite(descriptor, view, offset)
            view = view[written:]
            offset += written


def read_block(path: str, key: bytes) -> bytes:
    """Return the data of the block at `path`.

    Raise `FileNotFoundError` if there is none, `CorruptData` if it is not the whole and unchanged block of this key,
    and other `OSError`s if the disk refuses.
    """
    # O_NONBLOCK: do not wait for a FIFO that another program put here. It changes nothing for files.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        head = os.pread(descriptor, HEAD.size + len(key), 0) if stat.S_ISREG(status.st_mode) else b""
        if len(head) < HEAD.size + len(key) or head[HEAD.size :] != key:
            raise CorruptData(f"{path} is not the block of this key")
        magic, key_length, length, digest = HEAD.unpack_from(head)
        if magic != MAGIC or key_length != len(key) or len(head) + length != status.st_size:
            raise CorruptData(f"{path} is no whole block")
        data = os.pread(descriptor, length, len(head))
        if len(data) != length or xxhash.xxh3_128_digest(data) != digest:
            raise CorruptData(f"{path} has other bytes than were written at offset {len(head)}")
        # In both directions: a time in the future comes from a clock that was set back.
        if abs(time.time_ns() - status.st_mtime_ns) > TOUCH_NS:
            with suppress(OSError):  # the cache may be read-only
                os.utime(descriptor)
    finally:
        os.close(descriptor)
    return data
