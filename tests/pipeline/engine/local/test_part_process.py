"""A worker process reports how it ended, and one that does not end is killed."""

import os
import signal
import threading

import pytest

from tests.pipeline import work_functions
from thresher.core import ThresherError
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local import part_process
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.local.part_server import MAX_LOG_LINES
from thresher.pipeline.engine.messages import MAX_LINE_CHARACTERS
from thresher.pipeline.engine.task import Task, TaskSuccess, WorkerDeath

MEMORY = 8 << 30


@pytest.fixture
def made():
    made = PartProcess(memory=MEMORY, item_cpu_s=1)
    yield made
    made.close()


def task(tmp_path, work=work_functions.double, **changes):
    store, part = work_functions.RecordingStore(tmp_path), work_functions.parts(1)[0]
    return Task(store=store, step=work_functions.STEP, part=part, work=work, **changes).assignment()


def test_a_process_killed_before_it_began_died_by_somebody_elses_doing(
    tmp_path, monkeypatch, made: PartProcess
):
    monkeypatch.setattr(part_process, "_run_parts", work_functions.serve_never)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(made.make(task(tmp_path))))
    thread.start()
    while made.pid is None:
        pass
    os.kill(made.pid, signal.SIGKILL)
    thread.join()
    assert ended == [WorkerDeath(exitcode=-signal.SIGKILL, item=None)]


def test_a_process_that_cannot_begin_is_an_error_for_so_will_the_next(
    tmp_path, monkeypatch, made: PartProcess
):
    monkeypatch.setattr(part_process, "_run_parts", work_functions.serve_badly)
    with pytest.raises(ThresherError, match=r"ended before it could start \(exit code 7\)"):
        made.make(task(tmp_path))


def test_an_item_that_does_not_end_is_a_crash_and_is_left_out_the_next_time(tmp_path, made: PartProcess):
    assert made.make(task(tmp_path, work_functions.never_end)) == WorkerDeath(
        exitcode=-signal.SIGXCPU, item=2
    )
    assert {-signal.SIGXCPU} <= run_step.ITEM_CRASH_EXIT_CODES
    assert isinstance(
        made.make(task(tmp_path, work_functions.never_end, crashing_items=frozenset({2}))), TaskSuccess
    )


@pytest.mark.slow
def test_many_items_may_take_longer_than_one(tmp_path, made: PartProcess):
    assert isinstance(made.make(task(tmp_path, work_functions.steady)), TaskSuccess)


def test_a_process_that_does_nothing_and_waits_for_nothing_is_ended_and_its_item_is_not_blamed(
    tmp_path, made: PartProcess, monkeypatch
):
    monkeypatch.setattr(part_process, "MAX_STALL_S", 1)
    assert made.make(task(tmp_path, work_functions.never_move)) == WorkerDeath(
        exitcode=-signal.SIGKILL, item=2
    )
    assert -signal.SIGKILL not in run_step.ITEM_CRASH_EXIT_CODES


@pytest.mark.parametrize("work", [work_functions.never_finish, work_functions.never_read])
def test_a_process_that_says_half_a_message_or_reads_no_answer_is_ended(
    tmp_path, made: PartProcess, monkeypatch, work
):
    monkeypatch.setattr(part_process, "MAX_STALL_S", 3)
    assert made.make(task(tmp_path, work)) == WorkerDeath(exitcode=-signal.SIGKILL, item=2)


def test_warnings_of_a_process_are_in_the_log_of_the_command(tmp_path, made: PartProcess, caplog):
    assert isinstance(made.make(task(tmp_path, work_functions.warn)), TaskSuccess)
    assert caplog.messages == ["in/0, record at byte 7: of \ufffd[31mPOISON"]


def test_a_process_that_warns_without_end_is_heard_for_a_while(tmp_path, made: PartProcess, caplog):
    assert isinstance(made.make(task(tmp_path, work_functions.flood)), TaskSuccess)
    assert len(caplog.messages) == MAX_LOG_LINES + 1
    assert max(map(len, caplog.messages)) <= MAX_LINE_CHARACTERS
    assert caplog.messages[-1] == "main/part-0: its worker logs more than 100 lines; the others are left out"
