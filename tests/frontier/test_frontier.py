"""The life of a URL and of a host, verb by verb, on a real server."""

import asyncio
from itertools import pairwise

import pytest
from redis.asyncio import Redis

from core import CorruptData, InputError, Unavailable
from frontier import (
    Discovery,
    Frontier,
    HostRelease,
    Kind,
    Outcome,
    RobotsRecord,
    Scope,
    Settlement,
    canonicalize,
    crawl_names,
)
from frontier.link.call import Link
from frontier.link.connect import connect
from tests.expect import expect
from tests.frontier.fixed_clock import Crawl

HOUR = 3_600_000


def texts(leases):
    return [lease.url.text for lease in leases]


def settled(leases, outcome=Outcome.FETCHED, **fields):
    return [Settlement(lease=lease, outcome=outcome, **fields) for lease in leases]


def over(leases, elapsed_ms=None):
    return [HostRelease(lease=lease, elapsed_ms=elapsed_ms) for lease in leases]


async def server_ms(redis) -> int:
    seconds, micros = await redis.time()
    return seconds * 1000 + micros // 1000


async def test_an_unknown_url_waits_and_a_known_one_changes_nothing(frontier: Frontier, found):
    first = await frontier.add([found("http://a.test/1"), found("http://a.test/%31")])
    assert (first.added, first.known) == (1, 1)
    again = await frontier.add([found("http://a.test/1", priority=9), found("http://a.test/2")])
    assert (again.added, again.known) == (1, 1)
    stats = await frontier.stats()
    assert (stats.seen, stats.waiting, stats.hosts) == (2, 2, 1)
    assert repr(frontier) == f"Frontier('{frontier.crawl.name}')"


async def test_more_than_a_batch_is_added_whole(frontier: Frontier, found):
    added = await frontier.add([found(f"http://a.test/{i % 2500}") for i in range(3000)])
    assert (added.added, added.known) == (2500, 500)


async def test_nothing_added_is_nothing(frontier: Frontier, link: Link):
    assert (await frontier.add([])).added == 0
    assert frontier.crawl.name not in await crawl_names(link)
    assert (await frontier.stats()).is_drained


async def test_a_lease_carries_what_was_discovered(frontier: Frontier, grants):
    url = canonicalize("http://a.test:8080/%7ex?")
    known = Discovery(url=url, scope=Scope.of("prefix", url), depth=2, max_depth=5, hops=3, priority=1)
    await frontier.add([known])
    (lease,) = await grants(frontier).pages()
    assert (lease.url, lease.scope, lease.depth, lease.max_depth, lease.hops) == (
        url,
        known.scope,
        2,
        5,
        3,
    )
    assert (lease.kind, lease.worker, lease.attempt, lease.robots_version) == (Kind.PAGE, "w", 0, 1)


async def test_a_host_gives_its_lowest_level_first_and_within_it_the_oldest(
    frontier: Frontier, found, grants
):
    await frontier.add(
        [
            found("http://a.test/deep", depth=3),
            found("http://a.test/mid-1", depth=1),
            found("http://a.test/mid-2", depth=1),
            found("http://a.test/seed"),
            found("http://a.test/wanted", depth=3, priority=2),
            found("http://a.test/urgent", depth=1, priority=300),
        ]
    )
    order = [
        "http://a.test/urgent",
        "http://a.test/seed",
        "http://a.test/mid-1",
        "http://a.test/mid-2",
        "http://a.test/wanted",
        "http://a.test/deep",
    ]
    assert texts(await grants(frontier).pages()) == order


@pytest.mark.parametrize("frontier", [1], indirect=True)
async def test_hosts_take_turns(frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/{i}") for host in "abc" for i in range(3)])
    leases = await grants(frontier).pages()
    hosts = [lease.url.host for lease in leases]
    assert [sorted(hosts[i : i + 3]) for i in (0, 3, 6)] == [["a.test", "b.test", "c.test"]] * 3


@pytest.mark.parametrize("frontier", [1], indirect=True)
async def test_a_host_that_had_its_turn_goes_to_the_end_of_the_line(frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/{i}") for host in "ab" for i in range(3)])
    worker = grants(frontier)
    for robots in await worker.take():
        await worker.allow(robots)
    hosts = []
    for _ in range(6):
        await asyncio.sleep(0.003)
        hosts += [lease.url.host for lease in await worker.take(1)]
    assert hosts[:2] * 3 == hosts
    assert len(set(hosts)) == 2


async def test_robots_txt_of_an_origin_comes_before_its_pages(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test:8080/x"), found("http://a.test:8080/y")])
    worker = grants(frontier)
    (robots,) = await worker.take()
    assert (robots.kind, robots.url.text) == (Kind.ROBOTS, "http://a.test:8080/robots.txt")
    assert (robots.robots_version, robots.attempt) == (0, 0)
    assert await worker.take() == []
    await frontier.release(over([robots]))
    assert await worker.take() == []
    assert await frontier.origins.robots(robots.url.origin) is None
    await frontier.origins.settle_robots(robots, rule="rules", body=b"\0bytes\n", ttl_ms=HOUR, delay_ms=None)
    record = expect(RobotsRecord, await frontier.origins.robots(robots.url.origin))
    assert (record.origin, record.version, record.rule, record.body) == (
        "http://a.test:8080",
        1,
        "rules",
        b"\0bytes\n",
    )
    assert [lease.robots_version for lease in await worker.take()] == [1, 1]


async def test_each_origin_of_a_host_has_its_own_robots_txt(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/"), found("https://a.test/"), found("http://a.test:81/")])
    worker = grants(frontier)
    for origin in ("http://a.test", "https://a.test", "http://a.test:81"):
        robots = next(lease for lease in await worker.take() if lease.kind is Kind.ROBOTS)
        assert robots.url.origin == origin
        await worker.allow(robots)
    assert len(await worker.take()) == 1


async def test_a_stale_robots_txt_is_asked_for_again(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    worker = grants(frontier)
    (robots,) = await worker.take()
    await worker.allow(robots, ttl_ms=0)
    (again,) = await worker.take()
    assert (again.kind, again.robots_version) == (Kind.ROBOTS, 1)
    await worker.allow(again)
    assert expect(RobotsRecord, await frontier.origins.robots("http://a.test")).version == 2
    assert len(await worker.take()) == 1


async def test_a_robots_txt_that_cannot_be_had_holds_its_host(crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/1"), found("http://b.test/1")])
    worker = grants(frontier)
    a, b = sorted(await worker.take(), key=lambda lease: lease.url.host)
    await frontier.origins.retry_robots(a, after_ms=300)
    await frontier.origins.retry_robots(b, after_ms=HOUR)
    assert await worker.take() == []
    await crawl.skip(301)
    (again,) = await worker.take()
    assert (again.url, again.kind, again.attempt) == (a.url, Kind.ROBOTS, 1)


async def test_a_host_with_a_delay_has_one_exchange_open(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found(f"http://a.test/{i}") for i in range(3)])
    worker = grants(frontier, delay_ms=50)
    (robots,) = await worker.take()
    await worker.allow(robots)
    await crawl.skip(51)
    (page,) = await worker.take()
    await crawl.skip(51)
    assert await worker.take() == []
    await frontier.release(over([page]))
    assert await worker.take() == []
    await crawl.skip(51)
    assert len(await worker.take()) == 1


async def test_settling_without_a_release_ends_the_exchange(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found(f"http://a.test/{i}") for i in range(2)])
    worker = grants(frontier, delay_ms=50)
    await worker.allow((await worker.take())[0])
    await crawl.skip(51)
    assert await frontier.settle(settled(await worker.take())) == 1
    assert await worker.take() == []
    await crawl.skip(51)
    assert len(await worker.take()) == 1


async def test_a_host_without_a_delay_has_at_most_sixteen_exchanges_open(frontier: Frontier, found, grants):
    await frontier.add([found(f"http://a.test/{i}") for i in range(40)])
    worker = grants(frontier)
    leases = await worker.pages()
    assert len(leases) == 16
    await frontier.release(over(leases[:3]))
    await frontier.release(over(leases[:3]))
    assert len(await worker.take()) == 3


async def test_the_slower_of_two_delays_wins(frontier: Frontier, found, grants, redis: Redis):
    await frontier.add([found(f"http://a.test/{i}") for i in range(3)])
    worker = grants(frontier, delay_ms=20)
    (robots,) = await worker.take()
    before = await server_ms(redis)
    await worker.allow(robots, delay_ms=150)
    page = await worker.first()
    assert page.deadline_ms - worker.lease_ms >= before + 150


async def test_two_workers_that_disagree_are_held_to_the_slower(frontier: Frontier, found, grants):
    await frontier.add([found(f"http://a.test/{i}") for i in range(3)])
    slow, fast = grants(frontier, "slow", delay_ms=HOUR), grants(frontier, "fast")
    (robots,) = await slow.take()
    assert await fast.take() == []
    await slow.allow(robots)
    assert await fast.take() == []


async def test_a_slow_worker_waits_its_delay_after_a_fast_one(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found(f"http://a.test/{i}") for i in range(3)])
    fast, slow = grants(frontier, "fast"), grants(frontier, "slow", delay_ms=100)
    (page,) = await fast.pages(1)
    assert await slow.take() == []
    await frontier.release(over([page]))
    assert await slow.take() == []
    await crawl.skip(101)
    assert len(await slow.take()) == 1


async def test_robots_rules_that_ask_for_less_than_before_are_obeyed(crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found(f"http://a.test/{i}") for i in range(3)])
    worker = grants(frontier)
    await worker.allow((await worker.take())[0], delay_ms=60, ttl_ms=0)
    await crawl.skip(61)
    await worker.allow((await worker.take())[0], delay_ms=None)
    assert await worker.take() == []
    await crawl.skip(61)
    assert len(await worker.take()) == 3


async def test_another_origin_of_the_host_does_not_make_it_faster(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/"), found("https://a.test/"), found("https://a.test/2")])
    worker = grants(frontier)
    await worker.allow((await worker.take())[0], delay_ms=40)
    await crawl.skip(41)
    await frontier.settle(settled(await worker.take()))
    await crawl.skip(41)
    await worker.allow((await worker.take())[0], delay_ms=None)
    assert await worker.take() == []
    await crawl.skip(41)
    assert len(await worker.take()) == 1


async def test_no_host_is_asked_twice_within_its_delay_whoever_asks(
    frontier: Frontier, found, grants, redis: Redis
):
    delay, hosts, pages = 60, 3, 5
    await frontier.add([found(f"http://h{h}.test/{i}") for h in range(hosts) for i in range(pages)])
    exchanges: dict[str, list[tuple[int, int]]] = {}

    async def work(name: str) -> None:
        worker = grants(frontier, name, delay_ms=delay)
        while not (await frontier.stats()).is_drained:
            for lease in await worker.take(2):
                begun = lease.deadline_ms - worker.lease_ms
                await asyncio.sleep(0.003)
                ended = await server_ms(redis)  # not after the release: the gap is at least what is measured
                exchanges.setdefault(lease.url.host, []).append((begun, ended))
                if lease.kind is Kind.ROBOTS:
                    await worker.allow(lease)
                else:
                    await frontier.release(over([lease]))
                    await frontier.settle(settled([lease]))
            await asyncio.sleep(0.004)

    await asyncio.gather(*(work(f"w{i}") for i in range(4)))
    assert {host: len(spans) for host, spans in exchanges.items()} == {
        f"h{h}.test": pages + 1 for h in range(hosts)
    }
    for spans in exchanges.values():
        spans.sort()
        assert all(begun >= ended + delay for (_, ended), (begun, _) in pairwise(spans))


async def test_a_held_host_is_asked_nothing(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found(f"http://a.test/{i}") for i in range(20)])
    worker = grants(frontier)
    await frontier.settle(settled(await worker.pages(1), Outcome.RETRY, reason="status_429", hold_ms=200))
    assert await worker.take() == []
    await crawl.skip(201)
    assert len(await worker.take()) == 16


async def test_a_settlement_adds_what_was_found_and_ends_the_lease(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    (lease,) = await grants(frontier).pages()
    links = (found("http://a.test/"), found("http://a.test/1", depth=1), found("http://b.test/", depth=1))
    assert await frontier.settle(settled([lease], discoveries=links, reason="html")) == 1
    stats = await frontier.stats()
    assert (stats.seen, stats.waiting, stats.leased, stats.hosts) == (3, 2, 0, 2)
    assert {outcome: n for outcome, n in stats.outcomes.items() if n} == {"fetched": 1}
    assert stats.reasons == {"fetched:html": 1}


async def test_a_redirect_is_a_discovery_of_its_own(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier)
    leases = await worker.pages()
    await frontier.settle(
        settled(leases, Outcome.REDIRECTED, discoveries=(found("https://a.test/", hops=1),))
    )
    (robots,) = await worker.take()
    assert robots.url.text == "https://a.test/robots.txt"
    await worker.allow(robots)
    (target,) = await worker.take()
    assert (target.url.text, target.hops) == ("https://a.test/", 1)
    await frontier.settle(settled([target], Outcome.REDIRECTED, discoveries=(found("http://a.test/"),)))
    assert (await frontier.stats()).is_drained


async def test_settling_twice_changes_nothing(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    leases = await grants(frontier).pages()
    settlement = settled(leases, discoveries=(found("http://b.test/"),))
    assert await frontier.settle(settlement * 2) == 1
    before = await frontier.stats()
    assert await frontier.settle(settled(leases, Outcome.FAILED)) == 0
    await frontier.release(over(leases))
    await frontier.renew(leases, HOUR)
    assert await frontier.stats() == before


async def test_what_a_late_settlement_found_is_no_less_found(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    leases = await grants(frontier).pages()
    await frontier.workers.reclaim("w")
    assert await frontier.settle(settled(leases, discoveries=(found("http://a.test/1"),))) == 0
    stats = await frontier.stats()
    assert (stats.seen, stats.waiting, stats.outcomes["fetched"]) == (2, 2, 0)


async def test_a_robots_lease_is_settled_once_and_by_its_own_verb(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier)
    (robots,) = await worker.take()
    assert await frontier.settle(settled([robots])) == 0
    await worker.allow(robots)
    await frontier.origins.settle_robots(robots, rule="disallow", body=b"", ttl_ms=HOUR, delay_ms=HOUR)
    await frontier.origins.retry_robots(robots, after_ms=HOUR)
    assert expect(RobotsRecord, await frontier.origins.robots("http://a.test")).rule == "allow"
    (page,) = await worker.take()
    await frontier.origins.settle_robots(page, rule="disallow", body=b"", ttl_ms=HOUR, delay_ms=None)
    assert (await frontier.stats()).leased == 1


async def test_an_expired_lease_is_granted_again_and_the_first_token_is_stale(crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    (first,) = await grants(frontier, "first", lease_ms=30).pages()
    await crawl.skip(30)
    (second,) = await grants(frontier, "second").take()
    assert second.url == first.url
    assert second.token > first.token
    assert second.attempt == 0
    assert await frontier.settle(settled([first], Outcome.FAILED, reason="late")) == 0
    assert await frontier.settle(settled([second])) == 1
    assert (await frontier.stats()).outcomes["failed"] == 0


async def test_an_expired_host_waits_its_delay_from_the_deadline(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    (dead,) = await grants(frontier, lease_ms=30, delay_ms=120).take()
    worker = grants(frontier, delay_ms=120)
    again = await worker.first()
    assert again.deadline_ms - worker.lease_ms >= dead.deadline_ms + 120


async def test_a_renewed_lease_does_not_expire(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    leases = await grants(frontier, lease_ms=40).pages()
    await frontier.renew(leases, HOUR)
    await crawl.skip(60)
    assert await grants(frontier).take() == []
    assert await frontier.settle(settled(leases)) == 1


async def test_a_page_that_outlives_five_deadlines_is_failed(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    await grants(frontier).allow((await grants(frontier).take())[0])
    worker = grants(frontier, lease_ms=1)
    for _ in range(5):
        assert len(await worker.take()) == 1
        await crawl.skip(1)
    assert await worker.take() == []
    stats = await frontier.stats()
    assert stats.reasons == {"failed:lease_expired": 1}
    assert stats.is_drained


async def test_a_robots_txt_that_outlives_five_deadlines_forbids_its_origin(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier, lease_ms=1)
    for _ in range(5):
        assert [lease.kind for lease in await worker.take()] == [Kind.ROBOTS]
        await crawl.skip(1)
    assert [lease.kind for lease in await worker.take()] == [Kind.PAGE]
    assert expect(RobotsRecord, await frontier.origins.robots("http://a.test")).rule == "disallow"


async def test_a_dead_workers_leases_go_back_at_once(frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/") for host in "abc"])
    worker = grants(frontier, "doomed\tname")
    await worker.allow((await worker.take(1))[0])
    held = await worker.take()
    assert {lease.kind for lease in held} == {Kind.PAGE, Kind.ROBOTS}
    assert await frontier.workers.leases(worker.worker) == sorted(held, key=lambda lease: lease.token)
    assert await frontier.workers.leases("other") == []
    assert await frontier.workers.reclaim("other") == 0
    assert await frontier.workers.reclaim(worker.worker) == 3
    assert await frontier.workers.leases(worker.worker) == []
    assert await frontier.settle(settled(held)) == 0
    assert len(await grants(frontier, "next").pages()) == 3


async def test_a_reclaimed_host_waits_its_delay(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier, delay_ms=80)
    await worker.take()
    await frontier.workers.reclaim("w")
    assert await worker.take() == []
    await crawl.skip(81)
    assert len(await worker.take()) == 1


async def test_a_retried_page_waits_and_comes_back_as_the_next_attempt(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier)
    for attempt in range(2):
        (lease,) = await worker.pages()
        assert lease.attempt == attempt
        again = settled([lease], Outcome.RETRY, reason="timeout", retry_after_ms=30)
        assert await frontier.settle(again) == 1
        assert ((await frontier.stats()).later, await worker.take()) == (1, [])
        await crawl.skip(30)
    (last,) = await worker.pages()
    await frontier.settle(settled([last], Outcome.RETRY, reason="timeout", retry_after_ms=0))
    stats = await frontier.stats()
    assert stats.is_drained
    assert stats.reasons == {"failed:timeout": 1}


async def test_without_a_time_a_retry_waits_a_second_where_hosts_have_no_delay(crawl: Crawl, found, grants):
    await crawl.frontier.add([found("http://a.test/")])
    await crawl.frontier.settle(settled(await grants(crawl.frontier).pages(), Outcome.RETRY))
    await crawl.skip(999)
    assert await grants(crawl.frontier).take() == []
    await crawl.skip(1)
    assert len(await grants(crawl.frontier).take()) == 1


async def test_no_page_is_granted_beyond_the_limit(frontier: Frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/{i}") for host in "ab" for i in range(5)])
    worker = grants(frontier)
    leases = await worker.pages(max_pages=3)
    assert len(leases) == 3
    await frontier.settle([*settled(leases[:1]), *settled(leases[1:], Outcome.REFUSED, reason="robots")])
    assert len(await worker.pages(max_pages=3)) == 2
    assert await worker.take(max_pages=0) == []


async def test_crawls_of_one_server_do_not_meet(frontier: Frontier, found, grants, link: Link, redis: Redis):
    other = await Frontier(link, "another").open()
    await frontier.add([found("http://a.test/")])
    await other.add([found("http://a.test/"), found("http://a.test/2")])
    assert "another" in await crawl_names(link)
    assert len(await grants(frontier).pages()) == 1
    await other.crawl.forget()
    assert "another" not in await crawl_names(link)
    assert not [key async for key in redis.scan_iter("thresher:{another*")]
    with pytest.raises(CorruptData, match="crawl another: its frontier is gone"):
        await other.stats()
    assert (await frontier.stats()).seen == 1


async def test_every_key_of_a_crawl_carries_the_tag_of_its_partition_or_of_its_home(
    frontier: Frontier, found, grants, redis: Redis
):
    await frontier.add([found(f"http://{host}.test/") for host in "abcdefgh"])
    await frontier.settle(settled(await grants(frontier).pages(), reason="x"))
    keys = [key.decode() async for key in redis.scan_iter(f"thresher:{{{frontier.crawl.name}*")]
    tags = {key.partition("{")[2].partition("}")[0] for key in keys}
    number = frontier.crawl.partitions.number
    assert tags == {
        frontier.crawl.name,
        *(f"{frontier.crawl.name}:{partition}" for partition in range(number)),
    }


async def test_the_library_is_loaded_once_and_replaced_when_it_differs(frontier: Frontier, redis: Redis):
    async def loads() -> int:
        return (await redis.info("commandstats")).get("cmdstat_function|load", {"calls": 0})["calls"]

    before = await loads()
    await frontier.open()
    assert await loads() == before
    await redis.function_load(
        "#!lua name=thresher\nredis.register_function('thresher_add', function() return 0 end)", replace=True
    )
    await frontier.open()
    assert (await frontier.stats()).seen == 0


@pytest.mark.parametrize("name", ["", "a b", "a{b}", "../x", ".hidden"])
def test_a_crawl_needs_a_plain_name(name):
    with pytest.raises(InputError, match="a name is"):
        Frontier(None, name)  # type: ignore[arg-type]


async def test_a_server_that_evicts_is_refused(frontier: Frontier, redis: Redis):
    await redis.config_set("maxmemory", "1gb")
    await redis.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(Unavailable, match="evicts keys"):
            await frontier.open()
    finally:
        await redis.config_set("maxmemory-policy", "noeviction")
        await redis.config_set("maxmemory", "0")


async def test_a_server_that_is_full_is_unavailable_in_one_line(frontier: Frontier, found, redis: Redis):
    await redis.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable, match=r"maxmemory.*run again$"):
            await frontier.add([found("http://a.test/")])
    finally:
        await redis.config_set("maxmemory", "0")


@pytest.mark.parametrize(
    ("address", "error", "text"),
    [
        (
            "redis://u:secret@127.0.0.1:1/",
            Unavailable,
            r"Redis at redis://127.0.0.1:1/ does not answer: .*start it",
        ),
        ("unix:///nonexistent.sock", Unavailable, "does not answer"),
        ("http://127.0.0.1/", InputError, "is not an address"),
        ("localhost", InputError, "is not an address"),
        ("redis://localhost:port", InputError, "is not an address"),
    ],
)
async def test_an_address_that_does_not_answer_is_named_without_its_password(address, error, text):
    with pytest.raises(error, match=text) as raised:
        await connect(address)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)
