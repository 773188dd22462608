"""The cache of a machine: every shard is downloaded once, what is in use stays, and a killed process breaks nothing."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thresher.core import CorruptData, Unavailable
from thresher.shards.loader.access.shard_cache import ShardCache
from thresher.shards.loader.loader_metrics import LoaderMetrics

ROOT = Path(__file__).resolve().parents[3]
SIZE = 1000


def data_of(number):
    return bytes([number]) * SIZE


class Bucket:
    """Shards that are downloaded from nowhere, and how often."""

    def __init__(self, directory, *, max_bytes=10 * SIZE):
        self.metrics = LoaderMetrics()
        self.cache = ShardCache(directory, max_bytes, self.metrics)
        self.downloads = []

    def fetch(self, number, *, data=None, size=SIZE):
        def download():
            self.downloads.append(number)
            return io.BufferedReader(io.BytesIO(data_of(number) if data is None else data))

        sha256 = hashlib.sha256(data_of(number)).hexdigest()
        return self.cache.fetch(
            str(number), size=size, sha256=sha256, where=f"shard {number}", download=download
        )


def names(directory):
    return sorted(path.name for path in directory.iterdir() if path.suffix != ".lock")


def test_a_shard_is_downloaded_once(tmp_path):
    bucket, other = Bucket(tmp_path), Bucket(tmp_path)
    assert bucket.cache.take("1") is None
    held = bucket.fetch(1)
    assert held.path.read_bytes() == data_of(1)
    other.fetch(1).release()
    other.cache.take("1").release()  # type: ignore[union-attr]
    held.release()
    assert bucket.downloads + other.downloads == [1]
    assert names(tmp_path) == ["1.tokens"]
    assert bucket.metrics.counts.cache_misses == 1
    assert bucket.metrics.counts.downloaded_bytes == SIZE


def test_what_was_opened_longest_ago_is_evicted_first(tmp_path):
    bucket = Bucket(tmp_path, max_bytes=3 * SIZE)
    for number in (1, 2, 3):
        bucket.fetch(number).release()
        os.utime(tmp_path / f"{number}.tokens", ns=(number, number))
    bucket.cache.take("1").release()  # type: ignore[union-attr]
    bucket.fetch(4).release()
    assert names(tmp_path) == ["1.tokens", "3.tokens", "4.tokens"]
    assert bucket.metrics.counts.cache_evictions == 1


def test_what_any_process_uses_is_not_evicted(tmp_path):
    bucket = Bucket(tmp_path, max_bytes=2 * SIZE)
    held = [bucket.fetch(1), bucket.fetch(2)]
    with pytest.raises(
        Unavailable, match=r"2000 of shards are in use, and 1000 more do not fit into 2000; raise"
    ):
        bucket.fetch(3)
    held[1].release()
    bucket.fetch(3).release()
    assert names(tmp_path) == ["1.tokens", "3.tokens"]


@pytest.mark.parametrize("data", [b"", data_of(2), data_of(1)[:-1], data_of(1) + b"x"])
def test_what_is_not_the_sealed_shard_is_not_kept(tmp_path, data):
    bucket = Bucket(tmp_path)
    with pytest.raises(CorruptData, match=r"shard 1: .*not those that were sealed"):
        bucket.fetch(1, data=data)
    assert bucket.cache.take("1") is None
    assert bucket.fetch(1).path.read_bytes() == data_of(1)


DOWNLOADER = """
import io, sys, time
from pathlib import Path
from tests.shards.loader.test_shard_cache import Bucket, data_of

class Slow(io.RawIOBase):
    data = data_of(1)
    def readable(self): return True
    def readinto(self, target):
        (Path(sys.argv[1]) / "begun.lock").touch()
        time.sleep(float(sys.argv[2]))
        part, Slow.data = Slow.data[:500], Slow.data[500:]
        target[:len(part)] = part
        return len(part)

bucket = Bucket(Path(sys.argv[1]))
real = bucket.cache.fetch
bucket.cache.fetch = lambda key, *, download, **more: real(key, download=lambda: (download(), io.BufferedReader(Slow(), 500))[1], **more)
held = bucket.fetch(1)
print(len(bucket.downloads), held.path.read_bytes() == data_of(1))
"""


def downloader(directory, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", DOWNLOADER, str(directory), str(seconds)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.slow
def test_processes_that_need_a_shard_at_once_download_it_once(tmp_path):
    processes = [downloader(tmp_path, 0.2) for _ in range(4)]
    printed = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sorted(printed) == [["0", "True"]] * 3 + [["1", "True"]]


def test_a_download_of_a_killed_process_is_started_again(tmp_path):
    process = downloader(tmp_path, 3600)
    until = time.monotonic() + 60
    while not (tmp_path / "begun.lock").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert names(tmp_path) == ["1.part"]
    bucket = Bucket(tmp_path, max_bytes=SIZE)
    bucket.fetch(2).release()  # the killed download takes no room for ever
    assert names(tmp_path) == ["2.tokens"]
    assert bucket.fetch(1).path.read_bytes() == data_of(1)


def test_a_directory_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=r"file/cache: .*give another directory"):
        Bucket(tmp_path / "file" / "cache")
