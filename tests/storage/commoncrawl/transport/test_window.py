"""The window of concurrent requests grows by one for each good round, and is halved for each round that was too much."""

from hypothesis import given
from hypothesis import strategies as st

from thresher.storage.commoncrawl.transport.window import Window, grow, halve


def test_a_window_of_answers_makes_it_one_wider():
    window = Window(width=4.0)
    for _ in range(4):
        window = grow(window)
    assert 4.9 < window.width <= 5.0


def test_it_is_halved_once_for_all_that_were_out_together():
    window = Window(width=16.0)
    for sent in (5, 6, 7):
        window = halve(window, sent_ms=sent, now_ms=10)
    assert window.width == 8.0
    assert halve(window, sent_ms=11, now_ms=20).width == 4.0


def test_the_time_that_a_server_names_is_for_all():
    window = halve(Window(), sent_ms=0, now_ms=100, rest_ms=5_000)
    assert window.rest_until_ms == 5_100
    assert halve(window, sent_ms=0, now_ms=200, rest_ms=1_000).rest_until_ms == 5_100


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1000), st.integers(0, 1000))))
def test_it_never_closes_and_never_exceeds_its_bound(events):
    window, now = Window(), 0
    for answers, later, age in events:
        now += later
        window = grow(window) if answers else halve(window, sent_ms=now - age, now_ms=now)
        assert window.min_width <= window.width <= window.max_width
        assert window.admits(0)
        assert not window.admits(int(window.max_width))
