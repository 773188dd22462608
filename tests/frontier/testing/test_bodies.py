"""Rules of robots.txt files are kept while something of their host waits; in memory and on a server."""

import random

import pytest

from tests.frontier import contract
from tests.frontier.contract import DAY, HOUR, MINUTE, numbered
from thresher.frontier import HostRelease, Kind, Outcome
from thresher.frontier.robots_record import LARGE

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker
SMALL_RULES = b"Disallow: /private"
LARGE_RULES = random.Random(1).randbytes(2 * LARGE)
ORIGIN = "http://a.test"


async def ask(worker, body, *, ttl=DAY):
    """Take the lease of a robots.txt, and settle it with these rules."""
    (lease,) = await worker.take()
    assert lease.kind is Kind.ROBOTS
    await worker.frontier.origins.settle_robots(lease, rule="rules", body=body, ttl_ms=ttl, delay_ms=None)
    return lease


async def body(worker):
    return (await worker.frontier.origins.robots(ORIGIN)).body


@pytest.mark.parametrize(("rules", "kept_ms"), [(SMALL_RULES, DAY), (LARGE_RULES, HOUR)])
async def test_rules_are_forgotten_when_nothing_of_their_host_waits(worker, found, rules, kept_ms):
    await worker.frontier.add(numbered(found, "a.test", 1))
    await ask(worker, rules)
    await worker.settle(await worker.take())
    await worker.crawl.skip(kept_ms - MINUTE)
    assert await worker.take() == []
    assert await body(worker) == rules
    await worker.crawl.skip(2 * MINUTE)
    assert await worker.take() == []
    assert await body(worker) == b""


@pytest.mark.parametrize("rules", [SMALL_RULES, LARGE_RULES])
async def test_rules_are_kept_while_pages_wait(worker, found, rules):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await ask(worker, rules, ttl=100 * DAY)
    for _ in range(3):
        await worker.crawl.skip(DAY + HOUR)
        (page,) = await worker.take(1)
        assert await body(worker) == rules
        await worker.settle([page])


async def test_rules_are_kept_for_a_page_whose_time_has_come(worker, found):
    """On several partitions each is asked first whether it has anything."""
    await worker.frontier.add(numbered(found, "a.test", 1))
    await ask(worker, SMALL_RULES, ttl=100 * DAY)
    await worker.settle(await worker.take(), Outcome.RETRY, retry_after_ms=DAY)
    await worker.crawl.skip(2 * DAY)
    (page,) = await worker.take()
    assert page.kind is Kind.PAGE
    assert await body(worker) == SMALL_RULES


async def test_rules_are_kept_while_a_page_is_fetched(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    await ask(worker, LARGE_RULES)
    (page,) = await worker.take(lease_ms=DAY)
    await worker.crawl.skip(HOUR + MINUTE)
    assert await worker.take() == []
    assert await body(worker) == LARGE_RULES
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.crawl.skip(HOUR + MINUTE)
    assert await worker.take() == []
    assert await body(worker) == b""


async def test_whoever_comes_after_the_rules_were_forgotten_asks_anew(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    first = await ask(worker, LARGE_RULES)
    await worker.settle(await worker.take())
    await worker.crawl.skip(HOUR + MINUTE)
    assert await worker.take() == []
    await worker.frontier.add(numbered(found, "a.test", 2))
    again = await ask(worker, SMALL_RULES)
    assert again.url == first.url
    assert await body(worker) == SMALL_RULES
    (page,) = await worker.take()
    assert (page.kind, page.robots_version) == (Kind.PAGE, 2)


async def test_rules_that_became_an_answer_for_all_are_looked_at_no_more(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    await ask(worker, LARGE_RULES, ttl=MINUTE)
    await worker.settle(await worker.take(1))
    await worker.crawl.skip(2 * MINUTE)
    (lease,) = await worker.take()
    await worker.allow(lease)
    await worker.settle(await worker.take())
    await worker.crawl.skip(2 * DAY)
    await worker.frontier.add(numbered(found, "a.test", 3))
    (page,) = await worker.take()
    assert page.kind is Kind.PAGE


@pytest.mark.parametrize(("rules", "left"), [(SMALL_RULES, SMALL_RULES), (LARGE_RULES, b"")])
async def test_a_worker_that_ends_leaves_no_large_rules_behind_that_nobody_needs(worker, found, rules, left):
    await worker.frontier.add(numbered(found, "a.test", 1))
    await ask(worker, rules)
    await worker.settle(await worker.take())
    await worker.frontier.workers.reclaim(worker.name)
    assert await body(worker) == left


async def test_a_worker_that_ends_leaves_the_rules_of_pages_that_wait(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    await ask(worker, LARGE_RULES)
    await worker.take(1)  # given back
    await worker.frontier.workers.reclaim(worker.name)
    assert await body(worker) == LARGE_RULES
