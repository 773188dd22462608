"""Write the README of an export directory: what the dataset is, and how common tools open it.

Its front matter is that of a dataset card of the Hugging Face Hub, so that `load_dataset(DIRECTORY)` finds the shards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shards.dataset import ShardFile
from shards.formats.format import Format

CARD_NAME = "README.md"


def dataset_card(recipe: Mapping[str, Any], shards: Sequence[ShardFile]) -> bytes:
    """Return the bytes of the README; the same recipe and shards give the same bytes."""
    documents, tokens = sum(each.documents for each in shards), sum(each.tokens for each in shards)
    tokenizer = recipe["tokenizer"]
    columns = "\n".join(f"| `{field.name}` | `{field.type}` |" for field in SHARD_SCHEMA)
    return f"""---
configs:
- config_name: default
  data_files:
  - split: train
    path: {SHARD_DIRECTORY}/*.parquet
---

# Dataset of {", ".join(recipe["sources"])}

{documents:,} documents and {tokens:,} tokens in {len(shards):,} Parquet files, written by Thresher. The tokenizer is
{tokenizer["name"]} ({tokenizer["vocabulary"]:,} tokens, SHA-256 `{tokenizer["sha256"]}`). \
Rows stand in the order of a seeded
permutation. The texts are those of the pages that `url` names; rights in them are their owners'.

| column | type |
|---|---|
{columns}

```python
pyarrow.parquet.read_table("{SHARD_DIRECTORY}")
pandas.read_parquet("{SHARD_DIRECTORY}")
polars.read_parquet("{SHARD_DIRECTORY}")
duckdb.read_parquet("{SHARD_DIRECTORY}/*.parquet")
datasets.load_dataset(".")
```

`manifest.json` names every file with its SHA-256 and the recipe, `report.json` says where every archived record went, \
`recipe.json`
claims the directory. `thresher verify DIRECTORY` reads and hashes everything again.
""".encode()
