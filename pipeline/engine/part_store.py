"""`PartStore`: the only access of a work function to the storage: the inputs of its part, and its outputs.

It holds no address and no credential, only a function that sends requests. In a worker process this function is the
pipe to the parent (`pipeline.engine.local.part_server`), which serves the objects of the part and no others.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from thresher.core import Conflict, CorruptData, InputError, ThresherError, Unavailable
from thresher.pipeline.engine.messages import (
    CHUNK_BYTES,
    MAX_SPANS,
    ErrorMessage,
    FinishOutput,
    ObjectBytes,
    ObjectSize,
    ObjectStamp,
    OpenObject,
    OutputDigest,
    ReadObject,
    ReadSpans,
    Request,
    Response,
    StampObject,
    WriteOutput,
)
from thresher.storage.manifest import Output

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

READ_AHEAD = 256 << 10
"""Bytes that an open object reads at a time."""
ERROR_CLASSES: dict[str, type[ThresherError]] = {
    kind.__name__: kind for kind in (ThresherError, InputError, Unavailable, Conflict, CorruptData)
}
"""Error classes by the name that a message carries."""


class PartStore:
    """The objects of one part."""

    __slots__ = ("_ask",)

    def __init__(self, request: Callable[[Request], Response]) -> None:
        self._ask = request

    def open(self, name: str) -> io.BufferedReader:
        """Open an object for reading; it is seekable. Raise `CorruptData` if it is missing."""
        return io.BufferedReader(_ObjectReader(self, name, self._size(name)), READ_AHEAD)

    def read(self, name: str) -> bytes:
        """Return all bytes of an object. Raise `CorruptData` if it is missing."""
        with self.open(name) as file:
            return file.read()

    def read_spans(self, name: str, spans: Sequence[tuple[int, int]]) -> bytes:
        """Return the bytes of several spans of an object, each an offset and a length, one after another.
        Spans behind the end are cut off. Raise `CorruptData` if the object is missing.
        """
        return b"".join(self._read_spans(name, spans))

    def _read_spans(self, name: str, spans: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        asked, size = list[tuple[int, int]](), 0
        for offset, whole in spans:
            for at in range(offset, offset + whole, CHUNK_BYTES):
                length = min(CHUNK_BYTES, offset + whole - at)
                if size + length > CHUNK_BYTES or len(asked) == MAX_SPANS:
                    yield self._joined(name, asked)
                    asked, size = [], 0
                asked.append((at, length))
                size += length
        if asked:
            yield self._joined(name, asked)

    def _joined(self, name: str, spans: list[tuple[int, int]]) -> bytes:
        found = self.request(ReadSpans(name, spans))
        assert isinstance(found, ObjectBytes)
        return found.data

    def stamp(self, name: str) -> str:
        """Return a text that changes if another object is put under the name. Raise `CorruptData` if it is missing."""
        found = self.request(StampObject(name))
        assert isinstance(found, ObjectStamp)
        return found.stamp

    def write(self, name: str, rows: int, write: Callable[[BinaryIO], object]) -> Output:
        """Make an output of the part with `rows` rows: the bytes that `write` writes. Sealing the part publishes it."""
        with io.BufferedWriter(_OutputWriter(self, name), CHUNK_BYTES) as file:
            write(file)
        found = self.request(FinishOutput(name))
        assert isinstance(found, OutputDigest)
        return Output(name=name, bytes=found.bytes, sha256=found.sha256, rows=rows)

    def request(self, question: Request) -> Response:
        """Return the response of the parent. Raise the error that it reports."""
        answer = self._ask(question)
        if isinstance(answer, ErrorMessage):
            raise ERROR_CLASSES.get(answer.kind, ThresherError)(answer.text)
        return answer

    def _size(self, name: str) -> int:
        found = self.request(OpenObject(name))
        assert isinstance(found, ObjectSize)
        return found.size


class _ObjectReader(io.RawIOBase):
    """Reads an object by requests for its bytes."""

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
    """Sends the bytes of an output to the parent."""

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
