"""`PartStore`: what a work has of the storage: the objects that its part is made from, and those that it makes.

It holds no address and no credential, only a way to ask. In a worker process that way is the pipe to its parent
(`pipeline.engine.local.part_server`), who answers for the objects of the part and for no others.
"""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from core import Conflict, CorruptData, InputError, ThresherError, Unavailable
from pipeline.engine.messages import (
    CHUNK_BYTES,
    ErrorMessage,
    FinishOutput,
    ObjectBytes,
    ObjectSize,
    ObjectStamp,
    OpenObject,
    OutputDigest,
    ReadObject,
    Request,
    Response,
    StampObject,
    WriteOutput,
)
from storage.manifest import Output

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

READ_AHEAD = 256 << 10
"""Bytes that an open object brings at a time."""
ERROR_CLASSES: dict[str, type[ThresherError]] = {
    kind.__name__: kind for kind in (ThresherError, InputError, Unavailable, Conflict, CorruptData)
}
"""What may be wrong, by the name under which it is said."""


class PartStore:
    """The objects of one part."""

    __slots__ = ("_ask",)

    def __init__(self, request: Callable[[Request], Response]) -> None:
        self._ask = request

    def open(self, name: str) -> io.BufferedReader:
        """The object for reading, seekable. Raises `CorruptData` where it is missing."""
        return io.BufferedReader(_ObjectReader(self, name, self._size(name)), READ_AHEAD)

    def read(self, name: str) -> bytes:
        """All bytes of an object. Raises `CorruptData` where it is missing."""
        with self.open(name) as file:
            return file.read()

    def stamp(self, name: str) -> str:
        """A text that differs when another object was put under the name. Raises `CorruptData` where it is missing."""
        found = self.request(StampObject(name))
        assert isinstance(found, ObjectStamp)
        return found.stamp

    def write(self, name: str, rows: int, write: Callable[[BinaryIO], object]) -> Output:
        """Make an output of the part: what `write` writes, which has so many rows. It is put when the part is sealed."""
        with io.BufferedWriter(_OutputWriter(self, name), CHUNK_BYTES) as file:
            write(file)
        found = self.request(FinishOutput(name))
        assert isinstance(found, OutputDigest)
        return Output(name=name, bytes=found.bytes, sha256=found.sha256, rows=rows)

    def request(self, question: Request) -> Response:
        """Return the answer. Raises what the parent says is wrong."""
        answer = self._ask(question)
        if isinstance(answer, ErrorMessage):
            raise ERROR_CLASSES.get(answer.kind, ThresherError)(answer.text)
        return answer

    def _size(self, name: str) -> int:
        found = self.request(OpenObject(name))
        assert isinstance(found, ObjectSize)
        return found.size


class _ObjectReader(io.RawIOBase):
    """An object that is read by asking for its bytes."""

    def __init__(self, store: PartStore, name: str, size: int) -> None:
        self._store, self._name, self._size, self._at = store, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        room = memoryview(buffer).cast("B")
        length = min(len(room), self._size - self._at, CHUNK_BYTES)
        if length <= 0:
            return 0
        found = self._store.request(ReadObject(self._name, self._at, length))
        assert isinstance(found, ObjectBytes)
        room[: len(found.data)] = found.data
        self._at += len(found.data)
        return len(found.data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at


class _OutputWriter(io.RawIOBase):
    """Bytes that go to whoever keeps them."""

    def __init__(self, store: PartStore, name: str) -> None:
        self._store, self._name, self._at = store, name, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: "ReadableBuffer") -> int:
        some = bytes(memoryview(data).cast("B")[:CHUNK_BYTES])
        self._store.request(WriteOutput(self._name, some))
        self._at += len(some)
        return len(some)
