"""A cell: what is known of a process that is no more."""

import dataclasses
import os
import signal
import threading

import pytest

from core import ThresherError
from pipeline import cell
from pipeline.cell import Cell
from pipeline.work import Died, Sealed, Task
from storage.files import Files
from tests.pipeline import labour

MEMORY = 8 << 30


def task(tmp_path):
    return Task(store=Files(tmp_path), step=labour.STEP, part=labour.parts(1)[0], work=labour.double)


def test_a_process_killed_before_it_began_died_by_somebody_elses_doing(tmp_path, monkeypatch):
    monkeypatch.setattr(cell, "_serve", labour.serve_never)
    made, ended = Cell(memory=MEMORY), []
    thread = threading.Thread(target=lambda: ended.append(made.make(task(tmp_path))))
    thread.start()
    while made.pid is None:
        pass
    os.kill(made.pid, signal.SIGKILL)
    thread.join()
    assert ended == [Died(exitcode=-signal.SIGKILL, item=None)]


def test_a_process_that_cannot_begin_is_an_error_for_so_will_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(cell, "_serve", labour.serve_badly)
    with pytest.raises(ThresherError, match=r"ended before it could begin \(exit code 7\)"):
        Cell(memory=MEMORY).make(task(tmp_path))


def test_an_item_that_does_not_end_is_a_crash_and_is_left_out_the_next_time(tmp_path):
    made = Cell(memory=MEMORY, item_cpu_s=1)
    endless = dataclasses.replace(task(tmp_path), work=labour.never_end)
    assert made.make(endless) == Died(exitcode=-signal.SIGXCPU, item=2)
    assert isinstance(made.make(dataclasses.replace(endless, crashed=frozenset({2}))), Sealed)
    made.close()


def test_many_items_may_take_longer_than_one(tmp_path):
    made = Cell(memory=MEMORY, item_cpu_s=1)
    assert isinstance(made.make(dataclasses.replace(task(tmp_path), work=labour.steady)), Sealed)
    made.close()
