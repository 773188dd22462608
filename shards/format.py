"""Define the columns and the place of a Parquet shard. Any Parquet tool reads shards without Thresher."""

import pyarrow as pa

SHARD_DIRECTORY = "data"
"""Folder of the shards in the export directory.

It holds only shards, because PyArrow, pandas and Polars take every file of a folder for data.
"""

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
    """Return the path of a shard in the export directory. Below 100,000 shards, the paths sort like their numbers."""
    return f"{SHARD_DIRECTORY}/shard-{number:05d}.parquet"
