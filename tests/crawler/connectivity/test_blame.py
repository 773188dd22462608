"""Who is to blame for a missing response: the list of `crawler.connectivity.failure_attribution`, and what holds in all its
cases.
"""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.connectivity.failure_attribution import (
    MAX_PROBE_DELAY_S,
    MIN_PROBE_DELAY_S,
    MIN_SILENT_HOSTS,
    Cause,
    Check,
    Evidence,
    OtherHosts,
    attribute_failure,
    probe_delay_s,
    proves_connectivity,
)
from thresher.crawler.wire import Symptom

PROXY, NAME_SERVERS, ROUTE, OTHERS = Check
SIGNS, CAUSES = get_args(Symptom), get_args(Cause)
NEVER = {"has_response": False}
JUST_NOW = {"has_response": True}
NOBODY, ALL_SILENT = OtherHosts(responding=0, silent=0), OtherHosts(responding=0, silent=MIN_SILENT_HOSTS)
SOME_ANSWER = OtherHosts(responding=1, silent=5)
DOWN = {part: {part: False} for part in (PROXY, NAME_SERVERS, ROUTE)}
UP = {part: {part: True} for part in DOWN}


@pytest.mark.parametrize(
    ("sign", "facts", "found"),
    [
        # Symptoms that are enough by themselves.
        ("answered", NEVER, None),
        ("denied", NEVER, None),
        ("no_proxy", JUST_NOW, "proxy"),
        ("no_resources", JUST_NOW, "resources"),
        # A proxy that says nothing.
        ("mute_proxy", {**JUST_NOW, "recently_working": {PROXY}}, None),
        ("mute_proxy", NEVER, PROXY),
        ("mute_proxy", {**NEVER, "check_results": DOWN[PROXY]}, OTHERS),
        ("mute_proxy", {**NEVER, "check_results": DOWN[PROXY], "other_hosts": NOBODY}, "proxy"),
        ("mute_proxy", {**NEVER, "check_results": DOWN[PROXY], "other_hosts": SOME_ANSWER}, None),
        ("mute_proxy", {**NEVER, "check_results": UP[PROXY], "other_hosts": NOBODY}, None),
        ("mute_proxy", {**NEVER, "check_results": UP[PROXY], "other_hosts": ALL_SILENT}, "silence"),
        # No name server could tell.
        ("no_name_server", NEVER, NAME_SERVERS),
        ("no_name_server", {**JUST_NOW, "recently_working": {NAME_SERVERS}}, None),
        ("no_name_server", {**NEVER, "check_results": UP[NAME_SERVERS], "other_hosts": NOBODY}, None),
        ("no_name_server", {**NEVER, "check_results": DOWN[NAME_SERVERS]}, OTHERS),
        (
            "no_name_server",
            {**NEVER, "check_results": DOWN[NAME_SERVERS], "other_hosts": NOBODY},
            "name_servers",
        ),
        ("no_name_server", {**JUST_NOW, "check_results": DOWN[NAME_SERVERS]}, None),
        (
            "no_name_server",
            {**JUST_NOW, "check_results": DOWN[NAME_SERVERS], "previously_working": {NAME_SERVERS}},
            "name_servers",
        ),
        # No route.
        ("no_route", JUST_NOW, ROUTE),
        ("no_route", {**JUST_NOW, "check_results": UP[ROUTE]}, None),
        ("no_route", {**NEVER, "check_results": UP[ROUTE], "other_hosts": NOBODY}, None),
        ("no_route", {**NEVER, "check_results": UP[ROUTE], "other_hosts": ALL_SILENT}, "silence"),
        ("no_route", {**NEVER, "check_results": DOWN[ROUTE], "other_hosts": NOBODY}, "route"),
        ("no_route", {**NEVER, "check_results": DOWN[ROUTE], "other_hosts": SOME_ANSWER}, None),
        ("no_route", {**JUST_NOW, "check_results": DOWN[ROUTE], "previously_working": {ROUTE}}, "route"),
        # Silence.
        ("silent", JUST_NOW, None),
        ("silent", NEVER, OTHERS),
        ("silent", {**NEVER, "other_hosts": ALL_SILENT}, "silence"),
        ("silent", {**NEVER, "other_hosts": OtherHosts(responding=0, silent=MIN_SILENT_HOSTS - 1)}, None),
        ("silent", {**NEVER, "other_hosts": SOME_ANSWER}, None),
        # An outage, whatever the symptom.
        ("silent", {**JUST_NOW, "overlapping_outage": "name_servers"}, "name_servers"),
        ("answered", {**JUST_NOW, "overlapping_outage": "silence"}, "silence"),
        ("denied", {**NEVER, "overlapping_outage": "proxy"}, None),
    ],
)
def test_whose_fault_it_is(sign, facts, found):
    made: dict[str, Any] = {
        key: frozenset(value) if isinstance(value, set) else value for key, value in facts.items()
    }
    assert attribute_failure(sign, Evidence(**made)) == found


parts = st.sampled_from([PROXY, NAME_SERVERS, ROUTE])
answers = st.fixed_dictionaries({part: st.booleans() for part in (PROXY, NAME_SERVERS, ROUTE)})
others = st.builds(OtherHosts, responding=st.integers(0, 2), silent=st.integers(0, 6))


def settled(sign, answers, others, **known):
    """Return the result when every check is answered, and which checks were asked for."""
    facts, asked = Evidence(**known), []
    while isinstance(found := attribute_failure(sign, facts), Check):
        asked.append(found)
        if found is OTHERS:
            facts = Evidence(**known, check_results=facts.check_results, other_hosts=others)
        else:
            facts = Evidence(
                **known,
                check_results={**facts.check_results, found: answers[found]},
                other_hosts=facts.other_hosts,
            )
    return found, asked


@given(
    sign=st.sampled_from(SIGNS),
    answers=answers,
    others=others,
    has_response=st.booleans(),
    recently_working=st.frozensets(parts),
    previously_working=st.frozensets(parts),
    overlapping_outage=st.none() | st.sampled_from(CAUSES),
)
def test_every_failure_is_judged_after_two_checks_at_most(sign, answers, others, **known):
    found, asked = settled(sign, answers, others, **known)
    assert found is None or found in CAUSES
    assert len(asked) == len(set(asked)) <= 2


@given(
    sign=st.sampled_from(SIGNS),
    answers=answers,
    others=others,
    has_response=st.booleans(),
    overlapping_outage=st.sampled_from(CAUSES),
)
def test_in_an_outage_only_a_denied_name_counts(sign, answers, others, **known):
    found, asked = settled(sign, answers, others, **known)
    assert (found, asked) == (None if sign == "denied" else known["overlapping_outage"], [])


@given(
    sign=st.sampled_from(sorted(set(SIGNS) - {"no_proxy", "no_resources"})),
    answers=answers,
    silent=st.integers(0, 9),
    answered=st.integers(1, 9),
    has_response=st.booleans(),
)
def test_a_host_is_to_blame_if_other_hosts_answer(sign, answers, silent, answered, has_response):
    """Unless a part that worked before is broken: then the worker may reach the other hosts by cached answers."""
    found, _ = settled(
        sign, answers, OtherHosts(responding=answered, silent=silent), has_response=has_response
    )
    assert found is None


@given(
    sign=st.sampled_from(["silent", "no_name_server", "no_route", "mute_proxy"]),
    has_response=st.booleans(),
    few=st.integers(0, MIN_SILENT_HOSTS - 1),
)
def test_a_crawl_whose_last_hosts_are_dead_comes_to_its_end(sign, has_response, few):
    """Our own side works, and there are too few other hosts to compare with."""
    works = dict.fromkeys((PROXY, NAME_SERVERS, ROUTE), True)
    found, _ = settled(sign, works, OtherHosts(responding=0, silent=few), has_response=has_response)
    assert found is None


@given(
    sign=st.sampled_from(["no_name_server", "no_route", "mute_proxy"]),
    silent=st.integers(0, 6),
    previously_working=st.frozensets(parts),
)
def test_a_broken_part_of_our_own_side_is_to_blame_if_nobody_answers(sign, silent, previously_working):
    works = dict.fromkeys((PROXY, NAME_SERVERS, ROUTE), False)
    found, _ = settled(
        sign,
        works,
        OtherHosts(responding=0, silent=silent),
        has_response=False,
        previously_working=previously_working,
    )
    assert found == {"no_name_server": "name_servers", "no_route": "route", "mute_proxy": "proxy"}[sign]


@pytest.mark.parametrize(
    ("answered_at", "is_proof"), [(-1e9, False), (0, False), (4.9, False), (5.0, True), (10.0, True)]
)
def test_a_response_in_the_second_half_of_an_exchange_proves_connectivity(answered_at, is_proof):
    assert proves_connectivity(answered_at, started_at=0.0, failed_at=10.0) is is_proof


def test_an_outage_is_probed_with_increasing_delays_up_to_a_minute():
    waits = [probe_delay_s(probes) for probes in range(2_000)]
    assert waits[:4] == [MIN_PROBE_DELAY_S, 2.0, 4.0, 8.0]
    assert waits == sorted(waits)
    assert waits[-1] == MAX_PROBE_DELAY_S
