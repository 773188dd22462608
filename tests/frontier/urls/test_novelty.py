"""Credit grows where pages say new things and is spent where they do not."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.frontier.urls.novelty import (
    DOMAIN,
    HOST,
    RECOVERY_CREDIT,
    RING,
    STARVED,
    TEMPLATE,
    TRICKLE,
    WIDTH,
    is_let_through,
    starved_level,
    update_ring,
    update_standing,
    update_standings,
)

LEVELS = pytest.mark.parametrize("level", [TEMPLATE, HOST, DOMAIN])


def walk(level, pages, *, standing=None):
    standing = level.initial if standing is None else standing
    for new in pages:
        standing = update_standing(level, standing, new=new)
    return standing


@given(st.lists(st.integers(0, 300), max_size=600))
def test_the_ring_knows_the_last_texts_that_were_heard(sketches):
    ring, model = b"", deque(maxlen=RING)
    for sketch in sketches:
        ring, new = update_ring(ring, sketch)
        assert new == (sketch not in model)
        if not new:
            model.remove(sketch)
        model.append(sketch)
        assert len(ring) == len(model) * WIDTH <= 240


def test_a_text_that_is_heard_now_and_then_is_not_forgotten():
    ring, _ = update_ring(b"", 7)
    for sketch in range(1_000, 3_000):
        ring, _ = update_ring(ring, sketch)
        if sketch % (RING - 1) == 0:
            ring, new = update_ring(ring, 7)
            assert not new


def test_bytes_of_two_neighbours_are_no_sketch():
    ring, _ = update_ring(b"", 0x0102)
    ring, _ = update_ring(ring, 0x0304)
    ring, new = update_ring(ring, 0x0203)
    assert new


@LEVELS
def test_one_text_for_ever_starves_within_some_hundred_pages(level):
    assert walk(level, [True] + [False] * 105) & STARVED
    assert not walk(level, [True] + [False] * 60) & STARVED


@LEVELS
def test_after_any_honest_past_one_text_for_ever_starves_within_130_pages(level):
    assert walk(level, [True] * 1_000 + [False] * 127) & STARVED


@LEVELS
def test_one_new_page_in_ten_is_enough_for_ever(level):
    assert not walk(level, ([True] + [False] * 9) * 1_000) & STARVED
    assert walk(level, ([True] + [False] * 15) * 1_000) & STARVED


@LEVELS
def test_two_new_pages_in_close_succession_end_starvation(level):
    starved = walk(level, [False] * 200)
    assert starved == STARVED
    assert walk(level, [True] + [False] * 3, standing=starved) & STARVED
    assert walk(level, [True, True], standing=starved) == 18 >= RECOVERY_CREDIT


@LEVELS
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=400))
def test_a_standing_is_one_byte(level, pages):
    standing = level.initial
    for new, counts in pages:
        standing = update_standing(level, standing, new=new, counts=counts)
        assert 0 <= standing < 256
        assert standing & ~STARVED <= level.maximum


def dead_ends(template):
    standings = (template, HOST.initial, DOMAIN.initial)
    for _ in range(1_000):
        standings = update_standings(*standings, new=False, leads_on=False)
    return standings


def test_what_does_not_lead_on_costs_its_template_nothing_but_its_host_and_domain():
    assert dead_ends(TEMPLATE.initial) == (TEMPLATE.initial, STARVED, STARVED)


def test_what_does_not_lead_on_costs_nobody_anything_where_its_template_has_proven_itself():
    assert dead_ends(TEMPLATE.proven) == (TEMPLATE.proven, HOST.initial, DOMAIN.initial)


def test_what_is_honest_beside_a_trap_goes_on():
    starved, fresh = STARVED, 40
    assert starved_level(fresh, fresh, fresh) is None
    assert starved_level(starved, HOST.maximum, DOMAIN.maximum) == "template"
    assert starved_level(fresh, starved, DOMAIN.maximum) == "host"
    assert starved_level(TEMPLATE.proven, starved, starved) is None
    assert starved_level(fresh, fresh, starved) == "domain"
    assert starved_level(fresh, HOST.proven, starved) is None


def test_one_url_in_64_trickles():
    assert sum(is_let_through(number) for number in range(TRICKLE * 100)) == 100
