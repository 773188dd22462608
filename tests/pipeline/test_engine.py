"""The engine: what is sealed is not made again, what is not sealed is, and a dead worker costs one attempt."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core import Conflict, ThresherError
from pipeline import engine
from pipeline.engine import Made
from pipeline.progress import LineProgress
from pipeline.step import Part, Step
from storage.files import Files
from storage.manifest import Input, load, manifest_name, put_output

STEP = Step(name="double", version=1, recipe={"factor": 2})
ROOT = Path(__file__).resolve().parents[2]


def parts(count):
    return [
        Part(name=f"main/part-{n}", inputs=(Input(name=f"in/{n}", sha256=f"{n:064d}"),), task=n)
        for n in range(count)
    ]


def double(files, step, part):
    """Makes one small output, and notes that it did."""
    with (files.root / "made.log").open("a") as log:
        log.write(f"{part.name}\n")
    name = f"doubled/{part.name}.txt"
    text = str(part.task * step.recipe["factor"])
    return Made(counts={"in": 1}, outputs=(put_output(files, name, 1, lambda path: path.write_text(text)),))


def die_once(files, step, part):
    """Kills its own process the first time that part 1 is made."""
    mark = files.root / "died"
    if part.task == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return double(files, step, part)


def die_always(files, step, part):
    """Kills its own process whenever part 1 is made."""
    if part.task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return double(files, step, part)


def refuse(files, step, part):
    """Fails as a step fails."""
    raise ThresherError(f"{part.name}: cannot be made")


def slow(files, step, part):
    """Takes a while, so that it can be killed."""
    time.sleep(0.2)
    return double(files, step, part)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def run(files, work, count=4, step=STEP):
    return engine.run(files, step, parts(count), work, workers=2, progress=LineProgress())


def outputs(files):
    return {name: files.read(name) for name in files.list("") if name != "made.log" and name != "died"}


def made(files):
    return sorted((files.root / "made.log").read_text().split())


def test_every_part_is_made_and_sealed(files):
    assert run(files, double) == engine.Ran(made=4, already=0)
    manifest = load(files, manifest_name("double", "main/part-3"))
    assert files.read("doubled/main/part-3.txt") == b"6"
    assert manifest.counts == {"in": 1}
    assert manifest.recipe == {"factor": 2}


def test_what_is_sealed_is_not_made_again(files):
    run(files, double, 3)
    assert run(files, double, 5) == engine.Ran(made=2, already=3)
    assert made(files) == [f"main/part-{n}" for n in range(5)]


def test_what_an_unsealed_attempt_left_is_replaced(files):
    files.put("doubled/main/part-2.txt", b"half of somethi")
    run(files, double)
    assert files.read("doubled/main/part-2.txt") == b"4"


def test_another_recipe_is_refused_and_names_the_field_and_nothing_is_made(files):
    run(files, double, 2)
    before = outputs(files)
    with pytest.raises(Conflict, match=r"factor was 2, is 3 now"):
        run(files, double, 4, Step(name="double", version=1, recipe={"factor": 3}))
    assert outputs(files) == before


def test_a_worker_that_dies_costs_its_part_one_attempt(files):
    assert run(files, die_once).made == 4
    assert made(files) == [f"main/part-{n}" for n in range(4)]


def test_a_part_that_kills_its_workers_is_named_and_the_others_are_kept(files):
    with pytest.raises(ThresherError, match=r"main/part-1: its worker process died 3 times"):
        run(files, die_always)
    assert run(files, double).already >= 1


def test_an_error_of_a_worker_reaches_the_user(files):
    with pytest.raises(ThresherError, match="cannot be made"):
        run(files, refuse)


@pytest.mark.parametrize("delay", [0.3, 0.8, 1.3, 1.8])
def test_killed_at_any_moment_and_run_again_the_bytes_are_the_same(files, tmp_path_factory, delay):
    undisturbed = Files(tmp_path_factory.mktemp("undisturbed"))
    run(undisturbed, double, 8)
    script = (
        "import sys; from pathlib import Path; from tests.pipeline import test_engine as t; from storage.files import Files;"
        "t.run(Files(Path(sys.argv[1])), t.slow, 8)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(files.root)],
        cwd=ROOT,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run(files, double, 8)
    files.sweep()
    assert outputs(files) == outputs(undisturbed)


def test_workers_do_not_outlive_a_killed_parent(files):
    script = (
        "import sys; from pathlib import Path; from tests.pipeline import test_engine as t; from storage.files import Files;"
        "t.run(Files(Path(sys.argv[1])), t.slow, 200)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(files.root)], cwd=ROOT, start_new_session=True
    )
    while not (files.root / "made.log").exists():
        time.sleep(0.05)
    process.kill()
    process.wait()
    time.sleep(1.5)
    count = len(made(files))
    time.sleep(1.0)
    assert len(made(files)) == count
