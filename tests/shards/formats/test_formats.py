"""Every format: what is written is what common tools read, and equal rows give equal bytes."""

import io
import json
import subprocess
import sys
import tarfile
from importlib.util import find_spec

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.shards.formats.sample_rows import sample_rows, write_dataset, write_shard
from thresher.core import CorruptData
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.tokens import TokensShard, refs_name

ROWS = sample_rows()


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_follow_from_the_rows_and_not_from_how_they_arrive(tmp_path, name):
    made = [
        [path.read_bytes() for path in write_shard(name, tmp_path / str(chunk), ROWS, chunk=chunk)]
        for chunk in (1, 7, 40)
    ]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("name", FORMATS)
def test_a_shard_without_rows_is_a_shard(tmp_path, name):
    assert all(path.stat().st_size for path in write_shard(name, tmp_path, []) if path.suffix != ".bin")


def test_parquet_is_read_by_pyarrow_and_duckdb(tmp_path):
    (path,) = write_shard("parquet", tmp_path, ROWS)
    assert pq.read_table(path).to_pylist() == ROWS
    found = duckdb.execute(f"SELECT input_ids, text FROM '{path}'").fetchall()
    assert found == [(row["input_ids"], row["text"]) for row in ROWS]


def test_jsonl_is_one_zstandard_frame_of_json_lines(tmp_path):
    (path,) = write_shard("jsonl", tmp_path, ROWS)
    with path.open("rb") as file:  # by default this reader stops behind the first frame
        text = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8")
        assert [json.loads(line) for line in text.read().split("\n")[:-1]] == ROWS
    found = duckdb.execute(
        f"SELECT id, text FROM read_json('{path}', maximum_object_size=10000000)"
    ).fetchall()
    assert found == [(row["id"], row["text"]) for row in ROWS]


def test_webdataset_is_a_tar_whose_neighbours_share_a_key(tmp_path):
    (path,) = write_shard("webdataset", tmp_path, ROWS)
    with tarfile.open(path) as tar:
        files = [(member.name, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]
    assert [name for name, _ in files[:3]] == ["00000000.json", "00000000.input_ids.npy", "00000000.txt"]
    for number, row in enumerate(ROWS):
        facts, ids, text = (data for _, data in files[3 * number : 3 * number + 3])
        loaded = np.load(io.BytesIO(ids), allow_pickle=False)
        assert (loaded.dtype, loaded.tolist()) == (np.uint16, row["input_ids"])
        assert text.decode() == row["text"]
        assert json.loads(facts) == {name: row[name] for name in row if name not in {"input_ids", "text"}}
    assert path.stat().st_size % 512 == 0


@pytest.mark.parametrize(("id_bytes", "dtype"), [(2, "<u2"), (4, "<i4")])
def test_a_megatron_index_leads_to_every_document(tmp_path, id_bytes, dtype):
    rows = sample_rows(largest=65_000 if id_bytes == 2 else 200_000)
    data, index = (path.read_bytes() for path in write_shard("megatron", tmp_path, rows, id_bytes=id_bytes))
    assert index[:9] == b"MMIDIDX\0\0"
    assert np.frombuffer(index, "<u8", 1, 9) == 1
    assert index[17] == {"<u2": 8, "<i4": 4}[dtype]
    sequences, documents = np.frombuffer(index, "<u8", 2, 18)
    assert (sequences, documents) == (len(rows), len(rows) + 1)
    lengths = np.frombuffer(index, "<i4", len(rows), 34)
    pointers = np.frombuffer(index, "<i8", len(rows), 34 + 4 * len(rows))
    assert np.frombuffer(index, "<i8", len(rows) + 1, 34 + 12 * len(rows)).tolist() == [*range(len(rows) + 1)]
    assert len(index) == 34 + 12 * len(rows) + 8 * (len(rows) + 1)
    for row, length, pointer in zip(rows, lengths, pointers, strict=True):
        assert np.frombuffer(data, dtype, length, pointer).tolist() == row["input_ids"]


def test_tokens_and_references_stand_side_by_side(tmp_path):
    path, references = write_shard("tokens", tmp_path, ROWS)
    assert references.name == refs_name(path.name)
    shard = TokensShard.open(path)
    ends = shard.ends.tolist()
    starts = [0, *ends[:-1]]
    assert [shard.ids(start, end).tolist() for start, end in zip(starts, ends, strict=True)] == [
        row["input_ids"] for row in ROWS
    ]
    found = pq.read_table(references).to_pylist()
    assert found == [
        {name: row[name] for name in row if name not in {"input_ids", "text"}}
        | {"record_length": 10, "record_digest": "sha1:x"}
        for row in ROWS
    ]


def test_a_shard_of_tokens_whose_rows_are_not_those_that_were_counted_is_refused(tmp_path, monkeypatch):
    kind = FORMATS["tokens"]
    from thresher.shards.formats.format import RowSize

    with (tmp_path / "a").open("wb") as first, (tmp_path / "b").open("wb") as second:
        from thresher.shards.formats.shard_rows import DOCUMENT_ROW

        writer = kind.open((first, second), DOCUMENT_ROW, 2, RowSize(rows=1, tokens=5))
        with pytest.raises(CorruptData, match="changed while it was written"):
            writer.close()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("datasets") is None, reason="the package datasets is not installed")
def test_load_dataset_streams_the_folder_for_the_hub(tmp_path):
    folder = write_dataset("hf", tmp_path, ROWS)
    code = (
        "import json, sys; from datasets import load_dataset\n"
        f"rows = load_dataset({str(folder)!r}, split='train', streaming=True)\n"
        "print(json.dumps([list(rows), str(rows.features['input_ids'])]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    found, ids = json.loads(done.stdout.splitlines()[-1])
    assert found == ROWS
    assert "int32" in ids
    assert f"num_examples: {len(ROWS)}" in (folder / "README.md").read_text()
