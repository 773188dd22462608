"""`mds`: shards of MosaicML Streaming (version 2), which `streaming.StreamingDataset(local=...)` reads.

A shard is: u32 samples; u32 offsets of the samples in the file, the end included; the configuration as JSON; the
samples. A sample is the u32 sizes of its columns of variable size, then the columns in the order of their names.
`index.json` lists the shards. All numbers are little-endian.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from thresher.shards.card_facts import CardFacts
from thresher.shards.dataset import ShardFile
from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.plain_values import plain_table
from thresher.shards.formats.shard_rows import id_kind

VERSION = 2
SHARD_BYTES = 64 << 20
"""The size that MosaicML's own writer makes. A shard is built in memory, because its offsets stand before its samples.
"""
ROW_OVERHEAD = 250
ROWS_AT_ONCE = 256


class _Column(NamedTuple):
    name: str
    encoding: str
    size: int | None
    encode: Callable[[Any], bytes]


class MdsShard:
    """Writes one shard. Holds the whole shard in memory until the end."""

    def __init__(self, files: Sequence[BinaryIO], schema: pa.Schema, id_bytes: int, _: RowSize) -> None:
        (self._file,) = files
        self._columns = _columns(schema, id_bytes)
        self._names = schema.names
        self._config = json.dumps(_config(self._columns), sort_keys=True).encode()
        self._samples = bytearray()
        self._lengths: list[int] = []

    def write(self, rows: pa.Table) -> None:
        """Append rows."""
        for start in range(0, rows.num_rows, ROWS_AT_ONCE):
            part = plain_table(rows.slice(start, ROWS_AT_ONCE).select(self._names))
            columns = [[column.encode(value) for value in part[column.name]] for column in self._columns]
            for sample in zip(*columns, strict=True):
                sizes = [
                    len(data)
                    for data, column in zip(sample, self._columns, strict=True)
                    if column.size is None
                ]
                before = len(self._samples)
                self._samples += np.array(sizes, "<u4").tobytes() + b"".join(sample)
                self._lengths.append(len(self._samples) - before)

    def close(self) -> None:
        """Write the shard."""
        head = 4 + 4 * (len(self._lengths) + 1) + len(self._config)
        offsets = np.cumsum([head, *self._lengths]).astype("<u4")
        self._file.write(
            np.uint32(len(self._lengths)).astype("<u4").tobytes() + offsets.tobytes() + self._config
        )
        self._file.write(self._samples)


def _side_files(shards: Sequence[ShardFile], schema: pa.Schema, facts: CardFacts) -> Mapping[str, bytes]:
    config = _config(_columns(schema, facts.id_bytes))
    entries = [
        {
            **config,
            "samples": shard.rows,
            "raw_data": {"basename": shard.name.rpartition("/")[2], "bytes": shard.bytes, "hashes": {}},
            "zip_data": None,
        }
        for shard in shards
    ]
    return {"mds/index.json": json.dumps({"version": VERSION, "shards": entries}, sort_keys=True).encode()}


def _config(columns: Sequence[_Column]) -> dict[str, Any]:
    return {
        "version": VERSION,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": None,
        "column_names": [column.name for column in columns],
        "column_encodings": [column.encoding for column in columns],
        "column_sizes": [column.size for column in columns],
    }


def _columns(schema: pa.Schema, id_bytes: int) -> list[_Column]:
    made = []
    for field in sorted(schema, key=lambda field: field.name):
        if field.name == "input_ids":
            made.append(_numbers(field.name, id_kind(schema, id_bytes)))
        elif field.nullable:
            made.append(_json(field.name))
        elif field.type in (pa.list_(pa.int32()), pa.list_(pa.int64())):
            made.append(_numbers(field.name, str(field.type.value_type)))
        elif field.type == pa.string():
            made.append(_Column(field.name, "str", None, lambda value: value.as_py().encode()))
        elif field.type == pa.int64():
            made.append(
                _Column(field.name, "int", 8, lambda value: np.int64(value.as_py()).astype("<i8").tobytes())
            )
        else:
            made.append(_json(field.name))
    return made


def _json(name: str) -> _Column:
    return _Column(name, "json", None, lambda value: msgspec.json.encode(value.as_py()))


def _numbers(name: str, kind: str) -> _Column:
    """Return a column of arrays with one dimension: a byte (4 + code of the type of the length), the length, the
    numbers.
    """

    def encode(value: Any) -> bytes:
        numbers = np.asarray(value.values).astype(np.dtype(kind).newbyteorder("<"))
        code = next(code for code in range(4) if len(numbers) < 1 << (8 << code))
        return bytes([1 << 2 | code]) + len(numbers).to_bytes(1 << code, "little") + numbers.tobytes()

    return _Column(name, f"ndarray:{kind}", None, encode)


def _bytes_of(size: RowSize, id_bytes: int) -> int:
    return size.tokens * id_bytes + size.text_bytes + size.rows * ROW_OVERHEAD + size.column_bytes


MDS = Format(
    name="mds",
    directory="mds",
    file_names=lambda number, _: (f"shard.{number:05d}.mds",),
    open=MdsShard,
    bytes_of=_bytes_of,
    shard_bytes=SHARD_BYTES,
    side_files=_side_files,
)
