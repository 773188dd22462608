"""An export in a bucket is read like one in a directory, and each shard comes once to a machine."""

import hashlib
import logging
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.shards.loader.made_export import documents_of, make_export
from tests.storage.s3server import BUCKET
from thresher.core import CorruptData, InputError
from thresher.shards.loader.access import shard_access
from thresher.shards.loader.exact_loader import Loader

ROOT = Path(__file__).resolve().parents[3]
LENGTH = 32
SHARDS = 20


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, {"web": documents_of("web", 50 * SHARDS)}, plan_length=LENGTH)
    return root


def uploaded(client, export):
    """Put the export into the bucket once more. Return its address."""
    prefix = os.urandom(6).hex()
    for path in export.rglob("*"):
        if path.is_file():
            client.put_object(
                Bucket=BUCKET, Key=f"{prefix}/{path.relative_to(export)}", Body=path.read_bytes()
            )
    return f"s3://{BUCKET}/{prefix}"


@pytest.fixture(scope="module")
def unchanged(s3_server, export):
    return uploaded(s3_server.client(), export)


@pytest.fixture
def bucket(s3_server, unchanged, monkeypatch):
    """The address of the export in a bucket."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    return unchanged


@pytest.fixture
def own_bucket(s3_server, export, monkeypatch):
    """The address of an export in a bucket that the test changes, and a client."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    client = s3_server.client()
    return uploaded(client, export), client


def rows(loader):
    return [row for batch in loader for row in batch["input_ids"].tolist()]


@pytest.mark.parametrize(
    "options",
    [{}, {"packing": "concat", "shuffle": "window"}, {"length": 48}, {"packing": "none", "epochs": 2}],
)
@pytest.mark.parametrize("direct_bytes", [0, 64 << 20])
def test_it_gives_what_the_directory_gives(bucket, export, tmp_path, options, direct_bytes, monkeypatch):
    monkeypatch.setattr(shard_access, "DIRECT_BYTES", direct_bytes)
    options = {"length": LENGTH, "batch_size": 2, **options}
    expected = rows(Loader(export, **options, cache=tmp_path / "local"))
    loader = Loader(bucket, **options, cache=tmp_path / "cache")
    assert rows(loader) == expected
    loader.close()


def test_the_second_run_downloads_nothing(bucket, tmp_path):
    counted = []
    for _ in range(2):
        loader = Loader(bucket, length=LENGTH, batch_size=2, cache=tmp_path)
        rows(loader)
        loader.close()
        counted.append(loader.metrics())
    assert counted[0]["thresher_loader_cache_misses_total"] == SHARDS
    assert (
        counted[1]["thresher_loader_cache_misses_total"]
        == counted[1]["thresher_loader_direct_bytes_total"]
        == 0
    )
    assert counted[1]["thresher_loader_cache_hits_total"] == SHARDS


RANK = """
import sys
from thresher.shards.loader.exact_loader import Loader
loader = Loader(sys.argv[1], length=32, batch_size=2, rank=int(sys.argv[3]), world_size=3, cache=sys.argv[2])
count = sum(len(batch["sequences"]) for batch in loader)
loader.close()
print(count, loader.metrics()["thresher_loader_cache_misses_total"])
"""


def test_the_ranks_of_a_machine_share_the_downloads(bucket, tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, bucket, str(tmp_path), str(rank)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    printed = [process.communicate(timeout=120)[0].split() for process in processes]
    assert len({count for count, _ in printed}) == 1
    assert sum(int(misses) for _, misses in printed) == SHARDS
    assert len(list(tmp_path.glob("*.tokens"))) == SHARDS


def used_bytes(cache):
    used = 0
    for path in cache.glob("*.tokens"):
        with suppress(FileNotFoundError):  # evicted meanwhile
            used += path.stat().st_size
    return used


def test_windows_need_no_more_of_the_cache_than_its_size(bucket, export, tmp_path):
    largest = max(path.stat().st_size for path in export.rglob("*.tokens"))
    options = {"length": LENGTH, "batch_size": 2, "cache": tmp_path, "cache_size": 17 * largest}
    with pytest.raises(
        InputError,
        match=r"cache_size=.*'global' needs .* raise cache_size to that or give shuffle=\"window\"",
    ):
        Loader(bucket, **options)
    with pytest.raises(InputError, match=r"raise cache_size to that$"):
        Loader(bucket, **{**options, "cache_size": largest}, shuffle="window")
    loader = Loader(bucket, **options, shuffle="window", epochs=3)
    sizes = [used_bytes(tmp_path) for _ in loader]
    loader.close()
    # While one file was counted, another may have been evicted and its room taken.
    assert max(sizes) <= 18 * largest
    assert loader.metrics()["thresher_loader_cache_evictions_total"] > 3


def test_a_damaged_object_is_named_and_not_skipped(own_bucket, export, tmp_path, monkeypatch):
    address, client = own_bucket
    name = "tokens/web/shard-00003.tokens"
    data = bytearray((export / name).read_bytes())
    data[4096 + 7] ^= 1
    client.put_object(
        Bucket=BUCKET, Key=f"{address.removeprefix(f's3://{BUCKET}/')}/{name}", Body=bytes(data)
    )
    for direct_bytes in (0, 64 << 20):
        monkeypatch.setattr(shard_access, "DIRECT_BYTES", direct_bytes)
        loader = Loader(address, length=LENGTH, batch_size=2, cache=tmp_path)
        with pytest.raises(CorruptData, match=r"shard-00003\.tokens"):
            rows(loader)
        loader.close()


@pytest.mark.parametrize(
    "damage", ["a flip in a block", "a flip in the header", "cut", "empty", "another shard"]
)
@pytest.mark.parametrize("direct_bytes", [0, 64 << 20])
def test_a_wrong_file_in_the_cache_is_downloaded_again(
    bucket, export, tmp_path, damage, direct_bytes, monkeypatch, caplog
):
    monkeypatch.setattr(shard_access, "DIRECT_BYTES", direct_bytes)
    options = {"length": LENGTH, "batch_size": 2, "cache": tmp_path}
    loader = Loader(bucket, **options)
    expected = rows(loader)
    loader.close()
    first, second, *_ = sorted(tmp_path.glob("*.tokens"))
    good = first.read_bytes()
    wrong = {
        "a flip in a block": good[:4100] + bytes([good[4100] ^ 1]) + good[4101:],
        "a flip in the header": good[:20] + bytes([good[20] ^ 1]) + good[21:],
        "cut": good[:-1],
        "empty": b"",
        "another shard": second.read_bytes(),
    }[damage]
    first.write_bytes(wrong)
    loader = Loader(bucket, **options)
    with caplog.at_level(logging.WARNING):
        assert rows(loader) == expected
    loader.close()
    assert first.read_bytes() == good
    (line,) = [each.getMessage() for each in caplog.records if each.name == shard_access.__name__]
    assert line.startswith(f"{first} is deleted and downloaded again: it is damaged, or another shard")


def test_a_planted_object_is_refused(own_bucket, export, tmp_path, monkeypatch):
    """The bucket has the bytes of another shard, and reads of single blocks find that out, too."""
    address, client = own_bucket
    name = "tokens/web/shard-00003.tokens"
    client.put_object(
        Bucket=BUCKET,
        Key=f"{address.removeprefix(f's3://{BUCKET}/')}/{name}",
        Body=(export / name.replace("3.", "4.")).read_bytes(),
    )
    for direct_bytes in (0, 64 << 20):
        monkeypatch.setattr(shard_access, "DIRECT_BYTES", direct_bytes)
        loader = Loader(address, length=LENGTH, batch_size=2, cache=tmp_path)
        with pytest.raises(CorruptData, match=r"shard-00003\.tokens"):
            rows(loader)
        loader.close()


SHARER = """
import hashlib, sys
from thresher.shards.loader.exact_loader import Loader
loader = Loader(sys.argv[1], length=32, batch_size=2, cache=sys.argv[2], cache_size=int(sys.argv[3]), shuffle="window", epochs=4)
print("open", flush=True)
digest = hashlib.sha256()
for batch in loader:
    digest.update(batch["input_ids"].tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 4])
def test_processes_that_are_killed_leave_a_cache_that_others_can_use(bucket, export, tmp_path, times):
    """Two at a time in a cache that has just room for both: they download, evict, wait for each other, and die."""
    largest = max(path.stat().st_size for path in export.rglob("*.tokens"))
    cache = tmp_path / "cache"

    def started():
        return subprocess.Popen(
            [sys.executable, "-c", SHARER, bucket, cache, str(32 * largest)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    whole = Loader(export, length=LENGTH, batch_size=2, shuffle="window", epochs=4, cache=tmp_path / "local")
    digest = hashlib.sha256(b"".join(batch["input_ids"].tobytes() for batch in whole)).hexdigest()
    moments = random.Random(2)
    for _ in range(times):
        pair = [started() for _ in range(2)]
        for process in pair:
            process.stdout.readline()
        time.sleep(moments.random() / 5)
        for process in pair:
            process.kill()
            process.communicate()
    pair = [started() for _ in range(2)]
    for process in pair:
        out, error = process.communicate(timeout=120)
        assert out.split() == ["open", digest], error
        assert "damaged" not in error
    assert list(cache.glob("*.part")) == []


def test_a_run_from_a_bucket_needs_few_open_files(bucket, tmp_path):
    program = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n" + RANK.replace(
        "world_size=3", "world_size=1"
    ).replace("loader.close()", "print(len(loader._run.access._mapped))")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program, bucket, str(tmp_path), "0"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] == str(SHARDS)  # all are mapped, and in use


def test_a_token_leads_to_its_record(bucket, tmp_path):
    loader = Loader(bucket, length=LENGTH, batch_size=2, cache=tmp_path)
    batch = next(iter(loader))
    found = loader.trace(loader.state_dict(), row=1, position=0)
    loader.close()
    documents = documents_of("web", 50 * SHARDS)
    assert (
        np.asarray(documents[int(found.document.partition("-")[2])])[found.token] == batch["input_ids"][1, 0]
    )
