"""A Ray cluster: the same bytes as one machine makes, whatever dies there; and nothing of ours outlives its driver.

One cluster of three nodes for the whole file, all of them on this machine.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from core import InputError, Unavailable
from pipeline import cluster, engine, node
from pipeline.cluster import RayCrew, ray_crew
from pipeline.crew import local_crew
from pipeline.progress import LineProgress
from pipeline.project import Project
from pipeline.step import Step
from pipeline.work import Sealed, Task
from storage.files import Files
from tests.pipeline import raycluster
from tests.pipeline.test_engine import (
    STEP,
    crash_at_two_items,
    double,
    items,
    no_storage,
    note_process,
    outputs,
    parts,
    refuse,
)
from tests.web import demo_web  # noqa: F401 - a fixture

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[2]
NODES = 3


@pytest.fixture(scope="module")
def nodes():
    with raycluster.cluster(NODES) as nodes:
        yield nodes


@pytest.fixture
def whole(nodes):
    """The cluster with all of its nodes, whatever the test before did to it."""
    while nodes.count < NODES:
        nodes.add()
    return nodes


@pytest.fixture
def crew(whole):
    with ray_crew(whole.address, NODES) as crew:
        yield crew


@pytest.fixture
def files(tmp_path):
    (tmp_path / "made").mkdir()
    return Files(tmp_path / "made")


def undisturbed(tmp_path, count):
    (tmp_path / "undisturbed").mkdir()
    files = Files(tmp_path / "undisturbed")
    with local_crew(2) as crew:
        run(files, double, crew, count)
    return outputs(files)


def run(files, work, crew, count=6, step=STEP):
    return engine.run(files, step, parts(count), work, crew=crew, progress=LineProgress())


def slow(store, step, part, watch):
    """Takes half a second, and notes its process."""
    store.put(f"pids/{part.task}-{os.getpid()}", str(os.getpid()).encode())
    time.sleep(0.5)
    return double(store, step, part, watch)


def once(store, name):
    """True for the first who asks."""
    return store.put(f"once/{name}", b"")


def kill_cell(store, step, part, watch):
    if part.task == 1 and once(store, "cell"):
        os.kill(os.getpid(), signal.SIGKILL)
    return double(store, step, part, watch)


def kill_actor(store, step, part, watch):
    if part.task == 1 and once(store, "actor"):
        watch.at(2)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(20)
    return double(store, step, part, watch)


def begun(store):
    return {int(store.read(name)) for name in store.list("pids/")}


def made_bytes(files):
    return {name: data for name, data in outputs(files).items() if not name.startswith(("pids/", "once/"))}


def wait_until(condition, timeout=60):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.05)


def gone(pids):
    return not any(psutil.pid_exists(pid) for pid in pids)


def test_the_outputs_are_those_of_one_machine_and_every_node_made_some(files, crew, tmp_path):
    ran = run(files, slow, crew, 12)
    assert (ran.made, ran.already, ran.quarantined, ran.deaths) == (12, 0, (), 0)
    assert made_bytes(files) == undisturbed(tmp_path, 12)
    assert crew.hands == NODES
    assert len(begun(files)) == NODES
    assert run(files, slow, crew, 12).already == 12


def test_items_that_crash_their_worker_are_left_out_and_the_actor_lives(files, crew):
    ran = run(files, crash_at_two_items, crew)
    assert (ran.made, ran.deaths, ran.left_out, ran.quarantined) == (6, 4, 2, ())
    assert items(files, 1) == ["2", "left out", "2", "left out", "2"]


def test_a_part_that_cannot_be_made_is_put_aside_and_what_befalls_all_ends_the_run(files, crew):
    ran = run(files, refuse, crew)
    assert (ran.made, [mark.reason for mark in ran.quarantined]) == (5, ["main/part-1: cannot be read"])
    with pytest.raises(Unavailable, match="the storage does not answer"):
        run(files, no_storage, crew, 9)


@pytest.mark.parametrize("work", [kill_cell, kill_actor])
def test_a_killed_worker_costs_its_part_one_attempt_and_no_item(files, crew, tmp_path, work):
    ran = run(files, work, crew)
    assert (ran.made, ran.deaths, ran.left_out, ran.quarantined) == (6, 1, 0, ())
    assert made_bytes(files) == undisturbed(tmp_path, 6)


def test_a_killed_node_costs_its_parts_an_attempt_and_a_new_one_takes_its_place(files, whole, tmp_path):
    with ray_crew(whole.address, NODES) as crew:
        made_so_far = Steps(crew, {8: whole.kill, 20: whole.add})
        ran = run(files, slow, made_so_far, 60)
    assert ran.made == 60
    assert 1 <= ran.deaths <= 4
    assert made_bytes(files) == undisturbed(tmp_path, 60)
    assert made_so_far.hands_seen[0] == NODES
    assert NODES - 1 in made_so_far.hands_seen
    assert made_so_far.hands_seen[-1] == NODES


class Steps:
    """A crew to which something happens after so many parts."""

    def __init__(self, crew, happenings):
        self.crew, self.happenings, self.count, self.hands_seen = crew, happenings, 0, []

    @property
    def hands(self):
        self.hands_seen.append(self.crew.hands)
        return self.crew.hands

    def begin(self, task):
        self.crew.begin(task)

    def ended(self):
        self.count += 1
        if self.count in self.happenings:
            self.happenings[self.count]()
        return self.crew.ended()


def test_hands_grow_while_it_runs_when_a_node_joins(files, whole):
    whole.kill()
    with ray_crew(whole.address, None) as crew:
        wait_until(lambda: crew.hands == NODES - 1)
        run(files, slow, Steps(crew, {4: whole.add}), 30)
        assert crew.hands == NODES
    assert len(begun(files)) == NODES


def test_hands_that_nothing_waits_for_are_given_back(files, crew, monkeypatch):
    monkeypatch.setattr(cluster, "IDLE_S", 0.5)
    run(files, double, crew)
    crew.begin(Task(store=files, step=STEP, part=parts(9)[8], work=long))
    assert isinstance(crew.ended()[1], Sealed)
    wait_until(lambda: ray.available_resources().get("CPU", 0) >= NODES - 1)


def long(store, step, part, watch):
    time.sleep(3)
    return double(store, step, part, watch)


def test_a_step_that_needs_memory_is_made_where_it_is_and_nowhere_where_it_is_not(files, whole):
    with ray_crew(whole.address, NODES) as crew:
        run(files, double, crew, 3)
        assert run(
            files, limit, crew, 5, Step(name="limit", version=1, recipe=STEP.recipe, memory=1 << 20)
        ).made
    with ray_crew(whole.address, NODES) as crew:
        crew._patience_s = 3
        with pytest.raises(
            Unavailable, match=r"no room for a worker \(1 CPU and 1,048,576,000 MiB of memory"
        ):
            run(files, double, crew, 4, Step(name="huge", version=1, recipe=STEP.recipe, memory=1000 << 40))


def limit(store, step, part, watch):
    import resource

    assert resource.getrlimit(resource.RLIMIT_DATA)[0] >= step.memory
    return double(store, step, part, watch)


def test_no_process_outlives_its_crew(files, whole):
    with ray_crew(whole.address, NODES) as crew:
        run(files, note_process, crew)
        pids = begun(files)
        actors = {psutil.Process(pid).ppid() for pid in pids}
        assert not pids & actors
    wait_until(lambda: gone(pids | actors))


SCRIPT = (
    "import sys; from pathlib import Path; from tests.pipeline import test_cluster as t;"
    "from storage.files import Files; from pipeline.cluster import ray_crew\n"
    "if __name__ == '__main__':\n"
    "  with ray_crew(sys.argv[1], 3) as crew: t.run(Files(Path(sys.argv[2])), t.slow, crew, 12)"
)


def test_a_killed_driver_leaves_no_process_and_run_again_only_unsealed_parts_are_made(files, whole, tmp_path):
    driver = subprocess.Popen([sys.executable, "-c", SCRIPT, whole.address, str(files.root)], cwd=ROOT)
    wait_until(lambda: len(list(files.list("manifests/"))) >= 4)
    driver.kill()
    driver.wait()
    wait_until(lambda: gone(begun(files)))
    sealed = len(list(files.list("manifests/")))
    assert sealed < 12
    with ray_crew(whole.address, NODES) as crew:
        ran = run(files, slow, crew, 12)
    assert (ran.made, ran.already) == (12 - sealed, sealed)
    files.sweep()
    assert made_bytes(files) == undisturbed(tmp_path, 12)


def test_a_node_with_another_thresher_or_other_packages_is_refused_in_one_line(files, crew, monkeypatch):
    here = node.build()
    for other, said in (
        (node.Build(code="0" * 64, versions=here.versions), "has another Thresher"),
        (
            node.Build(code=here.code, versions={**here.versions, "pyarrow": "0.1"}),
            r"has pyarrow \S+, here it is 0.1",
        ),
    ):
        refused = RayCrew(ray, 1)
        refused._terms = node.Terms(build=other)
        with pytest.raises(InputError, match=f"the node .* {said}"):
            run(files, double, refused)
        refused.close()


def test_what_a_node_sealed_elsewhere_is_an_error_and_not_a_loss(files, crew, monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "VISIBLE_S", 0.1)
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(InputError, match=r"was sealed on a node and is not in file:.*share that directory"):
        run(files, seal_elsewhere, crew)


def seal_elsewhere(store, step, part, watch):
    ended = double(store, step, part, watch)
    Path(store.root).rename(Path(store.root).with_name("elsewhere"))
    return ended


def test_a_cluster_that_is_not_there_is_one_line_and_none_is_started(tmp_path, nodes):
    for engine_, said in (
        ("ray:127.0.0.1:9", "no Ray cluster answers at 127.0.0.1:9"),
        ("ray", "no Ray cluster at this machine"),
    ):
        (tmp_path / "thresher.toml").write_text(f'[project]\nengine = "{engine_}"\n')
        with pytest.raises(Unavailable, match=said), Project.at(tmp_path).crew(1):
            pass
