"""Read tar files: single documents, or samples of several members under one key, as WebDataset defines them.

1. A key is the path of a member up to the first dot of its file name. Members that follow each other and have the same
   key are one sample.
2. The text of a sample is its first member of `.html`, `.txt`, `.md`, `.pdf`; if it has none, the text column of its
   `.json`. The other columns of the `.json` become facts of the record in both cases.
3. Every other member is an item of its own and is counted.
"""

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from thresher.core import Failure, InputError, failure_boundary
from thresher.storage.columns.row_values import InputColumns
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord
from thresher.storage.inputs.table_files.columns import (
    DEFAULT_COLUMNS,
    EXACT,
    HTML_BYTES,
    PLAIN,
    Columns,
    Keep,
    RowLocation,
    record_of_row,
    values_of_row,
)
from thresher.storage.inputs.text_files import PLAIN_BYTES, document
from thresher.storage.warc.exchange_records import Fact
from thresher.storage.warc.members import CUT_OFF

TYPES: Mapping[str, str] = {
    "html": HTML_BYTES,
    "htm": HTML_BYTES,
    "txt": PLAIN_BYTES,
    "text": PLAIN_BYTES,
    "md": PLAIN_BYTES,
    "pdf": "application/pdf",
}
"""Media type of a member by its ending."""
JSON = "json"
MOST = 64
"""Members of one sample at most; more members with the same key start another sample."""
BLOCK = tarfile.BLOCKSIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    path: str
    key: str
    ending: str
    data: bytes
    reason: str = ""
    """Reason code if the member cannot be used; otherwise empty."""


class _Tape:
    """The stream that `tarfile` reads from; keeps the latest bytes, because `tarfile` does not tell how a tar ended."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._last, self._count = file, b"", 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._last = (self._last + data)[-2 * tarfile.RECORDSIZE :]
        self._count += len(data)
        return data

    def block(self, offset: int) -> bytes:
        begin = len(self._last) - (self._count - offset)
        return self._last[begin : begin + BLOCK] if begin >= 0 else b""


def read(
    file: BinaryIO, name: str, first: int = 0, *, columns: Columns = DEFAULT_COLUMNS
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each sample. Raise `InputError` if the file does not begin like a tar."""
    for place, item in enumerate(_items(file, name, columns)):
        if place >= first:
            yield replace(item, place=place)


def _items(file: BinaryIO, name: str, columns: Columns) -> Iterator[InputRecord | UnusableRecord]:
    sample: list[_Member] = []
    for member in _members(file, name):
        if sample and (member.key != sample[0].key or len(sample) == MOST):
            yield from _guard_sample(sample, name, columns)
            sample = []
        if sum(len(one.data) for one in sample) + len(member.data) > MAX_PAYLOAD_BYTES:
            member = replace(member, data=b"", reason="too_long")  # noqa: PLW2901 - its data are dropped
        sample.append(member)
    if sample:
        yield from _guard_sample(sample, name, columns)


def _guard_sample(
    sample: Sequence[_Member], name: str, columns: Columns
) -> list[InputRecord | UnusableRecord]:
    try:
        with failure_boundary("record"):
            return list(_sample(sample, name, columns))
    except Failure as failure:
        return [
            UnusableRecord(place=0, reason=failure.reason, detail=f"{member.path}: {failure}")
            for member in sample
        ]


def _sample(sample: Sequence[_Member], name: str, columns: Columns) -> Iterator[InputRecord | UnusableRecord]:
    by_ending: dict[str, _Member] = {}
    for member in sample:
        if not member.reason and member.data:
            by_ending.setdefault(member.ending, member)
    source = next((by_ending[ending] for ending in TYPES if ending in by_ending), None)
    fields = _object(by_ending.get(JSON))
    keep = partial(_values, fields, len(by_ending[JSON].data), source is None) if fields is not None else None
    used = {id(source), id(by_ending[JSON]) if fields is not None else None}
    spot = RowLocation(name=name, place=0, fragment=source.path if source else sample[0].key)
    found = (
        record_of_row(fields or {}, columns, spot, keep)
        if source is None
        else _entry(source, fields, keep, sample[0].key, spot, columns)
    )
    if isinstance(found, UnusableRecord) and source is None:
        used = set()
    else:
        yield found
    for member in sample:
        if id(member) not in used:
            is_broken = member.ending == JSON and fields is None
            reason = member.reason or ("broken_json" if is_broken else "no_text")
            yield UnusableRecord(place=0, reason=reason, detail=f"{member.path}: {reason}")


def _entry(
    source: _Member,
    fields: Mapping[str, Any] | None,
    keep: Keep | None,
    key: str,
    spot: RowLocation,
    columns: Columns,
) -> InputRecord | UnusableRecord:
    """Return the record of a sample whose text or page is a member of its own."""
    record = document(source.data, TYPES[source.ending], place=0, uri=spot.uri, name=spot.name)
    if not source.data.strip():
        return UnusableRecord(place=0, reason="no_text", detail=f"{source.path}: nothing in it")
    about = record_of_row({**(fields or {}), "text": "-"}, replace(columns, text="", html=""), spot, keep)
    if isinstance(about, UnusableRecord):
        return record
    facts: dict[Fact, str] = {"id": key, **about.facts}
    if facts.pop("exact", "") and record.mime == PLAIN:
        facts["exact"], record = EXACT, replace(record, payload=source.data)
    return replace(record, uri=about.uri, date_ms=about.date_ms, facts=facts, columns=about.columns)


def _values(fields: Mapping[str, Any], size: int, is_text_in_it: bool, held: frozenset[str]) -> InputColumns:
    """Return the fields of a sample that its record does not hold; its text may be a member of its own."""
    return values_of_row(fields, size, held if is_text_in_it else held - {"text"})


def _object(member: _Member | None) -> Mapping[str, Any] | None:
    if member is None:
        return None
    try:
        found = json.loads(member.data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _members(file: BinaryIO, name: str) -> Iterator[_Member]:
    tape = _Tape(file)
    count = 0
    try:
        with tarfile.open(fileobj=tape, mode="r|", errorlevel=0) as tar:  # type: ignore[call-overload]
            for info in tar:
                count += 1
                tar.members = []  # otherwise `tarfile` keeps all of them in memory
                if not info.isdir():
                    yield _member(tar, info)
            last = tape.block(tar.offset)
        problem = (
            ""
            if last == bytes(BLOCK)
            else "its end is missing"
            if len(last) < BLOCK
            else "a header is broken"
        )
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        problem = " ".join(str(error).split())
        if not count:
            raise InputError(f"{name} is no tar file ({problem}); get the file again") from None
    if problem:
        yield _Member(path=f"behind member {count}", key="", ending="", data=b"", reason=CUT_OFF)


def _member(tar: tarfile.TarFile, info: tarfile.TarInfo) -> _Member:
    folder, slash, base = info.name.rpartition("/")
    stem, _, endings = base.partition(".")
    ending = endings.rpartition(".")[2].lower()
    member = _Member(path=info.name, key=f"{folder}{slash}{stem}", ending=ending, data=b"")
    opened = tar.extractfile(info) if info.isreg() else None
    if opened is None:
        return replace(member, reason="no_file")
    if not base or base.startswith(".") or ending not in {*TYPES, JSON}:
        return replace(member, reason="no_text")
    if info.size > MAX_PAYLOAD_BYTES:
        return replace(member, reason="too_long")
    return replace(member, data=opened.read())
