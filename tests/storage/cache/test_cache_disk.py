"""A disk that fails, is full or cannot be written costs no read."""

import errno
import logging
import os
import subprocess
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.storage.cache.cache_files import MIB, assert_in_order, block_file, never, on_disk
from tests.storage.failing_calls import failing_at
from thresher.storage.cache.block_cache import Cache

CALLS = ("open", "pread", "pwrite", "fstat", "ftruncate", "mkdir", "rename", "unlink", "utime", "scandir")
SCANS = ("scandir", "scandir")


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
