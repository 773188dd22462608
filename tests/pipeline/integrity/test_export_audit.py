"""An export directory opens with every tool as it is; what is missing or damaged in it is named, and made again."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from thresher.core import CorruptData, InputError, ThresherError
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.funnel import make_funnel
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity.export_audit import repair_dataset, verify_dataset
from thresher.pipeline.steps import dedup, export, export_plan, process
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards import Dataset, tokenizer
from thresher.storage.directory_store import DirectoryStore

FILTERS = FiltersConfig(preset="none", languages=())
FUNNEL = make_funnel(["s"], {}, [])


@pytest.fixture(scope="module")
def made(tmp_path_factory, pool):
    """A plan of several shards, over two parts of documents."""
    directory = tmp_path_factory.mktemp("made")
    store = DirectoryStore(directory / "data")
    for part in range(2):
        rows = [{"text": f"Text {n} of {part}: " + f"{n} {part} words and more " * 20} for n in range(40)]
        (directory / f"{part}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        ingest(store, "s", locate_inputs([directory / f"{part}.jsonl"]))
    step, parts = process.step(FILTERS), process.parts(store, "s", FILTERS)
    run_step.run_step(store, step, parts, process.work, pool=pool, progress=LineProgress())
    removed, _ = dedup.run(store, ["s"], DedupConfig(near="off"), pool=pool, progress=LineProgress())
    with pytest.MonkeyPatch.context() as small:
        small.setattr(export_plan, "GROUP_TEXT_BYTES", 1)
        options = ExportOptions(shard_bytes=40_000)
        plan = export_plan.make_plan(store, ["s"], tokenizer.load_tokenizer_file(None), removed, options)
    assert len(plan.groups) == 2
    return plan


@pytest.fixture
def exporting(made, tmp_path, pool):
    """The export into a directory of its own, to be called as often as it is typed."""

    def run(*, finish=True):
        out = export.open_directory(made, str(tmp_path / "out"))
        shards = export.make_shards(made, out, pool=pool, progress=LineProgress())
        if finish:
            export.finish(made, out, shards, FUNNEL)
        return shards.summary

    return run


@pytest.fixture(scope="module")
def exported(made, tmp_path_factory, pool):
    """A finished export, of which each test gets a copy."""
    directory = tmp_path_factory.mktemp("exported") / "out"
    out = export.open_directory(made, str(directory))
    export.finish(made, out, export.make_shards(made, out, pool=pool, progress=LineProgress()), FUNNEL)
    return directory


@pytest.fixture
def out(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "out")


def contents(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(directory).parts)
    }


def flip(path, at=2):
    data = bytearray(path.read_bytes())
    data[len(data) // at] ^= 0x10
    path.write_bytes(data)


def checked(out):
    return verify_dataset(str(out), LineProgress()).damage


def load_dataset(directory):
    """In a process of its own, which has no other cache and asks no server."""
    code = (
        f"from datasets import load_dataset; print(sorted(load_dataset({str(directory)!r})['train']['id']))"
    )
    environment = {**os.environ, "HF_HOME": f"{directory}.cache", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1].replace("'", '"'))


TOOLS = {
    "PyArrow": lambda out: pq.read_table(out / "data")["id"].to_pylist(),
    "a dataset of PyArrow": lambda out: ds.dataset(out / "data").to_table()["id"].to_pylist(),
    "pandas": lambda out: pd.read_parquet(out / "data")["id"].tolist(),
    "Polars": lambda out: pl.read_parquet(out / "data")["id"].to_list(),
    "Polars, lazily": lambda out: pl.scan_parquet(out / "data").collect()["id"].to_list(),
    "DuckDB": lambda out: [
        row[0] for row in duckdb.execute(f"SELECT id FROM '{out}/data/*.parquet'").fetchall()
    ],
    "load_dataset": load_dataset,
    "load_dataset of the shards": lambda out: load_dataset(out / "data"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_dataset_opens_as_it_is(made, out, tool):
    found = TOOLS[tool](out)
    assert len(set(found)) == len(found) == made.documents


def test_the_card_names_the_columns_and_what_is_in_it(made, out):
    card = (out / "README.md").read_text()
    assert f"{made.documents:,} documents" in card
    assert made.tokenizer.sha256 in card
    assert all(f"`{name}`" in card for name in pq.read_schema(out / "data" / "shard-00000.parquet").names)


def test_pages_bear_checksums_that_any_reader_can_check(out):
    shard = out / "data" / "shard-00001.parquet"
    flip(shard, 3)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(shard, page_checksum_verification=True)


def test_a_finished_export_is_whole_and_typed_again_makes_nothing(out, exporting):
    before = contents(out)
    assert checked(out) == ()
    assert exporting().made == 0
    assert contents(out) == before
    assert not (out / ".work").exists()


@pytest.mark.parametrize("how", ["deleted", "damaged"])
@pytest.mark.parametrize("repaired", [False, True])
def test_a_shard_that_is_lost_is_made_again_and_no_other_is_touched(made, out, exporting, how, repaired):
    before = contents(out)
    others = {path: path.stat().st_mtime_ns for path in sorted((out / "data").iterdir())[1:]}
    shard = out / "data" / "shard-00000.parquet"
    shard.unlink() if how == "deleted" else flip(shard)
    (damage,) = checked(out)
    assert "shard-00000.parquet" in damage
    if repaired:
        assert repair_dataset(str(out)) == ["data/shard-00000.parquet"]
        assert not shard.exists()
    exporting(finish=False)
    (scratch,) = (out / ".work").iterdir()
    encoded = sum(pq.read_metadata(path).num_rows for path in scratch.rglob("*.parquet"))
    assert encoded == pq.read_metadata(shard).num_rows < made.documents
    exporting()
    assert contents(out) == before
    assert {path: path.stat().st_mtime_ns for path in others} == others
    assert checked(out) == ()


@pytest.mark.parametrize("name", ["report.json", "README.md", "recipe.json", "manifest.json"])
@pytest.mark.parametrize("how", ["deleted", "damaged"])
def test_every_other_file_is_checked_and_made_again(out, exporting, name, how):
    before = contents(out)
    (out / name).unlink() if how == "deleted" else flip(out / name)
    if (name, how) == ("manifest.json", "deleted"):
        with pytest.raises(InputError, match=r"no manifest\.json in it"):
            checked(out)
    else:
        (damage,) = checked(out)
        assert name in damage
    if (name, how) == ("manifest.json", "damaged"):
        with pytest.raises(CorruptData, match=r"manifest.json.*verify OUT --repair"):
            exporting()
    repair_dataset(str(out))
    exporting()
    assert contents(out) == before
    assert checked(out) == ()


def test_a_directory_whose_claim_and_manifest_are_gone_is_not_taken_for_free(out, exporting):
    (out / "recipe.json").unlink()
    assert repair_dataset(str(out)) == []
    assert exporting().made == 0
    (out / "recipe.json").unlink()
    (out / "manifest.json").unlink()
    with pytest.raises(InputError, match="holds other files and no dataset of ours"):
        exporting()


def test_a_stray_file_among_the_shards_is_named(out):
    (out / "data" / "copy.parquet").write_bytes((out / "data" / "shard-00000.parquet").read_bytes())
    (damage,) = checked(out)
    assert "data/copy.parquet is not a file of this dataset" in damage


@pytest.mark.parametrize("how", ["deleted", "damaged"])
def test_a_shard_that_is_lost_before_the_export_is_finished_is_made_again(made, exporting, tmp_path, how):
    exporting(finish=False)
    shard = tmp_path / "out" / "data" / "shard-00001.parquet"
    before = contents(tmp_path / "out")
    shard.unlink() if how == "deleted" else flip(shard)
    assert exporting(finish=False).made == 1
    assert contents(tmp_path / "out") == before


def test_damage_in_what_lies_between_the_steps_is_noticed_and_made_again(made, exporting, tmp_path):
    exporting(finish=False)
    before = contents(tmp_path / "out")
    flip(next((tmp_path / "out" / ".work").rglob("runs/**/*.parquet")))
    for shard in (tmp_path / "out" / "data").iterdir():
        shard.unlink()
    exporting(finish=False)
    assert contents(tmp_path / "out") == before


def test_documents_that_are_damaged_are_refused_and_the_refusal_ends_with_the_damage(
    made, exporting, tmp_path
):
    (name, *_) = sorted(made.storage.list("documents/"))
    data = made.storage.read(name)
    for position in (3, 2, 1.2):
        broken = bytearray(data)
        broken[int(len(data) / position) - 1] ^= 1
        made.storage.path(name).write_bytes(broken)
        with pytest.raises(
            ThresherError, match=f"{name} is not as it was sealed; run `thresher verify --repair`"
        ):
            exporting()
    assert not (tmp_path / "out" / "manifest.json").exists()
    made.storage.path(name).write_bytes(data)
    exporting()
    assert checked(tmp_path / "out") == ()


def test_the_manifest_names_every_file_with_its_digest(out):
    dataset = Dataset.from_json((out / "manifest.json").read_bytes(), "here")
    named = {file.name: file.sha256 for file in dataset.shards}
    named |= {file.name: file.sha256 for file in dataset.files}
    found = {name: hashlib.sha256(data).hexdigest() for name, data in contents(out).items()}
    del found["manifest.json"], found["recipe.json"]
    assert named == found
