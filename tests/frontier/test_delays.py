"""A host is asked no sooner than its delay allows, whoever asks."""

import asyncio
from itertools import pairwise

from redis.asyncio import Redis

from tests.frontier.fixed_clock import Crawl
from tests.frontier.settlements import over, settled
from thresher.frontier import Frontier, Kind, Outcome

HOUR = 3_600_000


async def server_ms(redis) -> int:
    seconds, micros = await redis.time()
    return seconds * 1000 + micros // 1000


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
