"""`PlacedFile`: an archive file outside the storage, which is read only as long as it is as it was when it was sealed.

1. Its Manifest says where it is (`in_place` in the recipe: address, and entity tag in a bucket), and its size and
   SHA-256.
2. A process hashes a local file before it reads it, and again if size, times or inode differ from the last time. Each
   read looks whether they do. An object of a bucket is recognised by its entity tag.
3. Nothing here writes to the address, or deletes there.
"""

import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from thresher.core import CorruptData, InputError
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.manifest import load_manifest, manifest_name
from thresher.storage.seekable import SeekableFile
from thresher.storage.store import Store
from thresher.storage.warc.compression import stem

if TYPE_CHECKING:
    from thresher.storage.s3.s3_store import S3Store

Found = TypeVar("Found")
FIELD = "in_place"
READ_AHEAD = 64 << 10
"""Bytes that a local file reads at a time."""
S3 = "s3://"


class ChangedInPlace(InputError, CorruptData):
    """A file that was ingested in place is gone, or has other bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """An archive file, and where it is."""

    name: str
    """Its name in the storage, under which nothing lies."""
    address: str
    """`file:/absolute/path` or `s3://bucket/key`."""
    etag: str
    """Entity tag of an object; empty for a local file."""
    size: int
    sha256: str

    def open(self) -> io.BufferedReader:
        """Open the file for reading. Raise `ChangedInPlace` if it is not as it was sealed; later reads do, too."""
        if self.address.startswith(S3):
            return self._open_object()
        try:
            file = Path(self.address.removeprefix("file:")).open("rb", buffering=0)  # noqa: SIM115 - the reader closes it
        except OSError as error:
            raise self._changed(f"it cannot be opened: {os.strerror(error.errno or 0)}") from error
        state = _state(file.fileno())
        fault = ""
        if state.size != self.size:
            fault = f"it has {state.size:,} bytes, and had {self.size:,}"
        elif _sha256(self.address, state) != self.sha256:
            fault = "its SHA-256 differs"
        if fault:
            file.close()
            raise self._changed(fault)
        return io.BufferedReader(
            _WatchedFile(file, state, self._changed("it was changed meanwhile")), READ_AHEAD
        )

    def read(self) -> bytes:
        """Return all bytes. Raise `ChangedInPlace` if the file is not as it was sealed."""
        with self.open() as file:
            return file.read()

    def current_size(self) -> int:
        """Return the size that the file has now; 0 if it is not there."""
        if self.address.startswith(S3):
            with self._open_object() as file:
                return file.seek(0, io.SEEK_END)
        try:
            return Path(self.address.removeprefix("file:")).stat().st_size
        except OSError:
            return 0

    def stamp(self) -> str:
        """Return a text that changes if the file is replaced. Raise `ChangedInPlace` if it is not as it was sealed."""
        self.open().close()
        return self.sha256

    def _open_object(self) -> io.BufferedReader:
        bucket, _, key = self.address.removeprefix(S3).partition("/")
        store = _bucket(bucket)
        try:
            file = store.open(key)
            if store.stamp(key) == self.etag:
                return file
        except CorruptData as error:
            raise self._changed("it is not there") from error
        file.close()
        raise self._changed("its entity tag differs")

    def _changed(self, how: str) -> ChangedInPlace:
        return ChangedInPlace(
            f"{self.name} stayed in place at {self.address}, and is not as it was ingested: {how}; "
            "put the file back as it was"
        )


def placed_file(store: Store, name: str) -> PlacedFile | None:
    """Return the file that an archive file's Manifest places outside the storage; None for any other name."""
    part = stem(name)
    if part == name or not name.startswith("warc/"):
        return None
    sealed = manifest_name(STEP_NAME, part.removeprefix("warc/"))
    if not store.exists(sealed):
        return None
    manifest = load_manifest(store, sealed)
    place: Any = manifest.recipe.get(FIELD)
    output = next((each for each in manifest.outputs if each.name == name), None)
    if output is None or not isinstance(place, dict):
        return None
    return PlacedFile(
        name=name,
        address=str(place["address"]),
        etag=str(place.get("etag", "")),
        size=output.bytes,
        sha256=output.sha256,
    )


def here_or_placed(
    store: Store, name: str, here: Callable[[str], Found], there: Callable[[PlacedFile], Found]
) -> Found:
    """Return `here(name)`; if the store lacks the object and its Manifest places it elsewhere, `there` of that file."""
    try:
        return here(name)
    except CorruptData:
        if (placed := placed_file(store, name)) is None:
            raise
    return there(placed)


@lru_cache(16)
def _bucket(name: str) -> "S3Store":
    """Return a bucket, with connections that last: they close with the store, and files read through them."""
    from thresher.storage.s3.s3_store import S3Store  # noqa: PLC0415 - the client takes most of a second to import

    return S3Store.at(f"{S3}{name}", key="ingest --in-place")


@dataclass(frozen=True, slots=True)
class _State:
    """What changes if somebody writes to a file or replaces it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def _state(descriptor: int) -> _State:
    found = os.fstat(descriptor)
    return _State(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(64)
def _sha256(address: str, state: _State) -> str:
    """Return the digest of a local file in that state; an empty text if it is in another one."""
    with Path(address.removeprefix("file:")).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return digest if _state(file.fileno()) == state else ""


class _WatchedFile(SeekableFile):
    """A local file each read of which fails once the file has changed."""

    def __init__(self, file: io.FileIO, state: _State, error: ChangedInPlace) -> None:
        super().__init__(state.size)
        self._file, self._state, self._error = file, state, error

    def readinto(self, buffer: Any, /) -> int:
        """Read into the buffer. Raise `ChangedInPlace` if the file is not as it was when it was opened."""
        data = os.pread(self._file.fileno(), len(buffer), self._position)
        if _state(self._file.fileno()) != self._state:
            raise self._error
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
