"""`tokens` as a format of the export: `shards.formats.tokens` beside a Parquet file of references.

An output of a worker cannot seek, and the header of a shard holds its counts. Therefore the worker counts the tokens
first, the header is written first, and `TokensWriter` is checked to complete exactly that header.
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import pyarrow as pa

from thresher.core import CorruptData
from thresher.shards.formats.checked_file import BLOCK_BYTES, HEADER_BYTES, Header
from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.parquet import ParquetShard
from thresher.shards.formats.shard_rows import DOCUMENT_ROW, EXACT_REFERENCE, LABELS, flat_ids
from thresher.shards.formats.tokens import FORMAT, MAGIC, MARKED, TokensWriter, refs_name

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

END_BYTES = 8


class TokenShard:
    """Writes a shard of tokens and its references."""

    def __init__(self, files: Sequence[BinaryIO], schema: pa.Schema, id_bytes: int, size: RowSize) -> None:
        tokens, references = files
        is_marked = LABELS in schema.names
        head = _header(size, id_bytes, is_marked=is_marked).to_bytes(MAGIC)
        self._tokens = TokensWriter(
            cast(BinaryIO, _HeaderFirst(tokens, head)), id_bytes=id_bytes, is_marked=is_marked
        )
        known = {*DOCUMENT_ROW.names, *EXACT_REFERENCE.names, LABELS}
        columns = pa.schema([*EXACT_REFERENCE, *(field for field in schema if field.name not in known)])
        self._references = ParquetShard((references,), columns, id_bytes, size)

    def write(self, rows: pa.Table) -> None:
        """Append documents."""
        ids, ends = flat_ids(rows["input_ids"])
        self._tokens.write(ids.astype(np.uint32), ends)
        self._references.write(rows)

    def close(self) -> str:
        """Write what follows the ids, and complete the references. Return the frame digest of the shard."""
        self._references.close()
        return self._tokens.close()


class _HeaderFirst(io.RawIOBase):
    """Writes the header at once where the writer leaves room for it, and checks the one that the writer makes later."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file, self._head = file, head
        self._begun = self._at_start = False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("only the header can be sought")
        self._at_start = True
        return 0

    def write(self, data: "ReadableBuffer") -> int:
        if not self._begun:
            self._begun = True
            return self._file.write(self._head)
        if not self._at_start:
            return self._file.write(data)
        if bytes(memoryview(data)) != self._head:
            raise CorruptData("the rows of a shard changed while it was written; run the same export again")
        return len(self._head)


def _header(size: RowSize, id_bytes: int, *, is_marked: bool) -> Header:
    ids_stop = HEADER_BYTES + size.tokens * id_bytes
    ends = ids_stop + -ids_stop % END_BYTES
    words = (size.rows, size.tokens, HEADER_BYTES, ends, ends + END_BYTES * size.rows, BLOCK_BYTES)
    return Header(kind=id_bytes + MARKED * is_marked, words=words)


def _names(number: int, _: int) -> tuple[str, ...]:
    name = f"shard-{number:05d}.tokens"
    return (name, refs_name(name))


def _bytes_of(size: RowSize, id_bytes: int) -> int:
    return size.tokens * id_bytes + size.rows * END_BYTES


TOKENS = Format(
    name=FORMAT,
    directory=FORMAT,
    file_names=_names,
    open=TokenShard,
    bytes_of=_bytes_of,
    is_by_source=True,
    holds_text=False,
    needs_tokens=True,
    counts_first=True,
)
