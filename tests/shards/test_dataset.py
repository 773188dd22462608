"""manifest.json: what was written is what is read, and nothing else is taken for it."""

import json

import pytest

from thresher.core import CorruptData
from thresher.shards import Dataset, ShardFile
from thresher.shards.dataset import SideFile, _digest

DATASET = Dataset(
    fingerprint="f" * 64,
    recipe={"tokenizer": {"name": "bytes"}},
    shards=(
        ShardFile(name="data/shard-00000.parquet", bytes=10, sha256="a" * 64, documents=2, tokens=30),
        ShardFile(name="data/shard-00001.parquet", bytes=11, sha256="b" * 64, documents=3, tokens=40),
    ),
    files=(SideFile(name="report.json", bytes=5, sha256="c" * 64),),
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


def test_a_manifest_of_which_any_bit_is_flipped_is_corrupt():
    data = DATASET.to_json()
    for at in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[at // 8] ^= 1 << at % 8
        try:
            found = Dataset.from_json(bytes(flipped), "here")
        except CorruptData:
            continue
        assert found == DATASET  # white space, or a letter of an escape


@pytest.mark.parametrize(
    ("name", "value"),
    [("fingerprint", 1), ("recipe", []), ("shards", [1]), ("files", None), ("mix", "x"), ("bytes", -1), ("tokens", "3"),
     ("documents", 1 << 70), ("name", None), ("source", ["web"]), ("companions", [{"name": []}])],
)  # fmt: skip
def test_a_manifest_of_other_types_is_corrupt_even_if_its_digest_fits(name, value):
    body = json.loads(DATASET.to_json())
    del body["digest"]
    (body if name in body and name not in ("documents", "tokens") else body["shards"][0])[name] = value
    with pytest.raises(CorruptData, match="here: not the manifest of an export") as error:
        Dataset.from_json(json.dumps({**body, "digest": _digest(body)}).encode(), "here")
    assert "\n" not in str(error.value)
