"""A large table becomes the same archive files in any number of processes, whoever is killed; one command at a time
ingests into a source."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.inputs.test_ingest import OTHER, PAGE, warc
from tests.storage.inputs.killed_puts import kill_at_every_put
from thresher.core import Conflict, InputError
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.inputs.source_lock import source_lock
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs.made_records import VolumeSize
from thresher.storage.manifest import manifest_name, manifests
from thresher.storage.warc.records import read_records

OPTIONS = IngestOptions(size=VolumeSize(records=1_000))
WORDS = ["river", "bridge", "baker", "oven", "loaf", "quarter", "hour", "night", "paragraph", "page", "text"]


def text(number):
    return " ".join(WORDS[number * step % 11] for step in range(1, 120))


ROWS = [
    {"id": f"d{number}", "url": f"https://example.org/{number}", "n": number, "text": text(number)}
    for number in range(2_500)
]


def write_tables(folder):
    """JSON lines with blank and broken lines, cut off in their compression, and Parquet in two row groups."""
    folder.mkdir()
    lines = [json.dumps(row) for row in ROWS]
    lines[700:700], lines[1_800:1_800] = ["", "{broken", ""], ["[1]", "\r"]
    packed = gzip.compress("\n".join(lines).encode(), 0)
    (folder / "a.jsonl.gz").write_bytes(packed[:-2_000])
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "b.parquet", row_group_size=1_700, compression="none")
    return folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return write_tables(tmp_path_factory.mktemp("tables") / "t")


def ingested(files, tables, workers=1):
    return ingest(files, "s", locate_inputs([tables]), OPTIONS, workers=workers)


def stored(files):
    return {name: files.read(name) for name in files.list()}


@pytest.fixture(scope="module")
def whole(tables, tmp_path_factory):
    files = DirectoryStore(tmp_path_factory.mktemp("whole"))
    assert ingested(files, tables).refused == []
    return stored(files)


@pytest.mark.parametrize("workers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_any_number_of_workers_makes_the_same_bytes(tables, whole, tmp_path, workers):
    files = DirectoryStore(tmp_path)
    ingested(files, tables, workers)
    assert stored(files) == whole


def test_the_archive_files_hold_the_rows_in_their_order(tables, whole, tmp_path):
    files = DirectoryStore(tmp_path)
    ingested(files, tables)
    parts = {manifest.part: manifest for manifest in manifests(files, "archive", "s")}
    assert list(parts) == [
        f"s/{name}-0000{number}" for name in ("a.jsonl.gz", "b.parquet") for number in range(3)
    ]
    lines = {"broken_json": 0, "no_object": 0, "cut_off": 0}
    for name in ("a.jsonl.gz", "b.parquet"):
        ids = []
        for manifest in (each for part, each in parts.items() if name in part):
            with files.open(manifest.outputs[0].name) as file:
                ids += [each.facts["id"] for each in read_records(file, name="x") if each.type == "resource"]
            for reason in lines:
                lines[reason] += manifest.counts.get(f"passed_over.{reason}", 0)
        assert ids == [row["id"] for row in ROWS][: len(ids)]
        assert len(ids) > 2_490
    assert lines["no_object"] == 1
    assert lines["cut_off"] == 1


def test_a_row_without_an_address_is_named_after_its_line_in_the_input(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n\n".join(json.dumps({"text": text(n) * 2}) for n in range(1_200)))
    files = DirectoryStore(tmp_path / "data")
    ingest(files, "s", locate_inputs([path]), OPTIONS)
    with files.open("warc/s/x.jsonl-00001.warc.gz") as file:
        uris = [each.url for each in read_records(file, name="x")][1:]
    assert uris == [f"file:x.jsonl#line={2 * n + 1}" for n in range(1_000, 1_200)]


@pytest.mark.slow
def test_killed_at_any_put_it_goes_on_to_the_same_bytes(tables, whole, tmp_path):
    def command(files):
        ingest(files, "s", locate_inputs([tables / "b.parquet"]), OPTIONS)

    points = kill_at_every_put(tmp_path, command)
    expected = {name: data for name, data in whole.items() if "b.parquet" in name}
    for point in range(1, points, 3):
        files = DirectoryStore(tmp_path / str(point))
        command(files)
        assert stored(files) == expected


def test_a_volume_that_another_process_did_not_seal_is_made_again_between_its_neighbours(
    tables, whole, tmp_path
):
    files = DirectoryStore(tmp_path)
    ingested(files, tables)
    files.delete(manifest_name("archive", "s/b.parquet-00001"))
    again = ingested(files, tables)
    assert (again.added, again.known) == (1, 1)
    assert stored(files) == whole


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_table_with_more_bad_rows_than_good_ones_leaves_nothing(tmp_path, workers):
    path = tmp_path / "x.jsonl"
    bad = ["{broken" + "x" * 500] * 3_000
    path.write_text("\n".join([*(json.dumps(row) for row in ROWS), *bad]))
    files = DirectoryStore(tmp_path / "data")
    (refused,) = ingest(files, "s", locate_inputs([path]), OPTIONS, workers=workers).refused
    assert "more bad rows than good ones (3,000 of 5,500); the first: line 2501:" in refused["reason"]
    assert list(files.list()) == []


def test_another_command_that_ingests_into_the_source_is_named(tables, tmp_path):
    files = DirectoryStore(tmp_path)
    with (
        source_lock(files, "s"),
        pytest.raises(Conflict, match="ingest s: another command is ingesting into this source"),
    ):
        ingested(files, tables)
    assert list(files.list()) == []
    with source_lock(files, "other"):
        assert ingested(files, tables).added == 2


@pytest.mark.slow
def test_a_killed_command_with_workers_goes_on_to_the_same_bytes(tables, whole, tmp_path):
    """SIGKILL at the first, second, ... archive file that is sealed, whichever that is; its workers die with it."""
    code = (
        "import sys; from pathlib import Path; from tests.pipeline.inputs.test_ingest_workers import *;"
        "ingested(DirectoryStore(Path(sys.argv[1])), Path(sys.argv[2]), 2)"
    )
    for count in range(1, 6):
        root = tmp_path / str(count)
        files = DirectoryStore(root)
        process = subprocess.Popen([sys.executable, "-c", code, str(root), str(tables)])
        while process.poll() is None and len(list(files.list("manifests/"))) < count:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        ingested(files, tables, 2)
        assert stored(files) == whole


def write_warcs(folder):
    folder.mkdir()
    for number in range(7):
        name = "x.warc" if number == 3 else f"{number}.warc.gz"
        warc(folder / name, [f"{PAGE}<p>{number} {page}</p>" for page in range(3)])
    (folder / "a.txt").write_text("A text between them.")
    warc(folder / "x.warc.gz", [OTHER])
    return folder


@pytest.mark.parametrize("in_place", [False, True])
def test_warc_files_that_workers_read_ahead_are_sealed_as_in_one_process(tmp_path, in_place):
    folder = write_warcs(tmp_path / "in")
    stores = [DirectoryStore(tmp_path / str(workers)) for workers in (1, 2)]
    for workers, files in enumerate(stores, 1):
        names = []
        arguments = [str(folder), str(tmp_path / "none")]
        with pytest.raises(InputError, match="no such file"):
            ingest(
                files,
                "s",
                locate_inputs(arguments),
                IngestOptions(in_place=in_place),
                lambda result: names.append((result.name, result.status)),  # noqa: B023 - called within
                workers=workers,
            )
        assert len(names) == 9
    assert stored(stores[0]) == stored(stores[1])
    assert any(name.endswith("x.json") for name in stored(stores[0]))
