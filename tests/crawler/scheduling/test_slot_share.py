"""No registered domain holds all slots of a worker, however many host names it has."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.server import links, page
from thresher.crawler.scheduling.slot_share import (
    MAX_IDLE_DOMAINS,
    MAX_WAIT_S,
    MIN_WAIT_S,
    PATIENCE_S,
    SLOTS_PER_FREE_SLOT,
    SLOW_S,
    SlotShares,
)
from thresher.crawler.worker import run_worker

SLOTS = 64


def known(*domains):
    """Shares that know domains which answer."""
    shares = SlotShares()
    for token, domain in enumerate(domains, -len(domains)):
        shares.admit(token, domain, 0.0, slots=SLOTS)
        shares.over(token, 0.0, 0.1)
        shares.release(token, 0.0)
    return shares


def taken(shares, domain, *, wanted=1_000, slots=SLOTS, now=0.0, first=0):
    """The tokens that hosts of a domain get slots for, each host a name of its own."""
    asked = range(first, first + wanted)
    return [token for token in asked if shares.admit(token, f"h{token}.{domain}", now, slots=slots) is None]


@pytest.mark.parametrize(("slots", "most"), [(1, 1), (2, 2), (3, 3), (4, 3), (8, 6), (64, 48)])
def test_one_domain_leaves_a_quarter_of_the_slots_free(slots, most):
    assert len(taken(known("evil.test"), "evil.test", slots=slots)) == most


def test_two_domains_that_want_all_leave_some_for_the_next():
    shares = known("evil0.test", "evil1.test")
    held = [len(taken(shares, f"evil{number}.test", first=10_000 * number)) for number in range(2)]
    assert held == [48, 12]
    assert taken(shares, "honest.test", first=90_000)


def test_a_slot_that_is_left_is_there_for_the_domain_again():
    shares = known("evil.test")
    held = taken(shares, "evil.test")
    assert shares.admit(2_000, "one.evil.test", 1.0, slots=SLOTS) is not None
    shares.release(held[0], 1.0)
    assert shares.admit(2_001, "one.evil.test", 1.0, slots=SLOTS) is None


def test_the_hosts_of_a_domain_come_back_as_fast_as_its_slots_become_free():
    """100 s for a slot, 48 slots: one is free every two seconds, and as often a host comes back."""
    shares = known("slow.test")
    for token in taken(shares, "slow.test"):
        shares.release(token, 100.0)
    taken(shares, "slow.test", wanted=48, now=100.0)
    waits = [shares.admit(5_000 + n, f"x{n}.slow.test", 100.0, slots=SLOTS) for n in range(50)]
    steps = [after - before for before, after in itertools.pairwise(waits)]
    assert min(steps) == pytest.approx(max(steps)) == pytest.approx(100 * (1 - (7 / 8) ** 48) / 48)


def test_the_leases_of_one_host_wait_for_one_turn():
    """A host without a delay has many leases at once, and no other host of its domain is waiting."""
    shares = SlotShares()
    assert shares.admit(0, "new.test", 0.0, slots=SLOTS) is None
    assert {shares.admit(token, "new.test", 0.0, slots=SLOTS) for token in range(1, 64)} == {MIN_WAIT_S}
    assert shares.admit(64, "other.new.test", 0.0, slots=SLOTS) == 2 * MIN_WAIT_S


def test_a_domain_that_has_not_answered_yet_holds_one_slot():
    shares = SlotShares()
    (held,) = taken(shares, "new.test")
    shares.over(held, 1.0)  # a robots.txt is no answer: every server has one at hand
    shares.release(held, 1.0)
    (held,) = taken(shares, "new.test", first=2_000, now=1.0)
    shares.over(held, 2.0, 0.9)
    assert len(taken(shares, "new.test", first=4_000, now=2.0)) == 47


def crowd(shares, domains, now, hosts=50):
    """The tokens that some hostile domains get slots for: each asks with some hosts, one after another."""
    return [
        token
        for number in range(domains)
        for token in taken(
            shares, f"evil{number}.test", wanted=hosts, first=round(now) * 10**6 + number * 1_000, now=now
        )
    ]


@pytest.mark.parametrize("domains", [20, 40, 60])
def test_domains_that_never_answer_hold_a_slot_each_and_later_all_of_them_no_more_than_one_domain(domains):
    shares = SlotShares()
    first = crowd(shares, domains, 0.0)
    assert len(first) == domains
    for token in first:
        shares.over(token, 120.0)
        shares.release(token, 120.0)
    assert len(crowd(shares, domains, 120.0)) == 48


def test_slow_domains_have_half_of_the_slots_while_others_want_the_rest():
    honest = [f"good{number}.test" for number in range(4)]
    shares = known(*honest)
    hostile = dict.fromkeys(crowd(shares, 20, 0.0), 0.0)
    held = {}
    for now in range(1, 250):
        for token, since in list(hostile.items()):
            if now - since >= 120:
                shares.over(token, now)
                shares.release(token, now)
                del hostile[token]
        for token in list(held):
            shares.release(token, now)
            del held[token]
        for number, name in enumerate(honest):
            got = taken(shares, name, wanted=16, first=-(now * 1_000 + number * 100), now=now)
            held |= dict.fromkeys(got, now)
        hostile |= dict.fromkeys(crowd(shares, 20, float(now), 4), now)
        assert now < 150 or len(hostile) <= SLOTS // 2 <= len(held)


@pytest.mark.parametrize(("later", "most"), [(SLOW_S - 1, 17), (SLOW_S, 25)])
def test_a_domain_that_was_slow_once_is_trusted_again_after_a_while(later, most):
    """Another slow one holds 31 slots: what it has beside that is less while it is slow as well."""
    shares = known("once.test")
    shares.admit(1, "once.test", 0.0, slots=SLOTS)
    shares.over(1, 0.0, PATIENCE_S + 1)
    shares.release(1, 0.0)
    assert shares.admit(2, "other.test", later - PATIENCE_S - 1, slots=SLOTS) is None
    assert len(taken(shares, "other.test", first=10_000, wanted=30, now=later)) == 30
    assert len(taken(shares, "once.test", first=20_000, now=later)) == most


def test_nobody_waits_for_longer_than_the_longest():
    shares = known("evil.test")
    taken(shares, "evil.test")
    waits = [shares.admit(5_000 + n, f"x{n}.evil.test", 200.0, slots=SLOTS) for n in range(1_000)]
    assert max(waits) == MAX_WAIT_S


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=200))
def test_what_is_held_never_exceeds_the_slots_nor_a_domain_its_share(steps):
    shares, held = known(*(f"d{number}.test" for number in range(4))), {}
    for token, (domain, leaves) in enumerate(steps):
        if leaves and held:
            gone, _ = held.popitem()
            shares.release(gone, 0.0)
        elif len(held) < 8:
            mine = sum(owner == domain for owner in held.values())
            free = 8 - len(held)
            got = shares.admit(token, f"h{token}.d{domain}.test", 0.0, slots=8) is None
            assert got == (mine < SLOTS_PER_FREE_SLOT * free)
            if got:
                held[token] = domain
    assert len(held) <= 8


def test_domains_that_hold_nothing_are_forgotten_in_the_end():
    shares = SlotShares()
    for token in range(MAX_IDLE_DOMAINS + 50):
        shares.admit(token, f"d{token}.test", 0.0, slots=SLOTS)
        shares.release(token, 0.0)
    assert repr(shares) == f"<slot shares: 0 slots of {MAX_IDLE_DOMAINS} domains>"


def test_a_dozen_hosts_of_one_domain_that_drip_do_not_hold_up_another_site(crawl, names, site):
    hosts = [f"h{number}.evil.test" for number in range(12)]
    names |= {host: ["127.0.0.1"] for host in [*hosts, "good.test"]}
    honest = [f"/p{number}" for number in range(20)]
    done, early = asyncio.Event(), []

    async def answer(raw, writer):
        if b"Host: good.test" in raw:
            path = raw.split(b" ")[1].decode()
            if path == honest[-1]:
                done.set()
            writer.write(links(f"/p{int(path[2:]) + 1}") if path != honest[-1] else page("the last"))
            return
        early.append(not done.is_set())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>drip")
        await asyncio.wait_for(done.wait(), 30)
        writer.close()

    site.fallback = lambda _: answer
    crawl.seed(*(f"http://{host}:{site.port}/" for host in hosts), f"http://good.test:{site.port}/p0")
    run_worker(crawl.config("w", concurrency=8))
    assert crawl.stats.is_drained
    asked = [raw for raw in site.requests if b"Host: good.test" in raw and b"robots" not in raw]
    assert len(asked) == len(honest)
    assert (sum(early), len(early)) == (1, len(hosts))  # the others had their turn as well
