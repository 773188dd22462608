"""The cache keeps its bound, and the least recently read blocks go first."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.storage.cache import block
from thresher.storage.cache.block_cache import Cache
from thresher.storage.cache.cache_space import EVICT_ONE_IN, PAGE, CachedFile, disk_bytes, eviction_candidates
from thresher.storage.cache.ledger import MAGIC, Ledger, Totals

KEPT = 100


def path_of(cache, key):
    name = block.name(key.encode())
    return cache.directory / "blocks" / name[:2] / name


def kept(cache):
    return {path.name for path in cache.directory.glob("blocks/*/*")}


def get(cache, *keys, length=1):
    for key in keys:
        cache.get(key, lambda: b"x" * length)


def counted(cache):
    total = 0
    for path in (*cache.directory.glob("blocks/*/*"), *cache.directory.glob("fetching/*")):
        with suppress(FileNotFoundError):  # an empty one that was not needed
            total += disk_bytes(path.stat().st_size)
    return total


def seen(read_at, path="a"):
    return CachedFile(read_at_ns=read_at, path=path, size=1)


def test_room_is_taken_in_whole_pages():
    assert [disk_bytes(0), disk_bytes(1), disk_bytes(PAGE), disk_bytes(PAGE + 1)] == [0, PAGE, PAGE, 2 * PAGE]


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=200), st.integers(0, 2000))
def test_the_sixteenth_that_was_read_longest_ago_goes_and_the_future_counts_as_long_ago(read_at, now):
    sample = [seen(when, str(number)) for number, when in enumerate(read_at)]
    going = eviction_candidates(sample, now)
    assert len(going) == max(1, len(sample) // EVICT_ONE_IN)
    ages = {each.path: 0 if each.read_at_ns > now else each.read_at_ns for each in sample}
    staying = ages.keys() - {each.path for each in going}
    assert max(ages[each.path] for each in going) <= min((ages[path] for path in staying), default=now)


def test_what_was_not_read_for_longest_goes_first(tmp_path: Path):
    cache = Cache(tmp_path, KEPT * PAGE)
    keys = [str(number) for number in range(KEPT)]
    get(cache, *keys)
    assert len(kept(cache)) == KEPT
    for age, key in enumerate(reversed(keys)):
        os.utime(path_of(cache, key), (0, time.time() - 1000 * (age + 1)))
    read_again = keys[:20]
    get(cache, *read_again)  # the oldest become the youngest
    get(cache, *(f"new {number}" for number in range(30)))
    names = kept(cache)
    assert all(block.name(key.encode()) in names for key in read_again)
    assert all(block.name(f"new {number}".encode()) in names for number in range(30))
    # A sample is more than half of this cache: what went is of the older half of what was not read again.
    assert all(block.name(key.encode()) in names for key in keys[80:])


def test_reading_writes_the_time_once_a_second(tmp_path: Path):
    cache = Cache(tmp_path, KEPT * PAGE)
    get(cache, "key")
    path = path_of(cache, "key")
    now = time.time_ns()
    for shift, touched in ((-600, True), (600, True), (0, False)):
        then = now + shift * 10**9
        os.utime(path, ns=(then, then))
        get(cache, "key")
        assert (path.stat().st_mtime_ns != then) == touched or not touched


def test_a_block_of_the_whole_bound_is_kept_and_a_longer_one_passed_through(tmp_path: Path):
    cache = Cache(tmp_path, 4 * PAGE)
    fits = 4 * PAGE - block.HEAD.size - len("key")
    get(cache, "other")
    get(cache, "longer", length=fits + 1)
    assert kept(cache) == {block.name(b"other")}
    get(cache, "key", length=fits)
    assert kept(cache) == {block.name(b"key")}
    assert cache.stats().evicted_blocks == 1
    assert cache.stats().errors == 0


def test_a_lowered_bound_holds_from_the_first_read_on(tmp_path: Path):
    get(Cache(tmp_path, KEPT * PAGE), *map(str, range(KEPT)))
    lower = Cache(tmp_path, 10 * PAGE)
    lower.get("0", lambda: b"x")
    assert counted(lower) <= 10 * PAGE
    assert lower.stats().bytes == counted(lower)
    get(Cache(tmp_path, KEPT * PAGE), *map(str, range(KEPT)))
    assert counted(lower) == KEPT * PAGE


def test_the_bound_holds_at_every_moment_of_many_threads(tmp_path: Path):
    """Room is reserved before it is filled: seen by whoever holds the ledger, at any moment."""
    cache, bound = Cache(tmp_path, 12 * PAGE), 12 * PAGE
    ending = threading.Event()

    def watch():
        most = 0
        while not ending.wait(0.001):
            with cache._space._ledger.update() as change:
                assert change.totals.bytes == counted(cache)
                most = max(most, counted(cache))
        return most

    def read(seed):
        for number in range(150):
            get(cache, str((number * 7 + seed) % 40), length=1 + number % 5 * 3000)

    get(cache, "first")
    with ThreadPoolExecutor(5) as pool:
        watching = pool.submit(watch)
        for reading in [pool.submit(read, seed) for seed in range(4)]:
            reading.result()
        ending.set()
        assert 0 < watching.result() <= bound
    assert cache.stats().errors == 0


def test_when_others_being_made_fill_the_bound_a_block_is_passed_through(tmp_path: Path):
    cache = Cache(tmp_path, 4 * PAGE)
    with cache._space.lock_pending("a", 1) as making:
        assert cache._space.reserve(making, 3 * PAGE)
        get(cache, "key", length=2 * PAGE)
        assert kept(cache) == set()
    get(cache, "key", length=2 * PAGE)
    assert len(kept(cache)) == 1
    assert cache.stats().errors == 0


def left_by_a_dead_maker(cache, key, pages):
    """A file with the room reserved for it, that nobody holds."""
    room = cache._space
    with room.lock_pending("made", 1) as making:
        assert room.reserve(making, pages * PAGE)
        os.link(making.path, making.path.with_name(block.name(key.encode())))
    with room._ledger.update() as change:
        change.totals = room._ledger.recount(change.totals)


def test_when_room_is_needed_what_dead_makers_left_goes_first(tmp_path: Path):
    cache = Cache(tmp_path, 10 * PAGE)
    get(cache, "a", "b")
    left_by_a_dead_maker(cache, "dead", 8)
    get(cache, *(str(number) for number in range(8)))
    assert len(kept(cache)) == 10
    assert cache.stats().evicted_blocks == 0
    assert cache.stats().bytes == counted(cache) == 10 * PAGE


def test_what_a_dead_maker_left_of_a_block_is_made_anew(tmp_path: Path):
    cache = Cache(tmp_path, 10 * PAGE)
    get(cache, "other")
    left_by_a_dead_maker(cache, "key", 3)
    get(cache, "key", length=5 * PAGE)
    assert len(kept(cache)) == 2
    assert cache.stats().bytes == counted(cache) == 7 * PAGE


def test_what_is_deleted_by_hand_is_noticed_when_room_is_needed(tmp_path: Path):
    cache = Cache(tmp_path, 10 * PAGE)
    get(cache, *map(str, range(10)))
    for path in tmp_path.glob("blocks/*/*"):
        path.unlink()
    get(cache, *map(str, range(10)))
    assert len(kept(cache)) == 10
    assert cache.stats().bytes == counted(cache) == 10 * PAGE


def ledger(tmp_path, counts=(70, 7)):
    asked = []

    def count():
        asked.append(1)
        return counts

    return Ledger(tmp_path / "ledger", count), asked


def test_a_closed_ledger_is_not_counted_again(tmp_path: Path):
    book, asked = ledger(tmp_path)
    with book.update() as change:
        assert change.totals == Totals(bytes=70, blocks=7)
        change.totals = Totals(bytes=80, blocks=8, evicted=3, hand=5)
    with book.update() as change:
        assert change.totals == Totals(bytes=80, blocks=8, evicted=3, hand=5)
    assert len(asked) == 1
    assert book.read_unlocked() == Totals(bytes=80, blocks=8, evicted=3, hand=5)


def test_a_ledger_left_open_is_counted_again_and_keeps_what_cannot_be_counted(tmp_path: Path):
    book, asked = ledger(tmp_path)
    with book.update() as change:
        change.totals = Totals(bytes=1, blocks=1, evicted=3, hand=5)
    with pytest.raises(OSError, match="dying"), book.update() as change:
        raise OSError("dying")
    with book.update() as change:
        assert change.totals == Totals(bytes=70, blocks=7, evicted=3, hand=5)
    assert len(asked) == 2


def test_a_ledger_of_another_boot_is_counted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "boot").write_text("one")
    monkeypatch.setattr("thresher.storage.cache.ledger.BOOT", tmp_path / "boot")
    with ledger(tmp_path)[0].update():
        pass
    (tmp_path / "boot").write_text("two")
    book, asked = ledger(tmp_path)
    with book.update():
        pass
    with book.update():
        pass
    assert len(asked) == 1


def test_a_ledger_damaged_at_any_byte_is_counted_again(tmp_path: Path):
    with ledger(tmp_path)[0].update():
        pass
    good = (tmp_path / "ledger").read_bytes()
    assert good.startswith(MAGIC)
    for at in range(len(good)):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :]):
            (tmp_path / "ledger").write_bytes(bad)
            book, asked = ledger(tmp_path)
            with book.update() as change:
                assert change.totals == Totals(bytes=70, blocks=7)
            assert len(asked) == 1


def test_a_ledger_that_another_holds_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thresher.storage.cache.ledger.WAIT_SECONDS", 0.02)
    cache = Cache(tmp_path, 10 * PAGE)
    get(cache, "here")
    with cache._space._ledger.update():
        get(cache, "here", "elsewhere")
    assert kept(cache) == {block.name(b"here")}
    get(cache, "elsewhere")
    assert len(kept(cache)) == 2
    assert cache.stats().bytes == counted(cache)
