"""Ingest keeps the columns of inputs: the published schemas of collections come back, read by DuckDB from storage."""

import csv
import gzip
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.storage.inputs.killed_puts import kill_at_every_put
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.pipeline.inputs.ingest_result import column_lines
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity.verify import accept_loss, repair, verify_storage
from thresher.pipeline.steps.columns.column_values import input_table
from thresher.pipeline.terminal.progress import SilentProgress
from thresher.storage.archive import reseal
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs.made_records import VolumeSize
from thresher.storage.manifest import manifests
from thresher.storage.warc.records import read_records

ROWS = 40


def fineweb(row):
    return {
        "text": f"Text of row {row}.",
        "id": f"<urn:uuid:0-{row}>",
        "dump": "CC-MAIN-2024-10",
        "url": f"https://web.example/{row}",
        "date": "2024-02-21T10:11:12Z",
        "file_path": f"s3://commoncrawl/crawl-data/{row % 3}.warc.gz",
        "language": "en",
        "language_score": 0.5 + row / 100,
        "token_count": row * 7,
        "score": 2.25,
        "int_score": row % 5,
    }


def dolma(row):
    return {
        "id": f"dolma-{row}",
        "text": f"Text of row {row}.",
        "source": "reddit",
        "added": "2023-04-11T09:57:03.044571+00:00",
        "created": "2020-01-19T06:23:03.000Z",
        "version": "v1.5",
        "metadata": {"subreddit": f"r{row}", "stars": row, "provenance": ["a.gz", "b.gz"][: row % 3]},
        "attributes": {"toxic": [[0, 10, 0.25]], "pii": []},
    }


def dclm(row):
    return {
        "text": f"Text of row {row}.",
        "url": f"https://dclm.example/{row}",
        "bff_contained_ngram_count_before_dedupe": row,
        "language_id_whole_page_fasttext": {"en": 0.875},
        "metadata": {
            "Content-Length": str(1000 + row),
            "Content-Type": "application/http; msgtype=response",
            "WARC-Date": "2022-09-25T14:09:09Z",
            "WARC-IP-Address": "192.0.2.1",
        },
        "previous_word_count": 300 + row,
        "warcinfo": "robots: classic\r\nhostname: x",
        "fasttext_openhermes_reddit_eli5_vs_rw_v2_bigram_200k_train_prob": row / 64,
    }


def stack(row):
    return {
        "content": f"def row_{row}():\n    return {row}\n",
        "hexsha": f"{row:040x}",
        "size": 30 + row,
        "ext": "py",
        "lang": "Python",
        "max_stars_repo_path": f"src/{row}.py",
        "max_stars_repo_name": f"owner/{row}",
        "max_stars_repo_licenses": ["MIT", "Apache-2.0"][: row % 3],
        "max_stars_count": row if row % 2 else None,
        "max_stars_repo_stars_event_min_datetime": "2015-01-01T00:00:00.000Z" if row % 2 else None,
        "avg_line_length": 12.5,
        "max_line_length": 99,
        "alphanum_fraction": 0.75,
    }


SCHEMAS = {"fineweb": fineweb, "dolma": dolma, "dclm": dclm, "stack": stack}
HELD = {
    "fineweb": {"text", "id", "url"},
    "dolma": {"text", "id"},
    "dclm": {"text", "url"},
    "stack": {"content"},
}


def write(path: Path, rows: Any) -> Path:
    if path.name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=16)
    elif path.name.endswith(".arrow"):
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=17)
    else:
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))
    return path


def taken_in(root: Path, *paths: Path, size=None):
    store = DirectoryStore(root / "data")
    options = IngestOptions(**({"size": size} if size else {}))
    return store, ingest(store, "s", locate_inputs([str(path) for path in paths]), options)


def columns_of(store: DirectoryStore) -> list[dict[str, Any]]:
    names = [str(store.path(name)) for name in store.list("columns/")]
    found = duckdb.read_parquet(names, union_by_name=True).to_arrow_table()
    return found.to_pylist()


@pytest.mark.parametrize("suffix", ["parquet", "jsonl.gz", "arrow"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_all_columns_of_published_collections_are_equal_after_ingest(tmp_path, schema, suffix):
    rows = [SCHEMAS[schema](row) for row in range(ROWS)]
    store, summary = taken_in(tmp_path, write(tmp_path / f"a.{suffix}", rows))
    found = columns_of(store)
    expected = [{name: value for name, value in row.items() if name not in HELD[schema]} for row in rows]
    assert [
        {name: value for name, value in row.items() if name != "record_offset"} for row in found
    ] == expected
    assert list(summary.columns) == list(expected[0])
    assert not summary.columns_not_kept


def test_each_row_names_the_record_that_it_belongs_to(tmp_path):
    paths = [
        write(tmp_path / f"{name}.jsonl.gz", [make(row) for row in range(5)])
        for name, make in SCHEMAS.items()
    ]
    store, summary = taken_in(tmp_path, *paths)
    assert summary.added == 4
    (archive,) = manifests(store, "archive", "s")
    with store.open(archive.outputs[0].name) as file:
        records = {
            record.offset: record for record in read_records(file, name="x") if record.type == "resource"
        }
    found = columns_of(store)
    assert [row["record_offset"] for row in found] == sorted(records)
    for row in found:
        payload = records[row["record_offset"]].payload.decode()
        if row["hexsha"] is not None:
            assert payload.startswith(f"def row_{int(row['hexsha'], 16)}()")
        if row["token_count"] is not None:
            assert payload == f"Text of row {row['token_count'] // 7}."
    assert input_table(store, f"{archive.part.replace('/', '/part-')}-000000000000") is not None


def test_types_that_exclude_each_other_become_json_text_for_all_inputs_of_an_archive_file(tmp_path):
    first = write(tmp_path / "a.jsonl.gz", [{"text": "a", "score": 1}, {"text": "b", "score": 2}])
    second = write(tmp_path / "b.parquet", [{"text": "c", "score": "high"}])
    store, summary = taken_in(tmp_path, first, second)
    assert summary.columns == {"score": "JSON text"}
    assert [row["score"] for row in columns_of(store)] == ["1", "2", '"high"']
    assert column_lines(summary) == ["1 columns kept: score (JSON text)"]


def test_csv_and_webdataset_keep_their_columns(tmp_path):
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "stars", "zip"])
        writer.writeheader()
        writer.writerows(
            [{"text": "One.", "stars": 1, "zip": "01234"}, {"text": "Two.", "stars": "", "zip": "99"}]
        )
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, data in (
            ("k1.txt", b"Three."),
            ("k1.json", b'{"stars": 3, "url": "https://x.example/", "text": "t"}'),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    store, _ = taken_in(tmp_path, tmp_path / "a.csv", tmp_path / "a.tar")
    found = [{name: row[name] for name in ("stars", "zip", "text")} for row in columns_of(store)]
    assert found == [
        {"stars": 1, "zip": "01234", "text": None},
        {"stars": None, "zip": "99", "text": None},
        {"stars": 3, "zip": None, "text": "t"},
    ]


def test_an_address_or_id_that_the_record_does_not_hold_stays_a_column(tmp_path):
    rows = [
        {"text": "a", "url": "https://x.example/", "id": 7},
        {"text": "b", "url": "no address", "id": "x" * 5000},
    ]
    store, _ = taken_in(tmp_path, write(tmp_path / "a.jsonl.gz", rows))
    assert [(row["url"], row["id"]) for row in columns_of(store)] == [
        (None, None),
        ("no address", "x" * 5000),
    ]


def test_what_is_not_kept_is_named_with_its_reason(tmp_path):
    rows = [
        {"text": "a", "blob": "x" * (2 << 20), "record_offset": 1, "ok": datetime(2024, 1, 1, tzinfo=UTC)}
    ]
    _, summary = taken_in(tmp_path, write(tmp_path / "a.parquet", rows))
    assert summary.columns_not_kept == {"taken_name": {"record_offset": 1}, "too_long": {"blob": 1}}
    assert column_lines(summary)[1:] == [
        "not kept, the name is that of the record's offset: record_offset (1 values)",
        "not kept, more than 1 MiB long: blob (1 values)",
    ]


def test_an_input_without_further_columns_makes_no_table(tmp_path):
    store, summary = taken_in(tmp_path, write(tmp_path / "a.jsonl.gz", [{"text": "a", "id": "1"}]))
    assert not list(store.list("columns/"))
    assert (summary.columns, column_lines(summary)) == ({}, [])


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_at_any_write_and_run_again_there_are_the_same_bytes(tmp_path, count):
    paths = [
        write(tmp_path / f"{at}.parquet", [fineweb(row) for row in range(at, at + 5)]) for at in range(count)
    ]
    options = IngestOptions(size=VolumeSize(records=3) if count == 1 else VolumeSize())

    def command(store):
        ingest(store, "s", locate_inputs([str(path) for path in paths]), options)

    last = kill_at_every_put(tmp_path / "killed", command)
    assert last > 3
    stores = [DirectoryStore(tmp_path / "killed" / str(point)) for point in range(1, last + 1)]
    found = []
    for store in stores:
        command(store)
        found.append({name: store.read(name) for name in store.list()})
    assert all(each == found[-1] for each in found)
    assert sum(name.startswith("columns/") for name in found[-1]) == (2 if count == 1 else 1)


@pytest.fixture
def stored(tmp_path):
    store, _ = taken_in(tmp_path, write(tmp_path / "a.parquet", [fineweb(row) for row in range(5)]))
    return store


def damage(store: DirectoryStore) -> str:
    (name,) = store.list("columns/")
    path = store.path(name)
    path.write_bytes(path.read_bytes()[:-9])
    return name


def test_a_damaged_table_of_columns_is_one_line_and_can_be_given_up(stored):
    name = damage(stored)
    found = verify_storage(stored, SilentProgress())
    assert len(found.damage) == 1
    assert f"{name} has" in found.damage[0]
    assert accept_loss(stored, found) == ["warc/s/a.parquet-00000.warc.gz"]
    assert not list(stored.list("columns/"))
    assert verify_storage(stored, SilentProgress()).damage == ()


def test_a_file_that_lost_its_seal_is_sealed_with_its_columns(stored, monkeypatch):
    (before,) = manifests(stored, "archive", "s")
    stored.delete("manifests/archive/s/a.parquet-00000.json")
    monkeypatch.setattr(reseal, "GRACE_MS", 0)
    monkeypatch.setattr(reseal.unsealed_files, "__defaults__", (0,))
    repair(stored, verify_storage(stored, SilentProgress()))
    (after,) = manifests(stored, "archive", "s")
    assert after.outputs == before.outputs
