"""`RevisitReferences`: whether the originals of revisits and log lines are archived, for an archive of any size.

Ids go to temporary files, sorted by their hashes, and are compared a file at a time: memory holds a sixty-fourth of
them.
"""

import struct
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from tempfile import TemporaryFile
from types import TracebackType
from typing import NamedTuple, Self

BUCKETS = 64
ENTRY = struct.Struct("<B16sIQ")
RECORD, REVISIT, LINE = range(3)
"""Kinds of entries."""


class MissingOriginal(NamedTuple):
    """A revisit record without its original."""

    file: str
    offset: int


class RevisitReferences:
    """Ids of archived records, and of records that revisits and log lines refer to."""

    __slots__ = ("_buckets", "_files", "_stack")

    def __init__(self) -> None:
        self._stack = ExitStack()
        # Closed with the stack.
        self._buckets = [self._stack.enter_context(TemporaryFile()) for _ in range(BUCKETS)]  # noqa: SIM115
        self._files: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add_record(self, record_id: str) -> None:
        """Add the id of an archived record."""
        self._add(RECORD, record_id, "", 0)

    def add_revisit(self, record_id: str, file: str, offset: int) -> None:
        """Add the id to which the revisit record at this place refers."""
        self._add(REVISIT, record_id, file, offset)

    def add_log_line(self, record_id: str, file: str) -> None:
        """Add the id of the record that a log line names as its response, in that archive file."""
        self._add(LINE, record_id, file, 0)

    def missing_originals(self) -> Iterator[MissingOriginal]:
        """Yield the revisit records whose originals are not archived."""
        files = list(self._files)
        for entries, archived in self._read():
            for kind, key, file, offset in entries:
                if kind == REVISIT and key not in archived:
                    yield MissingOriginal(files[file], offset)

    def count_answers(self, accepted: Container[str]) -> Counter[str]:
        """Return how many records that log lines name are archived, by the folder of the archive file in the line.

        Records in `accepted` files count as archived, because the damage of these files is reported already.
        """
        found: Counter[str] = Counter()
        files = list(self._files)
        for entries, archived in self._read():
            lines = {key: files[file] for kind, key, file, _ in entries if kind == LINE}
            found.update(
                file.rpartition("/")[0] for key, file in lines.items() if key in archived or file in accepted
            )
        return found

    def _read(self) -> Iterator[tuple[list[tuple[int, bytes, int, int]], set[bytes]]]:
        """Yield the entries of each bucket, and the ids among them that are archived."""
        for bucket in self._buckets:
            bucket.seek(0)
            entries = list(ENTRY.iter_unpack(bucket.read()))
            yield entries, {key for kind, key, _, _ in entries if kind == RECORD}

    def _add(self, kind: int, record_id: str, file: str, offset: int) -> None:
        key = blake2b(record_id.encode(errors="replace"), digest_size=16).digest()
        number = self._files.setdefault(file, len(self._files))
        self._buckets[key[0] % BUCKETS].write(ENTRY.pack(kind, key, number, offset))

    def __repr__(self) -> str:
        return f"<ids, and revisits in {len(self._files)} files>"
