"""The manifest says how many rows the reader of each format counts; each is opened with its own tool."""

import json
import subprocess

import duckdb
import pyarrow.dataset as ds
import pytest

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    KEPT,
    dataset_of,
    exported,
    processed,
)
from tests.shards.toolsenv import loaders
from thresher import Loader
from thresher.pipeline.commands.results import dataset_body, dataset_line
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.tokens import TokensShard

LENGTH = 128
PACKED = [
    None,
    "best-fit",
    pytest.param("concat", marks=pytest.mark.slow),
    pytest.param("none", marks=pytest.mark.slow),
]


@pytest.fixture
def out(exported, packing):
    """An export in every format, of several shards."""
    pack = None if packing is None else LENGTH
    return exported(formats=tuple(FORMATS), pack=pack, packing=packing or "best-fit", shard_bytes=20_000)


def counts(out):
    unit = "documents" if dataset_of(out).recipe["packing"] is None else "sequences"
    found = dataset_of(out).rows
    assert all(list(each) == [unit] for each in found.values())
    return {name: each[unit] for name, each in found.items()}


@pytest.mark.parametrize("packing", PACKED)
def test_readers_that_python_has_count_the_rows_of_the_manifest(out, packing):
    found = counts(out)
    assert list(found) == list(FORMATS)
    assert json.loads((out / "manifest.json").read_bytes())["rows"] == dataset_of(out).rows
    assert dataset_body("out", dataset_of(out))["rows"] == dataset_of(out).rows
    assert ds.dataset(out / "data").count_rows() == found["parquet"]
    assert ds.dataset(out / "hf" / "data").count_rows() == found["hf"]
    with duckdb.connect() as connection:
        assert connection.sql(f"select count(*) from '{out}/jsonl/*.jsonl.zst'").fetchall() == [
            (found["jsonl"],)
        ]
    if packing is None:
        assert set(found.values()) == {KEPT}
        assert sum(len(TokensShard.open(path).ends) for path in out.glob("tokens/*/*.tokens")) == KEPT
    else:
        loader = Loader(out, length=LENGTH, packing=packing, batch_size=1)
        assert sum(len(batch["input_ids"]) for batch in loader) == loader.sequences == found["tokens"]
        assert f"sequences: {found['tokens']:,} in tokens, {found['parquet']:,} in parquet" in dataset_line(
            "out", dataset_of(out)
        )


TOOLS = """
import glob, json, sys, streaming, webdataset
from megatron.core.datasets.indexed_dataset import IndexedDataset
out = sys.argv[1]
print(json.dumps({
    "webdataset": sum(1 for _ in webdataset.WebDataset(sorted(glob.glob(out + "/webdataset/*.tar")), shardshuffle=False)),
    "mds": len(streaming.StreamingDataset(local=out + "/mds", shuffle=False, batch_size=1)),
    "megatron": sum(len(IndexedDataset(path[:-4])) for path in glob.glob(out + "/megatron/*.idx")),
}))
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("packing", [None, "best-fit"])
def test_readers_of_others_count_the_rows_of_the_manifest(out, packing, request, tmp_path):
    from datasets import load_dataset

    found = counts(out)
    assert load_dataset(str(out / "hf"), split="train", cache_dir=str(tmp_path)).num_rows == found["hf"]
    done = subprocess.run(
        [loaders(request.config.cache), "-c", TOOLS, out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert theirs == {name: found[name] for name in theirs}
