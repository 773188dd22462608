"""What every frontier does, verb by verb: in memory, on a server, and on a server in four partitions."""

import inspect
from dataclasses import replace
from itertools import count, pairwise

import pytest

from core import InputError
from frontier import (
    Budget,
    CrawlFigures,
    Discovery,
    ExchangeTimes,
    Fault,
    Frontier,
    HostRelease,
    HostSwitch,
    Kind,
    Outage,
    Outcome,
    Rank,
    Scope,
    UrlPolicy,
    WorkerFigures,
    WorkerReport,
    canonicalize,
)
from frontier.lease import FAULT_DETAILS
from frontier.request_state import RequestState
from frontier.testing import MemoryFrontier
from frontier.testing.memory_backlog import MemoryBacklog
from frontier.testing.memory_crawl import MemoryCrawl
from frontier.testing.memory_fleet import MemoryFleet
from frontier.testing.memory_inspection import MemoryInspection
from frontier.testing.memory_operator import MemoryOperator
from frontier.testing.memory_origins import MemoryOrigins
from frontier.testing.memory_politeness import MemoryPoliteness
from frontier.testing.memory_rebuild import MemoryRebuild
from frontier.testing.memory_workers import MemoryWorkers
from frontier.verbs.backlog import Backlog
from frontier.verbs.crawl import Crawl
from frontier.verbs.fleet import Fleet
from frontier.verbs.inspection import Inspection
from frontier.verbs.operator import Operator
from frontier.verbs.origins import Origins
from frontier.verbs.politeness import Politeness
from frontier.verbs.rebuild import Rebuild
from frontier.verbs.workers import Workers
from tests.frontier import contract
from tests.frontier.contract import DAY, HOUR, MINUTE, SECOND, Worker, numbered, texts

OF_THE_SEED, OF_THE_FIRST_VISIT = RequestState(etag="seed"), RequestState(etag="first")
budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker


NOT_IN_MEMORY = {"tail", "has_lost_partition", "sync", "register", "is_gate_open", "call", "one"}
"""A single process has no storage for queues, no parts to lose, no disk to wait for and no calls of a server."""


@pytest.mark.parametrize(
    ("server", "memory"),
    [
        (Frontier, MemoryFrontier),
        (Crawl, MemoryCrawl),
        (Workers, MemoryWorkers),
        (Backlog, MemoryBacklog),
        (Rebuild, MemoryRebuild),
        (Politeness, MemoryPoliteness),
        (Origins, MemoryOrigins),
        (Operator, MemoryOperator),
        (Inspection, MemoryInspection),
        (Fleet, MemoryFleet),
    ],
)
def test_each_client_in_memory_has_the_verbs_of_the_client_of_a_server(server, memory):
    def verbs(of):
        return {
            name: inspect.signature(verb)
            for name, verb in inspect.getmembers(of, inspect.isfunction)
            if not name.startswith("_")
        }

    promised = verbs(server)
    assert verbs(memory) == {name: promised[name] for name in promised.keys() - NOT_IN_MEMORY}


async def test_time_stands_while_calls_are_made_together(worker, found):
    hosts = ("a.test", "b.test", "c.test")
    await worker.frontier.add([known for host in hosts for known in numbered(found, host, 1_000)])
    assert {lease.url.host for lease in await worker.take()} == set(hosts)


# URLs


async def test_an_unknown_url_waits_and_a_known_one_changes_nothing(crawl, found):
    first = await crawl.frontier.add([found("http://a.test/1"), found("http://a.test/%31")])
    assert (first.added, first.known) == (1, 1)
    again = await crawl.frontier.add([found("http://a.test/1", priority=9), found("http://a.test/2")])
    assert (again.added, again.known) == (1, 1)
    stats = await crawl.frontier.stats()
    assert (stats.seen, stats.waiting, stats.hosts) == (2, 2, 1)


async def test_a_lease_names_the_time_of_the_next(crawl, worker, found):
    assert (await worker.take()).soonest_ms is None
    await worker.frontier.add(numbered(found, "a.test", 2))
    (robots,) = await worker.take(delay=SECOND, lease_ms=MINUTE)
    assert (await worker.take(delay=SECOND)).soonest_ms == MINUTE
    await worker.allow(robots)
    assert (await worker.take(delay=SECOND)).soonest_ms == SECOND + 1
    await crawl.skip(SECOND + 1)
    (page,) = await worker.take(1, delay=SECOND)
    assert await worker.frontier.release([HostRelease(lease=page)]) == SECOND + 1
    await crawl.skip(400)
    none = await worker.take(delay=SECOND)
    assert (none, none.soonest_ms) == ([], SECOND - 399)
    await crawl.skip(SECOND - 399)
    assert len(await worker.take(delay=SECOND)) == 1


async def test_what_is_tried_again_has_a_time_and_what_is_full_may_have_more(crawl, worker, found):
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    granted = await worker.take(2)
    assert granted.soonest_ms == 0
    pages = await worker.pages()
    for lease in granted:
        await worker.allow(lease)
    pages += await worker.pages()
    await worker.settle(pages, Outcome.RETRY, retry_after_ms=7 * SECOND)
    assert (await worker.take()).soonest_ms == 7 * SECOND
    await crawl.skip(7 * SECOND)
    assert len(await worker.take()) == 3


async def test_behind_a_shut_gate_nothing_has_a_time(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    await worker.frontier.backlog.report(follower="p", backlog=2, limit=1)
    assert (await worker.take()).soonest_ms is None


async def test_one_page_under_three_spellings_is_asked_once_as_it_was_found_first(worker, found):
    spellings = ["http://a.test/?b=2&a=%7e&c=1", "http://a.test/?c=1&b=2&a=~", "http://a.test/?a=%7E&b=2&c=1"]
    added = await worker.frontier.add([found(text) for text in spellings])
    assert (added.added, added.known) == (1, 2)
    assert [lease.url.wire for lease in await worker.pages()] == spellings[:1]


async def test_parameters_of_one_name_keep_their_order(worker, found):
    apart = ["http://a.test/?page=1&page=2", "http://a.test/?page=2&page=1", "http://a.test/?page=2"]
    assert (await worker.frontier.add([found(text) for text in apart])).added == 3


@pytest.mark.parametrize("policy", [UrlPolicy(query_order=HostSwitch(on=False, hosts={"a.test": True}))])
async def test_where_the_order_of_parameters_matters_it_tells_pages_apart(worker, found):
    for host, pages in (("www.a.test", 2), ("a.test", 2), ("ba.test", 1)):
        both = [found(f"http://{host}/?b&a"), found(f"http://{host}/?a&b")]
        assert (await worker.frontier.add(both)).added == pages
        leases = await worker.pages()
        again = await worker.frontier.add([*both, found(f"http://{host}/?%61&b")])
        assert (len(leases), again.known) == (pages, 3)


async def test_a_known_url_waits_once_more_for_each_lease_that_leads_back_to_it(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    (first,) = await worker.pages()
    again = found("http://a.test/", again=first.token)
    await worker.settle([first], Outcome.REDIRECTED, discoveries=(again,))
    assert (await worker.frontier.add([again, found("http://a.test/")])).known == 2
    (second,) = await worker.pages()
    assert (second.url.text, second.again) == ("http://a.test/", first.token)
    await worker.settle(
        [second], Outcome.REDIRECTED, discoveries=(found("http://a.test/", again=second.token),)
    )
    assert len(await worker.pages()) == 1


async def test_a_known_url_waits_once_more_for_each_generation(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.settle(await worker.pages())
    for generation in (7, 8):
        again = [found("http://a.test/", generation=generation)]
        assert (await worker.frontier.add(again)).added == 1
        assert (await worker.frontier.add(again)).known == 1
        (lease,) = await worker.pages()
        assert lease.generation == generation
        await worker.settle([lease])
    assert (await worker.stats()).outcomes["fetched"] == 3


@pytest.mark.parametrize("budget", [Budget(host=2)])
async def test_a_host_has_no_more_urls_than_its_budget_and_the_rest_is_not_remembered(worker, found):
    assert await worker.frontier.add(numbered(found, "a.test", 2)) == await worker.frontier.add(
        numbered(found, "b.test", 2)
    )
    for _ in range(2):
        more = await worker.frontier.add([found("http://a.test/9"), found("http://a.test/1")])
        assert (more.added, more.known, more.discarded) == (0, 1, {"host_budget": 1})
    stats = await worker.stats()
    assert (stats.seen, stats.discarded) == (4, {"host_budget": 2})


@pytest.mark.parametrize("budget", [Budget(domain=3)])
async def test_a_domain_has_no_more_urls_than_its_budget_under_whatever_names(worker, found):
    added = await worker.frontier.add([found(f"http://h{i}.a.test/") for i in range(5)])
    assert (added.added, added.discarded) == (3, {"domain_budget": 2})
    assert (await worker.frontier.add([found("http://b.test/")])).added == 1
    assert (await worker.stats()).hosts == 4


@pytest.mark.parametrize("budget", [Budget(hosts=3)])
async def test_a_domain_has_no_more_names_than_its_budget(worker, found):
    added = await worker.frontier.add([found(f"http://h{i}.a.test/{j}") for i in range(5) for j in range(2)])
    assert (added.added, added.discarded) == (6, {"domain_hosts": 4})


async def test_a_lease_carries_what_was_discovered(worker):
    url = canonicalize("http://a.test:8080/%7ex?")
    known = Discovery(
        url=url,
        scope=Scope.of("prefix", url),
        depth=2,
        max_depth=5,
        hops=3,
        priority=1,
        interval_s=99,
        listed=True,
        again=1 << 50,
        state=RequestState(etag="é", spider_request=b"\0for\xff a spider"),
        notify=True,
    )
    await worker.frontier.add([known])
    (lease,) = await worker.pages()
    fields = Discovery.__dataclass_fields__
    assert {name: getattr(lease, name) for name in fields} == {name: getattr(known, name) for name in fields}
    assert (lease.kind, lease.worker, lease.attempt, lease.robots_version) == (Kind.PAGE, "w", 0, 1)
    assert lease.deadline_ms == worker.crawl.clock.now + HOUR


async def test_a_host_gives_its_lowest_level_first_and_within_it_the_oldest(worker, found):
    await worker.frontier.add(
        [
            found("http://a.test/deep", depth=3),
            found("http://a.test/mid-1", depth=1),
            found("http://a.test/mid-2", depth=1),
            found("http://a.test/seed"),
            found("http://a.test/wanted", depth=3, priority=2),
            found("http://a.test/urgent", depth=1, priority=300),
        ]
    )
    order = ["urgent", "seed", "mid-1", "mid-2", "wanted", "deep"]
    assert texts(await worker.pages()) == [f"http://a.test/{name}" for name in order]


async def test_a_workers_name_is_not_longer_than_a_byte_can_say(worker):
    worker.name = "é" * 128
    with pytest.raises(InputError, match="at most 255 bytes"):
        await worker.take()


# Delays


async def test_a_host_is_asked_again_when_its_delay_is_over_and_no_sooner(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    (page,) = await worker.pages(delay=5 * SECOND)
    await worker.crawl.skip(MINUTE + 1)
    assert await worker.take(delay=5 * SECOND) == []
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.crawl.skip(5 * SECOND - 1)
    assert await worker.take(delay=5 * SECOND) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=5 * SECOND)) == 1


async def test_the_slower_of_the_crawls_delay_and_the_rules_wins(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    (robots,) = await worker.take(delay=5 * SECOND)
    await worker.allow(robots, delay=9 * SECOND)
    await worker.crawl.skip(9 * SECOND - 1)
    assert await worker.take(delay=5 * SECOND) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=5 * SECOND)) == 1


async def test_rules_of_before_that_stand_for_an_answer_that_failed_count_as_the_fault(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    (robots,) = await worker.take()
    settled = {"rule": "rules", "body": b"x", "ttl_ms": HOUR, "delay_ms": None}
    await worker.frontier.origins.settle_robots(robots, **settled, fault=Fault.BUSY, hold_ms=7 * SECOND)
    assert (await worker.stats()).held == 1
    assert await worker.take() == []
    await worker.crawl.skip(8 * SECOND)
    (page,) = await worker.take()
    assert (page.kind, page.robots_version) == (Kind.PAGE, 1)


async def test_robots_rules_that_ask_for_less_than_before_are_obeyed_but_of_no_other_origin(worker, found):
    await worker.frontier.add([found("http://a.test/1"), found("https://a.test/1"), found("http://a.test/2")])
    (robots,) = await worker.take()
    await worker.allow(robots, delay=9 * SECOND, ttl=0)
    await worker.crawl.skip(9 * SECOND + 1)
    (robots,) = await worker.take()
    await worker.frontier.release([HostRelease(lease=robots)])
    await worker.allow(robots, delay=2 * SECOND)
    await worker.crawl.skip(9 * SECOND + 1)
    await worker.settle(await worker.take())
    await worker.crawl.skip(2 * SECOND + 1)
    (robots,) = await worker.take()
    assert robots.url.text == "https://a.test/robots.txt"
    await worker.allow(robots, delay=SECOND)
    await worker.crawl.skip(2 * SECOND - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_host_that_takes_long_is_left_alone_for_twice_as_long(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    (page,) = await worker.pages(delay=SECOND)
    await worker.frontier.release([HostRelease(lease=page, elapsed_ms=4 * SECOND)])
    await worker.crawl.skip(8 * SECOND - 1)
    assert await worker.take(delay=SECOND) == []
    await worker.crawl.skip(2)
    (page,) = await worker.take(delay=SECOND)
    # Smoothed, an eighth of the newest; never more than half a minute.
    await worker.frontier.release([HostRelease(lease=page, elapsed_ms=600 * SECOND)])
    await worker.crawl.skip(30 * SECOND - 1)
    assert await worker.take(delay=SECOND) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=SECOND)) == 1


async def test_a_host_without_a_delay_has_sixteen_exchanges_open_however_long_it_takes(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 40))
    leases = await worker.pages()
    assert len(leases) == 16
    await worker.frontier.release([HostRelease(lease=lease, elapsed_ms=MINUTE) for lease in leases[:3]])
    assert len(await worker.take()) == 3


async def test_a_page_that_is_not_asked_for_costs_no_delay(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 5))
    (page,) = await worker.pages(delay=MINUTE)
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.settle([page])
    await worker.crawl.skip(MINUTE + 1)
    for _ in range(3):
        (page,) = await worker.take(delay=MINUTE)
        await worker.frontier.release([HostRelease(lease=page, has_sent_request=False)])
        await worker.settle([page], Outcome.REFUSED, reason="robots")
    (page,) = await worker.take(delay=MINUTE)
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.settle([page])
    await worker.frontier.add(numbered(found, "a.test", 6))
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take(delay=MINUTE) == []


# Addresses


@pytest.fixture
async def by_address(worker):
    """A worker of a crawl that leaves a second between two requests to an address."""
    await worker.frontier.crawl.update_settings(
        replace(worker.frontier.crawl.settings, min_ip_delay_ms=SECOND)
    )
    return worker


async def test_two_that_are_let_in_to_one_address_are_a_delay_apart(by_address, found):
    worker = by_address
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    a, b, c = await worker.pages()
    assert await worker.frontier.politeness.acquire_address(a, "192.0.2.1") == 0
    assert await worker.frontier.politeness.acquire_address(b, "192.0.2.2") == 0
    assert await worker.frontier.politeness.acquire_address(b, "192.0.2.1") == SECOND + 1
    assert await worker.frontier.politeness.acquire_address(c, "192.0.2.1") == 2 * SECOND + 1


async def test_the_delay_of_an_address_begins_anew_if_it_is_requested_later_than_it_was_acquired(
    by_address, found
):
    worker = by_address
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    a, b, c = await worker.pages()
    assert await worker.frontier.politeness.acquire_address(a, "192.0.2.1") == 0
    assert (
        await worker.frontier.politeness.acquire_address(b, "192.0.2.1") == SECOND + 1
    )  # has a place in the line
    await worker.crawl.skip(600)
    await worker.frontier.politeness.restart_address_delays({"192.0.2.1", "192.0.2.9"})
    assert (
        await worker.frontier.politeness.acquire_address(c, "192.0.2.9") == SECOND + 1
    )  # asked, and never entered
    assert (
        await worker.frontier.politeness.acquire_address(replace(b, held_until_ms=1), "192.0.2.1")
        == SECOND + 1
    )
    await worker.crawl.skip(SECOND + 1)
    assert await worker.frontier.politeness.acquire_address(replace(b, held_until_ms=1), "192.0.2.1") == 0


async def test_who_waits_for_an_address_comes_before_who_is_new(by_address, found):
    worker = by_address
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    a, b = (await worker.pages(3))[:2]
    assert await worker.frontier.politeness.acquire_address(a, "192.0.2.1") == 0
    wait = await worker.frontier.politeness.acquire_address(b, "192.0.2.1")
    assert await worker.frontier.postpone(b, wait)
    await worker.crawl.skip(wait - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    (again,) = await worker.take()
    assert again.url == b.url
    assert await worker.frontier.politeness.acquire_address(again, "192.0.2.1") == 0


@pytest.fixture
async def paced(worker):
    """A worker of a crawl that leaves a second between two requests to a host."""
    await worker.frontier.crawl.update_settings(replace(worker.frontier.crawl.settings, min_delay_ms=SECOND))
    return worker


async def test_turns_at_a_host_are_a_delay_apart_and_nobody_waits_behind_one_that_was_not_taken(paced):
    turn = paced.frontier.politeness.reserve_turn
    assert await turn("cdn.test", max_wait_ms=0) == 0
    assert await turn("cdn.test", max_wait_ms=500) == SECOND + 1
    assert await turn("cdn.test", max_wait_ms=5 * SECOND) == SECOND + 1
    assert await turn("cdn.test", max_wait_ms=5 * SECOND) == 2 * SECOND + 2
    assert await turn("other.test", max_wait_ms=0) == 0
    assert await turn("slow.test", max_wait_ms=0, delay_ms=MINUTE) == 0
    assert await turn("slow.test", max_wait_ms=0, delay_ms=MINUTE) == MINUTE + 1


async def test_the_delay_between_turns_begins_when_the_exchange_is_over(paced):
    assert await paced.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == 0
    await paced.crawl.skip(700)
    await paced.frontier.politeness.end_turn("cdn.test")
    assert await paced.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == SECOND + 1


async def test_no_lease_of_a_host_is_granted_within_a_turn_nor_a_turn_within_the_delay_of_a_lease(
    paced, found
):
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    assert (
        await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0) == SECOND + 1
    )  # it is under way
    await paced.frontier.release([HostRelease(lease=first, elapsed_ms=0)])
    wait = await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=MINUTE)
    assert wait == SECOND + 1
    await paced.crawl.skip(wait)
    assert await paced.take(delay=SECOND) == []
    await paced.frontier.politeness.end_turn("a.test")
    await paced.crawl.skip(SECOND)
    assert await paced.take(delay=SECOND) == []
    await paced.crawl.skip(1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_whoever_leased_a_host_has_turns_at_it_and_lets_it_go_as_ever(paced, found):
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    assert await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0, since_ms=300) == 700
    await paced.crawl.skip(700)
    assert await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0, since_ms=SECOND) == 0
    assert (
        await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0, since_ms=SECOND) == SECOND + 1
    )
    await paced.frontier.politeness.end_turn("a.test", has_lease=True)
    await paced.frontier.release([HostRelease(lease=first, elapsed_ms=0)])
    await paced.crawl.skip(SECOND + 1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_a_hold_of_a_host_applies_to_turns(paced, found):
    await paced.frontier.add([found("http://a.test/")])
    await paced.frontier.operator.hold("a.test", MINUTE)
    assert await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0) == MINUTE + 1


async def test_turns_that_are_taken_ahead_of_their_time_are_owed(paced, found):
    """Once a delay, over the page, its burst, and the rest that follows."""
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    turn = paced.frontier.politeness.reserve_turn
    for _ in range(5):
        assert await turn("a.test", max_wait_ms=0, since_ms=0, ahead=5) == 0
    assert await turn("a.test", max_wait_ms=0, since_ms=0, ahead=5) == SECOND
    assert await turn("a.test", max_wait_ms=0) == 6 * SECOND + 5  # who has no lease waits behind them
    await paced.frontier.politeness.end_turn("a.test", has_lease=True)
    await paced.frontier.release([HostRelease(lease=first, elapsed_ms=0)])
    await paced.crawl.skip(6 * SECOND + 4)
    assert await paced.take(delay=SECOND) == []
    await paced.crawl.skip(1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_who_asks_for_a_delay_has_no_turns_ahead_of_their_time(paced, found):
    for _ in range(2):
        waits = [
            await paced.frontier.politeness.reserve_turn(
                "a.test", max_wait_ms=0, since_ms=MINUTE, ahead=9, delay_ms=SECOND
            )
        ]
    assert waits == [SECOND + 1]
    assert await paced.frontier.politeness.reserve_turn("b.test", max_wait_ms=0) == 0
    assert (
        await paced.frontier.politeness.reserve_turn("b.test", max_wait_ms=0, ahead=9) == SECOND + 1
    )  # nor who has no lease


@pytest.mark.parametrize(("said", "rest"), [(0, 30 * SECOND), (7 * SECOND, 7 * SECOND)])
async def test_a_host_that_is_too_busy_for_a_part_is_left_alone(paced, found, said, rest):
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    turn, end_turn = paced.frontier.politeness.reserve_turn, paced.frontier.politeness.end_turn
    for host in ("a.test", "cdn.test"):
        leased = host == "a.test"
        await end_turn(host, has_lease=leased, busy="status_429", hold_ms=said)
        assert await turn(host, max_wait_ms=0, since_ms=MINUTE if leased else None, ahead=100) == rest + 1
    await paced.settle([first])
    await paced.crawl.skip(rest)
    assert await paced.take(delay=SECOND) == []
    await paced.crawl.skip(1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_a_host_without_a_delay_is_left_alone_as_well(worker):
    assert worker.frontier.crawl.settings.min_delay_ms == 0
    assert await worker.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == 0
    await worker.frontier.politeness.end_turn("cdn.test", busy="status_503", hold_ms=5 * SECOND)
    assert await worker.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == 5 * SECOND + 1


async def test_a_postponed_page_is_the_first_of_its_host_again_and_was_not_tried(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    (page,) = await worker.pages(1)
    assert await worker.frontier.postpone(page, MINUTE)
    assert not await worker.frontier.postpone(page, MINUTE)
    assert await worker.settle([page]) == 0
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    again = await worker.take()
    assert texts(again) == [f"http://a.test/{i}" for i in range(3)]
    assert (again[0].attempt, again[0].held_until_ms) == (0, worker.crawl.clock.now)


@pytest.mark.parametrize("asked", [False, True])
async def test_a_host_that_may_have_been_asked_has_its_delay_also_where_the_lease_goes_back(
    worker, found, asked
):
    await worker.frontier.add(numbered(found, "a.test", 2))
    (page,) = await worker.pages(1, delay=MINUTE)
    before = (await worker.frontier.stats()).requests
    await worker.crawl.skip(5 * MINUTE)
    assert await worker.frontier.postpone(page, SECOND, has_sent_request=asked)
    assert (await worker.frontier.stats()).requests == before - (not asked)
    await worker.crawl.skip(SECOND + 1)
    assert len(await worker.take(delay=MINUTE)) == (not asked)
    await worker.crawl.skip(MINUTE)
    again = await worker.take(delay=MINUTE)
    assert len(again) == asked
    assert all(lease.attempt == 0 for lease in again)


async def test_an_exchange_that_took_place_is_not_postponed(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    (page,) = await worker.pages()
    await worker.frontier.release([HostRelease(lease=page)])
    assert not await worker.frontier.postpone(page, MINUTE)
    assert await worker.settle([page]) == 1


# Faults


@pytest.mark.parametrize(
    ("fault", "times", "wait"),
    [
        (Fault.DNS, 1, MINUTE),
        (Fault.CONNECT, 1, MINUTE),
        (Fault.RESET, 3, MINUTE // 2),
        (Fault.TIMEOUT, 2, MINUTE // 2),
        (Fault.TLS, 3, MINUTE),
        (Fault.BUSY, 1, MINUTE // 2),
        (Fault.SERVER, 5, MINUTE),
        (Fault.FORBIDDEN, 8, 5 * MINUTE),
    ],
)
async def test_faults_in_a_row_open_the_circuit_and_an_answer_closes_it(worker, found, fault, times, wait):
    await worker.frontier.add(numbered(found, "a.test", 40))
    await worker.settle(await worker.pages(1))
    for doubled in (wait, 2 * wait):
        assert (await worker.stats()).held == (doubled > wait)
        for _ in range(times if doubled == wait else 1):
            await worker.crawl.skip(SECOND + 1)
            (page,) = await worker.take(1, delay=SECOND)
            await worker.settle([page], Outcome.FAILED, fault=fault)
        assert (await worker.stats()).held == 1
        await worker.crawl.skip(doubled - 1)
        assert await worker.take(delay=SECOND) == []
        await worker.crawl.skip(2)
    (probe,) = await worker.take()
    await worker.settle([probe])
    assert (await worker.stats()).held == 0
    assert len(await worker.take()) == 16


@pytest.mark.parametrize(
    ("delay", "waits"),
    [
        (5 * SECOND, (MINUTE, 2 * MINUTE, HOUR)),
        (500, (30_000, MINUTE, HOUR // 2)),
        (0, (2_000, 4_000, 2 * MINUTE)),
    ],
)
async def test_rests_that_nobody_asked_for_are_shorter_where_hosts_are_asked_sooner(
    worker, found, delay, waits
):
    await worker.frontier.add(numbered(found, "a.test", 40))
    await worker.settle(await worker.pages(1, delay=delay))
    first, second, longest = waits
    for wait in (first, second, *(min(first * 2**n, longest) for n in range(2, 7))):
        await worker.crawl.skip(delay + 1)
        (page,) = await worker.take(1, delay=delay)
        await worker.settle([page], Outcome.FAILED, fault=Fault.CONNECT)
        await worker.crawl.skip(wait - 1)
        assert await worker.take(delay=delay) == []
        await worker.crawl.skip(2)


async def test_a_page_that_is_tried_again_waits_for_less_where_hosts_are_asked_sooner(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    await worker.settle(await worker.pages(), Outcome.RETRY)
    await worker.crawl.skip(SECOND - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    await worker.settle(await worker.take(), Outcome.RETRY, retry_after_ms=MINUTE)
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_robots_txt_that_cannot_be_had_is_asked_for_later_each_time(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    for wait in (30 * SECOND, MINUTE, 2 * MINUTE):
        (robots,) = await worker.take(delay=SECOND)
        await worker.frontier.origins.retry_robots(robots, after_ms=None)
        await worker.crawl.skip(wait - 1)
        assert await worker.take(delay=SECOND) == []
        await worker.crawl.skip(2)


async def test_a_host_that_refuses_now_and_then_is_asked_on_and_none_dies_of_it(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 60))
    await worker.settle(await worker.pages(1))
    for _ in range(3):
        for _ in range(7):
            await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
        await worker.settle(await worker.take(1))
    assert (await worker.stats()).held == 0
    for _ in range(24):
        await worker.crawl.skip(HOUR)
        await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
    stats = await worker.stats()
    assert (stats.held, stats.dead) == (1, 0)


async def test_to_be_refused_is_an_answer_and_no_fault_beside_others(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 60))
    await worker.settle(await worker.pages(1))
    for _ in range(4):
        await worker.settle(await worker.take(1), Outcome.RETRY, fault=Fault.TIMEOUT)
        await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
    assert (await worker.stats()).held == 0
    await worker.settle(await worker.take(1), Outcome.RETRY, fault=Fault.CONNECT)
    assert (await worker.stats()).held == 1
    await worker.crawl.skip(MINUTE)
    await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
    assert (await worker.stats()).held == 0


async def test_the_faults_of_what_was_under_way_when_the_circuit_opened_count_as_one(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 30))
    await worker.settle(await worker.pages(), Outcome.FAILED, fault=Fault.CONNECT)
    stats = await worker.stats()
    assert (stats.waiting, stats.held, stats.dead) == (14, 1, 0)
    await worker.crawl.skip(2 * SECOND + 1)
    await worker.settle(await worker.take(), Outcome.FAILED, fault=Fault.CONNECT)
    await worker.crawl.skip(4 * SECOND - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_server_that_says_how_long_is_left_alone_for_that_long(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle(await worker.pages(1), Outcome.FAILED, fault=Fault.BUSY, hold_ms=2 * HOUR)
    await worker.crawl.skip(2 * HOUR - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def fail_until_dead(worker):
    trips = 0
    while not (await worker.stats()).dead:
        await worker.crawl.skip(HOUR + 1)
        (page,) = await worker.pages(1)
        await worker.settle([page], Outcome.FAILED, fault=Fault.CONNECT)
        trips += 1
    return trips


async def test_a_host_that_never_answered_is_dead_at_the_third_opening_of_its_circuit(worker, found):
    await worker.frontier.add([*numbered(found, "a.test", 20), found("http://b.test/")])
    for robots in await worker.take():
        await worker.frontier.origins.retry_robots(
            robots, after_ms=0, fault=Fault.CONNECT if robots.url.host == "a.test" else None
        )
    for _ in range(2):
        assert (await worker.stats()).dead == 0
        await worker.crawl.skip(HOUR + 1)
        (robots,) = [lease for lease in await worker.take() if lease.url.host == "a.test"]
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.CONNECT)
    stats = await worker.stats()
    assert (stats.dead, stats.waiting, stats.reasons) == (1, 1, {"failed:dead_connect": 20})
    more = await worker.frontier.add([found("http://a.test/new"), found("http://b.test/new")])
    assert (more.added, more.discarded) == (1, {"dead_connect": 1})


KINDS = [
    ("", Fault.TLS, "dead_tls"),
    ("r", Fault.TLS, "dead_tls"),
    *((kind, Fault(kind.partition("_")[0]), f"dead_{kind}") for kind in sorted(FAULT_DETAILS) if "_" in kind),
    *((kind, Fault.CONNECT, f"dead_{kind}") for kind in ("refused", "unreachable")),
]


@pytest.mark.parametrize(("reason", "fault", "died"), KINDS)
async def test_a_dead_host_says_of_what_kind_of_fault_it_died(worker, found, reason, fault, died):
    await worker.frontier.add(numbered(found, "a.test", 2))
    while not (await worker.stats()).dead:
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=fault, reason=reason)
        await worker.crawl.skip(HOUR + 1)
    assert (await worker.stats()).reasons == {f"failed:{died}": 2}
    assert (await worker.frontier.add([found("http://a.test/new")])).discarded == {died: 1}


async def test_a_dead_host_that_is_busy_afterwards_says_what_it_died_of(worker, found):
    """A part of a page may be asked of a host that is dead as a host of pages."""
    await worker.frontier.add(numbered(found, "a.test", 2))
    while not (await worker.stats()).dead:
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.TLS)
        await worker.crawl.skip(HOUR + 1)
    for _ in range(2):
        await worker.frontier.politeness.end_turn("a.test", busy="status_429")
        await worker.crawl.skip(HOUR + 1)
    assert (await worker.frontier.add([found("http://a.test/new")])).discarded == {"dead_tls": 1}
    assert (await worker.stats()).dead == 1


async def test_a_host_that_answered_once_dies_at_the_eighth(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    assert await fail_until_dead(worker) == 8
    assert (await worker.stats()).reasons == {"failed:dead_connect": 12}


async def test_what_fails_without_an_exchange_says_nothing_of_its_host(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await worker.settle(await worker.pages(1), Outcome.FAILED, fault=Fault.CONNECT)
    await worker.crawl.skip(MINUTE + 1)
    await worker.settle(await worker.take(), Outcome.REFUSED, reason="robots")
    await worker.settle(await worker.take(), Outcome.FAILED, reason="too_long")
    assert (await worker.stats()).held == 1


async def test_a_dead_host_that_is_resumed_lives(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await fail_until_dead(worker)
    assert await worker.frontier.operator.resume("a.test")
    stats = await worker.stats()
    assert (stats.dead, stats.held) == (0, 0)
    assert (await worker.frontier.add([found("http://a.test/new")])).added == 1
    assert len(await worker.pages()) == 1


async def test_what_comes_back_to_a_dead_host_has_failed(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    later, expired = await worker.pages(2, lease_ms=DAY)
    await worker.settle([later], Outcome.RETRY, retry_after_ms=DAY, fault=Fault.TIMEOUT)
    await worker.frontier.release([HostRelease(lease=expired)])
    failed = await fail_until_dead(worker)
    await worker.crawl.skip(2 * DAY)
    assert await worker.take() == []
    stats = await worker.stats()
    assert (stats.is_drained, stats.reasons) == (True, {"failed:dead_connect": 20 - failed})


# Origins of a host


DEAD, GOOD = "http://a.test:9", "http://a.test:8080"


async def fail_robots(worker, fault=Fault.CONNECT, reason=""):
    """Whatever origin's robots.txt is asked for cannot be had, but for the good one; the pages that are granted."""
    pages = []
    for lease in await worker.take(delay=SECOND):
        if lease.kind is Kind.PAGE:
            pages.append(lease)
        elif lease.url.origin == GOOD:
            await worker.allow(lease)
        else:
            await worker.frontier.origins.retry_robots(lease, after_ms=None, fault=fault, reason=reason)
    return pages


@pytest.mark.parametrize(("reason", "fault", "died"), [kind for kind in KINDS if kind[1] is not Fault.DNS])
async def test_an_origin_that_is_given_up_says_so_in_its_record(worker, found, reason, fault, died):
    await worker.frontier.add([found(f"{DEAD}/1"), found(f"{GOOD}/1"), found(f"{GOOD}/2")])
    while (record := await worker.frontier.origins.robots(DEAD)) is None:
        await fail_robots(worker, fault, reason)
        await worker.crawl.skip(HOUR)
    assert (record.rule, record.body) == ("disallow", died.encode())


@pytest.mark.parametrize(
    "fault", [Fault.CONNECT, Fault.TLS, Fault.RESET, Fault.TIMEOUT, Fault.SERVER, Fault.BUSY]
)
async def test_an_origin_that_cannot_be_had_holds_no_other_of_its_host(worker, found, fault):
    await worker.frontier.add([found(f"{origin}/{i}") for i in range(10) for origin in (DEAD, GOOD)])
    done, asked = 0, 0
    for _ in range(14):
        pages = await fail_robots(worker, fault)
        asked += not pages
        assert all(page.url.origin == GOOD for page in pages)
        done += await worker.settle(pages)
        await worker.crawl.skip(SECOND + 1)
    assert (done, asked) == (10, 4)  # the robots.txt of both, and once more nothing was there to be asked
    stats = await worker.stats()
    assert (stats.held, stats.dead, stats.waiting) == (0, 0, 10)


async def test_an_origin_that_never_answers_is_given_up_alone(worker, found):
    everything = [found(f"{origin}/{i}", depth=origin == GOOD) for i in range(10) for origin in (DEAD, GOOD)]
    await worker.frontier.add(everything)
    times = []
    while not (await worker.frontier.origins.robots(DEAD)):
        for lease in await worker.take(delay=SECOND):
            if lease.kind is Kind.PAGE:
                await worker.settle([lease])
            elif lease.url.origin == GOOD:
                await worker.allow(lease)
            else:
                times.append(worker.crawl.clock.now)
                await worker.frontier.origins.retry_robots(lease, after_ms=None, fault=Fault.CONNECT)
        await worker.crawl.skip(SECOND + 1)
    gaps = [late - early for early, late in pairwise(times)]
    assert len(gaps) == 2
    assert 30 * SECOND < gaps[0] <= 32 * SECOND
    assert 60 * SECOND < gaps[1] <= 62 * SECOND
    record = await worker.frontier.origins.robots(DEAD)
    assert (record.rule, record.version) == ("disallow", 1)
    pages = await worker.pages(delay=SECOND)
    assert {page.url.origin for page in pages} == {DEAD}
    stats = await worker.stats()
    assert (stats.held, stats.dead, stats.outcomes["fetched"]) == (0, 0, 10)


async def test_any_number_of_origins_that_are_gone_does_not_bury_the_one_that_answers(worker, found):
    gone = [found(f"http://a.test:{port}/") for port in range(1, 20)]
    await worker.frontier.add([*gone, *(found(f"{GOOD}/{i}", depth=1) for i in range(5))])
    done = 0
    for _ in range(200):
        done += await worker.settle([page for page in await fail_robots(worker) if page.url.origin == GOOD])
        await worker.crawl.skip(SECOND + 1)
    assert done == 5
    assert (await worker.stats()).dead == 0


async def test_a_host_waits_where_all_of_its_origins_rest_and_not_for_what_comes_then(worker, found):
    await worker.frontier.add([found(f"{DEAD}/1"), found("https://a.test/1")])
    assert await fail_robots(worker) == []
    await worker.crawl.skip(SECOND + 1)
    assert await fail_robots(worker) == []
    await worker.crawl.skip(SECOND + 1)
    assert await worker.take(delay=SECOND) == []
    await worker.frontier.add([found(f"{GOOD}/1")])
    (robots,) = await worker.take(delay=SECOND)
    assert robots.url.origin == GOOD
    await worker.allow(robots)
    await worker.crawl.skip(SECOND + 1)
    await worker.settle(await worker.take(delay=SECOND))
    await worker.crawl.skip(28 * SECOND)
    (robots,) = await worker.take(delay=SECOND)
    assert (robots.url.origin != GOOD, robots.attempt) == (True, 1)


async def test_an_origin_that_stops_answering_rests_and_its_host_goes_on(worker, found):
    await worker.frontier.add([found(f"{origin}/{i}") for i in range(20) for origin in (DEAD, GOOD)])
    done, tries = 0, 0
    for _ in range(60):
        for page in await worker.pages(1, delay=SECOND):
            if page.url.origin == GOOD:
                done += await worker.settle([page])
            else:
                tries += 1
                await worker.settle([page], Outcome.RETRY, fault=Fault.CONNECT, reason="refused")
        await worker.crawl.skip(SECOND + 1)
    assert (done, tries) == (20, 2)
    while (record := await worker.frontier.origins.robots(DEAD)).version == 1:
        await worker.crawl.skip(HOUR)
        for page in await worker.take(1, delay=SECOND):
            tries += await worker.settle([page], Outcome.FAILED, fault=Fault.CONNECT, reason="refused")
    assert (record.rule, tries) == ("disallow", 8)
    assert (await worker.stats()).dead == 0


async def test_an_answer_ends_the_faults_of_its_origin(worker, found):
    await worker.frontier.add([found(f"{origin}/{i}") for i in range(20) for origin in (DEAD, GOOD)])
    for _ in range(12):
        for page in await worker.pages(1, delay=SECOND):
            await worker.settle([page], Outcome.RETRY, retry_after_ms=0, fault=Fault.TIMEOUT)
            await worker.crawl.skip(HOUR)
            await worker.settle(await worker.take(1, delay=SECOND))
            await worker.settle(await worker.take(1, delay=SECOND))
            await worker.crawl.skip(HOUR)
    assert (await worker.frontier.origins.robots(DEAD)).rule == "allow"


async def test_a_name_that_leads_nowhere_is_the_hosts_own_fault(worker, found):
    await worker.frontier.add([found(f"{DEAD}/1"), found("https://a.test/1")])
    for _ in range(3):
        (robots,) = await worker.take(delay=SECOND)
        await worker.frontier.origins.retry_robots(robots, after_ms=None, fault=Fault.DNS)
        await worker.crawl.skip(HOUR)
    assert (await worker.stats()).reasons == {"failed:dead_dns": 2}


async def test_a_resumed_host_has_no_origin_that_rests(worker, found):
    await worker.frontier.add([found(f"{DEAD}/1"), found("https://a.test/1")])
    for _ in range(2):
        await fail_robots(worker)
        await worker.crawl.skip(SECOND + 1)
    assert await worker.take(delay=SECOND) == []
    await worker.frontier.operator.resume("a.test")
    assert len(await worker.take(delay=SECOND)) == 1


# Hosts


async def test_a_held_host_is_asked_nothing_until_it_is_resumed(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    assert await worker.frontier.operator.hold("a.test", 2 * HOUR)
    assert await worker.frontier.operator.hold("a.test", HOUR)
    await worker.crawl.skip(2 * HOUR - 1)
    assert await worker.take() == []
    assert await worker.frontier.operator.resume("a.test")
    assert len(await worker.pages()) == 3


async def test_a_host_that_nobody_found_is_neither_held_nor_resumed(worker):
    assert not await worker.frontier.operator.hold("a.test", HOUR)
    assert not await worker.frontier.operator.resume("a.test")
    assert (await worker.stats()).hosts == 0


async def test_a_resumed_host_still_waits_its_delay(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle(await worker.pages(1, delay=MINUTE), hold_ms=HOUR)
    await worker.frontier.operator.resume("a.test")
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take(delay=MINUTE) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=MINUTE)) == 1


async def test_hosts_of_a_higher_rank_are_asked_before_all_others(worker, found):
    await worker.frontier.add([found(f"http://{host}.a.test/") for host in "xyz"])
    await worker.frontier.operator.prefer({"a.test": Rank.LAST})
    await worker.frontier.operator.prefer({"a.test": Rank.USUAL})
    await worker.frontier.operator.hold("y.a.test", 1)
    await worker.crawl.skip(2)
    (first, *_) = await worker.take(2)
    assert first.url.host == "x.a.test"


async def test_a_rank_is_that_of_the_whole_domain_and_of_hosts_to_come(crawl, found):
    if isinstance(crawl.frontier, Frontier) and crawl.frontier.crawl.partitions.number > 1:
        pytest.skip("hosts of two partitions have no order between them")
    worker = Worker(crawl)
    await worker.frontier.add([found(f"http://{host}/") for host in ("a.test", "b.test", "www.b.test")])
    await worker.frontier.operator.prefer({"b.test": Rank.FIRST, "c.test": Rank.RICH, "a.test": Rank.LAST})
    await worker.frontier.add([found(f"http://{host}/") for host in ("c.test", "d.test", "x.b.test")])
    hosts = [lease.url.host for lease in await worker.take()]
    assert hosts == ["b.test", "www.b.test", "x.b.test", "c.test", "d.test", "a.test"]


@pytest.mark.parametrize(
    ("scope", "at_once", "left"),
    [
        ("host:a.test", 2, {"www.a.test", "b.test"}),
        ("domain:a.test", 4, {"b.test"}),
        ("prefix:http://a.test/x/", 0, {"a.test", "www.a.test", "b.test"}),
        ("any", 6, set()),
    ],
)
async def test_what_is_dropped_is_neither_granted_nor_let_in(worker, found, scope, at_once, left):
    scope = Scope.parse(scope)
    everything = [
        found(f"http://{host}/{path}") for host in ("a.test", "www.a.test", "b.test") for path in ("x/1", "y")
    ]
    await worker.frontier.add(everything)
    assert await worker.frontier.operator.drop(scope) == at_once
    leases = await worker.pages()
    assert {lease.url.host for lease in leases} == left
    assert not any(scope.admits(lease.url) for lease in leases)
    dropped = sum(scope.admits(known.url) for known in everything)
    assert (await worker.stats()).reasons == {"refused:dropped": dropped}
    new = await worker.frontier.add([found("http://a.test/x/new")])
    assert (new.added, new.discarded) == (0, {"dropped": 1})


# The end of a lease


async def test_settling_twice_changes_nothing(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    leases = await worker.pages()
    assert await worker.settle(leases * 2) == 1
    before = await worker.stats()
    assert await worker.settle(leases, Outcome.FAILED) == 0
    await worker.frontier.renew(leases, HOUR)
    assert await worker.stats() == before


async def test_what_a_late_settlement_found_is_no_less_found(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    leases = await worker.pages()
    await worker.frontier.workers.reclaim("w")
    assert await worker.settle(leases, discoveries=(found("http://b.test/"),)) == 0
    assert (await worker.stats()).seen == 2


async def test_a_page_is_tried_three_times_later_each_time(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    for attempt, wait in enumerate((30 * SECOND, 60 * SECOND)):
        (lease,) = await worker.pages(delay=SECOND)
        assert lease.attempt == attempt
        await worker.settle([lease], Outcome.RETRY, reason="timeout")
        await worker.crawl.skip(wait - 1)
        assert (await worker.take(), (await worker.stats()).later) == ([], 1)
        await worker.crawl.skip(2)
    await worker.settle(await worker.pages(), Outcome.RETRY, reason="timeout")
    assert (await worker.stats()).reasons == {"failed:timeout": 1}


async def test_a_page_of_a_worker_that_died_comes_back_though_the_limit_counts_it(crawl, found):
    await crawl.frontier.add([found(f"http://{name}.test/") for name in "abcd"])
    assert len(await Worker(crawl, "dies").pages(lease_ms=SECOND, max_pages=4)) == 4
    await crawl.skip(SECOND)
    lives = Worker(crawl, "lives")
    await lives.pages(max_pages=4)
    await lives.pages(max_pages=4)
    assert len(await crawl.frontier.workers.leases("lives")) == 4


async def test_what_expires_together_goes_back_in_its_order(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 12))
    order = texts(await worker.pages(9, lease_ms=SECOND))
    await worker.crawl.skip(SECOND)
    assert texts(await worker.take(9)) == order


async def test_what_is_reclaimed_together_goes_back_in_its_order(worker, found):
    long = "and a path that is not short at all, so that the server keeps leases in no order of its own"
    await worker.frontier.add([found(f"http://a.test/{i}/{long}") for i in range(16)])
    order = texts(await worker.pages())
    assert await worker.frontier.workers.reclaim("w") == 16
    assert texts(await worker.take()) == order


async def test_the_next_visit_is_told_what_the_last_one_noted(worker, found):
    await worker.frontier.add([found("http://a.test/", interval_s=10_000, state=OF_THE_SEED)])
    (lease,) = await worker.pages()
    assert lease.state == OF_THE_SEED
    await worker.settle([lease], next_state=OF_THE_FIRST_VISIT)
    await worker.crawl.skip(12_000 * SECOND)
    (lease,) = await worker.pages()
    assert lease.state == OF_THE_FIRST_VISIT


async def test_a_page_is_visited_again_sooner_where_it_has_changed_and_later_where_not(worker, found):
    await worker.frontier.add([found("http://a.test/", interval_s=10_000)])
    for outcome, wait in ((Outcome.FETCHED, 8_000), (Outcome.UNCHANGED, 11_200)):
        await worker.settle(await worker.pages(), outcome)
        stats = await worker.stats()
        assert (stats.scheduled, stats.is_drained) == (1, True)
        await worker.crawl.skip((wait - 60) * SECOND)
        assert await worker.take() == []
        await worker.crawl.skip(120 * SECOND)
    await worker.settle(await worker.pages(), Outcome.GONE)
    stats = await worker.stats()
    assert (stats.scheduled, stats.seen, stats.is_drained) == (0, 3, True)


# Traps


async def test_a_template_that_says_the_same_again_and_again_is_starved_and_another_goes_on(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 120))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found("http://a.test/0"),))
    asked = (await worker.stats()).outcomes["fetched"]
    maze = await worker.frontier.add([found(f"http://a.test/{i}") for i in range(200, 840)])
    assert maze.discarded["trap"] == 640 - maze.added
    assert 0 < maze.added < 40
    assert asked < 100
    honest = await worker.frontier.add([found(f"http://a.test/about/{word}.html") for word in "abcdef"])
    assert honest.added == 6


async def test_what_waits_in_a_trap_is_refused_but_for_a_trickle(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 700))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    stats = await worker.stats()
    assert stats.is_drained
    assert stats.reasons["refused:trap"] > 550
    assert stats.outcomes["fetched"] + stats.reasons["refused:trap"] == 700


async def test_what_was_listed_is_no_trap_however_much_it_says_the_same(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 700, listed=True))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found("http://a.test/0"),))
    assert (await worker.stats()).outcomes["fetched"] == 700
    assert (
        await worker.frontier.add([found("http://a.test/link")])
    ).added == 1  # nor did it cost anybody anything


async def test_what_was_listed_is_let_in_where_others_are_starved(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 700))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    listed = await worker.frontier.add([found(f"http://a.test/{i}", listed=True) for i in range(900, 1_000)])
    assert listed.added == 100
    before = (await worker.stats()).outcomes["fetched"]
    while leases := await worker.pages():
        assert all(lease.listed for lease in leases)
        await worker.settle(leases)
    assert (await worker.stats()).outcomes["fetched"] == before + 100


@pytest.mark.parametrize("policy", [UrlPolicy(traps=HostSwitch(on=True, hosts={"a.test": False}))])
async def test_where_traps_are_not_looked_for_nothing_is_refused_and_nobody_else_pays(worker, found):
    await worker.frontier.add(
        [page for host in ("www.a.test", "b.test") for page in numbered(found, host, 700)]
    )
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found("http://c.test/"),))
    stats = await worker.stats()
    assert stats.outcomes["fetched"] + stats.reasons["refused:trap"] == 1_401
    assert 550 < stats.reasons["refused:trap"] < 700
    more = [found(f"http://{host}/{i}") for host in ("www.a.test", "b.test") for i in range(800, 1_000)]
    assert 200 < (await worker.frontier.add(more)).added < 220


async def test_traps_that_are_not_looked_for_any_more_let_go_what_waits(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 800))
    while not (await worker.stats()).reasons:
        await worker.settle(await worker.pages(4), sketch=7)
    trusting = replace(worker.frontier.crawl.settings, policy=UrlPolicy(traps=HostSwitch(on=False)))
    await worker.frontier.crawl.update_settings(trusting)
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    stats = await worker.stats()
    assert stats.outcomes["fetched"] == 800 - stats.reasons["refused:trap"] > 400


async def test_a_host_that_says_new_things_is_never_starved(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 300))
    sketches = count()
    while leases := await worker.pages():
        for lease in leases:
            await worker.settle([lease], sketch=next(sketches))
    assert (await worker.stats()).outcomes["fetched"] == 300


# Pages that are given up, and that somebody wants to hear of


async def heard(worker):
    """What is granted as given up: paths by failure. Each is settled, as anything."""
    told = {}
    while leases := await worker.take():
        for lease in leases:
            assert lease.failure, lease
            told.setdefault(lease.failure, []).append(lease.url.text.rpartition("/")[2])
        assert await worker.settle(leases, Outcome.RETRY, fault=Fault.TIMEOUT, hold_ms=HOUR) == len(leases)
    return told


async def test_waiting_pages_that_notify_are_granted_as_given_up_at_a_dead_host(worker, found):
    await worker.frontier.add(
        [
            *numbered(found, "a.test", 10),
            *(found(f"http://a.test/heard-{i}", notify=True) for i in range(10)),
        ]
    )
    for robots in [*await worker.take()]:
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.CONNECT, reason="refused")
    while not (await worker.stats()).dead:
        await worker.crawl.skip(HOUR + 1)
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.CONNECT, reason="refused")
    assert await heard(worker) == {"failed:dead_refused": [f"heard-{i}" for i in range(10)]}
    stats = await worker.stats()
    assert (stats.is_drained, stats.dead, stats.reasons) == (True, 1, {"failed:dead_refused": 20})


async def test_all_pages_of_a_dead_host_are_given_up_at_once_if_none_notifies(worker, found):
    await worker.frontier.add([*numbered(found, "a.test", 20), found("http://b.test/heard", notify=True)])
    (silent,) = [lease for lease in await worker.take() if lease.url.host == "a.test"]
    await worker.frontier.origins.retry_robots(silent, after_ms=0, fault=Fault.CONNECT, reason="refused")
    while not (await worker.stats()).dead:
        assert not (await worker.stats()).reasons
        await worker.crawl.skip(HOUR + 1)
        (silent,) = [lease for lease in await worker.take() if lease.url.host == "a.test"]
        await worker.frontier.origins.retry_robots(silent, after_ms=0, fault=Fault.CONNECT, reason="refused")
    assert (await worker.stats()).reasons == {"failed:dead_refused": 20}


async def test_a_page_that_notifies_is_let_in_at_a_dead_host(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await fail_until_dead(worker)
    more = await worker.frontier.add(
        [found("http://a.test/silent"), found("http://a.test/heard", notify=True)]
    )
    assert (more.added, more.discarded) == (1, {"dead_connect": 1})
    assert await heard(worker) == {"failed:dead_connect": ["heard"]}
    assert (await worker.stats()).is_drained


async def test_a_page_that_comes_back_to_a_dead_host_is_granted_as_given_up(worker, found):
    await worker.frontier.add([found(f"http://a.test/{i}", notify=True) for i in range(12)])
    later, expired = await worker.pages(2, lease_ms=DAY)
    await worker.settle([later], Outcome.RETRY, retry_after_ms=DAY, fault=Fault.TIMEOUT)
    await worker.frontier.release([HostRelease(lease=expired)])
    failed = await fail_until_dead(worker)
    await worker.crawl.skip(2 * DAY)
    told = await heard(worker)
    assert len(told["failed:dead_connect"]) == 12 - failed
    assert {lease.url.text.rpartition("/")[2] for lease in (later, expired)} <= set(
        told["failed:dead_connect"]
    )
    assert (await worker.stats()).is_drained


async def test_a_page_that_waits_in_a_trap_is_granted_as_given_up(worker, found):
    await worker.frontier.add([found(f"http://a.test/{i}", notify=True) for i in range(400)])
    told = fetched = 0
    while leases := await worker.pages():
        trapped = [lease for lease in leases if lease.failure]
        assert {lease.failure for lease in trapped} <= {"refused:trap"}
        told, fetched = told + len(trapped), fetched + len(leases) - len(trapped)
        await worker.settle(leases, sketch=7)
    assert told > 250
    assert told + fetched == 400
    assert (await worker.stats()).reasons == {"refused:trap": told}


async def test_a_page_that_its_workers_do_not_survive_is_granted_as_given_up_and_then_fails_for_good(
    worker, found
):
    await worker.frontier.add([found("http://a.test/", notify=True)])
    await worker.pages(lease_ms=SECOND)
    for death in range(1, 10):
        await worker.crawl.skip(SECOND)
        (lease,) = await worker.take(lease_ms=SECOND)
        assert lease.failure == ("failed:lease_expired" if death >= 5 else "")
    await worker.crawl.skip(SECOND)
    assert await worker.take() == []
    assert (await worker.stats()).reasons == {"failed:lease_expired": 1}


async def test_what_is_given_up_is_held_like_any_lease_but_no_exchange_of_its_host(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await fail_until_dead(worker)
    await worker.frontier.add([found(f"http://a.test/heard-{i}", notify=True) for i in range(3)])
    one, two, three = await worker.take()
    held = await worker.frontier.workers.leases("w")
    assert [(lease.token, lease.failure) for lease in held] == [
        (lease.token, "failed:dead_connect") for lease in (one, two, three)
    ]
    assert await worker.frontier.postpone(one, HOUR) is False
    await worker.frontier.release([HostRelease(lease=two)])
    assert (await worker.stats()).leased == 3
    assert await worker.frontier.workers.reclaim("w", is_worker_dead=True) == 3
    again = await worker.take()
    assert texts(again) == texts([one, two, three])
    assert {lease.failure for lease in again} == {"failed:dead_connect"}
    await worker.frontier.workers.reclaim("w")
    assert await worker.frontier.operator.resume("a.test")
    assert not any(lease.failure for lease in await worker.pages())


async def test_dropped_pages_notify_nobody(worker, found):
    everything = [found(f"http://a.test/{path}", notify=True) for path in ("x/1", "x/2", "y")]
    await worker.frontier.add(everything)
    await worker.frontier.operator.drop(Scope.parse("prefix:http://a.test/x/"))
    assert texts(await worker.pages()) == ["http://a.test/y"]
    assert (await worker.stats()).reasons == {"refused:dropped": 2}
    assert (await worker.frontier.add([found("http://a.test/x/3", notify=True)])).discarded == {"dropped": 1}


# The crawl


async def test_no_page_is_granted_beyond_the_limit(worker, found):
    await worker.frontier.add([found(f"http://{host}.test/{i}") for host in "ab" for i in range(5)])
    leases = await worker.pages(max_pages=3)
    assert len(leases) == 3
    await worker.settle(leases[:1])
    await worker.settle(leases[1:], Outcome.REFUSED)
    assert len(await worker.pages(max_pages=3)) == 2
    assert await worker.take(max_pages=0) == []


async def test_every_exchange_that_is_begun_counts_as_a_request_whatever_comes(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 6))
    gone, failed, unasked, put_off, refused, held = await worker.pages()  # behind a robots.txt
    await worker.settle([gone], Outcome.GONE)
    await worker.settle([failed], Outcome.RETRY, fault=Fault.SERVER)
    await worker.frontier.release([HostRelease(lease=unasked, has_sent_request=False)])
    await worker.settle([unasked], Outcome.REFUSED)
    await worker.frontier.postpone(put_off, 0)
    await worker.settle([refused], Outcome.REFUSED, has_sent_request=False)
    assert (await worker.stats()).requests == 1 + 3
    await worker.frontier.workers.reclaim("w")  # what was granted and never begun
    assert await worker.frontier.postpone(held, 0) is False
    assert (await worker.stats()).requests == 1 + 2


async def test_no_more_is_granted_once_so_many_requests_were_begun(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 9))
    (robots,) = await worker.take(max_requests=3)
    await worker.allow(robots)
    first = await worker.take(max_requests=3)
    assert (robots.kind, len(first)) == (Kind.ROBOTS, 2)
    await worker.settle(first, Outcome.GONE)
    assert await worker.take(max_requests=3) == []
    assert len(await worker.take(max_requests=5)) == 2


async def test_a_worker_that_died_has_made_its_requests(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.pages()
    await worker.frontier.workers.reclaim("w", is_worker_dead=True)
    assert (await worker.stats()).requests == 4


async def test_a_page_that_was_held_at_five_crashes_has_failed(worker, found):
    await worker.frontier.add([found("http://a.test/"), found("http://b.test/", notify=True)])
    (await worker.pages())  # robots rules are there from now on
    for crash in range(5):
        assert (await worker.stats()).reasons == {}
        assert await worker.frontier.workers.reclaim("w", has_crashed=True) == 2
        held = await worker.take()
        assert {lease.is_recovered for lease in held} == {True}
        assert len(held) == (2 if crash < 4 else 1)
    assert (await worker.stats()).reasons == {"failed:lease_expired": 1}
    assert held[0].failure == "failed:lease_expired"


async def test_what_is_not_a_crash_counts_for_no_page(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.pages()
    for _ in range(9):
        await worker.frontier.workers.reclaim("w", is_worker_dead=True)
        assert len(await worker.take()) == 1


async def test_a_robots_txt_that_was_held_at_five_crashes_forbids_its_origin_for_an_hour(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    for crash in range(5):
        (lease,) = await worker.take()
        assert (lease.kind, lease.is_recovered) == (Kind.ROBOTS, crash > 0)
        await worker.frontier.workers.reclaim("w", has_crashed=True)
    (page,) = await worker.take()
    assert page.kind is Kind.PAGE
    record = await worker.frontier.origins.robots("http://a.test")
    assert (record.rule, record.body) == ("disallow", b"lease_expired")
    await worker.frontier.postpone(page, HOUR)
    await worker.crawl.skip(HOUR + SECOND)
    (again,) = await worker.take()
    assert (again.kind, again.is_recovered) == (Kind.ROBOTS, True)  # who reads it next is warned


async def test_a_robots_txt_that_cannot_be_had_meanwhile_is_held_at_as_many_crashes(worker, found):
    """A server that kills, fails, and kills again comes to the same end."""
    await worker.frontier.add([found("http://a.test/")])
    for _ in range(5):
        (lease,) = await worker.take()
        assert lease.kind is Kind.ROBOTS
        await worker.frontier.origins.retry_robots(lease, after_ms=SECOND)
        await worker.crawl.skip(MINUTE)
        (lease,) = await worker.take()
        await worker.frontier.workers.reclaim("w", has_crashed=True)
    assert (await worker.frontier.origins.robots("http://a.test")).body == b"lease_expired"


async def test_a_robots_txt_that_was_read_is_not_recovered(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.take()
    await worker.frontier.workers.reclaim("w", is_worker_dead=True)
    (lease,) = await worker.take()
    assert lease.is_recovered
    await worker.frontier.origins.settle_robots(lease, rule="allow", body=b"", ttl_ms=SECOND, delay_ms=None)
    await worker.crawl.skip(MINUTE)
    (lease,) = await worker.take()
    assert (lease.kind, lease.is_recovered) == (Kind.ROBOTS, False)


async def test_nothing_is_granted_while_the_gate_is_shut(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.frontier.backlog.report(follower="p", backlog=0, limit=10)
    await worker.frontier.settle([], archived=11)
    assert (await worker.frontier.backlog.gate_state()).shut
    assert await worker.take() == []
    await worker.frontier.backlog.withdraw("p")
    assert len(await worker.pages()) == 1


async def test_a_worker_without_a_heartbeat_in_time_is_not_alive(worker):
    await worker.frontier.workers.send_heartbeat("w", MINUTE, stalled_ms=SECOND)
    await worker.frontier.workers.send_heartbeat("v", HOUR)
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.frontier.workers.alive(["u", "v", "w"]) == {"v", "w"}
    assert await worker.frontier.workers.stalls() == [MINUTE - 1 + SECOND]
    await worker.crawl.skip(2)
    assert await worker.frontier.workers.alive(["u", "v", "w"]) == {"v"}
    assert await worker.frontier.workers.stalls() == []


async def test_a_worker_says_what_keeps_it_from_the_web_for_as_long_as_it_lives(crawl):
    frontier = crawl.frontier
    why = "no name server answers (192.0.2.53:53)"
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why=why, ms=5 * SECOND))
    await frontier.workers.send_heartbeat("v", MINUTE)
    await crawl.skip(SECOND)
    assert await frontier.workers.outages() == {"w": Outage(why=why, ms=6 * SECOND)}
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why="no route", ms=0))
    assert await frontier.workers.outages() == {"w": Outage(why="no route", ms=0)}
    await crawl.skip(MINUTE)
    assert await frontier.workers.outages() == {}
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why=why, ms=0))
    await frontier.workers.send_heartbeat("w", MINUTE)
    assert await frontier.workers.outages() == {}
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why=why, ms=0))
    await frontier.workers.deregister("w")
    assert await frontier.workers.outages() == {}


def reported(kind="crawler", rss=7, **counters):
    return WorkerReport(kind=kind, rss_bytes=rss, figures=WorkerFigures(**counters))


async def test_sums_of_figures_never_fall_whoever_ends_or_dies(crawl):
    workers = crawl.frontier.workers
    assert await workers.figures() == CrawlFigures()
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=5, store_calls=(1, 0, 2, 0, 0, 0, 0)))
    await workers.send_heartbeat("v", HOUR, report=reported(requests=10**12, politeness_violations=1))
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=8, store_calls=(1, 4, 2, 0, 0, 0, 0)))
    expected = WorkerFigures(requests=10**12 + 8, politeness_violations=1, store_calls=(1, 4, 2, 0, 0, 0, 0))
    both = await workers.figures()
    assert both.sums == {"crawler": expected}
    assert both.workers["w"] == reported(requests=8, store_calls=(1, 4, 2, 0, 0, 0, 0))
    await crawl.skip(2 * MINUTE)  # w is not heard of any more
    assert await workers.figures() == CrawlFigures(
        sums={"crawler": expected}, workers={"v": both.workers["v"]}
    )
    await workers.send_heartbeat("u", MINUTE)  # the heartbeat of another one removes w
    await workers.deregister("v")
    assert await workers.figures() == CrawlFigures(sums={"crawler": expected})
    await workers.send_heartbeat("x", MINUTE, report=reported(requests=1))
    assert (await workers.figures()).sums["crawler"].requests == 10**12 + 9


async def test_a_report_that_comes_late_or_twice_is_counted_once(crawl):
    workers = crawl.frontier.workers
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=5))
    await crawl.skip(2 * MINUTE)
    await workers.send_heartbeat("v", MINUTE)
    for _ in range(2):
        await workers.send_heartbeat("w", MINUTE, report=reported(requests=6))
    assert (await workers.figures()).sums["crawler"].requests == 6


async def test_processors_and_exporters_report_without_a_heartbeat(crawl):
    workers = crawl.frontier.workers
    await workers.report_figures("p", reported("processor", parts=3, cpu_us=9), MINUTE)
    await workers.report_figures("e", reported("exporter", parts=1), HOUR)
    assert await workers.alive(["p", "e"]) == set()
    await crawl.skip(2 * MINUTE)
    found = await workers.figures()
    assert set(found.workers) == {"e"}
    assert found.sums["processor"].parts == 3
    await workers.report_figures("e", reported("exporter", parts=2), HOUR)
    await workers.deregister("e")
    later = await workers.figures()
    assert later.sums == {"processor": found.sums["processor"], "exporter": WorkerFigures(parts=2)}
    assert later.workers == {}
    assert later.progress_ms["exporter"] >= later.progress_ms["processor"]


async def test_progress_is_what_is_stored_and_not_what_is_tried(crawl):
    workers = crawl.frontier.workers
    await workers.send_heartbeat("w", HOUR, report=reported(requests=5, cpu_us=9))
    assert (await workers.figures()).progress_ms == {}
    await workers.send_heartbeat("w", HOUR, report=reported(requests=6, bytes_stored=1))
    first = (await workers.figures()).progress_ms["crawler"]
    await crawl.skip(MINUTE)
    await workers.send_heartbeat("w", HOUR, report=reported(requests=7, bytes_stored=1))
    assert (await workers.figures()).progress_ms["crawler"] == first
    await workers.send_heartbeat("w", HOUR, report=reported(requests=7, bytes_stored=2))
    assert (await workers.figures()).progress_ms["crawler"] >= first


async def test_the_age_of_the_backlog_is_what_its_follower_reports(crawl):
    await crawl.frontier.backlog.report(follower="p", backlog=5, limit=10, oldest_ms=7_000)
    assert (await crawl.frontier.backlog.gate_state()).oldest_ms == 7_000


async def test_a_crawl_that_is_forgotten_has_no_figures(crawl):
    workers = crawl.frontier.workers
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=5))
    await crawl.frontier.crawl.forget()
    await crawl.frontier.crawl.open()
    assert await workers.figures() == CrawlFigures()


class Observers:
    """Workers that report exchanges with a host, in milliseconds from now."""

    def __init__(self, crawl):
        self.crawl = crawl

    async def report(self, start, end, host="a.test", delay=SECOND, error=1, clock=None):
        politeness = self.crawl.frontier.politeness
        now = await politeness.check_exchanges("", [])
        times = ExchangeTimes(
            host=host,
            started_ms=now.now_ms + start,
            ended_ms=now.now_ms + end,
            delay_ms=delay,
            error_ms=error,
        )
        checked = await politeness.check_exchanges(clock or now.clock, [times])
        return [(each.host, each.gap_ms, each.delay_ms) for each in checked.violations]


async def test_requests_at_the_delay_are_polite_and_nearer_ones_are_violations(crawl):
    seen = Observers(crawl)
    assert await seen.report(0, 100) == []
    assert await seen.report(1_100, 1_200) == []
    assert await seen.report(1_300, 1_400, host="b.test") == []
    assert await seen.report(1_300, 1_400) == [("a.test", 100, SECOND)]
    assert await seen.report(1_350, 1_500) == [("a.test", -50, SECOND)]


async def test_the_order_of_the_reports_does_not_matter_and_neither_does_a_second_report(crawl):
    seen = Observers(crawl)
    assert await seen.report(500, 600) == []
    assert await seen.report(0, 100) == [("a.test", 400, SECOND)]
    assert await seen.report(500, 600) == []
    assert await seen.report(500, 900) == []  # the same exchange, which went on
    assert await seen.report(1_800, 1_900) == [("a.test", 900, SECOND)]


async def test_the_shorter_delay_counts_and_the_errors_of_both_clocks(crawl):
    seen = Observers(crawl)
    await seen.report(0, 100, delay=10 * SECOND)
    assert await seen.report(1_100, 1_200, delay=SECOND) == []
    assert await seen.report(2_150, 2_200, delay=10 * SECOND, error=49) == []
    assert await seen.report(3_150, 3_200, error=1) == []
    assert await seen.report(4_197, 4_200, error=1) == [("a.test", 997, SECOND)]


async def test_an_exchange_is_watched_until_its_delay_is_long_over(crawl):
    seen = Observers(crawl)
    await seen.report(0, 0, delay=MINUTE)
    await crawl.skip(MINUTE - 1)
    assert await seen.report(-10, -5, delay=MINUTE) == [("a.test", MINUTE - 11, MINUTE)]
    await crawl.skip(3 * MINUTE)
    await seen.report(0, 0, host="b.test")
    assert await seen.report(-3 * MINUTE, -3 * MINUTE, delay=MINUTE) == []


async def test_times_of_another_clock_are_not_checked(crawl):
    seen = Observers(crawl)
    assert await seen.report(0, 100) == []
    assert await seen.report(200, 300, clock="of a server that restarted") == []
    assert await seen.report(1_100, 1_200) == []


async def test_origins_that_have_answered_are_named(worker, found):
    frontier = worker.frontier
    assert await frontier.origins.responsive(100) == []
    places = (
        "http://a.test:81/",
        "https://b.test/",
        "http://c.test/",
        "http://d.test/",
        "http://[2001:db8::1]/",
    )
    await frontier.add([found(place) for place in places])
    leases = {lease.url.host: lease for lease in await worker.take()}
    assert await frontier.origins.responsive(100) == []
    given_up = leases.pop("d.test")
    await frontier.origins.settle_robots(given_up, rule="disallow", body=b"x", ttl_ms=DAY, delay_ms=None)
    for lease in leases.values():
        await worker.allow(lease)
    answered = {place.rstrip("/") for place in places} - {"http://d.test"}
    assert set(await frontier.origins.responsive(100)) == answered
    assert set(await frontier.origins.responsive(4)) <= answered
    (page,) = [lease for lease in await worker.take() if lease.url.host == "b.test"]
    await worker.settle([page], Outcome.RETRY, fault=Fault.CONNECT)
    again = await frontier.origins.responsive(100)
    assert (set(again), again[-1]) == (answered, "https://b.test")


async def test_a_forgotten_crawl_knows_nothing(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle((await worker.pages())[:1], sketch=1)
    await worker.frontier.operator.drop(Scope.parse("host:b.test"))
    await worker.frontier.crawl.forget()
    await worker.frontier.open()
    assert (await worker.stats()).seen == 0
    assert await worker.frontier.workers.leases("w") == []
    assert await worker.frontier.origins.robots("http://a.test") is None
    assert (await worker.frontier.add([*numbered(found, "a.test", 3), found("http://b.test/")])).added == 4
