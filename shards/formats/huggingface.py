"""The format `hf`: a folder for the Hugging Face Hub, with Parquet shards under the Hub's names, and a data card.

`datasets.load_dataset(FOLDER, streaming=True)` reads it as it is, and so does the Hub after an upload.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from thresher.shards.dataset import ShardFile, counted_shards
from thresher.shards.formats.format import Format
from thresher.shards.formats.parquet import ParquetShard, bytes_of

SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"),
         (10**8, "10M<n<100M"), (10**9, "100M<n<1B"), (10**10, "1B<n<10B"), (10**11, "10B<n<100B"))  # fmt: skip
"""The classes of size that data cards have."""
TYPES = {pa.string(): "string", pa.int32(): "int32", pa.int64(): "int64"}


def _card(shards: Sequence[ShardFile], schema: pa.Schema, _: int) -> Mapping[str, bytes]:
    rows, tokens, size, data = (
        sum(getattr(shard, name) for shard in shards) for name in ("rows", "tokens", "bytes", "data_bytes")
    )
    category = next((name for limit, name in SIZES if rows < limit), "100B<n<1T")
    features = "\n".join(_feature(field) for field in schema)
    columns = "\n".join(f"| `{field.name}` | `{field.type}` |" for field in schema)
    card = f"""---
task_categories:
- text-generation
size_categories:
- {category}
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*.parquet
dataset_info:
  features:
{features}
  splits:
  - name: train
    num_bytes: {data}
    num_examples: {rows}
  download_size: {size}
  dataset_size: {data}
---

# Tokenized documents

{rows:,} rows and {tokens:,} tokens in {counted_shards(len(shards))}, written by Thresher in the order of a seeded
permutation. Rights in the texts are their owners'. The `manifest.json` beside this folder has the recipe and digests.

| column | type |
|---|---|
{columns}

```python
from datasets import load_dataset

rows = load_dataset("PATH/TO/THIS/FOLDER", split="train", streaming=True)
```
"""
    return {"hf/README.md": card.encode()}


def _feature(field: "pa.Field[pa.DataType]") -> str:
    if isinstance(field.type, pa.ListType):
        return f"  - name: {field.name}\n    list: {TYPES[field.type.value_type]}"
    return f"  - name: {field.name}\n    dtype: {TYPES[field.type]}"


HUGGINGFACE = Format(
    name="hf",
    directory="hf",
    file_names=lambda number, count: (f"data/train-{number:05d}-of-{count:05d}.parquet",),
    open=ParquetShard,
    bytes_of=bytes_of,
    side_files=_card,
)
