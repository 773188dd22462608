"""The loaders that the formats are made for read them: WebDataset, MosaicML Streaming and Megatron."""

import json
import subprocess

import pytest

from tests.shards.formats.sample_rows import sample_rows, write_dataset
from tests.shards.toolsenv import loaders
from thresher.shards.formats.shard_rows import RowColumns

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ROWS = [row for row in sample_rows() if row["input_ids"]]

CODE = {
    "webdataset": """
import glob, json, sys, webdataset
found = []
for row in webdataset.WebDataset(sorted(glob.glob(sys.argv[1] + "/*.tar")), shardshuffle=False).decode():
    found.append([row["input_ids.npy"].tolist(), row["txt"], row["json"]["url"]])
""",
    "mds": """
import json, sys, streaming
rows = streaming.StreamingDataset(local=sys.argv[1], shuffle=False, batch_size=1)
found = [[row["input_ids"].tolist(), row["text"], row["url"]] for row in (rows[at] for at in range(len(rows)))]
assert rows[1]["record_offset"] == 1_000_000_007 * int(rows[1]["id"], 16)
""",
    "megatron": """
import glob, json, sys
from megatron.core.datasets.indexed_dataset import IndexedDataset
found = []
for path in sorted(glob.glob(sys.argv[1] + "/*.idx")):
    rows = IndexedDataset(path.removesuffix(".idx"))
    found += [[row.tolist(), "", ""] for row in (rows[at] for at in range(len(rows)))]
""",
}


@pytest.mark.parametrize("name", CODE)
def test_a_loader_reads_its_format(name, tmp_path, request):
    python = loaders(request.config.cache)
    folder = write_dataset(name, tmp_path, ROWS)
    done = subprocess.run(
        [python, "-c", CODE[name] + "\nprint(json.dumps(found))", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = [[row["input_ids"], row["text"], row["url"]] for row in ROWS]
    if name == "megatron":
        wanted = [[ids, "", ""] for ids, _, _ in wanted]
    assert json.loads(done.stdout.splitlines()[-1]) == wanted


COLLATE = {
    "webdataset": """
import glob, sys, torch, webdataset
def flat(row):
    return {"input_ids": row["input_ids.npy"], "segments": row["segments.npy"], **row["json"]}
rows = webdataset.WebDataset(sorted(glob.glob(sys.argv[1] + "/*.tar")), shardshuffle=False).decode().map(flat)
""",
    "mds": """
import sys, streaming, torch
rows = streaming.StreamingDataset(local=sys.argv[1], shuffle=False, batch_size=2)
""",
}


@pytest.mark.parametrize("id_type", ["int32", "int64"])
@pytest.mark.parametrize("name", COLLATE)
def test_pytorch_makes_batches_of_packed_rows_by_its_default(name, id_type, tmp_path, request):
    python = loaders(request.config.cache)
    rows = [
        {
            "input_ids": [n] * 8,
            "positions": [*range(8)],
            "segments": [1] * 4 + [2] * (4 - n) + [0] * n,
            "ids": "a b"[: 3 - n],
        }
        for n in (0, 2)
    ]
    folder = write_dataset(
        name, tmp_path, rows, shards=1, id_bytes=4, schema=RowColumns(id_type=id_type).packed
    )
    code = """
(batch,) = torch.utils.data.DataLoader(rows, batch_size=2)
assert batch["input_ids"].dtype == getattr(torch, sys.argv[2]), batch["input_ids"].dtype
assert batch["input_ids"].tolist() == [[0] * 8, [2] * 8]
assert batch["segments"].shape == (2, 8)
assert list(batch["ids"]) == ["a b", "a"]
"""
    done = subprocess.run(
        [python, "-c", COLLATE[name] + code, folder, id_type], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
