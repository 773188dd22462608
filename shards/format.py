"""The columns of a Parquet shard. Any Parquet tool reads them; nothing of ours is needed."""

import pyarrow as pa

SHARD = pa.schema(
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
    """File name of a shard, so that names sort as numbers do up to a hundred thousand."""
    return f"shard-{number:05d}.parquet"
