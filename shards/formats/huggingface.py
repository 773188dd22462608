"""The format `hf`: a folder for the Hugging Face Hub, with Parquet shards under the Hub's names, and a data card.

`datasets.load_dataset(FOLDER, streaming=True)` reads it as it is, and so does the Hub after an upload.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from thresher.shards.card_facts import CardFacts, size_category
from thresher.shards.dataset import ShardFile, count_text_bytes, counted_shards
from thresher.shards.formats.format import Format
from thresher.shards.formats.parquet import ParquetShard, bytes_of

NAMES: Mapping[Any, str] = {
    pa.float64(): "float64",
    pa.float32(): "float32",
    pa.float16(): "float16",
    pa.date32(): "date32",
    pa.date64(): "date64",
}
"""Types that `datasets` calls otherwise than Arrow."""
NOT_PLAIN = re.compile(r"[^A-Za-z0-9_]")


def _card(shards: Sequence[ShardFile], schema: pa.Schema, facts: CardFacts) -> Mapping[str, bytes]:
    rows, tokens, size, data = (
        sum(getattr(shard, name) for shard in shards) for name in ("rows", "tokens", "bytes", "data_bytes")
    )
    is_tokenized = "input_ids" in schema.names
    text_bytes = count_text_bytes(shards)
    amount = f" and {tokens:,} tokens" if is_tokenized else ""
    if text_bytes is not None:
        amount = f" and {text_bytes:,} bytes of text"
    features = "\n".join(line for field in schema for line in _feature(field.name, field.type, "  "))
    columns = "\n".join(f"| `{field.name}` | `{field.type}` |" for field in schema)
    card = f"""---
{facts.front_matter}task_categories:
- text-generation
size_categories:
- {size_category(rows)}
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

# {"Tokenized documents" if is_tokenized else "Documents"}

{rows:,} rows{amount} in {counted_shards(len(shards))}, written by Thresher in the order of a seeded
permutation. Rights in the texts are their owners'. The `manifest.json` beside this folder has the recipe and digests.

| column | type |
|---|---|
{columns}
{facts.sections}
```python
from datasets import load_dataset

rows = load_dataset("PATH/TO/THIS/FOLDER", split="train", streaming=True)
```
"""
    pictures = {f"hf/{name}": data for name, data in facts.pictures.items()}
    return {"hf/README.md": card.encode(), **pictures}


def _feature(name: str, kind: pa.DataType, indent: str) -> Iterator[str]:
    """Yield the lines that declare a column, as `datasets` writes its features."""
    yield f"{indent}- name: {json.dumps(name) if NOT_PLAIN.search(name) else name}"
    yield from _type(kind, f"{indent}  ", "dtype")


def _type(kind: Any, indent: str, key: str) -> Iterator[str]:
    if pa.types.is_struct(kind):
        yield f"{indent}{'struct' if key == 'dtype' else key}:"
        for field in kind:
            yield from _feature(field.name, field.type, indent)
    elif isinstance(kind, pa.ListType | pa.LargeListType):
        inner = kind.value_type
        if pa.types.is_nested(inner) and not pa.types.is_struct(inner):
            yield f"{indent}list:"
            yield from _type(inner, f"{indent}  ", "list")
        else:
            yield from _type(inner, indent, "list")
    else:
        yield f"{indent}{key}: {NAMES.get(kind, str(kind))}"


HUGGINGFACE = Format(
    name="hf",
    directory="hf",
    file_names=lambda number, count: (f"data/train-{number:05d}-of-{count:05d}.parquet",),
    open=ParquetShard,
    bytes_of=bytes_of,
    side_files=_card,
)
