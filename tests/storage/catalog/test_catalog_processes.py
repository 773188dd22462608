"""Processes that refresh one catalog at once, that are killed in the middle, and that have much to read."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.manifest_samples import put, ran, rows, sealed, some
from tests.storage.postgres import shared_postgres_server  # noqa: F401 - a fixture
from thresher.storage import run as runs
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifest_name

ROOT = Path(__file__).resolve().parents[3]

WORK = """
import sys, time
from pathlib import Path
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore

class Stopping(DirectoryStore):
    left = int(sys.argv[4])

    def read(self, name):
        Stopping.left -= 1
        if Stopping.left == 0:
            print("here", flush=True)
            time.sleep(600)
        return super().read(name)

catalog = Catalog(sys.argv[1], Path(sys.argv[2]))
getattr(catalog, sys.argv[3])(Stopping(Path(sys.argv[2]) / "data"))
"""
OVER_AND_OVER = """
import sys
from pathlib import Path
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore

project = Path(sys.argv[2])
while not (project / "end").exists():
    catalog = Catalog(sys.argv[1], project)
    catalog.refresh(DirectoryStore(project / "data"))
    found = catalog.sources()
    assert [each.name for each in found] == ["cc", "main"], found
    catalog.rebuild(DirectoryStore(project / "data"))
"""
PEAK = """
import resource, sys
from pathlib import Path
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore

project = Path(sys.argv[2])
catalog = Catalog(sys.argv[1], project)
for work in (catalog.refresh, catalog.refresh, catalog.rebuild):
    work(DirectoryStore(project / "data"))
print(catalog.contents().manifests, catalog.totals("process")["keep"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture
def store(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest):
    if request.param == "sqlite":
        return "sqlite:catalog.db"
    return request.getfixturevalue("server").database()


def process(code, *words):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def many(store, sources, parts):
    """Unsealed by the rules, for a directory of thousands of files: nobody is killed while this writes."""
    for source in range(sources):
        for part in range(parts):
            manifest = sealed("process@1", f"s{source:03}/{part:05}", {"keep": 1, "language/other": 3})
            path = store.path(manifest_name("process", manifest.part))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(manifest.to_bytes())


@pytest.mark.parametrize(
    ("work", "at"),
    [
        pytest.param("refresh", 1, marks=pytest.mark.slow),
        ("refresh", 520),
        pytest.param("refresh", 605, marks=pytest.mark.slow),
        ("rebuild", 520),
    ],
)
def test_killed_in_the_middle_it_is_as_it_was_and_the_next_one_does_it(
    url, tmp_path: Path, store: DirectoryStore, work, at
):
    some(store)
    catalog = Catalog(url, tmp_path)
    catalog.refresh(store)
    before = rows(catalog)
    many(store, 2, 300)
    store.delete(manifest_name("archive", "main/1"))
    for number in range(10, 16):
        runs.put(store, ran(number))
    child = process(WORK, url, tmp_path, work, at)
    assert child.stdout.readline() == "here\n", child.communicate()
    assert rows(catalog) == before  # nobody waits for it
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert rows(catalog) == before
    getattr(catalog, work)(store)
    after = rows(catalog)
    assert len(after["sealedpart"]) == 600 + 3
    assert len(after["cost"]) == 8
    catalog.rebuild(store)
    assert rows(catalog) == after


def test_killed_before_its_first_refresh_was_done_it_is_empty(url, tmp_path: Path, store: DirectoryStore):
    some(store)
    child = process(WORK, url, tmp_path, "refresh", 3)
    assert child.stdout.readline() == "here\n", child.communicate()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    catalog = Catalog(url, tmp_path)
    assert catalog.sources() == []
    catalog.refresh(store)
    assert len(catalog.sources()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_many_processes_refresh_and_rebuild_while_parts_are_sealed_and_deleted(
    url, tmp_path: Path, store: DirectoryStore
):
    some(store)
    children = [process(OVER_AND_OVER, url, tmp_path) for _ in range(3)]
    try:
        for number in range(60):
            put(store, "process@1", f"main/{number:03}", {"keep": 1})
            if number % 3 == 0:
                store.delete(manifest_name("process", f"main/{number // 2:03}"))
    finally:
        (tmp_path / "end").touch()
        said = [child.communicate() for child in children]
    assert [child.returncode for child in children] == [0, 0, 0], said
    catalog = Catalog(url, tmp_path)
    catalog.refresh(store)
    refreshed = rows(catalog)
    catalog.rebuild(store)
    assert rows(catalog) == refreshed


@pytest.mark.slow
def test_twenty_thousand_manifests_take_no_more_memory_than_two_thousand(url, tmp_path: Path, server):
    peaks = []
    for sources in (10, 100):
        project = tmp_path / str(sources)
        project.mkdir()
        many(DirectoryStore(project / "data"), sources, 200)
        address = url if url.startswith("sqlite") else server.database()
        child = process(PEAK, address, project)
        said, trouble = child.communicate()
        assert child.returncode == 0, trouble
        counted, peak = said.splitlines()
        assert counted == f"{sources * 200} {sources * 200}"
        peaks.append(int(peak))
    small, large = peaks
    assert large - small < 16 << 10, peaks  # KiB
