"""A worker process loads models before it is confined, and is replaced when a part needs others."""

from pathlib import Path

import pytest

from tests.pipeline.engine.local import preparation_work
from thresher.isolation import probe_confinement
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.step import Part, Preparation, Step
from thresher.pipeline.engine.task import Task, TaskFailure, TaskSuccess
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input

STEP = Step(name="prepared", version=1, recipe={})


@pytest.fixture
def made():
    made = PartProcess(memory=8 << 30)
    yield made
    made.close()


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    store = DirectoryStore(tmp_path)
    for name in ("in", "one", "two"):
        store.put(name, name.encode())
    return store


def make(
    made: PartProcess, store: DirectoryStore, number: int, *names: str, work=preparation_work.write_loaded
):
    """Return the outcome, and the words that the work wrote."""
    output = f"out/{number}"
    part = Part(
        name=f"s/{number}",
        inputs=(Input(name="in", sha256="0" * 64),),
        preparation=Preparation(preparation_work.load, names) if names else None,
        writes=(output,),
    )
    outcome = made.make(Task(store=store, step=STEP, part=part, work=work).assignment())
    return outcome, store.read(output).decode().split() if isinstance(outcome, TaskSuccess) else []


def test_what_is_loaded_before_the_walls_close_stays_loaded(made: PartProcess, store: DirectoryStore):
    _, (first, process) = make(made, store, 0, "one")
    _, (again, same) = make(made, store, 1, "one")
    assert first == again == "one"
    assert process == same


def test_a_part_that_needs_another_model_gets_another_process(made: PartProcess, store: DirectoryStore):
    _, (_, process) = make(made, store, 0, "one")
    _, (found, other) = make(made, store, 1, "two")
    assert found == "two"
    assert process != other


def test_a_part_that_needs_none_takes_the_process_as_it_is(made: PartProcess, store: DirectoryStore):
    _, (_, process) = make(made, store, 0, "one")
    _, (_, same) = make(made, store, 1)
    assert process == same


def test_a_model_that_cannot_be_loaded_fails_its_part_and_no_other(made: PartProcess, store: DirectoryStore):
    outcome, _ = make(made, store, 0, "bad")
    assert isinstance(outcome, TaskFailure)
    assert "the model is bad" in str(outcome.error)
    assert make(made, store, 1, "one")[1][0] == "one"


def test_a_confined_process_loads_nothing(made: PartProcess, store: DirectoryStore):
    if lacks := probe_confinement().lacks:
        pytest.skip(f"walls are missing here: {lacks}")
    outcome, _ = make(made, store, 0, work=preparation_work.load_when_confined)
    assert isinstance(outcome, TaskFailure)
    assert "PermissionError" in str(outcome.error)
