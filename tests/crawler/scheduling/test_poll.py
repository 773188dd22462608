"""When the frontier is asked: at the time that it named, after what happened here, and once a second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.scheduling.scheduler import MAX_INTERVAL_S, MIN_INTERVAL_S, LeasePoll

NOW = 1_000.0


@pytest.mark.parametrize(
    ("soonest_ms", "granted", "wait_s"),
    [
        (20, 1, 0.02),
        (200, 0, 0.2),
        (1, 1, MIN_INTERVAL_S),
        (0, 3, MIN_INTERVAL_S),
        (90_000, 1, MAX_INTERVAL_S),
        (None, 1, MAX_INTERVAL_S),
    ],
)
def test_it_is_asked_at_the_time_that_it_named_and_once_a_second(soonest_ms, granted, wait_s):
    poll = LeasePoll()
    assert poll.wait_s(NOW) == 0
    poll.record_grant(NOW, granted=granted, soonest_ms=soonest_ms)
    assert poll.wait_s(NOW) == pytest.approx(wait_s)
    assert poll.wait_s(NOW + wait_s + 0.001) == 0


def test_the_end_of_an_exchange_may_bring_the_time_forward_and_never_puts_it_off():
    poll = LeasePoll()
    poll.record_grant(NOW, granted=1, soonest_ms=500)
    poll.record_soonest(NOW, 900)
    assert poll.wait_s(NOW) == pytest.approx(0.5)
    poll.record_soonest(NOW, 20)
    assert poll.wait_s(NOW) == pytest.approx(0.02)
    poll.record_soonest(NOW, None)
    assert poll.wait_s(NOW) == pytest.approx(0.02)


def test_what_changes_here_is_asked_about_at_once():
    poll = LeasePoll()
    poll.record_grant(NOW, granted=0, soonest_ms=None)
    poll.poll_now()
    assert poll.wait_s(NOW) == 0


def test_who_comes_second_each_time_asks_less_and_less_until_it_is_first():
    poll, waits = LeasePoll(), []
    for _ in range(12):
        poll.record_grant(NOW, granted=0, soonest_ms=20)
        waits.append(poll.wait_s(NOW))
    assert waits[0] == pytest.approx(0.02)
    assert waits == sorted(waits)
    assert waits[-1] == MAX_INTERVAL_S
    poll.record_grant(NOW, granted=1, soonest_ms=20)
    assert poll.wait_s(NOW) == pytest.approx(0.02)


def test_who_asks_because_something_has_changed_here_is_not_slowed_down_by_that():
    poll = LeasePoll()
    for _ in range(50):
        poll.poll_now()
        poll.record_grant(NOW, granted=0, soonest_ms=20)
    assert poll.wait_s(NOW) == pytest.approx(0.02)


answers = st.tuples(st.integers(0, 3), st.none() | st.integers(0, 10_000))


@given(answers=st.lists(answers, min_size=1, max_size=100))
def test_whatever_is_answered_it_is_asked_again_within_a_second_and_never_without_a_pause(answers):
    poll, now = LeasePoll(), NOW
    for granted, soonest_ms in answers:
        poll.record_grant(now, granted=granted, soonest_ms=soonest_ms)
        assert poll.wait_s(now) + 1e-9 >= MIN_INTERVAL_S
        assert poll.wait_s(now) <= MAX_INTERVAL_S + 1e-9
        now += poll.wait_s(now)
