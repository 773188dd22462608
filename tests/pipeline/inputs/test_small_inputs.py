"""Thousands of small files become a few archive files and parts, and each file can still be found by itself."""

import json
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.expect import expect
from tests.pipeline.wacz.test_wacz_export import archived
from tests.storage.conftest import bucket_at, keys, server  # noqa: F401 - fixtures of these tests too
from thresher.core import InputError
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine.run_step import run_step
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.steps import process
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs.made_records import VolumeSize
from thresher.storage.inputs.shared_archive import inputs_of, is_shared
from thresher.storage.manifest import manifests

FILTERS = FiltersConfig(preset="none", languages=())


@pytest.fixture
def files(tmp_path):
    return DirectoryStore(tmp_path / "data")


def texts(directory, numbers):
    """Files of a line each, in folders of ten."""
    for number in numbers:
        path = directory / f"{number // 10:03d}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is the text number {number} of all that lie here.\n")
    return directory


def fates(files, *arguments, source="s", **ways):
    """What became of each file, by its name."""
    found = []
    ingest(files, source, locate_inputs(arguments), IngestOptions(**ways), found.append)
    assert len({each.name for each in found}) == len(found)
    return {each.name: each.status for each in found}


def inputs(files):
    """How often each input lies in the archive."""
    found = Counter()
    for manifest in manifests(files, "archive"):
        found_here = inputs_of(files, manifest.outputs[0].name) if is_shared(manifest) else []
        found.update([one.name for one in found_here] or [expect(str, manifest.recipe["ingested"])])
    return found


def names(directory):
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*.*")}


def test_many_small_texts_are_a_few_files_and_as_many_documents(files, tmp_path, pool):
    directory = texts(tmp_path / "in", range(1_200))
    assert Counter(fates(files, directory).values()) == {"added": 1_200}
    run_step(files, process.step(FILTERS), process.parts(files, "s", FILTERS), process.work, pool=pool, progress=LineProgress())  # fmt: skip
    assert len(list(files.list())) == 3 + 2 * 6
    rows = [
        row
        for name in files.list("documents/s/")
        for row in pq.read_table(files.open(name), columns=["id", "url", "text"]).to_pylist()
    ]
    assert {row["url"] for row in rows} == {f"file:{name}" for name in names(directory)}
    assert len({row["id"] for row in rows}) == len(rows) == 1_200
    assert all(f"number {row['url'][9:-4].rpartition('/')[2]} of" in row["text"] for row in rows)
    assert verify_storage(files, LineProgress()).damage == ()


def test_a_directory_that_grows_adds_what_is_new_alone(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", range(30))
    fates(files, directory)
    before = {name: files.read(name) for name in files.list()}
    assert set(fates(files, directory).values()) == {"known"}
    assert set(files.list()) == before.keys()
    texts(directory, range(30, 35))
    assert Counter(fates(files, directory).values()) == {"known": 30, "added": 5}
    assert {name: files.read(name) for name in before} == before
    assert inputs(files) == dict.fromkeys(names(directory), 1)
    assert len(list(manifests(files, "archive"))) == 2


def test_of_small_files_one_alone_has_an_archive_file_of_its_own(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", [3])
    fates(files, directory)
    (manifest,) = manifests(files, "archive")
    assert manifest.part == "s/000--3.txt-00000"
    texts(directory, [4, 5])
    assert fates(files, directory) == {"000/3.txt": "known", "000/4.txt": "added", "000/5.txt": "added"}


def test_large_files_and_archives_keep_files_of_their_own(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", range(3))
    (directory / "large.txt").write_text("Many words. " * 100_000)
    (directory / "rows.jsonl").write_text('{"text": "some words"}\n' * 11)
    warc = archived(tmp_path / "crawl")
    (name,) = (name for name in warc.list("warc/") if name.endswith(".warc.gz"))
    (directory / "x.warc.gz").write_bytes(warc.read(name))
    assert set(fates(files, directory, size=VolumeSize(records=10)).values()) == {"added"}
    parts = {manifest.part for manifest in manifests(files, "archive")}
    assert len({part for part in parts if part.startswith("s/shared-")}) == 1
    assert parts >= {"s/large.txt-00000", "s/rows.jsonl-00000", "s/rows.jsonl-00001", "s/x"}
    assert set(fates(files, directory, size=VolumeSize(records=10)).values()) == {"known"}


def test_another_text_under_a_name_that_is_there_is_refused(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", range(3))
    fates(files, directory)
    (directory / "000" / "1.txt").write_text("Another text.")
    found = ingest(files, "s", locate_inputs([directory]))
    assert (found.known, found.added) == (2, 0)
    assert [each["reason"] for each in found.refused] == [
        "ingest 000/1.txt: s holds another file of that name; rename one of them"
    ]


def test_a_known_input_is_refused_with_other_options(files, tmp_path):
    directory = texts(tmp_path / "in", range(3))
    fates(files, directory)
    found = ingest(files, "s", locate_inputs([directory]), IngestOptions(by_line=True))
    assert len(found.refused) == 3
    assert (
        's holds it already, read with other options: reader was "text@1", is "lines@1" now'
        in found.refused[0]["reason"]
    )


def test_what_is_refused_leaves_nothing_and_the_others_share_their_file(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", range(3))
    (directory / "blank.txt").write_text("  \n")
    (directory / "junk.bin").write_bytes(b"\0\1\2")
    assert Counter(fates(files, directory).values()) == {"added": 3, "refused": 2}
    assert inputs(files).total() == 3


def test_an_argument_that_means_no_file_takes_nothing_from_those_before_it(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", range(3))
    with pytest.raises(InputError, match="no such file"):
        ingest(files, "s", locate_inputs([directory, tmp_path / "none.txt"]))
    assert inputs(files) == dict.fromkeys(names(directory), 1)


KILLED = """
import sys
from pathlib import Path
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.storage.inputs.made_records import VolumeSize
from tests.storage.inputs.killed_puts import kill_at_every_put

directory, root = map(Path, sys.argv[1:])
options = IngestOptions(size=VolumeSize(records=3))
sys.exit(kill_at_every_put(root, lambda store: ingest(store, "s", locate_inputs([directory]), options)))
"""


def test_killed_before_or_behind_every_file_nothing_is_lost_or_there_twice(tmp_path):
    """Two shared files of three inputs, and one that is alone; then it goes on, with the same directory or one that grew."""
    directory = texts(tmp_path / "in", range(7))
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, directory, tmp_path / "killed"],
        cwd=Path(__file__).parents[3],
        timeout=120,
        check=False,
    )
    assert ran.returncode == 2 * 3 * 3 + 1
    size = VolumeSize(records=3)
    whole = DirectoryStore(tmp_path / "whole")
    fates(whole, directory, size=size)
    for point in range(1, ran.returncode, 2):
        files = DirectoryStore(tmp_path / "killed" / str(point))
        fates(files, directory, size=size)
        assert {name: files.read(name) for name in files.list()} == {
            name: whole.read(name) for name in whole.list()
        }
    texts(directory, [0, 100, 101])
    for point in range(2, ran.returncode, 2):
        files = DirectoryStore(tmp_path / "killed" / str(point))
        fates(files, directory, size=size)
        assert inputs(files) == dict.fromkeys(names(directory), 1)
        assert verify_storage(files, LineProgress()).damage == ()


def made_storage(root, pool):
    """A storage of ours with an archive, and everything that is made from it."""
    files = archived(root)
    run_step(files, process.step(FILTERS), process.parts(files, "main", FILTERS), process.work, pool=pool, progress=LineProgress())  # fmt: skip
    files.put("runs/process/20260102/x.json", b"{}")
    files.put("lists/00.txt", b"bad.example.org\n")
    return files


def assert_archives_alone(found):
    assert {name: fate for name, fate in found.items() if fate != "index"} == {
        next(name for name in found if name.endswith(".warc.gz")): "added"
    }
    assert len(found) == 1 + 1 + 2 + 5 + 2


@pytest.mark.parametrize("below", ["", "project/"])
def test_of_a_storage_of_ours_the_archives_come_in(files, tmp_path, pool, below):
    made_storage(tmp_path / "in" / below, pool)
    assert_archives_alone(fates(files, tmp_path / "in"))
    assert set(fates(files, tmp_path / "in").values()) == {"known", "index"}


@pytest.mark.parametrize("end", ["", "/"])
def test_of_a_storage_of_ours_in_a_bucket_too(files, tmp_path, pool, server, bucket_at, monkeypatch, end):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    there, here = bucket_at(), made_storage(tmp_path / "in", pool)
    for name in here.list():
        there.put(name, here.read(name))
    assert_archives_alone(fates(files, f"{there.uri}{end}"))


def test_a_wacz_that_was_unpacked_is_its_archives(files: DirectoryStore, tmp_path):
    export_wacz(archived(tmp_path / "crawl"), "main", tmp_path / "x.wacz", "", LineProgress())
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        package.extractall(tmp_path / "in")
    found = fates(files, tmp_path / "in")
    assert Counter(found.values()) == {"added": 1, "index": 5}
    assert found.keys() >= {"datapackage.json", "pages/pages.jsonl", "indexes/index.cdx.gz"}


def test_an_index_that_is_named_itself_is_refused(files: DirectoryStore, tmp_path):
    crawl = archived(tmp_path / "crawl")
    index = next(name for name in crawl.list("warc/") if name.endswith(".cdxj.gz"))
    seal = next(crawl.list("manifests/"))
    found = ingest(files, "s", locate_inputs([crawl.path(index), crawl.path(seal)]))
    assert ["is an index, which holds no text" in each["reason"] for each in found.refused] == [True, False]
    assert "is a Manifest, which holds no text" in found.refused[1]["reason"]


def test_json_that_is_no_index_is_still_read_or_refused(files: DirectoryStore, tmp_path):
    directory = texts(tmp_path / "in", [])
    directory.mkdir()
    (directory / "a.json").write_text(json.dumps({"text": "Some words.", "format": "thresher-manifest@1"}))
    (directory / "b.json").write_text("{}")
    assert fates(files, directory) == {"a.json": "added", "b.json": "refused"}
