"""The engine makes the parts that are not sealed and no others, and a death costs only its own part."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipeline import work_functions
from tests.pipeline.work_functions import (
    ITEMS,
    STEP,
    RecordingStore,
    double,
    no_storage,
    parts,
    refuse,
    segfault,
)
from thresher.core import Conflict, CorruptData, ThresherError, Unavailable
from thresher.pipeline.engine import quarantine, run_step
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import PartOutputs, TaskFailure, TaskSuccess, WorkerDeath
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.manifest import Input, load_manifest, manifest_name

ROOT = Path(__file__).resolve().parents[3]


def die(store, part, watch, item, how, once=""):
    """The process dies at an item of part 1: always, or only the first time."""
    if (
        part.parameters == 1
        and item not in watch.crashing_items
        and not (once and not work_functions.is_first(store, once))
    ):
        watch.start_item(item)
        how()


def killed():
    """What the system, or a person, does."""
    os.kill(os.getpid(), signal.SIGKILL)


def crash_once(store, step, part, watch):
    die(store, part, watch, 3, segfault, once="once")
    return double(store, step, part, watch)


def crash_at_two_items(store, step, part, watch):
    die(store, part, watch, 1, segfault)
    die(store, part, watch, 3, segfault)
    return double(store, step, part, watch)


def crash_whatever_is_left_out(store, step, part, watch):
    if part.parameters == 1:
        watch.start_item(2)
        segfault()
    return double(store, step, part, watch)


def crash_everywhere(store, step, part, watch):
    for item in range(1000):
        die(store, part, watch, item, segfault)
    return double(store, step, part, watch)


def killed_twice(store, step, part, watch):
    die(store, part, watch, 3, killed, once="once-a")
    die(store, part, watch, 3, killed, once="once-b")
    return double(store, step, part, watch)


def killed_always(store, step, part, watch):
    die(store, part, watch, 3, killed)
    return double(store, step, part, watch)


def allocate(store, step, part, watch):
    """Item 2 of part 1 wants more memory than there is."""
    if part.parameters == 1 and 2 not in watch.crashing_items:
        watch.start_item(2)
        bytearray(1 << 45)
    return double(store, step, part, watch)


def blunder(store, step, part, watch):
    """Fails as nobody thought of."""
    if part.parameters == 1:
        raise KeyError("nobody thought of it")
    return double(store, step, part, watch)


def claim_no_storage(store, step, part, watch):
    """Says the same, of which it knows nothing."""
    if part.parameters == 1:
        raise Unavailable("the storage does not answer")
    return double(store, step, part, watch)


@pytest.fixture
def files(tmp_path):
    return RecordingStore(tmp_path)


def run(files, work, pool, count=4, step=STEP):
    return run_step.run_step(files, step, parts(count), work, pool=pool, progress=LineProgress())


def outputs(files):
    return {name: files.read(name) for name in files.list("") if not name.startswith(work_functions.NOTES)}


def made(files):
    return sorted((files.root / "made.log").read_text().split())


def items(files, number):
    return files.read(f"doubled/main/part-{number}.txt").decode().split("\n")


def test_every_part_is_made_and_sealed(files, pool):
    ran = run(files, double, pool)
    assert (ran.made, ran.already, ran.quarantined, ran.deaths) == (4, 0, (), 0)
    manifest = load_manifest(files, manifest_name("double", "main/part-3"))
    assert items(files, 3) == ["6"] * ITEMS
    assert manifest.counts == {"in": ITEMS}
    assert manifest.recipe == {"factor": 2}
    assert 0 < ran.work_cpu_s <= ran.cpu_s


def test_what_is_sealed_is_not_made_again(files, pool):
    run(files, double, pool, 3)
    ran = run(files, double, pool, 5)
    assert (ran.made, ran.already) == (2, 3)
    assert made(files) == [f"main/part-{n}" for n in range(5)]


def test_what_an_unsealed_attempt_left_is_replaced(files, pool):
    files.put("doubled/main/part-2.txt", b"half of somethi")
    run(files, double, pool)
    assert items(files, 2) == ["4"] * ITEMS


def test_another_recipe_is_refused_and_names_the_field_and_nothing_is_made(files, pool):
    run(files, double, pool, 2)
    before = outputs(files)
    with pytest.raises(Conflict, match=r"factor was 2, is 3 now"):
        run(files, double, pool, 4, Step(name="double", version=1, recipe={"factor": 3}))
    assert outputs(files) == before


def test_an_item_that_crashes_once_is_not_blamed(files, pool):
    ran = run(files, crash_once, pool)
    assert (ran.made, ran.deaths, ran.left_out) == (4, 1, 0)
    assert items(files, 1) == ["2"] * ITEMS
    assert made(files) == [f"main/part-{n}" for n in range(4)]


def test_items_that_crash_their_worker_are_left_out_and_cost_nothing_else(files, pool):
    ran = run(files, crash_at_two_items, pool)
    assert (ran.made, ran.deaths, ran.left_out, ran.quarantined) == (4, 4, 2, ())
    assert items(files, 1) == ["2", "left out", "2", "left out", "2"]
    assert items(files, 2) == ["4"] * ITEMS


def test_an_item_that_wants_more_memory_than_there_is_is_left_out(files, pool):
    ran = run(files, allocate, pool)
    assert (ran.made, ran.left_out) == (4, 1)
    assert items(files, 1) == ["2", "2", "left out", "2", "2"]


def test_an_item_is_not_blamed_for_what_others_do_to_its_worker(files, pool):
    ran = run(files, killed_twice, pool)
    assert (ran.made, ran.deaths, ran.left_out) == (4, 2, 0)
    assert items(files, 1) == ["2"] * ITEMS


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        pytest.param(
            killed_always,
            r"its worker died 10 times, the last time at item 3 \(exit code -9\)",
            marks=pytest.mark.slow,
        ),
        (crash_whatever_is_left_out, r"item 2 crashes its worker even when it is left out \(exit code -11\)"),
        (refuse, r"main/part-1: cannot be read"),
        (blunder, r"KeyError: 'nobody thought of it'"),
        (claim_no_storage, r"the storage does not answer"),
    ],
)
def test_a_part_that_cannot_be_made_is_put_aside_with_its_reason_and_the_others_are_made(
    files, pool, work, reason
):
    ran = run(files, work, pool)
    assert ran.made == 3
    (mark,) = ran.quarantined
    assert mark.part == "main/part-1"
    with pytest.raises(ThresherError, match=f"part main/part-1 of double@1 is in quarantine: {reason}"):
        ran.require_all()
    assert list(quarantine.marks(files, "double", "main")) == [mark]
    assert (Path(__file__).name in mark.detail) == (work is blunder)


def test_a_part_in_quarantine_waits_there_until_it_is_released(files, pool):
    run(files, refuse, pool)
    again = run(files, double, pool)
    assert (again.made, again.already, len(again.quarantined)) == (0, 3, 1)
    assert quarantine.remove_marks(files, "double", "main") == 1
    mended = run(files, double, pool)
    assert (mended.made, mended.already, mended.quarantined) == (1, 3, ())


def from_input(store, _, part, __):
    """Refuse an input that is not as it should be."""
    (span,) = part.inputs
    if store.read(span.name) != b"good":
        raise CorruptData(f"{span.name} is damaged")
    return PartOutputs(counts={}, outputs=())


def run_from_input(files, pool):
    part = Part(name="main/part-0", inputs=(Input(name="input", sha256="0" * 64),), writes=())
    step = Step(name="copy", version=1, recipe={})
    return run_step.run_step(files, step, [part], from_input, pool=pool, progress=LineProgress())


@pytest.mark.parametrize("first", [b"bad", None])
def test_a_quarantine_ends_when_an_input_changes(files, pool, first):
    if first is not None:
        files.put("input", first)
    assert len(run_from_input(files, pool).quarantined) == 1
    assert len(run_from_input(files, pool).quarantined) == 1
    files.delete("input")
    files.put("input", b"good")
    assert run_from_input(files, pool).quarantined == ()
    assert list(quarantine.marks(files, "copy", "main")) == []


def test_a_step_that_is_asked_to_tries_again_what_is_in_quarantine(files, pool):
    run(files, refuse, pool)
    again = run_step.run_step(files, STEP, parts(4), double, pool=pool, progress=LineProgress(), retry=True)
    assert (again.made, again.already, again.quarantined) == (1, 3, ())
    assert list(quarantine.marks(files, "double", "main")) == []


def test_a_damaged_mark_keeps_no_part_from_being_tried(files, pool):
    files.put("quarantine/double/main/part-1.json", b"{")
    assert run(files, double, pool).made == 4
    assert list(quarantine.marks(files, "double", "main")) == []


def test_a_quarantine_of_another_recipe_does_not_count(files, pool):
    quarantine.put_mark(
        files, Step(name="double", version=1, recipe={"factor": 9}), parts(2)[1], "broken", ""
    )
    assert run(files, double, pool).made == 4


@pytest.mark.slow
def test_a_part_that_crashes_everywhere_is_given_up(files, pool):
    (mark,) = run(files, crash_everywhere, pool, 2).quarantined
    assert mark.reason == "17 of its items crash their worker (exit code -11)"


def test_what_would_befall_every_part_ends_the_run(files, pool):
    with pytest.raises(Unavailable, match="the storage does not answer"), local_worker_pool(2) as other:
        run(files, no_storage, other)
    assert list(files.list("quarantine/")) == []


ENDS = st.one_of(
    st.builds(
        WorkerDeath, exitcode=st.sampled_from([-9, -11, -6, 1, 71, None]), item=st.none() | st.integers(0, 3)
    ),
    st.just(TaskFailure(error=CorruptData("torn"), detail="")),
    st.just(TaskSuccess(work_cpu_s=1.0, cpu_s=1.0, wall_s=1.0, bytes_read=1, bytes_written=1, rss=1)),
)


class Scripted:
    """A pool whose tasks end as a script says, and well when it is over."""

    def __init__(self, script):
        self.workers, self.script, self.tasks, self.seen = 3, iter(script), [], []

    def submit(self, task):
        self.tasks.append(task)
        self.seen.append(task)

    def next_outcome(self):
        well = TaskSuccess(work_cpu_s=1.0, cpu_s=1.0, wall_s=1.0, bytes_read=1, bytes_written=1, rss=1)
        return self.tasks.pop(0), next(self.script, well)


@given(script=st.lists(ENDS, max_size=60), count=st.integers(0, 8))
def test_whatever_happens_every_part_is_made_or_put_aside_once(tmp_path_factory, script, count):
    pool = Scripted(script)
    ran = run(RecordingStore(tmp_path_factory.mktemp("run")), double, pool, count)
    assert ran.made + len(ran.quarantined) == count
    assert not pool.tasks
    assert ran.deaths == sum(isinstance(each, WorkerDeath) for each in script[: len(pool.seen)])
    for task in pool.seen:
        blamed = [
            each.item
            for each in script
            if isinstance(each, WorkerDeath)
            and each.exitcode in run_step.ITEM_CRASH_EXIT_CODES
            and each.item in task.crashing_items
        ]
        assert all(blamed.count(item) >= run_step.MAX_ITEM_CRASHES for item in task.crashing_items)


def test_no_more_tasks_are_under_way_than_two_a_hand(tmp_path):
    most = 0

    class Counting(Scripted):
        def submit(self, task):
            nonlocal most
            super().submit(task)
            most = max(most, len(self.tasks))

    run(RecordingStore(tmp_path), double, Counting([]), 50)
    assert most == 6


def test_workers_are_replaced_when_they_have_grown(files, monkeypatch):
    from thresher.pipeline.engine.local import part_process

    monkeypatch.setattr(part_process, "MAX_RSS", 0)
    with local_worker_pool(1) as pool:
        ran = [run(files, note_process, pool, count) for count in (1, 2, 3)]
    assert [one.made for one in ran] == [1, 1, 1]
    assert len(processes(files)) == 3


def note_process(store, step, part, watch):
    return replace(double(store, step, part, watch), counts={"pid": os.getpid()})


def processes(files):
    """Those that made a part."""
    return {load_manifest(files, name).counts["pid"] for name in files.list("manifests/")}


def test_a_closed_pool_leaves_no_process(files):
    with local_worker_pool(2) as pool:
        run(files, note_process, pool, 4)
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes(files))


SCRIPT = (
    "import sys; from pathlib import Path; from tests.pipeline.engine import test_run_step as t;"
    "from tests.pipeline import work_functions; from thresher.pipeline.engine.local.worker_pool import local_worker_pool\n"
    "if __name__ == '__main__':\n"
    "  with local_worker_pool(2) as pool: t.run(t.RecordingStore(Path(sys.argv[1])), work_functions.slow, pool, int(sys.argv[2]))"
)


def start(files, count):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(files.root), str(count)],
        cwd=ROOT,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("delay", [0.3, 0.8, 1.3, 1.8])
def test_killed_at_any_moment_and_run_again_the_bytes_are_the_same(files, pool, tmp_path_factory, delay):
    undisturbed = RecordingStore(tmp_path_factory.mktemp("undisturbed"))
    run(undisturbed, double, pool, 8)
    process = start(files, 8)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run(files, double, pool, 8)
    files.sweep()
    assert outputs(files) == outputs(undisturbed)


def test_workers_do_not_outlive_a_killed_parent(files: RecordingStore):
    process = start(files, 200)
    while not (files.root / "made.log").exists():
        time.sleep(0.05)
    process.kill()
    process.wait()
    time.sleep(1.5)
    count = len(made(files))
    time.sleep(1.0)
    assert len(made(files)) == count
