"""A failure on a node of a Ray cluster is attributed to the node, the part or the user; tested without Ray."""

import hashlib
import pickle
import socket
from pathlib import Path

import pytest

from tests.expect import expect
from tests.pipeline import work_functions
from thresher.core import CorruptData, InputError, Unavailable
from thresher.pipeline.engine.local.crawl_worker import pickle_call
from thresher.pipeline.engine.ray import actors
from thresher.pipeline.engine.ray.actors import CrawlActor, NodeRequirements, PartActor
from thresher.pipeline.engine.task import Task, TaskFailure

HERE = f"on the Ray node {socket.gethostname()}: "


@pytest.fixture(autouse=True)
def no_ray(monkeypatch):
    monkeypatch.setattr(actors, "_memory_per_cpu", lambda: 1 << 30)


def test_what_a_crawl_worker_lacks_is_said_to_be_the_nodes():
    left = CrawlActor().run(
        NodeRequirements(build=actors.installed_build()), pickle_call(work_functions.want_chromium)
    )
    assert type(left.error) is InputError
    assert str(left.error) == f"{HERE}crawler.render needs Chromium and none is found"


@pytest.mark.parametrize(
    ("work", "kind", "said"),
    [
        (work_functions.no_storage, Unavailable, f"{HERE}the storage does not answer"),
        (work_functions.refuse, CorruptData, "main/part-1: cannot be read"),
    ],
)
def test_what_a_part_lacks_is_the_nodes_and_damage_is_everybodys(tmp_path, work, kind, said):
    actor = PartActor(1 << 30)
    task = Task(
        store=work_functions.RecordingStore(tmp_path),
        step=work_functions.STEP,
        part=work_functions.parts(2)[1],
        work=work,
    )
    ended = expect(TaskFailure, actor.make(pickle.dumps(task.assignment())))
    actor._process.close()
    assert type(ended.error) is kind
    assert str(ended.error) == said


def test_a_build_covers_the_sources_of_every_package():
    assert actors.installed_build().code != hashlib.sha256().hexdigest()
    root = Path(actors.__file__).resolve().parents[3]
    assert all((root / package / "__init__.py").exists() for package in actors.PACKAGES)
