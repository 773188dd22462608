"""A step with the user's own code runs outside the walls; the next step of the same worker runs within them."""

from dataclasses import replace

import pytest

from tests.pipeline import work_functions
from thresher.core import InputError, ThresherError
from thresher.isolation import probe_confinement
from thresher.pipeline.engine.local.gpu_set import GpuSet
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.task import Task, TaskFailure, TaskSuccess

OWN = replace(work_functions.STEP, is_confined=False, gpus=1)


@pytest.fixture
def made():
    made = PartProcess(memory=8 << 30, gpu_set=GpuSet(worker=1))
    yield made
    made.close()


def task(tmp_path, step, work, name="own"):
    (part, *_) = work_functions.parts(1)
    part = replace(part, name=name, writes=(f"made/{name}.txt",), parameters=str(tmp_path / "file.txt"))
    return Task(store=work_functions.RecordingStore(tmp_path), step=step, part=part, work=work).assignment()


def test_own_code_may_do_what_the_user_may_and_pages_may_not(tmp_path, made: PartProcess, monkeypatch, capfd):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert isinstance(made.make(task(tmp_path, OWN, work_functions.use_own_rights)), TaskSuccess)
    assert (tmp_path / "file.txt").read_text() == "written"
    assert (tmp_path / "made" / "own.txt").read_text() == "5"
    failed = made.make(task(tmp_path, OWN, work_functions.find_nothing, "second"))
    assert isinstance(failed, TaskFailure)
    assert isinstance(failed.error, InputError)
    own = made.pid
    confined = replace(OWN, is_confined=True, gpus=0)
    failed = made.make(task(tmp_path, confined, work_functions.use_own_rights, "third"))
    assert capfd.readouterr() == ("", "printed\n")
    assert made.pid != own
    if not probe_confinement().lacks:
        assert isinstance(failed, TaskFailure)
        assert type(failed.error) is ThresherError
