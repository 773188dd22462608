"""Corners of the functions in `lua/`: counts that overflow, replies that are lost, calls at the same moment."""

import asyncio
from dataclasses import replace
from itertools import count

import pytest
from redis.asyncio import Redis

from tests.frontier.counters import checked, key, restarted
from tests.frontier.settlements import settled
from thresher.frontier import Fault, Frontier, Kind, Outcome, Rank
from thresher.frontier.link.call import Link

_serial = count()
HOUR = 3_600_000


async def test_a_host_that_fails_sixteen_exchanges_at_once_has_tripped_once(one, found, grants, redis: Redis):
    await one.add([found(f"http://a.test/{i}") for i in range(40)])
    leases = await grants(one).pages()
    assert len(leases) == 16
    await one.settle(settled(leases, Outcome.RETRY, fault=Fault.CONNECT))
    stats = await checked(one, redis)
    assert (stats.held, stats.dead) == (1, 0)
    assert stats.waiting == 24


async def test_a_host_that_dies_is_dead_once_whatever_was_under_way(one, found, grants, redis: Redis):
    await one.add([found(f"http://a.test/{i}") for i in range(40)])
    leases = await grants(one).pages()
    for lease in leases:
        await one.settle(settled([lease], Outcome.FAILED, fault=Fault.CONNECT, reason="connect"))
    assert (await checked(one, redis)).dead <= 1


@pytest.mark.parametrize("partitions", [2, 64, 128])
async def test_a_token_says_its_partition_after_a_restart_too(
    link: Link, found, grants, redis: Redis, partitions
):
    frontier = await Frontier(link, f"edges-{next(_serial)}").open(partitions=partitions)
    await frontier.add([found(f"http://h{i}.test/") for i in range(3 * partitions)])
    await restarted(frontier, redis)
    leases = await grants(frontier).pages(3 * partitions)
    assert len({lease.token for lease in leases}) == 3 * partitions
    for lease in leases:
        assert frontier.crawl.partitions.of_token(lease.token) == frontier.crawl.partitions.of_host(
            lease.url.host
        )
    assert await frontier.settle(settled(leases)) == 3 * partitions
    await frontier.crawl.forget()


async def test_what_expires_together_goes_back_in_its_order_from_the_first_token_on(
    one, found, grants, redis: Redis
):
    urls = [f"http://a.test/{i}" for i in range(14)]
    await one.add([found(url) for url in urls])
    worker = grants(one)
    assert len(await worker.pages()) == 14
    await redis.hincrby(key(one), "steady", worker.lease_ms)
    assert [lease.url.text for lease in await worker.pages()] == urls


async def test_a_token_of_a_forgotten_crawl_ends_nothing_of_the_next(one, found, grants):
    await one.add([found("http://a.test/")])
    (old,) = await grants(one).pages()
    await one.crawl.forget()
    await one.open(partitions=1)
    await one.add([found("http://b.test/")])
    assert len(await grants(one).pages()) == 1
    assert await one.settle(settled([old])) == 0


async def test_a_page_that_is_visited_again_is_not_due_at_once_where_nobody_says_what_time_it_is(
    one, found, grants
):
    await one.add([found("http://a.test/", interval_s=86_400)])
    worker = grants(one)
    await one.settle(settled(await worker.pages()))
    assert await worker.pages() == []


@pytest.mark.parametrize("ms", [2**48 - 1, 2**48, 2**53, 10**30])
async def test_however_long_a_server_wants_to_be_left_alone_it_is(one, found, grants, ms):
    await one.add([found(f"http://{name}.test/{i}") for name in "abc" for i in range(30)])
    worker = grants(one)
    leases = {lease.url.host: lease for lease in await worker.pages(3)}
    await one.settle(settled([leases["a.test"]], Outcome.RETRY, hold_ms=ms, fault=Fault.BUSY))
    await one.postpone(leases["b.test"], ms)
    await one.operator.hold("c.test", ms)
    await one.operator.prefer({f"{name}.test": Rank.RICH for name in "abc"})  # they are placed again
    assert await worker.pages() == []


@pytest.mark.parametrize("ms", [2**32, 2**32 + 1, 10**15])
async def test_however_long_a_delay_is_it_is_kept(one, found, grants, ms):
    await one.add([found(f"http://a.test/{i}") for i in range(3)])
    worker = grants(one)
    (robots,) = await worker.take()
    await worker.allow(robots, delay_ms=ms)
    assert await worker.take() == []
    await one.add([found("http://b.test/1"), found("http://b.test/2")])
    slow = grants(one, delay_ms=ms)
    (robots,) = await slow.take()
    await slow.allow(robots)
    assert await slow.take() == []


async def test_robots_that_may_be_kept_for_ever_are_not_asked_for_again(one, found, grants):
    await one.add([found("http://a.test/1")])
    worker = grants(one)
    (robots,) = await worker.take()
    await worker.allow(robots, ttl_ms=2**50)
    (page,) = await worker.take()
    assert page.kind is Kind.PAGE


@pytest.mark.parametrize("crawl", [1], indirect=True)
async def test_who_comes_to_an_address_at_its_turn_is_not_sent_to_the_end_because_another_was_late(
    crawl, found, grants
):
    one = crawl.frontier
    await one.crawl.update_settings(replace(one.crawl.settings, min_ip_delay_ms=100))
    await one.add([found(f"http://h{i}.test/") for i in range(40)])
    leases = await grants(one).pages()
    waits = [await one.politeness.acquire_address(lease, "192.0.2.1") for lease in leases]
    assert waits == [100 * i + (i > 0) for i in range(40)]
    await crawl.skip(waits[1] + 60)
    assert (
        await one.politeness.acquire_address(replace(leases[1], held_until_ms=1), "192.0.2.1") == 0
    )  # 60 ms late
    await crawl.skip(40)
    assert (
        await one.politeness.acquire_address(replace(leases[2], held_until_ms=1), "192.0.2.1") == 61
    )  # in time


async def test_a_host_that_was_held_long_ago_stands_in_line_like_all_others(one, found, grants):
    await one.add([found("http://a.test/1")])
    worker = grants(one)
    (page,) = await worker.pages()
    await one.postpone(page, 1)
    await asyncio.sleep(0.05)
    (page,) = await worker.pages()
    await one.settle(settled([page]))
    await one.add([found("http://a.test/2")])
    (page,) = await worker.pages()
    assert page.held_until_ms == 0


@pytest.mark.parametrize("worker", ["", "a\0b", "ü" * 127, "a:b{c}\r\n", "x" * 255])
async def test_a_worker_is_called_whatever_it_likes(one, found, grants, worker):
    await one.add([found("http://[::1]:65535/\0"), found("https://xn--bcher-kva.test:1/a b")])
    leases = await grants(one, worker).pages()
    assert len(leases) == 2
    assert await one.workers.holders() == {worker}
    assert {lease.url.host for lease in await one.workers.leases(worker)} == {"[::1]", "xn--bcher-kva.test"}
    assert await one.workers.reclaim(worker) == 2


async def test_hosts_are_gone_through_on_the_oldest_server_that_is_taken(one, found, redis: Redis):
    """HSCAN has NOVALUES since Redis 7.4 and Valkey 8; `frontier.link.master` takes 7.0."""
    (library,) = await redis.function_list("thresher", withcode=True)
    assert b"'NOVALUES'" not in b"".join(part for part in library if isinstance(part, bytes))


async def test_few_ready_hosts_on_many_partitions_are_found_in_few_round_trips(
    link: Link, found, monkeypatch: pytest.MonkeyPatch
):
    frontier = await Frontier(link, f"edges-{next(_serial)}").open(partitions=64)
    await frontier.add([found("http://a.test/")])
    trips, call = [], link.call

    async def counted(calls):
        trips.append(len(calls))
        return await call(calls)

    monkeypatch.setattr(link, "call", counted)
    await frontier.lease(1, worker="w", lease_ms=1000)
    await frontier.lease(1, worker="w", lease_ms=1000)
    taken = len(trips)
    await frontier.crawl.forget()
    assert taken == 2 * 3  # the gate, what is due where, and the leases
