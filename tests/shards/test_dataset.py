"""manifest.json: what was written is what is read, and nothing else is taken for it."""

import pytest

from core import CorruptData
from shards import Dataset, ShardFile

DATASET = Dataset(
    fingerprint="f" * 64,
    recipe={"tokenizer": {"name": "bytes"}},
    shards=(
        ShardFile(name="shard-00000.parquet", bytes=10, sha256="a" * 64, documents=2, tokens=30),
        ShardFile(name="shard-00001.parquet", bytes=11, sha256="b" * 64, documents=3, tokens=40),
    ),
)


def test_a_dataset_round_trips():
    assert Dataset.from_json(DATASET.to_json(), "here") == DATASET


def test_totals_are_those_of_the_shards():
    assert (DATASET.documents, DATASET.tokens) == (5, 70)


def test_a_manifest_clipped_anywhere_is_corrupt():
    data = DATASET.to_json()
    for end in range(len(data) - 2):
        with pytest.raises(CorruptData, match="here"):
            Dataset.from_json(data[:end], "here")
