"""Processes hammer one small cache and are killed at random: every byte stays true, and the bound holds throughout."""

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from thresher.storage.cache.block_cache import Cache
from thresher.storage.cache.cache_space import PAGE, disk_bytes

BOUND = 60 * PAGE
KEYS = 100
SECONDS = 3
CONTEXT = multiprocessing.get_context("spawn")


def content(number):
    return random.Random(number).randbytes(number * 977 % 30_000)


def hammer(directory, seed, wrong, begun):
    cache, choose = Cache(directory, BOUND), random.Random(seed)
    begun.set()
    while True:
        number = min(int(choose.paretovariate(0.6)), KEYS) - 1
        if cache.get(f"key {number}", lambda: content(number)) != content(number):  # noqa: B023
            wrong.set()
            raise AssertionError(number)


def started(directory, seed, wrong):
    begun = CONTEXT.Event()
    process = CONTEXT.Process(target=hammer, args=(directory, seed, wrong, begun), daemon=True)
    process.start()
    return process, begun


def sizes(directory: Path):
    for path in (*directory.glob("blocks/*/*"), *directory.glob("fetching/*")):
        try:
            yield path.stat()
        except FileNotFoundError:  # an empty one that was not needed
            continue


@pytest.mark.slow
def test_processes_killed_at_random_leave_a_true_cache_within_its_bound(tmp_path: Path):
    wrong, choose = CONTEXT.Event(), random.Random(7)
    directory = tmp_path / "cache"
    running = [started(directory, seed, wrong) for seed in range(3)]
    watching = Cache(directory, BOUND)
    most = killed = 0
    try:
        assert all(begun.wait(60) for _, begun in running)
        ending = time.monotonic() + SECONDS
        while time.monotonic() < ending:
            with watching._space._ledger.update() as change:
                lying = list(sizes(directory))
                assert change.totals.bytes == sum(disk_bytes(each.st_size) for each in lying)
                most = max(most, change.totals.bytes, sum(each.st_blocks * 512 for each in lying))
            time.sleep(choose.random() / 50)
            if choose.random() < 0.1:
                index = choose.randrange(len(running))
                process, begun = running[index]
                if begun.wait(60):
                    process.kill()
                    process.join()
                    killed += 1
                    running[index] = started(directory, 100 + killed, wrong)
    finally:
        for process, _ in running:
            process.kill()
            process.join()
    assert not wrong.is_set()
    assert 0 < most <= BOUND
    assert killed > 0
    last = Cache(directory, BOUND)
    for number in range(KEYS):
        assert last.get(f"key {number}", lambda: content(number)) == content(number)  # noqa: B023
    stats, lying = last.stats(), list(sizes(directory))
    assert list((directory / "fetching").iterdir()) == []
    assert stats.blocks == len(lying)
    assert stats.bytes == sum(disk_bytes(each.st_size) for each in lying) <= BOUND
    assert stats.errors == 0
    assert stats.evicted_blocks > 0
    assert stats.hits > KEYS
    assert len(list((directory / "counters").iterdir())) <= 6
