"""The columns of a Parquet shard, and where shards lie. Any Parquet tool reads them; nothing of ours is needed."""

import pyarrow as pa

SHARD_DIRECTORY = "data"
"""Of the export directory. Nothing but shards lies in it: PyArrow, pandas and Polars take every file of a directory for data."""

SHARD_SCHEMA = pa.schema(
    [
        pa.field("input_ids", pa.list_(pa.int32()), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("record_file", pa.string(), nullable=False),
        pa.field("record_offset", pa.int64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)


def shard_name(number: int) -> str:
    """Name of a shard in the export directory, so that names sort as numbers do up to a hundred thousand."""
    return f"{SHARD_DIRECTORY}/shard-{number:05d}.parquet"
