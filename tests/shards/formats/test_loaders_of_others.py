"""The loaders that the formats are made for read them: WebDataset, MosaicML Streaming and Megatron."""

import json
import subprocess

import pytest

from tests.shards.formats.sample_rows import sample_rows, write_dataset
from tests.shards.toolsenv import loaders

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
