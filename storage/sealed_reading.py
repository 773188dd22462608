"""Reads sealed objects only if they are as they were sealed.

1. An object that is read whole is hashed while it is read, and the hash is compared with the SHA-256 of its seal.
2. A range of an archive file is read without the rest of the file. The checksums inside the file guard it: each gzip
   member carries a CRC-32, a Zstandard frame may carry an XXH64. Each process that reads a file without such checksums
   (plain WARC, LZ4) hashes it once.
3. A record that cannot be read counts as damage only if the file has changed since it was sealed. A record that was
   damaged when its file was sealed stays a record of type `damaged`.
"""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO, Protocol

from thresher.core import CorruptData, InputError
from thresher.storage.manifest import Input, stored_digest
from thresher.storage.store import Readable
from thresher.storage.warc.dictionary import FRAME
from thresher.storage.warc.members import GZIP, ZSTD
from thresher.storage.warc.records import DAMAGED, ArchivedRecord, read_records

ZSTD_CHECKSUM = 1 << 2
"""The bit of a frame header that says that a checksum ends the frame (RFC 8878, section 3.1.1.1.1)."""
FILES_KNOWN = 64
"""How many hashed files a process remembers."""


class SealedObject(Protocol):
    """An object as its seal names it. `storage.manifest.Input` and `Output` are such objects."""

    @property
    def name(self) -> str:
        """The name in storage."""
        ...

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes, in hexadecimal digits."""
        ...


def read_sealed(store: Readable, sealed: SealedObject) -> bytes:
    """Return all bytes of a sealed object. Raise `CorruptData` if they are not the sealed ones."""
    data = store.read(sealed.name)
    if hashlib.sha256(data).hexdigest() != sealed.sha256:
        raise changed_error(sealed.name)
    return data


def check_sealed(store: Readable, sealed: SealedObject) -> None:
    """Raise `CorruptData` if the bytes of an object are not the sealed ones. A process hashes an object once."""
    if not _is_whole(store, sealed):
        raise changed_error(sealed.name)


def sealed_records(store: Readable, span: Input) -> Iterator[ArchivedRecord]:
    """Yield the records of a sealed archive file that begin in the range. Raise `CorruptData`, which names the place,
    if the file has changed since it was sealed and the change touches the range.
    """
    with store.open(span.name) as file:
        size = file.seek(0, io.SEEK_END)
        if span.end is not None and size < span.end:
            raise changed_error(
                span.name, f"it ends at byte {size:,}, and records were sealed up to byte {span.end:,}"
            )
        if not _bears_checksums(file):
            check_sealed(store, span)
        try:
            for record in read_records(file, span.first, span.end, name=span.name):
                if record.type == DAMAGED and not _is_whole(store, span):
                    raise changed_error(span.name, f"at byte {record.offset:,}: {record.problem}")
                yield record
        except InputError as error:  # the first bytes of the file are those of no WARC any more
            raise changed_error(span.name, "no record begins at its byte 0") from error


def changed_error(name: str, where: str = "") -> CorruptData:
    """Return the error for an object that is not as it was sealed. It names the object, the damaged place, and what to
    do.
    """
    is_archive = name.startswith(("warc/", "columns/")) and not name.endswith(".cdxj.gz")
    what = "it" if name.startswith("columns/") else "its damaged records"
    remedy = (
        f"copy it back from a backup, or give up {what} with `thresher verify --accept-loss`"
        if is_archive
        else "run `thresher verify --repair`, then the step that makes it"
    )
    return CorruptData(f"{name} is not as it was sealed{f' ({where})' if where else ''}; {remedy}")


def _is_whole(store: Readable, sealed: SealedObject) -> bool:
    found = _Object(name=sealed.name, stamp=store.stamp(sealed.name), store=store)
    return _digest(found) == sealed.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """The key of a cached digest. An object that is put again with other bytes has another stamp, and so has an object
    of the same name in another store.
    """

    name: str
    stamp: str
    store: Readable = field(compare=False)


@lru_cache(FILES_KNOWN)
def _digest(found: _Object) -> str:
    return stored_digest(found.store, found.name)


def _bears_checksums(file: BinaryIO) -> bool:
    file.seek(0)
    head = file.read(8)
    if head.startswith(FRAME):
        file.seek(int.from_bytes(head[4:], "little"), io.SEEK_CUR)
        head = file.read(5)
    return head.startswith(GZIP) or (head.startswith(ZSTD) and bool(head[4:] and head[4] & ZSTD_CHECKSUM))
