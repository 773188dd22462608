"""Write the README of an export directory: what the dataset is, and how common tools open it.

Its front matter is that of a dataset card of the Hugging Face Hub, so that `load_dataset(DIRECTORY)` finds the shards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from thresher.shards.card_facts import CardFacts, size_category
from thresher.shards.dataset import (
    ShardFile,
    count_documents,
    count_loss_tokens,
    count_text_bytes,
    count_tokens,
    counted_shards,
)

CARD_NAME = "README.md"
FRONT_MATTER = """---
{facts}task_categories:
- text-generation
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: train
    path: {pattern}
---

"""
HUB_PATTERNS = {"parquet": "data/*.parquet", "hf": "hf/data/*.parquet"}
"""The files of those formats that `load_dataset` reads as they are; the first one that was written is taken."""
READERS = {
    "tokens": 'thresher.Loader(".", length=2048, batch_size=8)',
    "parquet": 'pyarrow.parquet.read_table("data")\npandas.read_parquet("data")\npolars.read_parquet("data")\n'
    'duckdb.read_parquet("data/*.parquet")\ndatasets.load_dataset(".")',
    "jsonl": 'duckdb.read_json("jsonl/*.jsonl.zst")\npandas.read_json("jsonl/shard-00000.jsonl.zst", lines=True)',
    "webdataset": 'webdataset.WebDataset(sorted(glob.glob("webdataset/*.tar")), shardshuffle=False).decode()',
    "mds": 'streaming.StreamingDataset(local="mds", batch_size=8)',
    "megatron": 'megatron.core.datasets.indexed_dataset.IndexedDataset("megatron/shard-00000")',
    "hf": 'datasets.load_dataset("hf", split="train", streaming=True)',
}


def dataset_card(
    recipe: Mapping[str, Any], shards: Sequence[ShardFile], schema: pa.Schema, facts: CardFacts
) -> bytes:
    """Return the bytes of the README; the same recipe, shards and facts give the same bytes."""
    formats = recipe["formats"]
    columns = "\n".join(f"| `{field.name}` | `{field.type}` |" for field in schema)
    shown = next((name for name in formats if name in HUB_PATTERNS), None)
    front = ""
    if shown is not None:
        rows = sum(shard.rows for shard in shards if shard.format == shown)
        front = FRONT_MATTER.format(
            pattern=HUB_PATTERNS[shown], facts=facts.front_matter, size=size_category(rows)
        )
    readers = "\n".join(READERS[name] for name in formats)
    return f"""{front}# Dataset of {", ".join(recipe["sources"])}

{_size(recipe, shards)}
Rows stand in the order of a seeded permutation. The texts are those of the pages that `url` names; rights in them are
their owners'.

| column | type |
|---|---|
{columns}
{facts.sections}
```python
{readers}
```

`manifest.json` names every file with its SHA-256 and the recipe, `report.json` says where every archived record went, \
`recipe.json`
claims the directory. `thresher verify DIRECTORY` reads and hashes everything again.
""".encode()


def _size(recipe: Mapping[str, Any], shards: Sequence[ShardFile]) -> str:
    tokenizer, written = recipe["tokenizer"], counted_shards(len(shards))
    documents, formats = f"{count_documents(shards):,} documents", ", ".join(recipe["formats"])
    if tokenizer is not None:
        bearing = count_loss_tokens(shards)
        loss = "" if bearing is None else f", {bearing:,} of them with loss,"
        return f"""{documents} and {count_tokens(shards):,} tokens{loss} in {written} of Thresher \
({formats}). The
tokenizer is {tokenizer["name"]} ({tokenizer["vocabulary"]:,} tokens, SHA-256 `{tokenizer["sha256"]}`)."""
    text_bytes = count_text_bytes(shards)
    texts = "" if text_bytes is None else f" with {text_bytes:,} bytes of text"
    return f"{documents}{texts} in {written} of Thresher ({formats}), not tokenized."
