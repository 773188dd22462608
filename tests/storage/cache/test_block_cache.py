"""`get` returns what `fetch` returned, whatever happens to the directory and to other processes."""

import errno
import logging
import multiprocessing
import os
import pickle
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from core import CorruptData, InputError
from storage.cache import block
from storage.cache.block_cache import Cache, default_directory
from storage.cache.cache_space import CacheSpace, disk_bytes
from tests.examples import few_examples
from tests.storage.faults import failing_at

MIB = 1 << 20
CALLS = ("open", "pread", "pwrite", "fstat", "ftruncate", "mkdir", "rename", "unlink", "utime", "scandir")
SCANS = ("scandir", "scandir")


@pytest.fixture
def cache(tmp_path: Path):
    return Cache(tmp_path / "cache", MIB)


def never():
    raise AssertionError("fetched, although it was in the cache")


def down():
    raise ConnectionError("the server is down")


def block_file(cache, key):
    name = block.name(block.encoded(key))
    return cache.directory / "blocks" / name[:2] / name


def is_kept(cache, key, data):
    """Whether the cache answers by itself, asked without counting or touching anything."""
    try:
        return block.read_block(str(block_file(cache, key)), block.encoded(key)) == data
    except (FileNotFoundError, CorruptData):
        return False


def files(cache):
    found = [*cache.directory.glob("blocks/*/*"), *cache.directory.glob("fetching/*")]
    return [path for path in found if path.is_file()]


def on_disk(cache):
    """Bytes, as `du` counts them."""
    return sum(path.stat().st_blocks * 512 for path in files(cache))


def assert_in_order(cache):
    """Nothing is half made, and the totals are those of the files."""
    lying = files(cache)
    stats = cache.stats()
    assert list(cache.directory.glob("fetching/*")) == []
    assert stats.blocks == len(lying)
    assert stats.bytes == sum(disk_bytes(path.stat().st_size) for path in lying) <= cache.max_bytes
    assert on_disk(cache) <= cache.max_bytes


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
    monkeypatch.setattr("storage.cache.block_cache.WAIT_SECONDS", 0.02)
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


@pytest.mark.parametrize("code", [errno.ENOSPC, pytest.param(errno.EIO, marks=pytest.mark.slow)])
@pytest.mark.parametrize("before", ["nothing", "the block", "a full cache", "a damaged block"])
def test_failing_at_any_system_call_the_read_succeeds_and_the_cache_recovers(tmp_path: Path, before, code):
    """Every call fails from one on: what is left is what a kill right before it leaves."""

    def prepared(directory):
        cache = Cache(directory, 16 * 4096)
        if before == "the block":
            cache.get("key", lambda: b"x" * 5000)
        elif before == "a full cache":
            for number in range(16):
                cache.get(str(number), lambda: b"x" * 4000)
        elif before == "a damaged block":
            cache.get("key", lambda: b"x" * 5000)
            block_file(cache, "key").write_bytes(b"torn")
        return Cache(directory, 16 * 4096)

    cache = prepared(tmp_path / "count")
    with failing_at(1 << 30, calls=CALLS) as made:
        cache.get("key", lambda: b"x" * 5000)
    # All the directories that are looked through are one place to fail.
    places = [number for number, (name, last) in enumerate(pairwise(["", *made])) if (name, last) != SCANS]
    assert len(places) > 10 or before == "the block"
    for number in places:
        cache = prepared(tmp_path / str(number))
        with failing_at(number, code, CALLS):
            assert cache.get("key", lambda: b"x" * 5000) == b"x" * 5000
        assert on_disk(cache) <= cache.max_bytes
        cache = Cache(cache.directory, cache.max_bytes)
        assert cache.get("key", lambda: b"x" * 5000) == b"x" * 5000
        assert cache.get("new", lambda: b"y") == b"y"
        assert_in_order(cache)


def test_what_cannot_be_stored_is_one_warning(cache: Cache, caplog: pytest.LogCaptureFixture):
    with failing_at(0, errno.ENOSPC, ("mkdir", "ftruncate")):
        for number in range(3):
            assert cache.get(str(number), lambda: b"bytes") == b"bytes"
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        f"the cache at {cache.directory} cannot store blocks (No space left on device): "
        "reads go on without it; free some room there, or move it"
    )


@contextmanager
def mounted(directory, size):
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "thresher-test", str(directory)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def test_a_disk_smaller_than_the_bound_fails_no_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with mounted(tmp_path / "disk", "256k") as disk:
        cache = Cache(disk / "cache", MIB)
        for _ in range(2):
            for number in range(40):
                data = bytes([number]) * 10_000
                assert cache.get(str(number), partial(bytes, data)) == data
        assert cache.stats().hits > 10
        assert cache.stats().errors > 10
        assert len(caplog.records) == 1
        assert_in_order(cache)


def test_a_read_only_directory_is_read_and_fails_no_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with mounted(tmp_path / "disk", "1m") as disk:
        Cache(disk / "cache", MIB).get("key", lambda: b"bytes")
        os.sync()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        cache = Cache(disk / "cache", MIB)
        assert cache.get("key", never) == b"bytes"
        assert cache.get("new", lambda: b"new") == b"new"
        assert cache.get("new", lambda: b"new") == b"new"
        assert len(caplog.records) == 1
        assert cache.stats().blocks == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_fails_no_read(cache: Cache, caplog: pytest.LogCaptureFixture):
    cache.directory.mkdir(mode=0o500)
    assert cache.get("key", lambda: b"bytes") == b"bytes"
    assert "cannot store blocks (Permission denied)" in caplog.text


def test_a_directory_that_is_a_file_fails_no_read(cache: Cache, caplog: pytest.LogCaptureFixture):
    cache.directory.write_bytes(b"")
    assert cache.get("key", lambda: b"bytes") == b"bytes"
    assert len(caplog.records) == 1
    assert cache.stats().blocks == 0


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


KEYS = [f"key {number}" for number in range(12)]


def content(key):
    """Every key has its bytes: of none to five pages."""
    return key.encode() * (int(key.split()[1]) * 300)


class Reads(RuleBasedStateMachine):
    """A dictionary that may forget, against the cache: whatever is done to its files."""

    def __init__(self, root):
        super().__init__()
        self.directory = root / os.urandom(8).hex()
        self.cache = Cache(self.directory, 10 * 4096)
        self.fetched = []
        self.answered = 0

    def fetch(self, key):
        self.fetched.append(key)
        return content(key)

    def kept(self, key):
        return is_kept(self.cache, key, content(key))

    @rule(key=st.sampled_from(KEYS))
    def get(self, key):
        expected = [] if self.kept(key) else [key]
        before = len(self.fetched)
        assert self.cache.get(key, lambda: self.fetch(key)) == content(key)
        assert self.fetched[before:] == expected
        self.answered += not expected
        size = block.size(block.encoded(key), content(key))
        assert self.kept(key) == (disk_bytes(size) <= self.cache.max_bytes)

    @rule(key=st.sampled_from(KEYS))
    def fail(self, key):
        if self.kept(key):
            self.get(key)
        else:
            with pytest.raises(ConnectionError):
                self.cache.get(key, down)
            assert not self.kept(key)

    @rule(key=st.sampled_from(KEYS), at=st.integers(0, 10_000), flip=st.integers(0, 255))
    def damage(self, key, at, flip):
        path = block_file(self.cache, key)
        if path.exists():
            good = path.read_bytes()
            at %= len(good)
            path.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :] if flip else good[:at])
            self.get(key)

    @rule(pages=st.integers(1, 30))
    def reopen(self, pages):
        self.cache = Cache(self.directory, pages * 4096)
        self.cache._prepare()

    @rule(length=st.integers(0, 20_000), changing=st.booleans())
    def die(self, length, changing):
        """A maker that was killed, perhaps while it changed the totals."""
        room = CacheSpace(self.directory, self.cache.max_bytes)
        with room.lock_pending("made", 1) as making:
            room.reserve(making, length)
            os.link(making.path, making.path.with_name("left"))
        with suppress(InterruptedError), room._ledger.update() as change:
            if changing:
                raise InterruptedError
            change.totals = room._ledger.recount(change.totals)
        self.reopen(self.cache.max_bytes // 4096)

    @rule()
    def lose_ledger(self):
        (self.directory / "ledger").unlink(missing_ok=True)
        self.cache._prepare()

    @rule()
    def delete(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.fetched.clear()
        self.answered = 0
        self.get(KEYS[1])

    @invariant()
    def the_totals_are_true(self):
        if self.directory.exists():
            assert_in_order(self.cache)
            assert self.cache.stats().misses == len(self.fetched)
            assert self.cache.stats().hits == self.answered

    def teardown(self):
        shutil.rmtree(self.directory, ignore_errors=True)


def test_it_is_a_dictionary_that_may_forget(tmp_path: Path):
    run_state_machine_as_test(
        cast(Any, lambda: Reads(tmp_path)),
        settings=settings(max_examples=few_examples(20, of=60), stateful_step_count=25),
    )
