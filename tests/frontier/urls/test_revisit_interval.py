"""When a page is visited again."""

from hypothesis import given
from hypothesis import strategies as st

from thresher.frontier.urls.revisit_interval import MAX_INTERVAL_S, MIN_INTERVAL_S, next_interval_s

INTERVALS = st.integers(MIN_INTERVAL_S, MAX_INTERVAL_S)


@given(INTERVALS)
def test_a_page_that_changed_is_visited_sooner_and_one_that_did_not_later(interval):
    assert next_interval_s(interval, changed=True) <= interval <= next_interval_s(interval, changed=False)


@given(st.integers(1, 10 * MAX_INTERVAL_S), st.booleans())
def test_no_interval_is_shorter_than_an_hour_or_longer_than_a_year(interval, changed):
    assert MIN_INTERVAL_S <= next_interval_s(interval, changed=changed) <= MAX_INTERVAL_S


def test_a_page_that_changes_at_every_other_visit_is_visited_a_little_less_often():
    interval = day = 86_400
    for visit in range(20):
        interval = next_interval_s(interval, changed=visit % 2 == 0)
    assert day < interval < 4 * day  # (0.8 * 1.4) ** 10 is 3.1


def test_never_stays_never():
    assert next_interval_s(0, changed=True) == 0
