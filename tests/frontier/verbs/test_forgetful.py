"""A server loses power during a crawl, and the workers repeat to it the calls that it has forgotten."""

import asyncio
import random
from collections import Counter
from itertools import count

import pytest
from redis.asyncio import Redis

from tests.frontier.power_loss import PowerLossServer
from thresher.core import CorruptData
from thresher.frontier import (
    CrawlSettings,
    Discovery,
    Frontier,
    HostRelease,
    Kind,
    Outcome,
    Scope,
    Settlement,
    canonicalize,
)
from thresher.frontier.link.call import Link
from thresher.frontier.link.connect import connect
from thresher.frontier.verbs import journal as journals

HELD_BACK_MS = 1_500  # lua/state/clock.lua: HOLD_MS
DAY = 24 * 3_600_000
PAGES = 150
HOSTS = 5
UNPACED = CrawlSettings(min_delay_ms=0, min_ip_delay_ms=0)
_serial = count()


def page(number):
    """A page of a web in which page n leads to 3n+1, 3n+2 and 3n+3, and to one that is likely known."""
    url = canonicalize(f"http://h{number % HOSTS}.test/{number}")
    return Discovery(url=url, scope=Scope(kind="any", anchor=""), depth=number % 7)


def links(number):
    return [page(n) for n in (*range(3 * number + 1, 3 * number + 4), number // 2, PAGES - 1) if n < PAGES]


def number_of(lease):
    return int(lease.url.text.rpartition("/")[2])


class Worker:
    """A worker that may be in the middle of anything when its server loses power."""

    def __init__(self, frontier, name, chance, archive):
        self.frontier, self.name, self.chance, self.archive = frontier, name, chance, archive
        self.open = []
        self.over = set()

    async def act(self):
        await self.chance.choice(
            [self.take, self.take, self.settle, self.settle, self.release, self.postpone]
        )()

    async def take(self):
        n = self.chance.choice([1, 4, 12])
        for lease in await self.frontier.lease(n, worker=self.name, lease_ms=DAY):
            if lease.kind is Kind.ROBOTS:
                await self.frontier.origins.settle_robots(
                    lease, rule="allow", body=b"", ttl_ms=DAY, delay_ms=None
                )
            else:
                self.open.append(lease)

    async def settle(self):
        self.chance.shuffle(self.open)
        n = self.chance.choice([1, 3, 20])
        some, self.open = self.open[:n], self.open[n:]
        self.archive.update(number_of(lease) for lease in some)
        ended = [
            Settlement(
                lease=lease,
                outcome=Outcome.FETCHED if number_of(lease) % 9 else Outcome.GONE,
                discoveries=tuple(links(number_of(lease))),
            )
            for lease in some
        ]
        await self.frontier.settle(ended)

    async def release(self):
        over = self.open[:4]
        self.over |= {lease.token for lease in over}
        await self.frontier.release([HostRelease(lease=lease, elapsed_ms=1) for lease in over])

    async def postpone(self):
        if self.open and self.open[-1].token not in self.over:
            await self.frontier.postpone(self.open.pop(), 0)


async def until_granting(address, frontiers):
    """All have noticed that the server has restarted, and the moment is over in which nothing is granted."""
    for frontier in frontiers:
        await frontier.stats()
    async with Redis.from_url(address) as redis:
        for call in frontiers[0].crawl.partitions.calls(""):
            await redis.hincrby(call.keys[0], "steady", HELD_BACK_MS)


async def crawled(powerless, *, seed, partitions, crashes, workers=2):
    """Crawl the web to its end although power is lost; what was fetched, how often, and what the
    frontier says of it.
    """
    chance, archive = random.Random(seed), Counter()
    opened = [
        await Frontier(await connect(powerless.address), "lost").open(UNPACED, partitions=partitions)
        for _ in range(workers)
    ]
    fleet = [Worker(each, f"w{i}", chance, archive) for i, each in enumerate(opened)]
    await opened[0].add([page(0)])
    await opened[0].crawl.sync()
    sizes = [powerless.size()]
    due = sorted(chance.sample(range(10, 90), crashes))
    for step in range(10_000):
        if due and step >= due[0]:
            due.pop(0)
            powerless.lose_power(sizes[-1 - min(chance.choice([1, 2, 5, 15]), len(sizes) - 1)])
            await until_granting(powerless.address, opened)
            sizes = [powerless.size()]
        if step % 20 == 0 and not any(each.open for each in fleet) and (await opened[0].stats()).is_drained:
            break
        await chance.choice(fleet).act()
        sizes.append(powerless.size())
    return archive, await opened[0].stats()


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize("seed", range(3))
async def test_no_url_is_lost_and_none_fetched_twice_whenever_the_server_loses_its_last_second(
    powerless: PowerLossServer, seed, partitions
):
    archive, stats = await crawled(powerless, seed=seed, partitions=partitions, crashes=3)
    assert set(archive) == set(range(PAGES)), stats
    assert {number for number, times in archive.items() if times > 1} == set()
    assert stats.is_drained
    assert stats.leased == stats.robots == 0
    assert stats.outcomes["fetched"] + stats.outcomes["gone"] == PAGES == stats.seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 116))
async def test_no_url_is_lost_at_many_more_moments(powerless: PowerLossServer, seed):
    archive, stats = await crawled(
        powerless, seed=seed, partitions=1 + seed % 4, crashes=5, workers=1 + seed % 3
    )
    assert set(archive) == set(range(PAGES)), stats
    assert {number for number, times in archive.items() if times > 1} == set()
    assert stats.is_drained
    assert stats.outcomes["fetched"] + stats.outcomes["gone"] == PAGES == stats.seen


@pytest.fixture
async def crawl(powerless: PowerLossServer):
    link = await connect(powerless.address)
    frontier = await Frontier(link, "lost").open(UNPACED)
    await frontier.crawl.sync()  # while the server syncs its file it writes later than it answers
    yield frontier
    await link.aclose()


async def granted(frontier, n=10):
    """Pages, with their robots.txt read."""
    while True:
        leases = await frontier.lease(n, worker="w", lease_ms=DAY)
        for lease in leases:
            if lease.kind is Kind.ROBOTS:
                await frontier.origins.settle_robots(lease, rule="allow", body=b"", ttl_ms=DAY, delay_ms=None)
        if pages := [lease for lease in leases if lease.kind is Kind.PAGE]:
            return pages


async def test_what_was_added_is_added_again(powerless: PowerLossServer, crawl):
    durable = powerless.size()
    await crawl.add([page(1), page(2)])
    powerless.lose_power(durable)
    assert (await crawl.stats()).waiting == 2
    assert crawl.crawl.server_restarts == 1


async def test_a_lease_that_the_server_has_forgotten_is_held_on(powerless: PowerLossServer, crawl):
    await crawl.add([page(1)])
    durable = powerless.size()
    (lease,) = await granted(crawl)
    powerless.lose_power(durable)
    assert (await crawl.stats()).leased == 1
    assert await crawl.workers.leases("w") != []
    assert await crawl.settle([Settlement(lease=lease, outcome=Outcome.FETCHED)]) == 1


async def test_a_lease_that_only_the_server_knows_goes_back_at_once(powerless: PowerLossServer, crawl):
    await crawl.add([page(1)])
    (lease,) = await granted(crawl)
    durable = powerless.size()
    await crawl.postpone(lease, 0)
    powerless.lose_power(durable)
    stats = await crawl.stats()
    assert (stats.leased, stats.waiting) == (0, 1)


async def test_nothing_is_granted_until_other_workers_had_time_to_repeat_their_calls(powerless, crawl):
    await crawl.add([page(1), page(2)])
    await granted(crawl, 1)
    await crawl.crawl.sync()
    powerless.lose_power(powerless.size())
    await crawl.stats()
    leases = await crawl.lease(10, worker="w", lease_ms=DAY)
    assert list(leases) == []
    assert 0 < leases.soonest_ms <= HELD_BACK_MS


async def test_a_page_that_was_leased_and_settled_in_the_lost_second_is_not_granted_before_its_worker_says_so(
    powerless: PowerLossServer, crawl
):
    await crawl.add([page(1), page(1 + HOSTS)])
    (first,) = await granted(crawl, 1)
    await crawl.settle([Settlement(lease=first, outcome=Outcome.FETCHED)])
    durable = powerless.size()
    (second,) = await granted(crawl, 1)
    await crawl.settle([Settlement(lease=second, outcome=Outcome.FETCHED)])
    powerless.lose_power(durable)
    link = await connect(powerless.address)
    other = await Frontier(link, "lost").open()
    assert list(await other.lease(10, worker="v", lease_ms=DAY)) == []
    assert (await crawl.stats()).outcomes["fetched"] == 2
    await link.aclose()


async def test_a_restart_after_all_workers_have_come_to_their_end_holds_nobody_up(
    powerless: PowerLossServer, crawl
):
    await crawl.add([page(1), page(1 + HOSTS)])
    (first,) = await granted(crawl, 1)
    await crawl.settle([Settlement(lease=first, outcome=Outcome.FETCHED)])
    await crawl.workers.reclaim("w")
    powerless.lose_power(powerless.size())
    await crawl.stats()
    assert len(await crawl.lease(10, worker="w", lease_ms=DAY)) == 1


async def test_a_server_that_restarts_during_a_repetition_gets_another_one(powerless, crawl):
    durable = powerless.size()
    await crawl.add([page(number) for number in range(5)])
    tell, calls = crawl.crawl.link.call, []

    async def restarting(some):
        if some and some[0].verb == "add" and not calls:
            calls.append(some)
            replies = await tell(some)
            powerless.lose_power(durable)
            return replies
        return await tell(some)

    powerless.lose_power(durable)
    crawl.crawl.link.call = restarting
    assert (await crawl.stats()).waiting == 5
    assert calls


async def test_a_server_that_restarts_twice_within_a_second_gets_again_only_what_it_lost(powerless, crawl):
    await crawl.add([page(1)])
    (lease,) = await granted(crawl)
    await crawl.settle([Settlement(lease=lease, outcome=Outcome.FETCHED)])
    await asyncio.sleep(0.002)  # what is a millisecond older than the last write is certainly there
    await crawl.crawl.sync()
    durable = powerless.size()
    tell, verbs = crawl.crawl.link.call, []

    async def noted(calls):
        verbs.extend(call.verb for call in calls)
        return await tell(calls)

    crawl.crawl.link.call = noted
    for _ in range(2):  # that there was a first restart is lost with the second
        powerless.lose_power(durable)
        assert (await crawl.stats()).outcomes["fetched"] == 1
    assert crawl.crawl.server_restarts == 2
    assert {"regrant", "add", "settle", "settle_robots"}.isdisjoint(verbs)


async def test_a_robots_txt_that_was_tried_twice_in_the_lost_second_is_known(powerless, crawl):
    await crawl.add([page(1)])
    durable = powerless.size()
    (first,) = await crawl.lease(1, worker="w", lease_ms=DAY)
    await crawl.origins.retry_robots(first, after_ms=0)
    second = []
    while not second:
        second = await crawl.lease(1, worker="w", lease_ms=DAY)
    await crawl.origins.settle_robots(second[0], rule="allow", body=b"", ttl_ms=DAY, delay_ms=None)
    powerless.lose_power(durable)
    stats = await crawl.stats()
    assert (stats.waiting, stats.robots) == (1, 0)
    assert (await crawl.origins.robots("http://h1.test")).rule == "allow"


async def test_a_server_that_has_forgotten_more_than_is_remembered_is_an_error(
    powerless, crawl, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(crawl.crawl.journal, "_max_bytes", 5 * journals.ARGUMENT)
    durable = powerless.size()
    await crawl.add([page(1)])
    await crawl.add([page(2)])
    powerless.lose_power(durable)
    with pytest.raises(
        CorruptData, match=r"lost more of the frontier than .* `thresher frontier rebuild lost`"
    ):
        await crawl.stats()


@pytest.mark.parametrize("verb", ["lease", "stats", "add", "beat", "settle", "flow"])
async def test_a_server_that_was_emptied_is_an_error_whatever_it_is_asked(link: Link, redis: Redis, verb):
    name = f"emptied-{next(_serial)}"
    frontier = await Frontier(link, name).open(UNPACED)
    await frontier.add([page(1)])
    (lease,) = await granted(frontier)
    for key in await redis.keys(f"thresher:{{{name}*"):
        await redis.delete(key)
    with pytest.raises(CorruptData, match=f"`thresher frontier rebuild {name}`"):
        await {
            "lease": lambda: frontier.lease(1, worker="w", lease_ms=DAY),
            "stats": frontier.stats,
            "add": lambda: frontier.add([page(2)]),
            "beat": lambda: frontier.workers.send_heartbeat("w"),
            "settle": lambda: frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED)]),
            "flow": frontier.backlog.gate_state,
        }[verb]()
    assert await redis.keys(f"thresher:{{{name}*") == []


@pytest.mark.parametrize("verb", ["lease", "stats"])
async def test_a_crawl_that_was_made_again_is_not_taken_for_the_one_that_was_lost(
    link: Link, redis: Redis, verb
):
    name = f"emptied-{next(_serial)}"
    frontier = await Frontier(link, name).open(UNPACED)
    for key in await redis.keys(f"thresher:{{{name}*"):
        await redis.delete(key)
    await Frontier(link, name).open(UNPACED)
    with pytest.raises(CorruptData, match=f"`thresher frontier rebuild {name}`"):
        await (frontier.stats() if verb == "stats" else frontier.lease(1, worker="w", lease_ms=DAY))


async def test_a_part_of_a_crawl_that_is_lost_is_not_made_again_by_who_opens_it(link: Link, redis: Redis):
    name = f"emptied-{next(_serial)}"
    frontier = await Frontier(link, name).open(UNPACED, partitions=4)
    assert not await frontier.crawl.has_lost_partition()
    await redis.delete(frontier.crawl.partitions.key(2))
    assert await frontier.crawl.has_lost_partition()
    with pytest.raises(CorruptData, match=f"`thresher frontier rebuild {name}`"):
        await Frontier(link, name).open(UNPACED)
    await frontier.rebuild.start()
    assert (await (await Frontier(link, name).open(UNPACED)).stats()).waiting == 0


async def test_a_home_that_is_lost_is_not_made_again_over_its_partitions(link: Link, redis: Redis):
    name = f"emptied-{next(_serial)}"
    frontier = await Frontier(link, name).open(UNPACED, partitions=4)
    await frontier.add([page(1)])
    for key in await redis.keys(f"thresher:{{{name}}}*"):
        await redis.delete(key)
    for _ in range(2):
        with pytest.raises(CorruptData, match=f"`thresher frontier rebuild {name}`"):
            await Frontier(link, name).open(UNPACED, partitions=4)
    assert await frontier.crawl.has_lost_partition()
    await frontier.rebuild.start()
    assert (await (await Frontier(link, name).open(UNPACED)).stats()).waiting == 1


async def test_what_was_synced_is_on_the_disk(powerless: PowerLossServer, crawl):
    await crawl.add([page(1)])
    await crawl.crawl.sync()
    async with Redis.from_url(powerless.address) as redis:
        (waited,) = (
            stats for name, stats in (await redis.info("commandstats")).items() if name == "cmdstat_waitaof"
        )
    assert (waited["calls"], waited["failed_calls"], waited["rejected_calls"]) == (2, 0, 0)
    powerless.lose_power(powerless.size())
    assert crawl.crawl.server_restarts == 0
    await crawl.crawl.sync()
    assert crawl.crawl.server_restarts == 1
    assert (await crawl.stats()).waiting == 1


async def test_what_a_server_forgot_to_log_is_not_taken_for_logged(powerless: PowerLossServer, crawl):
    await crawl.add([page(number) for number in range(0, 40, HOSTS)])
    await crawl.operator.drop(Scope.parse("host:h0.test"))
    durable = powerless.size()
    batch = await crawl.unlogged_batch()
    powerless.lose_power(durable)
    await crawl.acknowledge_batch(batch)
    assert (await crawl.unlogged_batch()).settlements == batch.settlements != ()
