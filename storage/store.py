"""`Store`: objects by name, each put once and never changed. What `file:` and `s3:` storage have in common.

1. A name is visible only with all of its bytes; a crash leaves either nothing or everything.
2. Whoever puts a name second changes nothing and is told so. There is no overwriting.
3. Names are relative, separated by `/`, listed in byte order. Parts that begin with a dot are never names.

`tests/storage/test_store.py` holds every implementation to this.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from io import BufferedReader
from pathlib import Path
from typing import Protocol

from core import InputError


class Readable(Protocol):
    """Objects that can be read, by name."""

    def open(self, name: str) -> BufferedReader:
        """The object for reading, seekable; reads bring no more than what is near. Raises `CorruptData` where it
        is missing.
        """
        ...

    def read(self, name: str) -> bytes:
        """All bytes of an object. Raises `CorruptData` where it is missing."""
        ...

    def stamp(self, name: str) -> str:
        """A text that differs when the object under the name was deleted and put anew with other bytes.
        Raises `CorruptData` where it is missing.
        """
        ...


class Store(Readable, Protocol):
    """The objects under one root. Many processes on many machines may use one root at the same time.

    A store can be pickled, and then stands for the same root in the other process. Every method may raise
    `Unavailable` where the storage does not answer, refuses, or has no room.
    """

    @property
    def uri(self) -> str:
        """The root as one would configure it: `file:/data` or `s3://bucket/prefix`."""
        ...

    def put(self, name: str, data: bytes) -> bool:
        """Store `data` under `name`, durable on return. True: created; False: the name was there, unchanged."""
        ...

    def stage(self, name: str) -> "AbstractContextManager[Staged]":
        """A private local file for what is to become `name`; gone at the end of the context, published or not."""
        ...

    def put_file(self, path: Path, name: str) -> bool:
        """Publish the bytes of a local file under `name`, once, durable on return; the file stays.
        True: done now; False: the name was taken before. May be called again after a failure.
        """
        ...

    def exists(self, name: str) -> bool:
        """Whether the object is there, with all of its bytes."""
        ...

    def size(self, name: str) -> int:
        """Bytes of the object. Raises `CorruptData` where it is missing."""
        ...

    def age_ms(self, name: str) -> int:
        """Milliseconds since the object's bytes were made, by the storage's own clock. Raises `CorruptData` where it
        is missing.
        """
        ...

    def list(self, prefix: str = "") -> Iterator[str]:
        """Names that begin with `prefix` (any text, not only a directory), in byte order, as a stream."""
        ...

    def newest(self, directory: str, ending: str, most: int) -> Sequence[str]:
        """Names of the objects that lie directly in `directory` and end so: at most `most` of them, those put last, the youngest
        first. Memory is bounded by `most`, however many there are.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove the object, durably; one that is not there is removed already."""
        ...

    def substore(self, directory: str) -> "Store":
        """The objects below a name, as a store of their own. A directory that begins with a dot is none that
        this store lists.
        """
        ...

    def clear(self) -> None:
        """Remove every object, and what was left unfinished with them."""
        ...

    def unavailable_since_ms(self) -> int | None:
        """Since when the storage does not answer this process, in milliseconds since 1970; None while all is well."""
        ...

    def sweep(self) -> int:
        """Remove what killed programs left unfinished (staged files, multipart uploads); returns how many.
        What a living program is making stays.
        """
        ...


class Staged:
    """Bytes being made: write to `path` as you like, then `publish`."""

    __slots__ = ("_store", "name", "path")

    def __init__(self, store: Store, name: str, path: Path) -> None:
        self._store = store
        self.name = name
        self.path = path

    def publish(self) -> bool:
        """Make the bytes durable under their name, once. True: done now; False: the name was taken before,
        its bytes are unchanged. May be called again after a failure.
        """
        return self._store.put_file(self.path, self.name)

    def __repr__(self) -> str:
        return f"<staged {self.name}>"


def check_name(name: str) -> None:
    """Raises `InputError` for what cannot name an object in every kind of store."""
    if not all(_is_part(part) for part in name.split("/")):
        raise InputError(
            f"{name!r} is no name of a stored object: use relative parts separated by /, none of them "
            "empty or beginning with a dot"
        )


def _is_part(part: str) -> bool:
    return bool(part) and not part.startswith(".") and "\0" not in part and "\\" not in part
