"""`Store`: objects by name, each put once and never changed. `file:` and `s3:` storage both keep to this interface.

1. A name is visible only with all of its bytes. A crash leaves either nothing or the whole object.
2. Whoever puts a name second changes nothing and learns it. Nobody overwrites an object.
3. Names are relative, have `/` between their parts, and are listed in byte order. A part that begins with a dot is
   never a name.

`tests/storage/test_store.py` holds every implementation to this.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Protocol

from thresher.core import CorruptData, InputError
from thresher.core.call_times import CallTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """Bytes of an object: `length` of them, from the offset `first` on."""

    name: str
    first: int
    length: int


class Readable(Protocol):
    """Objects that a caller can read by name."""

    def open(self, name: str) -> BufferedReader:
        """Open the object for reading, seekable. A read fetches only the bytes near its position. Raise `CorruptData`
        if the object is missing.
        """
        ...

    def read(self, name: str) -> bytes:
        """Return all bytes of an object. Raise `CorruptData` if it is missing."""
        ...

    def stamp(self, name: str) -> str:
        """Return a text that changes if the object is deleted and put again with other bytes. Raise `CorruptData` if it
        is missing.
        """
        ...


class Store(Readable, Protocol):
    """The objects under one root. Many processes on many machines may use one root at the same time.

    A store can be pickled and then stands for the same root in the other process. Every method may raise `Unavailable`
    if the storage does not answer, refuses, or has no room.
    """

    @property
    def uri(self) -> str:
        """The root as a user configures it: `file:/data` or `s3://bucket/prefix`."""
        ...

    def put(self, name: str, data: bytes) -> bool:
        """Store `data` under `name`, durable on return. Return True if the object was created, False if the name was
        taken; its bytes stay.
        """
        ...

    def stage(self, name: str) -> "AbstractContextManager[Staged]":
        """Yield a private local file for the bytes of the future object `name`. The file is removed at the end of the
        context, published or not.
        """
        ...

    def put_file(self, path: Path, name: str) -> bool:
        """Publish the bytes of a local file under `name`, once, durable on return; the local file stays. Return True if
        the object was created, False if the name was taken. If it raises, it may be called again.
        """
        ...

    def read_ranges(self, ranges: Iterable[ByteRange]) -> Iterator[bytes]:
        """Yield the bytes of each range, in order. Object storage reads many at the same time, and some MB ahead of the
        caller. All ranges of one object are of one version of it. Raise `CorruptData` if an object is missing, was
        replaced meanwhile, or ends before a range does.
        """
        ...

    def exists(self, name: str) -> bool:
        """Return whether the object is there, with all of its bytes."""
        ...

    def size(self, name: str) -> int:
        """Return the size of the object in bytes. Raise `CorruptData` if it is missing."""
        ...

    def age_ms(self, name: str) -> int:
        """Return the milliseconds since the object was put, by the storage's own clock. Raise `CorruptData` if it is
        missing.
        """
        ...

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with `prefix` (any text, not only a directory), in byte order, as a stream."""
        ...

    def list_stamps(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield what `list` yields, each name with its stamp: whoever compares many objects need not ask for each
        stamp.
        """
        ...

    def newest(self, directory: str, ending: str, most: int) -> Sequence[str]:
        """Return the names of objects directly in `directory` that end with `ending`: at most `most` of them, those put
        last, the youngest first. Memory is bounded by `most`, however many objects there are.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove the object, durably. Do nothing if it is not there."""
        ...

    def substore(self, directory: str) -> "Store":
        """Return the objects below a name as a store of their own. This store does not list a directory that begins
        with a dot.
        """
        ...

    def clear(self) -> None:
        """Remove every object, and everything unfinished."""
        ...

    def unavailable_since_ms(self) -> int | None:
        """Return since when the storage does not answer this process, in milliseconds since 1970; None if it
        answers.
        """
        ...

    def call_times(self) -> CallTimes:
        """Return how many calls this process has sent to the storage, and how long they took. A directory counts what
        it puts; object storage counts every request.
        """
        ...

    def sweep(self) -> int:
        """Remove what killed programs left unfinished (staged files, multipart uploads), and return how many. What a
        living program is making stays.
        """
        ...


class Staged:
    """Bytes in the making: write to `path`, then call `publish`."""

    __slots__ = ("_store", "name", "path")

    def __init__(self, store: Store, name: str, path: Path) -> None:
        self._store = store
        self.name = name
        self.path = path

    def publish(self) -> bool:
        """Make the bytes durable under their name, once. Return True if the object was created, False if the name was
        taken; its bytes stay. If it raises, it may be called again.
        """
        return self._store.put_file(self.path, self.name)

    def __repr__(self) -> str:
        return f"<staged {self.name}>"


def read_one_by_one(store: Readable, ranges: Iterable[ByteRange]) -> Iterator[bytes]:
    """Yield and raise what `Store.read_ranges` does, by opening an object for each range."""
    stamps: dict[str, str] = {}
    for each in ranges:
        with store.open(each.name) as file:
            file.seek(each.first)
            data = file.read(each.length)
        stamp = store.stamp(each.name)
        if stamps.setdefault(each.name, stamp) != stamp:
            raise CorruptData(f"{each.name} was replaced while it was read; run the command again")
        if len(data) != each.length:
            raise CorruptData(
                f"{each.name} ends before offset {each.first + each.length}: it is not what was stored"
            )
        yield data


def check_name(name: str) -> None:
    """Raise `InputError` if `name` cannot name an object in every kind of store."""
    if not all(_is_part(part) for part in name.split("/")):
        raise InputError(
            f"{name!r} is no name of a stored object: use relative parts separated by /, none of them "
            "empty or beginning with a dot"
        )


def _is_part(part: str) -> bool:
    return bool(part) and not part.startswith(".") and "\0" not in part and "\\" not in part
