"""Calls run in their order, and a process does not wait for them when it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thresher.shards.loader.access.daemon_pool import DaemonPool

ROOT = Path(__file__).resolve().parents[3]


def test_calls_run_in_their_order_and_their_errors_come_back():
    pool = DaemonPool(1, "test")
    done = []
    futures = [pool.submit(lambda number=number: done.append(number) or number) for number in range(5)]  # type: ignore[func-returns-value, misc]
    failed = pool.submit(lambda: 1 // 0)
    assert [future.result(10) for future in futures] == done == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        failed.result(10)
    pool.close()


def test_a_call_can_be_cancelled_before_it_begins():
    pool = DaemonPool(1, "test")
    reading, writing = os.pipe()
    first = pool.submit(lambda: os.read(reading, 1))
    second = pool.submit(lambda: 2)
    assert second.cancel()
    os.write(writing, b"x")
    assert first.result(10) == b"x"
    pool.close()
    os.close(reading)
    os.close(writing)


def test_a_process_ends_while_calls_are_running():
    code = (
        "import time; from thresher.shards.loader.access.daemon_pool import DaemonPool; pool = DaemonPool(2, 'test'); "
        "[pool.submit(lambda: time.sleep(3600)) for _ in range(9)]; print('end')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "end\n"
