"""What a controller decides: as many members as wanted, within limits, without flapping, exports before all others."""

from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.frontier import FleetState, Member, Wanted
from thresher.frontier.fleet_state import KINDS, MemberEnd
from thresher.pipeline.fleet.fleet_plan import (
    CONCURRENCY,
    CRASHES_FORGOTTEN_S,
    GROW_AFTER_S,
    MAX_STARTS,
    MAX_WAIT_S,
    Memory,
    Observed,
    Rules,
    plan,
)
from thresher.pipeline.fleet_settings import Limits

RULES = Rules(
    limits={"crawler": Limits(least=1, most=6), "processor": Limits(least=0, most=3)}, release_after_s=30
)
FIXED = Rules()


def fleet(crawlers=2, processors=1, exporters=0, members=(), *, is_paused=False, is_stopping=False, ended=()):
    wanted = Wanted(
        crawlers=crawlers,
        processors=processors,
        exporters=exporters,
        is_paused=is_paused,
        is_stopping=is_stopping,
        version="v1",
    )
    return FleetState(
        controller="c", controller_seen_at_ms=1, wanted=wanted, members=tuple(members), ended=tuple(ended)
    )


def member(name, kind="crawler", **fields):
    return Member(
        **{
            "name": name,
            "kind": kind,
            "node": "n",
            "state": "running",
            "started_at_ms": 1,
            "seen_at_ms": 1,
            "restarts": 0,
            "cpu_seconds": 0.0,
            "rss_bytes": 0,
            "version": "v1",
            **fields,
        }
    )


def members(**numbers):
    return [member(f"{kind}{i}", kind, started_at_ms=i) for kind, n in numbers.items() for i in range(n)]


def decide(state, rules=FIXED, memory=None, **fields):
    return plan(rules, Observed(now_s=fields.pop("now_s", 100.0), state=state, **fields), memory or Memory())


def kinds(starts):
    return sorted(each.kind for each in starts)


class World:
    """A fleet whose members do at once what the plan says."""

    def __init__(self, rules, state):
        self.rules, self.state, self.memory = rules, state, Memory()
        self.now_s, self.names = 0.0, count()
        self.changes = []

    def step(self, **load):
        decided = plan(self.rules, Observed(now_s=self.now_s, state=self.state, **load), self.memory)
        self.memory = decided.memory
        wanted = replace(self.state.wanted, **{f"{kind}s": n for kind, n in decided.numbers.items()})
        self.changes += [
            (self.now_s, kind, n - self.state.wanted.number(kind)) for kind, n in decided.numbers.items()
        ]
        stay = [each for each in self.state.members if each.name not in decided.drains]
        new = [member(f"m{next(self.names)}", each.kind, restarts=each.restarts) for each in decided.starts]
        self.state = replace(self.state, wanted=wanted, members=(*stay, *new), ended=())
        self.now_s += 1
        return decided


LOADS = st.fixed_dictionaries(
    {
        "ready_hosts": st.integers(0, 300),
        "leased": st.integers(0, 400),
        "backlog": st.integers(0, 1_000),
        "is_gate_open": st.booleans(),
        "is_drained": st.booleans(),
    }
)


def test_a_crawlers_worth_of_leases_is_what_a_crawler_holds():
    assert SchedulingSettings().concurrency == CONCURRENCY


def test_missing_members_are_started_and_surplus_ones_drained_the_youngest_first():
    assert kinds(decide(fleet()).starts) == ["crawler", "crawler", "processor"]
    assert decide(fleet(members=members(crawler=2, processor=1))).starts == ()
    assert decide(fleet(crawlers=1, members=members(crawler=3, processor=1))).drains == (
        "crawler2",
        "crawler1",
    )


def test_a_mistyped_number_can_be_corrected_before_all_have_started():
    world = World(FIXED, fleet(crawlers=100_000, processors=0))
    for _ in range(3):
        assert len(world.step().starts) == MAX_STARTS
    world.state = replace(world.state, wanted=replace(world.state.wanted, crawlers=2))
    decided = world.step()
    assert (decided.starts, len(decided.drains)) == ((), 3 * MAX_STARTS - 2)


def test_a_member_that_waits_for_room_is_the_first_to_go():
    waiting = member("w", node="", state="starting", started_at_ms=0)
    assert decide(fleet(crawlers=2, members=[*members(crawler=2, processor=1), waiting])).drains == ("w",)


def test_a_member_that_drains_is_neither_counted_nor_drained_again():
    draining = member("d", state="draining", is_drain_ordered=True)
    decided = decide(fleet(crawlers=1, members=[draining, *members(processor=1)]))
    assert (kinds(decided.starts), decided.drains) == (["crawler"], ())


@given(
    st.lists(st.tuples(LOADS, st.integers(1, 40)), min_size=1, max_size=6),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_numbers_never_leave_their_limits(loads, crawlers, processors):
    world = World(RULES, fleet(crawlers, processors))
    for load, seconds in loads:
        for _ in range(seconds):
            world.step(backlog_limit=1_000, **load)
            for kind, limits in RULES.limits.items():
                assert limits.least <= world.state.wanted.number(kind) <= limits.most
                assert len([each for each in world.state.members if each.kind == kind]) <= limits.most


@settings(deadline=None)
@given(LOADS, st.integers(1, 6), st.integers(0, 3))
def test_under_a_constant_load_a_number_moves_in_one_direction_and_comes_to_rest(load, crawlers, processors):
    world = World(RULES, fleet(crawlers, processors))
    for _ in range(400):
        world.step(backlog_limit=1_000, **load)
    for kind in KINDS:
        assert len({by > 0 for _, of, by in world.changes if of == kind}) <= 1
    assert all(at < 300 for at, _, _ in world.changes)


@given(st.lists(LOADS, min_size=2, max_size=120))
def test_between_two_changes_of_a_number_its_condition_has_held_for_the_whole_time(loads):
    world = World(RULES, fleet(3, 1))
    for load in loads:
        world.step(backlog_limit=1_000, **load)
    for kind in RULES.limits:
        times = [at for at, of, _ in world.changes if of == kind]
        assert all(after - before >= GROW_AFTER_S for before, after in pairwise(times))


@given(LOADS, st.integers(1, 6), st.integers(0, 3))
def test_a_paused_fleet_keeps_its_members_and_its_numbers(load, crawlers, processors):
    world = World(
        RULES,
        fleet(crawlers, processors, members=members(crawler=crawlers, processor=processors), is_paused=True),
    )
    load = {**load, "is_drained": False}
    for _ in range(100):
        decided = world.step(backlog_limit=1_000, **load)
        assert (decided.starts, decided.drains, decided.numbers) == ((), (), {})


def test_without_limits_a_number_is_what_the_operator_said():
    world = World(FIXED, fleet(1, 1))
    for _ in range(100):
        world.step(ready_hosts=500, backlog=1_000, backlog_limit=1_000)
    assert (world.changes, len(world.state.members)) == ([], 2)


def test_crawlers_grow_while_hosts_are_ready_and_the_gate_is_open():
    world = World(RULES, fleet(1, 0))
    for _ in range(100):
        world.step(ready_hosts=500, leased=64, is_gate_open=False)
    assert world.state.wanted.crawlers == 1
    for _ in range(100):
        world.step(ready_hosts=500, leased=64)
    assert world.state.wanted.crawlers == 6


def test_idle_crawlers_are_released_below_the_bound_and_one_does_what_is_left():
    world = World(RULES, fleet(6, 0))
    for _ in range(400):
        world.step(ready_hosts=0, leased=40)
    assert world.state.wanted.crawlers == 2  # one would be at 40 of 64, which is above the bound
    for _ in range(400):
        world.step(ready_hosts=0, leased=0)
    assert world.state.wanted.crawlers == 1


def test_processors_grow_with_the_backlog_and_go_when_there_is_none():
    world = World(RULES, fleet(1, 0))
    for _ in range(60):
        world.step(backlog=600, backlog_limit=1_000)
    assert world.state.wanted.processors == 3
    for _ in range(200):
        world.step(backlog=0, backlog_limit=1_000)
    assert world.state.wanted.processors == 0


def test_a_drained_crawl_needs_no_crawler_and_keeps_its_number():
    decided = decide(fleet(members=members(crawler=2, processor=1)), rules=RULES, is_drained=True)
    assert set(decided.drains) == {"crawler0", "crawler1"}
    assert (decided.numbers, decided.note) == ({}, "the frontier is drained, so no crawler is needed")


def test_a_stopping_fleet_drains_all_but_a_running_export():
    running = [*members(crawler=2, processor=1), member("e", "exporter")]
    decided = decide(fleet(exporters=1, members=running, is_stopping=True))
    assert (set(decided.drains), decided.starts) == ({"crawler0", "crawler1", "processor0"}, ())
    waiting = member("w", "exporter", node="", state="starting")
    assert decide(fleet(exporters=1, members=[waiting], is_stopping=True)).drains == ("w",)


@given(LOADS, st.integers(0, 8), st.integers(0, 8), st.integers(0, 3), st.integers(1, 8), st.booleans())
def test_an_export_that_runs_is_never_drained(load, crawlers, processors, wanted, capacity, is_stopping):
    running = [*members(crawler=3, processor=2), member("e1", "exporter"), member("e2", "exporter")]
    state = fleet(crawlers, processors, wanted, running, is_stopping=is_stopping)
    decided = decide(state, replace(RULES, capacity=capacity), backlog_limit=1_000, **load)
    assert not {"e1", "e2"} & set(decided.drains)


def test_crawlers_and_processors_give_way_to_an_export_and_come_back():
    rules = replace(FIXED, capacity=4)
    busy = members(crawler=3, processor=1)
    decided = decide(fleet(3, 1, exporters=1, members=busy), rules)
    assert (kinds(decided.starts), decided.drains) == (["exporter"], ("crawler2",))
    assert decided.note == "crawlers and processors make room for an export"
    during = [*members(crawler=2, processor=1), member("e", "exporter")]
    decided = decide(fleet(3, 1, exporters=1, members=during), rules)
    assert (decided.starts, decided.drains) == ((), ())
    decided = decide(fleet(3, 1, exporters=0, members=members(crawler=2, processor=1)), rules)
    assert kinds(decided.starts) == ["crawler"]


def test_an_export_that_waits_takes_the_place_of_a_running_member():
    waiting = member("e", "exporter", node="", state="starting")
    state = fleet(2, 1, exporters=1, members=[*members(crawler=2, processor=1), waiting])
    assert decide(state, replace(FIXED, capacity=100)).drains == ("crawler1",)


def crashed(name, restarts=0, kind="crawler"):
    return MemberEnd(name=name, kind=kind, restarts=restarts, has_crashed=True, reason="exit code 1")


def test_crashed_members_are_replaced_after_waits_that_grow_and_the_reason_is_shown():
    memory, waits, now_s = Memory(), [], 100.0
    for number in range(12):
        state = fleet(1, 0, ended=[crashed(f"m{number}", number)])
        decided = decide(state, memory=memory, now_s=now_s)
        begun = now_s
        while not decided.starts:
            assert f"{number + 1} crawler" in decided.note
            assert "exit code 1" in decided.note
            now_s += 0.5
            decided = decide(state, memory=decided.memory, now_s=now_s)
        assert [each.restarts for each in decided.starts] == [number + 1]
        waits.append(now_s - begun)
        memory = decided.memory
    assert waits == [min(2.0**n, MAX_WAIT_S) for n in range(12)]
    calm = decide(
        fleet(1, 0, members=members(crawler=1)),
        memory=memory,
        now_s=now_s + CRASHES_FORGOTTEN_S + MAX_WAIT_S,
    )
    assert calm.memory.crashes["crawler"].number == 0


def test_a_lost_member_is_replaced_at_once_and_once():
    lost = member("l", state="lost", restarts=4)
    first = decide(fleet(1, 0, members=[lost]))
    assert [each.restarts for each in first.starts] == [5]
    again = decide(fleet(1, 0, members=[lost, member("new", restarts=5)]), memory=first.memory)
    assert (again.starts, again.drains) == ((), ())


def test_a_member_that_dies_before_its_first_heartbeat_has_crashed():
    never_seen = member("l", node="", state="lost", restarts=4)
    first = decide(fleet(1, 0, members=[never_seen]), now_s=100.0)
    assert first.starts == ()
    assert "1 crawler crashed in a row (died before its first heartbeat)" in first.note
    again = decide(fleet(1, 0, members=[never_seen]), memory=first.memory, now_s=102.0)
    assert [each.restarts for each in again.starts] == [5]


def test_while_members_crash_they_start_one_at_a_time():
    memory = decide(fleet(4, 0, ended=[crashed("m")])).memory
    assert len(decide(fleet(4, 0), memory=memory, now_s=110.0).starts) == 1


def test_a_member_that_ended_as_it_should_owes_nothing():
    ended = MemberEnd(name="m", kind="crawler", restarts=2, has_crashed=False, reason="")
    assert [each.restarts for each in decide(fleet(1, 0, ended=[ended])).starts] == [0]


def test_a_new_version_replaces_one_member_at_a_time():
    old = [replace(each, version="v0") for each in members(crawler=2, processor=1)]
    world = World(FIXED, fleet(2, 1, members=old))
    least = []
    for _ in range(12):
        decided = world.step()
        assert len(decided.drains) + len(decided.starts) <= 1
        least.append(len(world.state.members))
    assert {each.version for each in world.state.members} == {"v1"}
    assert (min(least), least[-1]) == (2, 3)


@pytest.mark.parametrize("state", ["starting", "draining"])
def test_the_next_member_changes_its_version_when_the_last_one_runs(state):
    old = member("old", version="v0")
    between = member("new", state=state, is_drain_ordered=state == "draining")
    wanted = 2 if state == "starting" else 1
    assert decide(fleet(wanted, 0, members=[old, between])).drains == ()


def test_a_version_whose_members_crash_replaces_no_more():
    memory = decide(fleet(2, 0, members=[member("old", version="v0")], ended=[crashed("m")])).memory
    state = fleet(2, 0, members=[member("old", version="v0"), member("new")])
    assert decide(state, memory=memory, now_s=110.0).drains == ()
