"""A directory as a store, besides what every store does (`test_store.py`): kills, full disks, places."""

import errno
import multiprocessing
import os
import pickle
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from tests.storage.failing_calls import count_calls, failing_at
from thresher.core import InputError, Unavailable
from thresher.pipeline.steps.export_directory import output_store
from thresher.storage.directory_store import STAGING, DirectoryStore
from thresher.storage.location import open_store


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def visible(files):
    return {name: files.read(name) for name in files.list()}


def staged(files):
    return [path for path in (files.root / STAGING).glob("*") if path.name != "gate"]


def test_nothing_is_left_staged(files: DirectoryStore):
    files.put("name", b"")
    files.put("name", b"")
    assert staged(files) == []


def test_an_object_put_anew_has_another_stamp(files: DirectoryStore):
    files.put("name", b"x")
    first = files.stamp("name")
    assert files.stamp("name") == first
    files.put("keeps the inode taken", b"")
    files.delete("name")
    files.put("name", b"y")
    assert files.stamp("name") != first


@given(
    names=st.sets(
        st.lists(st.text("ab-/.é_1", min_size=1, max_size=4), min_size=1, max_size=3)
        .map("/".join)
        .filter(lambda name: all(part and part[0] != "." for part in name.split("/"))),
        max_size=8,
    ),
    prefix=st.text("ab-/é", max_size=3).filter(lambda text: not text.startswith("/") and "//" not in text),
)
def test_listing_has_the_order_and_the_prefixes_of_an_object_store(
    tmp_path_factory: pytest.TempPathFactory, names, prefix
):
    files = DirectoryStore(tmp_path_factory.mktemp("root"))
    stored = []
    for name in sorted(names):
        if not any(
            name.startswith(f"{other}/") for other in stored
        ):  # a file system has no name under a name
            files.put(name, b"")
            stored.append(name)
    assert list(files.list(prefix)) == sorted(
        (name for name in stored if name.startswith(prefix)), key=lambda name: name.encode()
    )


def test_listing_passes_over_work_in_progress(files: DirectoryStore):
    files.put("warc/a", b"")
    (files.root / "warc/.open").mkdir()
    (files.root / "warc/.open/x").touch()
    with files.stage("warc/b"):
        assert list(files.list()) == ["warc/a"]


def test_files_travel_to_other_processes(files: DirectoryStore):
    assert pickle.loads(pickle.dumps(files)).root == files.root


@pytest.mark.parametrize("call", ["put", "stage", "delete"])
def test_killed_at_every_call_nothing_is_half_visible_and_a_retry_works(tmp_path: Path, call):
    """Every system call of the operation fails once, as a kill right before it would."""

    def before(files):
        files.put("old/name", b"old")

    def act(files):
        if call == "put":
            files.put("new/deep/name", b"0123456789" * 1000)
        elif call == "delete":
            files.delete("old/name")
        else:
            with files.stage("new/deep/name") as stage:
                stage.path.write_bytes(b"0123456789" * 1000)
                stage.publish()

    whole = {"old/name": b"old", "new/deep/name": b"0123456789" * 1000} if call != "delete" else {}
    count = count_calls(lambda: (before(files := DirectoryStore(tmp_path / "count")), act(files)))
    assert count > 3
    for number in range(count):
        files = DirectoryStore(tmp_path / str(number))
        before(files)
        with failing_at(number), suppress(OSError):
            act(files)
        assert visible(files) in ({"old/name": b"old"}, whole)
        act(files)
        assert visible(files) == whole


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, code):
    count = count_calls(lambda: DirectoryStore(tmp_path / "count").put("a/name", b"x" * 1000))
    for number in range(count):
        files = DirectoryStore(tmp_path / str(number))
        with (
            failing_at(number, code),
            pytest.raises(Unavailable, match="no room left for the storage") as caught,
        ):
            files.put("a/name", b"x" * 1000)
        assert "\n" not in str(caught.value)
        assert set(visible(files).values()) <= {b"x" * 1000}


def test_a_really_full_device_is_one_line(files: DirectoryStore):
    with pytest.raises(Unavailable, match=r"no room left.* or move project\.storage"), files.stage("name"):
        Path("/dev/full").write_bytes(b"x")


def test_a_full_device_names_the_option_that_chose_it(tmp_path):
    files = output_store(str(tmp_path / "out")).substore("work")
    with pytest.raises(Unavailable, match=r"no room left.* or give another --out"), files.stage("name"):
        Path("/dev/full").write_bytes(b"x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_storage_is_one_line(files: DirectoryStore):
    files.root.mkdir()
    files.root.chmod(0o500)
    with pytest.raises(Unavailable, match="cannot be written"):
        files.put("name", b"")


def hold(root, ready, go):
    with DirectoryStore(root).stage("name") as stage:
        stage.path.write_bytes(b"x")
        ready.set()
        go.wait(30)


def test_sweep_removes_what_the_dead_left_and_nothing_of_the_living(files: DirectoryStore):
    context = multiprocessing.get_context("spawn")
    ready, never = context.Event(), context.Event()
    process = context.Process(target=hold, args=(files.root, ready, never))
    process.start()
    assert ready.wait(60)
    assert files.sweep() == 0
    process.kill()
    process.join()
    assert len(staged(files)) == 1
    assert files.sweep() == 1
    assert staged(files) == []
    assert DirectoryStore(files.root / "nowhere").sweep() == 0


def test_storage_roots_are_relative_to_the_project_unless_absolute(tmp_path: Path):
    def root(address):
        return expect(DirectoryStore, open_store(address, tmp_path)).root

    assert root("file:data") == tmp_path / "data"
    assert root("file:/var/x") == Path("/var/x")
    assert root("file:///var/x") == Path("/var/x")


@pytest.mark.parametrize("uri", ["data", "", "file:", "file:///", "file://host/x", "http://x"])
def test_other_addresses_are_refused_in_one_line(tmp_path: Path, uri):
    with pytest.raises(InputError, match=r'project.storage = ".*"') as caught:
        open_store(uri, tmp_path)
    assert "\n" not in str(caught.value)
