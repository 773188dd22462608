"""`Referred`: whether the records that revisits refer to are there, asked of an archive of any size.

Ids go to temporary files, by their hashes, and are compared a file at a time: memory holds a sixty-fourth of them.
"""

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from tempfile import TemporaryFile
from types import TracebackType
from typing import NamedTuple, Self

BUCKETS = 64
ENTRY = struct.Struct("<?16sIQ")


class Missing(NamedTuple):
    """A revisit record whose original is not there."""

    file: str
    offset: int


class Referred:
    """Ids of records that are there, and of those that are referred to."""

    __slots__ = ("_buckets", "_files", "_life")

    def __init__(self) -> None:
        self._life = ExitStack()
        self._buckets = [self._life.enter_context(TemporaryFile()) for _ in range(BUCKETS)]  # noqa: SIM115 - closed with the stack
        self._files: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._life.close()

    def there(self, record_id: str) -> None:
        """A record of this id is in the archive."""
        self._note(False, record_id, 0, 0)

    def refer(self, record_id: str, file: str, offset: int) -> None:
        """The revisit record that lies there refers to this id."""
        if not self._files or self._files[-1] != file:
            self._files.append(file)
        self._note(True, record_id, len(self._files) - 1, offset)

    def missing(self) -> Iterator[Missing]:
        """The revisit records that refer to what is not there."""
        for bucket in self._buckets:
            bucket.seek(0)
            entries = list(ENTRY.iter_unpack(bucket.read()))
            there = {key for refers, key, _, _ in entries if not refers}
            for refers, key, file, offset in entries:
                if refers and key not in there:
                    yield Missing(self._files[file], offset)

    def _note(self, refers: bool, record_id: str, file: int, offset: int) -> None:
        key = blake2b(record_id.encode(errors="replace"), digest_size=16).digest()
        self._buckets[key[0] % BUCKETS].write(ENTRY.pack(refers, key, file, offset))

    def __repr__(self) -> str:
        return f"<ids, and revisits in {len(self._files)} files>"
