"""What every store promises: in a directory, in a real S3 server, and through a connection that fails at random."""

import gzip
import hashlib
import io
import multiprocessing
import os
import pickle
import time
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.storage.blocking_client import BlockingClient
from tests.storage.faulty_proxy import MIX, at_random
from thresher.core import CorruptData, InputError
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.s3 import s3_store as bucket_module
from thresher.storage.store import ByteRange

SPAWN = multiprocessing.get_context("spawn")
ONE_PART_MORE = (11 << 20) + 12_345
"""Bytes that go to a bucket in three parts, the last a short one."""
some = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(
    params=["file", "s3", "s3 through faults", pytest.param("s3 by aioboto3", marks=pytest.mark.slow)]
)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if request.param == "file":
        return DirectoryStore(tmp_path / "data")
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    monkeypatch.setenv("TMPDIR", str(spool))
    bucket_at = request.getfixturevalue("bucket_at")
    if request.param == "s3":
        return bucket_at()
    if request.param == "s3 by aioboto3":
        monkeypatch.setattr("thresher.storage.s3.connection.open_client", BlockingClient)
        return bucket_at()
    proxy = request.getfixturevalue("proxy")
    proxy.plan = at_random(zlib.crc32(request.node.name.encode()), 0.15, *MIX)
    return bucket_at(proxy.endpoint)


@pytest.fixture
def large(tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(os.urandom(ONE_PART_MORE))
    return path


def visible(store):
    return {name: store.read(name) for name in store.list()}


def test_what_is_put_can_be_read(store):
    assert store.put("a/b/c.bin", b"bytes") is True
    assert store.read("a/b/c.bin") == b"bytes"
    with store.open("a/b/c.bin") as file:
        assert file.read(2) == b"by"
    assert store.size("a/b/c.bin") == 5
    assert store.exists("a/b/c.bin")


def test_an_object_may_be_empty(store):
    assert store.put("empty", b"") is True
    assert store.put("empty", b"x") is False
    assert store.read("empty") == b""
    assert store.size("empty") == 0
    with store.open("empty") as file:
        assert file.read() == b""


def test_names_are_any_text(store):
    names = ["é/ü", "a b", "a+b", "%41", "q?x=1&y#z", "CC-MAIN/日本.gz"]
    for name in names:
        assert store.put(name, name.encode())
    assert visible(store) == {name: name.encode() for name in names}


def test_the_second_to_put_a_name_changes_nothing(store):
    store.put("name", b"first")
    assert store.put("name", b"second") is False
    assert store.read("name") == b"first"


def test_one_of_many_threads_wins_and_its_bytes_are_whole(store):
    contents = [bytes([number]) * 100_000 for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        created = list(pool.map(lambda data: store.put("d/name", data), contents))
    assert created.count(True) == 1
    assert store.read("d/name") == contents[created.index(True)]


_shared: dict[str, Barrier] = {}
"""What every process of a pool is given when it starts."""


@pytest.fixture(scope="module")
def racers(keys):
    """Three processes, each of which begins a task when all three have one."""
    with ProcessPoolExecutor(3, SPAWN, _share_start, (SPAWN.Barrier(3),)) as pool:
        yield pool


def _share_start(barrier):
    _shared["start"] = barrier


def put_each(store, number, count):
    _shared["start"].wait(60)
    return [store.put(f"race/{each}", bytes([number]) * 1000) for each in range(count)]


def test_one_of_many_processes_wins_each_name(store, racers):
    created = list(racers.map(put_each, [store] * 3, range(3), [4] * 3, timeout=120))
    for each in range(4):
        winners = [number for number, wins in enumerate(created) if wins[each]]
        assert len(winners) == 1
        assert store.read(f"race/{each}") == bytes(winners) * 1000


def test_a_store_travels_and_stands_for_the_same_root(store):
    store.put("name", b"x")
    there = pickle.loads(pickle.dumps(store))
    assert there.uri == store.uri
    assert there.read("name") == b"x"


def test_staged_bytes_are_invisible_until_published(store):
    with store.stage("a/name") as stage:
        stage.path.write_bytes(b"12345")
        assert visible(store) == {}
        assert stage.publish() is True
        assert visible(store) == {"a/name": b"12345"}
        assert stage.publish() is False
    assert not stage.path.exists()


def test_what_is_not_published_is_gone(store):
    with store.stage("name") as stage:
        stage.path.write_bytes(b"12345")
    assert visible(store) == {}
    assert not stage.path.exists()
    assert store.sweep() == 0


def test_a_large_file_is_adopted_once_and_whole(store, large):
    assert store.put_file(large, "deep/large") is True
    assert store.put_file(large, "deep/large") is False
    assert large.exists()
    assert store.size("deep/large") == ONE_PART_MORE
    assert store.read("deep/large") == large.read_bytes()


def test_one_of_many_adopted_files_wins(store, tmp_path: Path):
    paths = [tmp_path / str(number) for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]) * ONE_PART_MORE)
    with ThreadPoolExecutor(3) as pool:
        created = list(pool.map(lambda path: store.put_file(path, "name"), paths))
    winners = [path.read_bytes() for path, won in zip(paths, created, strict=True) if won]
    assert store.read("name") in winners
    # Of a server that knows no condition for multipart uploads, each may have been the first (`storage.s3.put`).
    assert len(winners) == 1 or not isinstance(store, DirectoryStore)


def test_missing_objects_are_named(store):
    for ask in (store.read, store.size, store.open, store.stamp):
        with pytest.raises(CorruptData, match=r"no/such is missing from the storage at .*; run"):
            ask("no/such")
    assert not store.exists("no/such")


def test_an_object_has_an_age(store):
    store.put("name", b"x")
    assert 0 <= store.age_ms("name") < 3_600_000
    with pytest.raises(CorruptData, match="no/such is missing"):
        store.age_ms("no/such")


def test_the_youngest_objects_of_a_directory_come_first_and_no_more_than_are_wanted(store):
    assert store.newest("a", ".x", 3) == []
    for names in (["a/3.x"], ["a/1.x", "a/2.y", "a/b/4.x", "c/5.x"], ["a/2.x"]):
        time.sleep(0.01 if isinstance(store, DirectoryStore) else 1.01)  # servers date objects by the second
        for name in names:
            store.put(name, b"x")
    assert store.newest("a", ".x", 9) == ["a/2.x", "a/1.x", "a/3.x"]
    assert store.newest("a", ".x", 2) == ["a/2.x", "a/1.x"]


def test_deleting_twice_is_deleting(store):
    store.put("a/name", b"x")
    store.delete("a/name")
    store.delete("a/name")
    assert visible(store) == {}
    assert store.put("a/name", b"y") is True


def test_an_object_put_anew_with_other_bytes_has_another_stamp(store):
    store.put("name", b"x")
    first = store.stamp("name")
    assert store.stamp("name") == first
    store.delete("name")
    store.put("name", b"y")
    assert store.stamp("name") != first


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", "../a", "a/../b", ".hidden", "a/.open", "a\0b", "a\\b"]
)
def test_what_is_no_name_is_refused(store, name):
    for ask in (lambda: store.put(name, b""), lambda: store.exists(name), lambda: store.delete(name)):
        with pytest.raises(InputError, match="is no name of a stored object"):
            ask()


@pytest.mark.parametrize("page", [1000, 2])
def test_listing_has_byte_order_and_any_prefix(store, monkeypatch: pytest.MonkeyPatch, page):
    monkeypatch.setattr(bucket_module, "PAGE", page)
    names = ["a-b", "a.b", "a/x", "a/y-z", "a/y/z", "a0", "a_", "A", "aé", "b/c/d/e"]
    for name in names:
        store.put(name, b"")
    ordered = sorted(names, key=str.encode)
    for prefix in ["", "a", "a/", "a/y", "b/c/", "b/c/d/e", "no", "A", "aé"]:
        assert list(store.list(prefix)) == [name for name in ordered if name.startswith(prefix)]


@some
@given(
    names=st.sets(
        st.lists(st.text("ab-/.é_1", min_size=1, max_size=4), min_size=1, max_size=3)
        .map("/".join)
        .filter(lambda name: all(part and part[0] != "." for part in name.split("/"))),
        max_size=6,
    ),
    prefix=st.text("ab-/é", max_size=3).filter(lambda text: not text.startswith("/") and "//" not in text),
)
def test_listing_is_sorting_and_filtering(store, names, prefix):
    root = store.substore(f"d{os.urandom(6).hex()}")
    stored = []
    for name in sorted(names):
        if not any(name.startswith(f"{other}/") for other in stored):  # a directory has no name under a name
            root.put(name, b"")
            stored.append(name)
    assert list(root.list(prefix)) == sorted(
        (name for name in stored if name.startswith(prefix)), key=str.encode
    )


def test_names_are_listed_with_the_stamps_of_their_objects(store):
    for name in ("a/x", "a-b", "a/y/z", "b"):
        store.put(name, name.encode())
    store.substore(".work").put("x", b"")
    listed = list(store.list_stamps())
    assert [name for name, _ in listed] == list(store.list()) == ["a-b", "a/x", "a/y/z", "b"]
    assert [stamp for _, stamp in listed] == [store.stamp(name) for name, _ in listed]
    store.delete("a/x")
    store.put("a/x", b"other bytes")
    ((_, changed),) = store.list_stamps("a/x")
    assert changed == store.stamp("a/x") != listed[1][1]


def test_listing_passes_over_what_begins_with_a_dot(store):
    store.put("warc/a", b"")
    store.substore("warc/.open").put("x", b"")
    store.substore(".work").put("x", b"")
    with store.stage("warc/b"):
        assert list(store.list()) == ["warc/a"]
    assert list(store.substore(".work").list()) == ["x"]


def test_clearing_a_part_leaves_the_rest(store):
    store.put("keep", b"")
    work = store.substore(".work")
    for number in range(5):
        work.put(f"d/{number}", b"")
    work.clear()
    work.clear()
    assert list(work.list()) == []
    assert list(store.list()) == ["keep"]


@pytest.fixture
def opened(store, large):
    store.put_file(large, "large")
    with store.open("large") as file, large.open("rb") as bytes_:
        yield file, bytes_


def test_reading_anywhere_in_any_order_gives_the_bytes(opened):
    stored, local = opened
    offset = st.integers(0, ONE_PART_MORE + 10)

    @some
    @given(st.lists(st.tuples(st.none() | offset, st.integers(0, 700_000)), max_size=8))
    def check(reads):
        for at, count in reads:
            if at is not None:
                assert stored.seek(at) == local.seek(at)
            assert stored.read(count) == local.read(count)
            assert stored.tell() == local.tell()

    check()


def test_an_open_object_is_a_file(opened):
    stored, local = opened
    assert stored.readable()
    assert stored.seekable()
    assert not stored.writable()
    assert stored.seek(-5, io.SEEK_END) == ONE_PART_MORE - 5
    local.seek(-5, io.SEEK_END)
    assert stored.read() == local.read()
    stored.seek(0)
    local.seek(0)
    assert hashlib.file_digest(stored, "sha256").digest() == hashlib.file_digest(local, "sha256").digest()


def test_gzip_and_parquet_read_open_objects(store, tmp_path: Path):
    text = os.urandom(300_000) * 3
    store.put("text.gz", gzip.compress(text))
    with store.open("text.gz") as file:
        assert gzip.GzipFile(fileobj=file).read() == text
    table = pa.table({"id": list(range(50_000)), "text": [os.urandom(8).hex() for _ in range(50_000)]})
    with store.stage("table.parquet") as stage:
        pq.write_table(table, stage.path, row_group_size=10_000)
        stage.publish()
    with store.open("table.parquet") as file:
        assert pq.read_table(file) == table
    with store.open("table.parquet") as file:
        assert pq.ParquetFile(file).read_row_group(3, ["id"])["id"][0].as_py() == 30_000


def test_ranges_of_many_objects_come_in_the_order_in_which_they_were_asked_for(store):
    contents = {f"d/{number}": os.urandom(1000 + number) for number in range(3)}
    for name, data in contents.items():
        store.put(name, data)
    wanted = [
        ByteRange(name=f"d/{number % 3}", first=first, length=length)
        for number, (first, length) in enumerate([(0, 1000), (500, 0), (1000, 2), (0, 1), (999, 2), (7, 300)])
    ]
    expected = [contents[each.name][each.first : each.first + each.length] for each in wanted]
    assert list(store.read_ranges(wanted)) == expected
    assert list(store.read_ranges([])) == []


@pytest.mark.parametrize(
    ("name", "first", "said"),
    [("name", 5, "ends before"), ("name", 10, "ends before"), ("absent", 0, "absent is missing")],
)
def test_a_range_that_is_not_there_is_an_error(store, name, first, said):
    store.put("name", b"0123456789")
    with pytest.raises(CorruptData, match=said):
        list(store.read_ranges([ByteRange(name=name, first=first, length=6)]))


def test_threads_read_side_by_side(store, large):
    store.put_file(large, "large")
    data = large.read_bytes()

    def read(first):
        with store.open("large") as file:
            file.seek(first)
            return file.read(50_000) == data[first : first + 50_000]

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(read, range(0, ONE_PART_MORE - 50_000, 1 << 20)))


def hold(store, ready, go):
    with store.stage("name") as stage:
        stage.path.write_bytes(b"x")
        ready.put(str(stage.path))
        go.wait(60)


def test_sweep_removes_what_the_dead_left_and_nothing_of_the_living(store):
    ready, never = SPAWN.Queue(), SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(store, ready, never))
    process.start()
    staged = Path(ready.get(timeout=60))
    assert store.sweep() == 0
    assert staged.exists()
    process.kill()
    process.join()
    assert store.sweep() == 1
    assert not staged.exists()
    assert store.sweep() == 0
