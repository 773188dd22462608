"""`get` returns what `fetch` returned, whatever happens to the directory and to other processes."""

import multiprocessing
import os
import pickle
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.storage.cache.cache_files import MIB, assert_in_order, block_file, down, files, is_kept, never
from thresher.core import InputError
from thresher.storage.cache.block_cache import Cache, default_directory


def test_the_second_read_is_answered_from_the_cache(cache: Cache):
    assert cache.get("bucket/name", lambda: b"bytes") == b"bytes"
    assert cache.get("bucket/name", never) == b"bytes"
    assert cache.get("bucket/other", lambda: b"others") == b"others"
    assert_in_order(cache)


@pytest.mark.parametrize("key", ["", "/", "../../etc", "a\0b", "é", "\udcff", "k" * 100_000])
def test_any_text_is_a_key(cache: Cache, key):
    assert cache.get(key, lambda: b"bytes") == b"bytes"
    assert cache.get(key, never) == b"bytes"


@pytest.mark.parametrize("length", [0, 1, 4096, 300_000])
def test_blocks_of_any_length_are_kept(cache: Cache, length):
    data = os.urandom(length)
    assert cache.get("key", lambda: data) == data
    assert cache.get("key", never) == data


def test_errors_of_fetch_pass_through_and_leave_nothing(cache: Cache):
    for error in (ConnectionError, OSError, FileNotFoundError, KeyboardInterrupt):

        def fetch(error=error):
            raise error("the server is down")

        with pytest.raises(error, match="the server is down"):
            cache.get("key", fetch)
    assert files(cache) == []
    assert cache.get("key", lambda: b"bytes") == b"bytes"
    assert_in_order(cache)


def test_an_error_of_fetch_leaves_other_blocks(cache: Cache):
    cache.get("other", lambda: b"bytes")
    with pytest.raises(ConnectionError):
        cache.get("key", down)
    assert cache.get("other", never) == b"bytes"


def test_a_bound_of_zero_switches_it_off(tmp_path: Path):
    cache = Cache(tmp_path / "cache", 0)
    assert [cache.get("key", lambda: b"1"), cache.get("key", lambda: b"2")] == [b"1", b"2"]
    assert not cache.directory.exists()
    assert cache.stats().misses == 0


def test_making_one_opens_nothing_and_it_travels_to_other_processes(cache: Cache):
    assert not cache.directory.exists()
    cache.get("key", lambda: b"bytes")
    other = pickle.loads(pickle.dumps(cache))
    assert (other.directory, other.max_bytes) == (cache.directory, cache.max_bytes)
    assert other.get("key", never) == b"bytes"
    assert repr(other) == f"<cache at {cache.directory} of 1048576 bytes>"


@pytest.mark.parametrize("damage", ["clip", "flip"])
def test_a_block_file_damaged_at_any_byte_is_a_miss_and_replaced(cache: Cache, damage):
    cache.get("a key", lambda: b"some bytes")
    path = block_file(cache, "a key")
    good = path.read_bytes()
    for at in range(len(good)):
        flipped = good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :]
        path.write_bytes(good[:at] if damage == "clip" else flipped)
        assert cache.get("a key", lambda: b"some bytes") == b"some bytes"
        assert path.read_bytes() == good
    assert cache.stats().misses == 1 + len(good)
    assert cache.stats().errors == len(good)
    assert_in_order(cache)


def test_a_damaged_block_that_cannot_be_fetched_is_not_returned(cache: Cache):
    cache.get("key", lambda: b"bytes")
    block_file(cache, "key").write_bytes(b"")
    with pytest.raises(ConnectionError):
        cache.get("key", down)


def test_the_block_of_another_key_is_a_miss(cache: Cache):
    cache.get("one", lambda: b"1")
    cache.get("two", lambda: b"2")
    shutil.copy(block_file(cache, "two"), block_file(cache, "one"))
    assert cache.get("one", lambda: b"1") == b"1"
    assert cache.get("two", never) == b"2"
    assert_in_order(cache)


def test_what_is_longer_than_it_says_is_a_miss(cache: Cache):
    cache.get("key", lambda: b"bytes")
    with block_file(cache, "key").open("ab") as file:
        file.write(b"more" * 10_000)
    assert cache.get("key", lambda: b"bytes") == b"bytes"
    assert_in_order(cache)


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_what_is_no_file_is_a_miss(cache: Cache, tmp_path: Path, kind):
    cache.get("key", lambda: b"bytes")
    path = block_file(cache, "key")
    path.rename(tmp_path / "elsewhere")
    match kind:
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
    assert cache.get("key", lambda: b"bytes") == b"bytes"
    if kind != "directory":  # one cannot be replaced by renaming
        assert cache.get("key", never) == b"bytes"
    assert (tmp_path / "elsewhere").exists()


def test_a_block_removed_between_open_and_read_is_read(cache: Cache, monkeypatch: pytest.MonkeyPatch):
    cache.get("key", lambda: b"bytes")
    path, fstat = block_file(cache, "key"), os.fstat

    def removing(descriptor):
        path.unlink(missing_ok=True)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", removing)
    assert cache.get("key", never) == b"bytes"


def test_the_directory_may_be_deleted_at_any_time(cache: Cache):
    other = Cache(cache.directory, MIB)
    for _ in range(2):
        for each in (cache, other):
            assert each.get("key", lambda: b"bytes") == b"bytes"
        shutil.rmtree(cache.directory)
    assert cache.get("a", lambda: b"bytes") == b"bytes"
    assert other.get("b", lambda: b"bytes") == b"bytes"
    assert cache.get("b", never) == b"bytes"
    assert_in_order(cache)
    assert (cache.stats().hits, cache.stats().misses) == (1, 2)


def test_directories_within_may_be_deleted_too(cache: Cache):
    for name in ("blocks", "fetching", "counters"):
        cache.get("key", lambda: b"bytes")
        shutil.rmtree(cache.directory / name)
        assert cache.get("key", lambda: b"bytes") == b"bytes"
        assert cache.get("other", lambda: b"bytes") == b"bytes"


def test_of_many_threads_that_miss_a_key_one_fetches(cache: Cache):
    fetched, together = [], threading.Barrier(8)

    def fetch():
        fetched.append(1)
        return b"x" * 100_000

    def ask(_):
        together.wait()
        return cache.get("key", fetch)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {b"x" * 100_000}
    assert len(fetched) == 1
    assert (cache.stats().hits, cache.stats().misses) == (7, 1)
    assert_in_order(cache)


def test_when_the_fetch_of_one_fails_the_next_fetches(cache: Cache):
    begun, failing = threading.Event(), threading.Event()

    def fetch():
        begun.set()
        failing.wait(30)
        down()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "key", fetch)
        begun.wait(30)
        second = pool.submit(cache.get, "key", lambda: b"bytes")
        failing.set()
        assert second.result() == b"bytes"
        assert isinstance(first.exception(), ConnectionError)
    assert cache.get("key", never) == b"bytes"


def test_nobody_waits_for_ever_for_a_fetcher(cache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thresher.storage.cache.block_cache.WAIT_SECONDS", 0.02)
    begun, ending = threading.Event(), threading.Event()

    def fetch():
        begun.set()
        ending.wait(30)
        return b"bytes"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache.get, "key", fetch)
        begun.wait(30)
        assert cache.get("key", lambda: b"bytes") == b"bytes"
        assert not is_kept(cache, "key", b"bytes")
        assert cache.stats().errors == 0
        ending.set()
        assert first.result() == b"bytes"
    assert cache.get("key", never) == b"bytes"
    assert_in_order(cache)


def test_a_fetch_may_use_the_cache_itself(cache: Cache):
    outer = cache.get("outer", lambda: cache.get("inner", lambda: b"in") + b"out")
    assert outer == cache.get("outer", never) == b"inout"
    assert cache.get("inner", never) == b"in"


def fetching_for_ever(directory, begun):
    def fetch():
        begun.set()
        threading.Event().wait()

    Cache(directory, MIB).get("key", fetch)


def test_a_fetcher_that_is_killed_frees_those_who_wait(cache: Cache):
    context = multiprocessing.get_context("spawn")
    begun = context.Event()
    process = context.Process(target=fetching_for_ever, args=(cache.directory, begun))
    process.start()
    assert begun.wait(60)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cache.get, "key", lambda: b"bytes")
        process.kill()
        process.join()
        assert waiting.result() == b"bytes"
    assert cache.get("key", never) == b"bytes"  # whoever waits in vain does not store
    assert_in_order(cache)


def test_the_default_directory_is_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "thresher/blocks"
    monkeypatch.setenv("HOME", "/home/me")
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert default_directory() == Path("/home/me/.cache/thresher/blocks")


def test_without_a_home_directory_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(InputError, match=r'set XDG_CACHE_HOME, or project.cache = "0"'):
        default_directory()
