"""A piece that takes too long is noticed while it lasts, and one that ended never is."""

import threading
import time

from thresher.isolation.deadline import Deadline


def test_a_piece_that_takes_too_long_is_noticed_while_it_lasts():
    passed = threading.Event()
    deadline = Deadline(passed.set)
    with deadline.within(0.05):
        assert passed.wait(30)
    deadline.close()


def test_a_shorter_limit_after_a_long_one_is_kept():
    passed = threading.Event()
    deadline = Deadline(passed.set)
    with deadline.within(1000):
        pass
    with deadline.within(0.05):
        assert passed.wait(30)
    deadline.close()


def test_a_piece_that_ended_in_time_is_never_noticed():
    calls = []
    deadline = Deadline(lambda: calls.append(time.monotonic()))
    for _ in range(200):
        with deadline.within(0.2):
            pass
    time.sleep(0.5)
    deadline.close()
    assert not calls


def test_one_thread_watches_all_pieces_and_ends_with_the_deadline():
    before = threading.active_count()
    deadline = Deadline(lambda: None)
    for _ in range(5):
        with deadline.within(60):
            assert threading.active_count() == before + 1
    deadline.close()
    deadline.close()
    assert threading.active_count() == before


def test_a_thread_that_gets_its_first_turn_after_the_deadline_was_closed_ends(monkeypatch):
    turn = threading.Event()

    class LateThread(threading.Thread):
        def run(self):
            assert turn.wait(30)
            super().run()

    monkeypatch.setattr("thresher.isolation.deadline.Thread", LateThread)
    deadline = Deadline(lambda: None)
    with deadline.within(60):
        pass
    closing = threading.Thread(target=deadline.close, daemon=True)
    closing.start()
    while deadline._thread is not None:
        time.sleep(0.001)
    turn.set()
    closing.join(30)
    assert not closing.is_alive()
