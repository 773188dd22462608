"""Packed rows, and ids of a type, are the same in every format that has them; the loader reads what an export packs."""

import io
import json
import tarfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    dataset_of,
    exported,
    parquet_rows,
    processed,
)
from tests.pipeline.steps.test_export import token_rows
from thresher import Loader
from thresher.pipeline.commands.results import dataset_body, dataset_line
from thresher.pipeline.integrity.export_audit import verify_dataset
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.formats.registry import FORMATS


@pytest.mark.parametrize("pack", [None, 128])
@pytest.mark.parametrize("id_type", ["int32", "int64"])
def test_ids_have_the_type_that_is_asked_for_in_rows_of_every_format(exported, id_type, pack):
    rows = ("parquet", "hf", "mds", "webdataset", "tokens")
    out = exported(formats=rows, id_type=id_type, pack=pack, shard_bytes=1 << 30)
    for path in (*out.glob("data/*.parquet"), *out.glob("hf/data/*.parquet")):
        assert pq.read_schema(path).field("input_ids").type.value_type == pa.type_for_alias(id_type)
    config = json.loads((out / "mds" / "index.json").read_bytes())["shards"][0]
    encodings = dict(zip(config["column_names"], config["column_encodings"], strict=True))
    assert encodings["input_ids"] == f"ndarray:{id_type}"
    (tar_path,) = out.glob("webdataset/*.tar")
    with tarfile.open(tar_path) as tar:
        members = [member for member in tar if "input_ids" in member.name]
        files = [file for member in members if (file := tar.extractfile(member))]
        arrays = [np.load(io.BytesIO(file.read())) for file in files]
    assert {str(array.dtype) for array in arrays} == {id_type}
    assert arrays[0].tolist() == parquet_rows(out)[0]["input_ids"]
    assert dataset_of(out).recipe["tokenizer"]["dtype"] == "uint32", "the loader maps 4 bytes"
    assert next(iter(Loader(out, length=64, batch_size=1)))["input_ids"].shape == (1, 64)


@pytest.mark.parametrize("kind", ["best-fit", "concat", "none"])
def test_packed_rows_are_the_same_in_every_format_of_rows(exported, kind):
    rows = tuple(name for name in FORMATS if name != "tokens")
    out = exported(formats=rows, pack=256, packing=kind, shard_bytes=1 << 30)
    found = parquet_rows(out)
    assert {len(row["input_ids"]) for row in found} == {256}
    assert {name for row in found for name in row["ids"].split()} == {
        row["id"] for row in parquet_rows(exported("plain", formats=("parquet",)))
    }
    assert parquet_rows(out, "hf/data/*.parquet") == found
    (bin_path,) = out.glob("megatron/*.bin")
    assert np.frombuffer(bin_path.read_bytes(), "<u2").tolist() == [
        one for row in found for one in row["input_ids"]
    ]
    assert json.loads((out / "mds" / "index.json").read_bytes())["shards"][0]["samples"] == len(found)
    (tar_path,) = out.glob("webdataset/*.tar")
    with tarfile.open(tar_path) as tar:
        names = {member.name.partition(".")[2] for member in tar}
    assert names == {"json", "input_ids.npy", "positions.npy", "segments.npy"}
    dataset = dataset_of(out)
    placed = sum(segment > 0 for row in found for segment in row["segments"])
    assert {(shard.sequences, shard.placed_tokens) for shard in dataset.shards} == {(len(found), placed)}
    assert verify_dataset(str(out), LineProgress()).damage == ()
    assert f"packed into {len(found)} sequences of 256" in dataset_line("out", dataset)
    assert dataset_body("out", dataset)["packing"]["placed"] == placed


@pytest.mark.parametrize("kind", ["best-fit", "concat"])
def test_the_loader_reads_what_an_export_packs(exported, kind):
    out = exported(formats=("tokens", "parquet"), pack=64, packing=kind, shard_bytes=20_000)
    plans = sorted(out.glob("tokens/*/*.best-fit-64.plan"))
    assert len(plans) == (len(list(out.glob("tokens/*/*.tokens"))) if kind == "best-fit" else 0)
    loader = Loader(str(out), length=64, batch_size=2, packing=kind, epochs=1, drop_last=False)
    tokens = Counter()
    sequences = 0
    for batch in loader:
        tokens.update(batch["input_ids"][batch["segments"] > 0].tolist())
        sequences += int((batch["segments"].max(axis=1) > 0).sum())
        state = loader.state_dict()
    wanted = Counter(token for rows in token_rows(out).values() for ids, _ in rows for token in ids)
    assert tokens == wanted
    assert sum(shard.sequences for shard in dataset_of(out).shards if shard.format == "tokens") == sequences
    origin = loader.trace(state, row=0, position=0)
    by_id = {reference["id"]: reference for rows in token_rows(out).values() for _, reference in rows}
    assert by_id[origin.document]["url"] == origin.url
    assert by_id[origin.document]["record_offset"] == origin.record.offset
