"""Detect the kind of an input, and read its items.

1. If the format has a mark in its first bytes, the mark decides; otherwise the ending of the name decides.
2. If the bytes and the name contradict each other, the input is refused.
3. The bytes alone decide which compression the input has, whatever its name says.
"""

import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from thresher.core import Failure, InputError, failure_boundary
from thresher.storage.inputs import arc, tar, text_files, wacz_input, warc_input
from thresher.storage.inputs.decompression import (
    decompress,
    max_unpacked_bytes,
    unpacked_too_large,
)
from thresher.storage.inputs.dumps import stackexchange, wikipedia
from thresher.storage.inputs.entry import InputRecord, Item, Reader, UnusableRecord
from thresher.storage.inputs.indexes import IndexFileError, index_kind
from thresher.storage.inputs.table_files import arrow, delimited, jsonl_rows, parquet_rows
from thresher.storage.inputs.table_files.columns import DEFAULT_COLUMNS, HTML_BYTES, Columns
from thresher.storage.warc.dictionary import FRAME
from thresher.storage.warc.members import LZ4

ITEM = 32
"""Minimum number of bytes that a record of a table counts for."""
LOOKED_AT = 4096
"""Bytes at the beginning of an input that detection reads."""
WARC = "warc"
COMPRESSED = (".gz", ".bz2", ".zst", ".zstd", ".lz4")
SUFFIX_KINDS: Mapping[str, str] = {
    ".warc": WARC,
    ".wat": WARC,
    ".wet": WARC,
    ".arc": "arc",
    ".wacz": "wacz",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".tar": "tar",
    ".tgz": "tar",
    ".pdf": "pdf",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jl": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
"""Word of the kind by the ending of a name."""
PDF_HEADER, PDF_HEADER_WITHIN = b"%PDF-", 1024
"""Header of a PDF, and the first bytes of the file in which it must lie: other bytes may precede it (ISO 32000-1,
annex H, note 13)."""
MARKS: Mapping[bytes, str] = {
    b"WARC/": WARC,
    arc.MAGIC: "arc",
    b"PK\x03\x04": "wacz",
    b"PAR1": "parquet",
    arrow.FILE_MARK: "arrow",
    b"\xff\xff\xff\xff": "arrow stream",
    PDF_HEADER: "pdf",
}
"""Word of the kind by the first bytes of the formats that have a mark."""
MARKED = frozenset({*MARKS.values(), "tar"})
PAGES = (b"<!doctype html", b"<html", b"<head", b"<body")
UNREADABLE: Mapping[bytes, str] = {
    b"\xfd7zXZ": "is compressed with xz; compress it with gzip or zstd",
    b"7z\xbc\xaf\x27\x1c": "is a 7z archive; unpack it with `7z x`",
    b"FEA1": "is Feather of version 1; write it as Parquet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputKind:
    """A kind of input and its reader."""

    name: str
    """`name@version`. The version is raised when the reader makes different records of the same bytes."""
    read: Reader
    reads_raw_file: bool = False
    """Whether the reader takes the file itself, compressed or not; otherwise it takes the unpacked bytes."""
    seeks: bool = False
    """Whether the reader seeks in the unpacked bytes."""
    rows: bool = False
    """Whether the records are rows of a table, most of which must be good."""

    @property
    def short_name(self) -> str:
        """The word that users know: `jsonl`, `warc`, ..."""
        return self.name.partition("@")[0]

    @property
    def is_warc(self) -> bool:
        """Whether the file is WARC, so that its records may be copied unchanged."""
        return self.short_name == WARC

    @property
    def is_archive(self) -> bool:
        """Whether the input holds records of a crawl and therefore gets archive files of its own."""
        return self.short_name in {WARC, "arc", "wacz"}


def input_kinds(
    columns: Columns = DEFAULT_COLUMNS, *, by_line: bool = False, site: str = ""
) -> Mapping[str, InputKind]:
    """Return every kind by its word.

    Tables are read with `columns`. A text is one document, or one document a line if `by_line` is set. `site` is the
    host of a Stack Exchange dump whose name does not contain it.
    """
    texts = text_files.by_line if by_line else partial(text_files.read_whole, mime=text_files.PLAIN_BYTES)
    kinds = (
        InputKind(name="warc@1", read=warc_input.read, reads_raw_file=True),
        InputKind(name="arc@1", read=arc.read, reads_raw_file=True),
        InputKind(name="wacz@1", read=wacz_input.read, reads_raw_file=True),
        InputKind(name="parquet@1", read=partial(parquet_rows.read, columns=columns), seeks=True, rows=True),
        InputKind(name="arrow@1", read=partial(arrow.read, columns=columns, marked=True), rows=True),
        InputKind(name="arrow stream@1", read=partial(arrow.read, columns=columns), rows=True),
        InputKind(name="jsonl@1", read=partial(jsonl_rows.read, columns=columns), rows=True),
        InputKind(name="csv@1", read=partial(delimited.read, columns=columns), rows=True),
        InputKind(name="tar@1", read=partial(tar.read, columns=columns)),
        InputKind(name="lines@1" if by_line else "text@1", read=texts),
        InputKind(name="wikipedia@1", read=wikipedia.read),
        InputKind(name="stackexchange@1", read=partial(stackexchange.read, host=site)),
        InputKind(name="html@1", read=partial(text_files.read_whole, mime=HTML_BYTES)),
        InputKind(name="pdf@1", read=partial(text_files.read_whole, mime="application/pdf")),
    )
    words = {kind.short_name: kind for kind in kinds}
    return {**words, "text": words["lines" if by_line else "text"]}


def detect_kind(file: BinaryIO, name: str, known: Mapping[str, InputKind]) -> InputKind:
    """Return the kind of a seekable file.

    Raise `InputError` if no reader can read it, or if its bytes contradict its name.
    """
    file.seek(0)
    head = file.read(LOOKED_AT)
    if not head:
        raise InputError(f"{name} is empty; remove it")
    if head.startswith((LZ4, FRAME)):
        return known[WARC]
    unpacked = decompress(file, name=name)
    if unpacked is not None:
        head = BufferedReader(unpacked, LOOKED_AT).read(LOOKED_AT)
        if not head:
            fault = (
                f"cannot be unpacked ({unpacked.problem}); get the file again"
                if unpacked.problem
                else "holds nothing"
            )
            raise InputError(f"{name} {fault}")
    return known[_word(head, name)]


def read_items(file: BinaryIO, name: str, kind: InputKind, first: int = 0) -> Iterator[Item]:
    """Yield the items of a seekable file, from record `first` on.

    If the compressed bytes are cut off or damaged, or if the reader fails (`core.Failure`), the last item is an
    `UnusableRecord` that says so. Raise `InputError` if the file is refused.
    """
    place, left = first, max_unpacked_bytes(file.seek(0, io.SEEK_END))
    try:
        with failure_boundary(kind.short_name):
            for item in _items(file, name, kind, first):
                place = item.place + 1
                # One value of a dictionary or of a run may stand for any number of rows.
                left -= ITEM + (len(item.payload) if isinstance(item, InputRecord) else 0)
                if kind.rows and left < 0:
                    raise unpacked_too_large(name)
                yield item
    except Failure as failure:
        yield UnusableRecord(place=place, reason=failure.reason, detail=str(failure))


def _items(file: BinaryIO, name: str, kind: InputKind, first: int) -> Iterator[Item]:
    unpacked = None if kind.reads_raw_file else decompress(file, name=name)
    if unpacked is None:
        file.seek(0)
        yield from kind.read(file, name, first)
        return
    place = first
    with TemporaryFile() as spooled:
        stream = cast("BinaryIO", BufferedReader(unpacked))
        if kind.seeks:
            copyfileobj(stream, spooled)
            spooled.seek(0)
        for item in kind.read(spooled if kind.seeks else stream, name, first):
            place = item.place + 1
            yield item
    if unpacked.problem is not None:
        yield UnusableRecord(place=place, reason=unpacked.problem, detail="everything after this point")


def _word(head: bytes, name: str) -> str:
    """Return the word of the kind of an input with these first bytes."""
    marked, named = _kind_by_mark(head), _kind_by_name(name)
    for mark, fault in UNREADABLE.items():
        if head.startswith(mark):
            raise InputError(f"{name} {fault}")
    if marked is not None:
        if named not in {None, "text", marked} and f"{named} stream" != marked:
            raise InputError(f"{name} says {named} and is {marked}; rename it")
        return marked
    if named == "pdf" and PDF_HEADER in head[:PDF_HEADER_WITHIN]:
        return named
    if named in MARKED:
        raise InputError(f"{name} says {named} and is none: it begins with {head[:16]!r}; get the file again")
    if kind := index_kind(head, name):
        raise IndexFileError(f"{name} is {kind}, which holds no text; give the archive that it belongs to")
    if b"\0" in head:
        raise InputError(f"{name} is nothing that is read here: it begins with {head[:16]!r}")
    if found := named or _guess_kind(head):
        return found
    raise InputError(f"{name} does not say what it is; name a text .txt, JSON lines .jsonl, a table .csv")


def _kind_by_name(name: str) -> str | None:
    lower = name.lower()
    for ending in COMPRESSED:
        lower = lower.removesuffix(ending)
    return next((kind for ending, kind in SUFFIX_KINDS.items() if lower.endswith(ending)), None)


def _kind_by_mark(head: bytes) -> str | None:
    if kind := next((kind for mark, kind in MARKS.items() if head.startswith(mark)), None):
        return kind
    if wikipedia.is_dump(head):
        return "wikipedia"
    if stackexchange.is_dump(head):
        return "stackexchange"
    try:
        tarfile.TarInfo.frombuf(head[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return None
    return "tar"


def _guess_kind(head: bytes) -> str | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return "jsonl" if start.startswith(b"{") else "html" if start.startswith(PAGES) else None
