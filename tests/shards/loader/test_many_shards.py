"""A dataset of thousands of shards is read with few open files, and within what the process may map."""

import json
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.shards.loader.made_export import documents_of, make_export
from thresher.shards.loader.access import shard_access
from thresher.shards.loader.access.mapped_files import MapLimits, MappedFiles
from thresher.shards.loader.exact_loader import Loader

ROOT = Path(__file__).resolve().parents[3]
LENGTH = 32
SHARDS = 1000
"""So many for the fast suite; `slow` reads five times as many."""

PROGRAM = """
import json, resource, sys
export, cache, files, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
from thresher.shards.loader.exact_loader import Loader
loader = Loader(export, length=32, batch_size=8, cache=cache, **options)
rows = sum(len(batch["sequences"]) for batch in loader)
print(json.dumps([loader.sequences, rows]))
"""


@pytest.fixture(scope="module")
def export_of(tmp_path_factory):
    """Return an export of a number of shards, with 2 documents each."""

    @cache
    def made(shards):
        root = tmp_path_factory.mktemp("export")
        make_export(root, {"web": documents_of("web", 2 * shards, sizes=(20, 33))}, shard_documents=2)
        return root

    return made


@pytest.mark.parametrize(
    ("options", "shards"),
    [
        pytest.param({}, 5 * SHARDS, marks=pytest.mark.slow),
        pytest.param({"packing": "concat"}, 5 * SHARDS, marks=pytest.mark.slow),
        pytest.param({"packing": "none", "shuffle": "window"}, 5 * SHARDS, marks=pytest.mark.slow),
        ({"packing": "concat"}, SHARDS),
        ({"packing": "none", "shuffle": "window"}, SHARDS),
    ],
    ids=["best-fit of very many", "concat of very many", "windows of very many", "concat", "windows"],
)
def test_many_shards_are_read_with_64_open_files(export_of, options, shards, tmp_path):
    export = export_of(shards)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, export, tmp_path, "64", json.dumps(options)],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    sequences, rows = json.loads(done.stdout)
    assert rows == sequences // 8 * 8
    assert sequences >= shards


def mappings(folder, ending):
    """Mappings of files of a folder by their ending; loaders of other tests may not be collected yet."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum(str(folder) in line and line.endswith(ending) for line in lines)


@pytest.mark.parametrize("limits", [{"files": 10, "bytes": None}, {"files": 1000, "bytes": 10 * 4500}])
def test_no_more_is_mapped_than_the_limits_allow(tmp_path, monkeypatch, limits):
    """At one time: what is kept, and what the rows hold that were found together."""
    make_export(tmp_path, {"web": documents_of("web", 200, sizes=(20, 33))}, shard_documents=2)
    monkeypatch.setattr(MapLimits, "of_process", lambda: MapLimits(**limits))
    loader = Loader(tmp_path, length=LENGTH, batch_size=4, cache=tmp_path / "cache")
    expected = [int(batch["input_ids"].sum()) for batch in loader]
    loader = Loader(tmp_path, length=LENGTH, batch_size=4, cache=tmp_path / "cache")
    seen, most = [], 0
    for batch in loader:
        seen.append(int(batch["input_ids"].sum()))
        most = max(most, mappings(tmp_path, ".tokens"))
        assert mappings(tmp_path, ".plan") <= 10
    assert seen == expected
    assert 2 < most <= 2 * 10 + 4


class File:
    def __init__(self, size):
        self.bytes = size


def test_the_file_that_was_used_longest_ago_goes_first():
    kept = MappedFiles[File](MapLimits(files=3, bytes=100))
    for number in range(3):
        kept.put(number, File(10))
    assert kept.get(0)
    kept.put(3, File(10))
    assert [number for number in range(5) if kept.get(number)] == [0, 2, 3]
    kept.put(4, File(85))
    assert [number for number in range(5) if kept.get(number)] == [3, 4]
    kept.put(5, File(1000))  # what is used now stays
    assert [number for number in range(6) if kept.get(number)] == [5]
    kept.drop(5)
    kept.put(6, File(100))
    kept.put(6, File(90))
    kept.put(7, File(10))
    assert len(kept) == 2


def test_the_limits_are_those_of_the_process(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8 << 30, 8 << 30))
    limits = MapLimits.of_process()
    assert limits.bytes == 1 << 30
    assert 1 <= limits.files <= 8192
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert MapLimits.of_process().bytes is None


def test_shards_too_large_for_the_address_space_are_held_one_at_a_time(tmp_path, monkeypatch):
    make_export(tmp_path, {"web": documents_of("web", 20)}, shard_documents=2)
    monkeypatch.setattr(MapLimits, "of_process", lambda: MapLimits(files=100, bytes=1000))
    loader = Loader(tmp_path, length=LENGTH, batch_size=1, cache=tmp_path / "cache", packing="concat")
    assert loader._run.access.most_shards() == 1
    assert isinstance(loader._run.access, shard_access.MappedShards)
    assert len(np.concatenate([batch["sequences"] for batch in loader])) == loader.sequences
    assert mappings(tmp_path, ".tokens") <= 2
