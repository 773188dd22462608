"""Counts include all processes that ever used the cache, dead ones too."""

import multiprocessing
import os
import re
import signal
import threading
from pathlib import Path

import pytest

from thresher.storage.cache.block_cache import Cache
from thresher.storage.cache.cache_counters import COUNTS, METRICS, CacheCounters, CacheStats, sum_counters
from thresher.storage.cache.ledger import Totals


def test_hits_misses_and_bytes_are_counted(tmp_path: Path):
    cache = Cache(tmp_path, 3 * 4096)
    assert cache.stats() == CacheStats()
    for key in "aabcdd":
        cache.get(key, lambda: b"12345")
    stats = cache.stats()
    assert (stats.hits, stats.bytes_hit) == (2, 10)
    assert (stats.misses, stats.bytes_missed) == (4, 20)
    assert (stats.blocks, stats.bytes, stats.evicted_blocks) == (3, 3 * 4096, 1)
    assert stats.errors == 0


def test_a_read_that_failed_is_not_counted(tmp_path: Path):
    cache = Cache(tmp_path, 4096)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: bytes(1 // 0))
    assert cache.stats() == CacheStats()


def read_and_die(directory, reads):
    cache = Cache(directory, 1 << 20)
    for _ in range(reads):
        cache.get("key", lambda: b"12345")
    os.kill(os.getpid(), signal.SIGKILL)


def test_counts_of_killed_processes_stay_and_their_files_are_used_again(tmp_path: Path):
    Cache(tmp_path, 1 << 20).get("key", lambda: b"12345")
    context = multiprocessing.get_context("spawn")
    for processes in (2, 1):
        running = [context.Process(target=read_and_die, args=(tmp_path, 50)) for _ in range(processes)]
        for process in running:
            process.start()
        for process in running:
            process.join()
            assert process.exitcode == -signal.SIGKILL
    stats = Cache(tmp_path, 1 << 20).stats()
    assert (stats.hits, stats.misses) == (150, 1)
    assert len(list((tmp_path / "counters").iterdir())) <= 3


def test_a_forked_process_counts_for_itself(tmp_path: Path):
    cache = Cache(tmp_path, 1 << 20)
    cache.get("key", lambda: b"12345")
    child = os.fork()
    if not child:
        for _ in range(30):
            cache.get("key", lambda: b"12345")
        os._exit(0)
    for _ in range(30):
        cache.get("key", lambda: b"12345")
    assert os.waitpid(child, 0)[1] == 0
    assert cache.stats().hits == 60


def test_threads_count_together(tmp_path: Path):
    tally = CacheCounters(tmp_path)

    def add():
        for _ in range(500):
            tally.add(hits=1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum_counters(tmp_path, Totals()).hits == 2000


def test_threads_that_come_first_together_are_all_counted(tmp_path: Path):
    for number in range(20):
        cache, together = Cache(tmp_path / str(number), 1 << 20), threading.Barrier(6)

        def read(key, cache=cache, together=together):
            together.wait()
            cache.get(key, lambda: b"12345")

        threads = [threading.Thread(target=read, args=(key,)) for key in "abcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (cache.stats().misses, cache.stats().blocks) == (6, 6)


def test_users_at_once_have_files_of_their_own_and_later_ones_take_over(tmp_path: Path):
    tallies = [CacheCounters(tmp_path) for _ in range(3)]
    assert len({tally.path for tally in tallies}) == 3
    for number, tally in enumerate(tallies):
        tally.add(misses=number)
    del tally, tallies
    later = CacheCounters(tmp_path)
    later.add(misses=10, errors=1)
    assert len(list(tmp_path.iterdir())) == 3
    assert sum_counters(tmp_path, Totals()) == CacheStats(misses=13, errors=1)


def test_a_torn_file_of_counters_counts_nothing(tmp_path: Path):
    CacheCounters(tmp_path).add(hits=5)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[: COUNTS.size - 1])
    assert sum_counters(tmp_path, Totals()).hits == 0
    CacheCounters(tmp_path).add(hits=2)
    assert sum_counters(tmp_path, Totals()).hits == 2


def test_every_count_is_a_metric():
    assert {field for *_, field in METRICS} == set(CacheStats.__slots__)
    for name, kind, _, _ in METRICS:
        assert re.fullmatch(r"[a-z_]+", name)
        assert name.endswith("_total") == (kind == "counter")
