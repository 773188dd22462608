"""A cell: what is known of a process that is no more, and what ends one that does not end."""

import os
import signal
import threading

import pytest

from core import ThresherError
from pipeline import cell, engine
from pipeline.cell import Cell
from pipeline.partserver import MOST_LINES
from pipeline.protocol import LONGEST_LINE
from pipeline.work import Died, Sealed, Task
from tests.pipeline import labour

MEMORY = 8 << 30


@pytest.fixture
def made():
    made = Cell(memory=MEMORY, item_cpu_s=1)
    yield made
    made.close()


def task(tmp_path, work=labour.double, **changes):
    store, part = labour.Noting(tmp_path), labour.parts(1)[0]
    return Task(store=store, step=labour.STEP, part=part, work=work, **changes).assignment()


def test_a_process_killed_before_it_began_died_by_somebody_elses_doing(tmp_path, monkeypatch, made):
    monkeypatch.setattr(cell, "_serve", labour.serve_never)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(made.make(task(tmp_path))))
    thread.start()
    while made.pid is None:
        pass
    os.kill(made.pid, signal.SIGKILL)
    thread.join()
    assert ended == [Died(exitcode=-signal.SIGKILL, item=None)]


def test_a_process_that_cannot_begin_is_an_error_for_so_will_the_next(tmp_path, monkeypatch, made):
    monkeypatch.setattr(cell, "_serve", labour.serve_badly)
    with pytest.raises(ThresherError, match=r"ended before it could begin \(exit code 7\)"):
        made.make(task(tmp_path))


def test_an_item_that_does_not_end_is_a_crash_and_is_left_out_the_next_time(tmp_path, made):
    assert made.make(task(tmp_path, labour.never_end)) == Died(exitcode=-signal.SIGXCPU, item=2)
    assert {-signal.SIGXCPU} <= engine.OWN_DOING
    assert isinstance(made.make(task(tmp_path, labour.never_end, crashed=frozenset({2}))), Sealed)


def test_many_items_may_take_longer_than_one(tmp_path, made):
    assert isinstance(made.make(task(tmp_path, labour.steady)), Sealed)


def test_a_process_that_does_nothing_and_waits_for_nothing_is_ended(tmp_path, made, monkeypatch):
    monkeypatch.setattr(cell, "STILL_S", 1)
    assert made.make(task(tmp_path, labour.never_move)) == Died(exitcode=-signal.SIGKILL, item=2)


@pytest.mark.parametrize("work", [labour.never_finish, labour.never_read])
def test_a_process_that_says_half_a_message_or_reads_no_answer_is_ended(tmp_path, made, monkeypatch, work):
    monkeypatch.setattr(cell, "STILL_S", 3)
    assert made.make(task(tmp_path, work)) == Died(exitcode=-signal.SIGKILL, item=2)


def test_warnings_of_a_process_are_in_the_log_of_the_command(tmp_path, made, caplog):
    assert isinstance(made.make(task(tmp_path, labour.warn)), Sealed)
    assert caplog.messages == ["in/0, record at byte 7: of \ufffd[31mPOISON"]


def test_a_process_that_warns_without_end_is_heard_for_a_while(tmp_path, made, caplog):
    assert isinstance(made.make(task(tmp_path, labour.flood)), Sealed)
    assert len(caplog.messages) == MOST_LINES + 1
    assert max(map(len, caplog.messages)) <= LONGEST_LINE
    assert caplog.messages[-1] == "main/part-0: its worker says more than 100 lines; the rest is left out"
