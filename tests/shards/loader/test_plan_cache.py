"""Cached plans: many processes share them, a killed one leaves nothing that matters, and old ones go."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.shards.loader.made_export import documents_of, make_export
from thresher.core import Unavailable
from thresher.shards.loader.access.plan_cache import PlanCache
from thresher.shards.loader.exact_loader import Loader

PROGRAM = Path(__file__).with_name("plan_program.py")
ROOT = Path(__file__).resolve().parents[3]
LENGTHS = range(32, 40)


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, {"web": documents_of("web", 400)}, shard_documents=20)
    return root


def started(export, cache):
    return subprocess.Popen(
        [sys.executable, PROGRAM, export, cache, *map(str, LENGTHS)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def printed(process):
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return json.loads(out)


@pytest.fixture(scope="module")
def expected(export, tmp_path_factory):
    return printed(started(export, tmp_path_factory.mktemp("cache")))


def plans_of(cache):
    return sorted(path.name for path in (cache / "plans").iterdir())


@pytest.mark.slow
def test_processes_that_share_a_cache_agree(export, expected, tmp_path):
    processes = [started(export, tmp_path) for _ in range(3)]
    assert [printed(process) for process in processes] == [expected] * 3
    names = plans_of(tmp_path)
    assert len(names) == 20 * len(LENGTHS)
    assert all(name.endswith(".plan") for name in names)


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_a_usable_cache(export, expected, tmp_path):
    """Plans are written from the first to the last moment of the program."""
    moments = random.Random(1)
    for _ in range(4):
        process = started(export, tmp_path)
        until = time.monotonic() + 60
        before = len(list(tmp_path.rglob("*.plan")))
        while (
            len(list(tmp_path.rglob("*.plan"))) <= before + moments.randrange(20) and time.monotonic() < until
        ):
            if process.poll() is not None:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert printed(started(export, tmp_path)) == expected
    assert all(name.endswith(".plan") for name in plans_of(tmp_path))


def test_old_plans_of_other_runs_are_deleted_those_used_longest_ago_first(export, tmp_path):
    def opened(length, **more):
        return Loader(export, length=length, batch_size=1, cache=tmp_path, **more)

    plans = tmp_path / "plans"
    for age, length in ((3, 32), (1, 33), (2, 34)):
        opened(length)
        for path in plans.glob(f"*-{length}.plan"):
            os.utime(path, (time.time() - age * 1000,) * 2)
    kept = sum(path.stat().st_size for length in (33, 34) for path in plans.glob(f"*-{length}.plan"))
    (plans / "left-by-a-killed-process.new").write_bytes(b"x")
    opened(33, cache_size=10 * kept)  # plans may take a tenth of it
    assert {name.rpartition("-")[2] for name in plans_of(tmp_path)} == {"33.plan", "34.plan"}
    opened(34, cache_size=0)  # what the run itself needs stays
    assert {name.rpartition("-")[2] for name in plans_of(tmp_path)} == {"34.plan"}
    assert len(plans_of(tmp_path)) == 20


def test_a_plan_that_is_mapped_may_be_deleted(export, expected, tmp_path):
    loader = Loader(export, length=LENGTHS[0], batch_size=1, cache=tmp_path)
    for path in (tmp_path / "plans").iterdir():
        path.unlink()
    assert [loader.sequences, sum(int(batch["input_ids"].sum()) for batch in loader)] == expected[0]


def test_where_no_plan_can_be_kept_one_line_says_so(export, tmp_path):
    (tmp_path / "file").touch()
    for cache in (tmp_path / "file", tmp_path / "file" / "in"):
        with pytest.raises(Unavailable, match=r"give a directory for packing plans \(cache=\)") as error:
            Loader(export, length=32, batch_size=1, cache=cache)
        assert "\n" not in str(error.value)


def test_evicting_where_nothing_is_does_nothing(tmp_path):
    PlanCache(tmp_path / "none", 0).evict(set())
