"""`webdataset`: POSIX tar files. The files of one row lie side by side and share the name before the first dot.

A row is `KEY.json` (the plain columns), `KEY.txt` (the text) and `KEY.NAME.npy` for each column of numbers. KEY is the
number of the row in its shard, because a document may occur more than once.
"""

import io
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa

from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.plain_values import plain_rows
from thresher.shards.formats.shard_rows import id_kind

BLOCK = tarfile.BLOCKSIZE
ROW_OVERHEAD = 3 * 2 * BLOCK
"""A header and half a block of padding for three files, and the plain columns."""
ROWS_AT_ONCE = 256


class WebDatasetShard:
    """Writes one tar file."""

    def __init__(self, files: Sequence[BinaryIO], schema: pa.Schema, id_bytes: int, _: RowSize) -> None:
        (self._file,) = files
        self._names = schema.names
        self._lists = [field.name for field in schema if _is_numbers(field)]
        kinds = {name: str(schema.field(name).type.value_type) for name in self._lists}
        if "input_ids" in kinds:
            kinds["input_ids"] = id_kind(schema, id_bytes)
        self._dtypes = {name: np.dtype(kind).newbyteorder("<") for name, kind in kinds.items()}
        self._rows = 0

    def write(self, rows: pa.Table) -> None:
        """Append rows, some files each."""
        table = rows.select(self._names)
        plain = [name for name in self._names if name not in {*self._lists, "text"}]
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            part = table.slice(start, ROWS_AT_ONCE)
            for at, facts in enumerate(plain_rows(part.select(plain))):
                self._row(part, at, facts)

    def close(self) -> None:
        """Write the two empty blocks that end an archive."""
        self._file.write(bytes(2 * BLOCK))

    def _row(self, part: pa.Table, at: int, facts: Mapping[str, Any]) -> None:
        key = f"{self._rows:08d}"
        self._rows += 1
        self._member(f"{key}.json", msgspec.json.encode(facts))
        for name in self._lists:
            numbers = np.asarray(part[name][at].values)
            self._member(f"{key}.{name}.npy", npy(numbers.astype(self._dtypes[name])))
        if "text" in self._names:
            self._member(f"{key}.txt", part["text"][at].as_py().encode())

    def _member(self, name: str, data: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        self._file.write(info.tobuf(tarfile.USTAR_FORMAT))
        self._file.write(data)
        self._file.write(bytes(-len(data) % BLOCK))


def npy(numbers: "np.ndarray[Any, Any]") -> bytes:
    """Return the bytes of a `.npy` file of version 1.0."""
    file = io.BytesIO()
    np.lib.format.write_array(file, numbers, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def _is_numbers(field: "pa.Field[Any]") -> bool:
    # A column that the user named may hold lists as well, and nulls.
    return not field.nullable and pa.types.is_list(field.type) and pa.types.is_integer(field.type.value_type)


def _bytes_of(size: RowSize, id_bytes: int) -> int:
    return size.tokens * id_bytes + size.text_bytes + size.rows * ROW_OVERHEAD + size.column_bytes


WEBDATASET = Format(
    name="webdataset",
    directory="webdataset",
    file_names=lambda number, _: (f"shard-{number:05d}.tar",),
    open=WebDatasetShard,
    bytes_of=_bytes_of,
)
