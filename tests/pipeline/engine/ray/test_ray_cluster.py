"""A Ray cluster makes the same bytes as one machine, whatever dies there, and none of our processes outlives its driver.

One cluster of three nodes for the whole file, all of them on this machine.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from warcio.archiveiterator import ArchiveIterator

from demo.web import RunningWeb
from tests.end_to_end.conftest import TOML, User, project_directory, user  # noqa: F401 - fixtures
from tests.end_to_end.conftest import wait_until as user_waits
from tests.expect import expect
from tests.pipeline import raycluster, work_functions
from tests.pipeline.telemetry.collector import collecting
from tests.pipeline.work_functions import STEP, RecordingStore, parts
from tests.served_webs import demo_web  # noqa: F401 - a fixture
from thresher.core import InputError, Unavailable
from thresher.core.tracing import identified
from thresher.pipeline import configuration
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.crawl_worker import WorkerExit, pickle_call
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.ray import actors, ray_pool
from thresher.pipeline.engine.ray.actors import NodeRequirements
from thresher.pipeline.engine.ray.ray_cluster import ray_connection
from thresher.pipeline.engine.ray.ray_crawl_worker import RayCrawlWorker
from thresher.pipeline.engine.ray.ray_pool import RayWorkerPool
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.telemetry.trace_context import command_telemetry
from thresher.pipeline.terminal.progress import LineProgress

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[4]
NODES = 3
MOST = 40
"""Parts of a run, at most."""


@pytest.fixture(scope="module")
def nodes():
    with raycluster.cluster(NODES) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def ray(nodes):
    with ray_connection(nodes.address) as ray:
        yield ray


@pytest.fixture(scope="module")
def shared(ray):
    pool = RayWorkerPool(ray, NODES)
    yield pool
    pool.close()


@pytest.fixture
def whole(nodes):
    """The cluster with all of its nodes, whatever the test before did to it."""
    while nodes.count < NODES:
        nodes.add()
    return nodes


@pytest.fixture
def pool(whole, shared):
    """A pool of three workers, which tests share as long as they live."""
    return shared


@pytest.fixture
def free(whole, shared: RayWorkerPool, ray):
    """Ray, and nobody at work."""
    shared.close()
    return ray


@pytest.fixture
def files(tmp_path):
    (tmp_path / "made").mkdir()
    return RecordingStore(tmp_path / "made")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    files = RecordingStore(tmp_path_factory.mktemp("one-machine"))
    with local_worker_pool(2) as pool:
        run(files, work_functions.double, pool, MOST)
    return outputs(files)


def run(files, work, pool, count=6, step=STEP):
    return run_step.run_step(files, step, parts(count), work, pool=pool, progress=LineProgress())


def outputs(files):
    return {name: files.read(name) for name in files.list() if not name.startswith(work_functions.NOTES)}


def of(expected, count):
    """What the first parts are."""
    names = {f"part-{number}" for number in range(count)}
    return {name: data for name, data in expected.items() if Path(name).stem in names}


def begun(files):
    """Every actor that had a part made."""
    return {int(name.removeprefix("pids/")) for name in files.list("pids/")}


def wait_until(condition, timeout=60):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.05)


def gone(pids):
    return not any(psutil.pid_exists(pid) for pid in pids)


class Happening:
    """A pool to which something happens after so many parts."""

    def __init__(self, pool, happenings):
        self.pool, self.happenings, self.count = pool, happenings, 0

    @property
    def workers(self):
        return self.pool.workers

    def submit(self, task):
        self.pool.submit(task)

    def next_outcome(self):
        self.count += 1
        if self.count in self.happenings:
            self.happenings[self.count]()
        return self.pool.next_outcome()


def test_the_outputs_are_those_of_one_machine_and_every_node_made_some(files: RecordingStore, pool, expected):
    ran = run(files, work_functions.with_two_others, pool, 12)
    assert (ran.made, ran.already, ran.quarantined, ran.deaths) == (12, 0, (), 0)
    assert outputs(files) == of(expected, 12)
    assert pool.workers == NODES
    assert len(begun(files)) == NODES
    assert run(files, work_functions.with_two_others, pool, 12).already == 12


def test_an_actor_continues_the_trace_of_the_driver(files: RecordingStore, pool, monkeypatch):
    with collecting() as collector:
        for name, value in collector.environment().items():
            monkeypatch.setenv(name, value)
        with command_telemetry("process"), identified(run="r1"):
            run(files, work_functions.double, pool, 3)
        parts = wait_until(lambda: len(collector.named("part")) == 3) or collector.named("part")
    (command,) = collector.named("thresher process")
    for part in parts:
        assert (part.trace, part.parent) == (command.trace, command.id)
        assert part.pid != os.getpid(), "the actor recorded it"
        assert part.attributes["thresher.run"] == "r1"


def test_items_that_crash_their_worker_are_left_out_and_the_actor_lives(files: RecordingStore, pool):
    ran = run(files, work_functions.segfault_at_two_items, pool)
    assert (ran.made, ran.deaths, ran.left_out, ran.quarantined) == (6, 4, 2, ())
    text = files.read("doubled/main/part-1.txt").decode()
    assert text.split("\n") == ["2", "left out", "2", "left out", "2"]


def test_a_part_that_cannot_be_made_is_put_aside(files: RecordingStore, pool):
    ran = run(files, work_functions.refuse, pool)
    assert (ran.made, [mark.reason for mark in ran.quarantined]) == (5, ["main/part-1: cannot be read"])


@pytest.mark.parametrize("work", [work_functions.kill_cell, work_functions.kill_actor])
def test_a_killed_worker_costs_its_part_one_attempt_and_no_item(files: RecordingStore, pool, expected, work):
    ran = run(files, work, pool)
    assert (ran.made, ran.deaths, ran.left_out, ran.quarantined) == (6, 1, 0, ())
    assert outputs(files) == of(expected, 6)


def test_what_a_node_sealed_elsewhere_is_an_error_and_not_a_loss(files: RecordingStore, pool, monkeypatch):
    monkeypatch.setattr(ray_pool, "VISIBILITY_TIMEOUT_S", 0.1)
    with pytest.raises(InputError, match=r"was sealed on a node and is not in file:.*share that directory"):
        run(work_functions.UnsharedStore(files.root), work_functions.double, pool)
    pool.close()


def test_a_killed_node_costs_its_parts_an_attempt_and_a_new_one_takes_its_place(
    files: RecordingStore, pool, nodes, expected
):
    def replaced():
        wait_until(lambda: pool.workers == NODES - 1)
        nodes.add()

    ran = run(files, work_functions.slow, Happening(pool, {6: nodes.kill, 16: replaced}), MOST)
    assert ran.made == MOST
    assert 1 <= ran.deaths <= 4
    assert outputs(files) == of(expected, MOST)
    assert pool.workers == NODES


def test_workers_grow_while_it_runs_when_a_node_joins(files: RecordingStore, free, nodes):
    nodes.kill()
    with closing(RayWorkerPool(free, None)) as pool:
        wait_until(lambda: pool.workers == NODES - 1)
        run(files, work_functions.with_two_others, Happening(pool, {4: nodes.add}), 24)
        assert pool.workers == NODES
        assert len(begun(files)) == NODES


def test_workers_that_nothing_waits_for_are_given_back(files: RecordingStore, pool, ray, monkeypatch):
    run(files, work_functions.double, pool)
    monkeypatch.setattr(ray_pool, "IDLE_TIMEOUT_S", 0.1)
    run(files, work_functions.long, pool, 7)
    wait_until(lambda: ray.available_resources().get("CPU", 0) >= NODES - 1)


def test_a_step_that_needs_memory_is_made_where_that_is(files: RecordingStore, pool):
    run(files, work_functions.double, pool, 3)
    assert run(files, work_functions.limit, pool, 5, replace(STEP, name="limit", memory=20 << 30)).made == 5


def test_a_cluster_without_room_ends_the_run_in_one_line(files: RecordingStore, free):
    # Ray counts ten-thousandths in 64 bits: more than 9.2e14 bytes overflow there, and would fit anywhere.
    with (
        closing(RayWorkerPool(free, NODES, patience_s=2)) as pool,
        pytest.raises(Unavailable, match=r"no room for a worker \(1 CPU and 65,536 MiB of memory"),
    ):
        run(files, work_functions.double, pool, 4, replace(STEP, memory=2 * raycluster.MEMORY))


def test_a_node_with_another_thresher_or_other_packages_is_refused_in_one_line(files: RecordingStore, free):
    here = actors.installed_build()
    for other, said in (
        (replace(here, code="0" * 64), "has another Thresher"),
        (replace(here, versions={**here.versions, "pyarrow": "0.1"}), r"has pyarrow \S+, here it is 0\.1;"),
    ):
        with closing(RayWorkerPool(free, 1)) as pool:
            pool._terms = NodeRequirements(build=other)
            with pytest.raises(InputError, match=f"the node .* {said}"):
                run(files, work_functions.double, pool)


def test_no_process_outlives_its_pool(files, pool):
    run(files, work_functions.double, pool)
    actors = begun(files)
    part_processes = {process.pid for pid in actors for process in psutil.Process(pid).children()}
    assert len(part_processes) >= len(actors)
    pool.close()
    wait_until(lambda: gone(part_processes | actors))


SCRIPT = (
    "import sys; from pathlib import Path; from tests.pipeline import work_functions; from tests.pipeline.engine.ray import test_ray_cluster as t;"
    "from thresher.pipeline.engine.ray.ray_pool import ray_worker_pool\n"
    "if __name__ == '__main__':\n"
    "  with ray_worker_pool(sys.argv[1], 3) as pool: t.run(work_functions.RecordingStore(Path(sys.argv[2])), work_functions.slow, pool, 12)"
)


def test_a_killed_driver_leaves_no_process_and_run_again_only_unsealed_parts_are_made(
    files: RecordingStore, free, nodes, expected
):
    driver = subprocess.Popen([sys.executable, "-c", SCRIPT, nodes.address, str(files.root)], cwd=ROOT)
    wait_until(lambda: any(files.list("manifests/")))
    driver.kill()
    driver.wait()
    wait_until(lambda: gone(begun(files)))
    sealed = len(list(files.list("manifests/")))
    assert 1 <= sealed < 12
    pool = RayWorkerPool(free, NODES)
    ran = run(files, work_functions.slow, pool, 12)
    pool.close()
    assert (ran.made, ran.already) == (12 - sealed, sealed)
    files.sweep()
    assert outputs(files) == of(expected, 12)


def test_a_crawl_worker_gets_signals_and_reports_how_it_ended(free, tmp_path):
    terms, ready = NodeRequirements(build=actors.installed_build()), tmp_path / "ready"
    waiting, complaining, leaving = (
        RayCrawlWorker(free, terms, work)
        for work in (
            pickle_call(work_functions.wait_for_sigterm, ready),
            pickle_call(work_functions.report_error),
            pickle_call(work_functions.exit_with_7),
        )
    )
    assert str(complaining.wait().error) == f"on the Ray node {socket.gethostname()}: the disk is full"
    assert leaving.wait().exitcode == 7
    wait_until(ready.exists)
    assert waiting.poll() is None
    waiting.signal(signal.SIGTERM)
    assert waiting.wait().exitcode == 0


def test_a_crawl_worker_without_room_ends_on_a_signal_and_reports_the_lack_in_time(free, tmp_path):
    terms = NodeRequirements(build=actors.installed_build())
    ready = [tmp_path / str(number) for number in range(NODES)]
    holding = [
        RayCrawlWorker(free, terms, pickle_call(work_functions.wait_for_sigterm, path)) for path in ready
    ]
    wait_until(lambda: all(path.exists() for path in ready))
    assert [worker.poll() for worker in holding] == [None] * NODES
    patient, impatient = (
        RayCrawlWorker(free, terms, pickle_call(work_functions.report_error), patience_s=s) for s in (60, 1)
    )
    patient.signal(signal.SIGTERM)
    assert expect(WorkerExit, patient.poll()).exitcode == 0
    assert "no room for a worker" in str(impatient.wait().error)
    for worker in holding:
        worker.signal(signal.SIGTERM)
        assert worker.wait().exitcode == 0


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"machine_id": "another"}, "is another machine, but only this machine reaches the embedded Redis"),
        ({"visible_file": Path("/nowhere/.staging/witness")}, "does not see the storage at /nowhere"),
    ],
)
def test_a_crawl_worker_begins_only_where_it_can_work(free, terms, said):
    worker = RayCrawlWorker(
        free,
        NodeRequirements(build=actors.installed_build(), **terms),
        pickle_call(work_functions.report_error),
    )
    assert said in str(worker.wait().error)


def test_a_crawl_whose_workers_are_on_nodes_survives_the_death_of_one(
    user: User, free, nodes, demo_web: RunningWeb
):
    toml = TOML.replace("min_delay = 0.0", "min_delay = 0.05")
    toml = toml.replace("[project]", f'[project]\nengine = "ray:{nodes.address}"')
    (user.directory / "thresher.toml").write_text(toml)
    (user.directory / "seeds.txt").write_text("\n".join(demo_web.seeds))
    user.run("seed", "seeds.txt", "--scope", "host")
    asked = len(demo_web.log)
    words = user.command("crawl", "--workers", "2", "--json")
    with subprocess.Popen(
        words,
        cwd=user.directory,
        env=user.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as crawl:
        assert user_waits(lambda: len(demo_web.log) - asked > 60, crawl), "it ended before it was disturbed"
        nodes.kill(actor="ray::CrawlActor")
        out, err = crawl.communicate(timeout=120)
    assert (crawl.returncode, json.loads(out)["drained"]) == (0, True)
    assert all(line.startswith("crawl: ") for line in err.splitlines())
    archived = [
        record.rec_headers.get_header("WARC-Target-URI")
        for path in (user.directory / "data" / "warc").rglob("*.warc.gz")
        for record in ArchiveIterator(path.open("rb"))
        if record.rec_type in {"response", "revisit"}
    ]
    assert demo_web.expected.pages <= set(archived)
    processed = user.run("process", "--workers", "2", "--json")
    assert processed.json["made"] == len(list((user.directory / "data" / "documents").rglob("*.parquet")))
    assert all(line.startswith("process@") for line in processed.err.splitlines())


@pytest.mark.parametrize("engine", ["rays", "ray:", "ray:host", "ray://host:10001", "local:1", ""])
def test_an_engine_that_is_none_is_refused(tmp_path, engine):
    with pytest.raises(InputError, match=r"project\.engine must be 'local', 'ray' or 'ray:HOST:PORT', not"):
        configuration.parse(f'[project]\nengine = "{engine}"', tmp_path)


def test_a_cluster_that_does_not_answer_is_one_line(tmp_path):
    opened = OpenProject(config=configuration.parse('[project]\nengine = "ray:127.0.0.1:9"', tmp_path))
    with pytest.raises(
        Unavailable, match=r"no Ray cluster responds at 127\.0\.0\.1:9 \(Connection refused\); start one"
    ):
        opened.worker_pool(1).__enter__()


def test_a_port_where_something_else_answers_is_one_line(demo_web: RunningWeb):
    where = demo_web.seeds[0].split("/")[2]
    with pytest.raises(InputError, match=f"the server at {where} is not the head"), ray_connection(where):
        pass


def test_without_the_package_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs Ray; install the extra 'ray'"), ray_connection(""):
        pass
