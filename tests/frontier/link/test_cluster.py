"""A crawl on a cluster whose masters die, are paused and whose slots move, while workers add, lease and settle.

Whatever happens: every URL is settled exactly once or is still to be, and no host is asked again within its delay.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count, pairwise

import pytest
from redis.crc import key_slot

from tests.frontier.valkey_cluster import wait_until
from thresher.frontier import (
    CrawlSettings,
    Discovery,
    Frontier,
    HostRelease,
    Kind,
    Lease,
    Outcome,
    Scope,
    Settlement,
    canonicalize,
    crawl_names,
)
from thresher.frontier.link.call import Link
from thresher.frontier.link.cluster import ClusterLink
from thresher.frontier.link.connect import connect
from thresher.frontier.link.partition import ON_A_CLUSTER, Partitions

DELAY_MS = 200
LEASE_MS = 20_000
_serial = count()

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
async def link(cluster) -> AsyncIterator[Link]:
    """A link that waits longer than a user's: on a machine with other work a promotion may take a minute."""
    found = ClusterLink(cluster.addresses[:2], retry_timeout_s=180)
    yield found
    await found.aclose()


@pytest.fixture
def crawl() -> str:
    return f"crawl-{next(_serial)}"


def page(host: int, number: int) -> Discovery:
    url = canonicalize(f"http://www.d{host}.test/{number}")
    return Discovery(url=url, scope=Scope.of("host", url))


class Fleet:
    """Workers that each fetch what they are granted (nothing is asked, it only takes time) and write down when.

    Page n of a host leads to page n + 1 of it and of the next host, so all `hosts * pages` are found from page 0.
    """

    def __init__(self, link: Link, crawl: str, *, hosts: int, pages: int, workers: int = 16) -> None:
        self.link = link
        self.crawl = crawl
        self.hosts = hosts
        self.pages = pages
        self.workers = workers
        self.granted: defaultdict[str, list[int]] = defaultdict(list)  # by the frontier's clock
        self.exchanges: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)  # by ours, in s
        self.held_back: set[tuple[str, float]] = (
            set()
        )  # exchanges that began long after their grant, it may be
        self.accepted: Counter[str] = Counter()
        self.stopped = False

    async def crawl_until_drained(self, meanwhile: Callable[[], Awaitable[None]]) -> Frontier:
        """Crawl; once nothing is left, and `meanwhile` has come to its end, return the crawl."""
        frontier = await Frontier(self.link, self.crawl).open(CrawlSettings(min_delay_ms=DELAY_MS))
        await frontier.add([page(host, 0) for host in range(self.hosts)])
        async with asyncio.TaskGroup() as tasks:
            for number in range(self.workers):
                tasks.create_task(self._work(f"w{number}"))
            await meanwhile()
            while not (await frontier.stats()).is_drained:  # noqa: ASYNC110 - the servers know, not this loop
                await asyncio.sleep(0.1)
            self.stopped = True
        return frontier

    async def some(self, n: int) -> None:
        """Return when `n` more pages are settled, or all are.

        If a server dies while it answers, nobody may know that a page was accepted: then the crawl knows the end.
        """
        frontier = await Frontier(self.link, self.crawl).open()
        wanted = self.accepted.total() + n
        while self.accepted.total() < wanted and not (await frontier.stats()).is_drained:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    def closest_grants_ms(self) -> int:
        """How close together two grants of one host came."""
        return min(b - a for grants in self.granted.values() for a, b in pairwise(sorted(grants)))

    def closest_exchanges_ms(self, *, prompt: bool = False) -> float:
        """How soon after the end of an exchange another began with the same host; of all, or of the prompt ones."""
        met = (
            pairwise(sorted(each for each in exchanges if not (prompt and (host, each[0]) in self.held_back)))
            for host, exchanges in self.exchanges.items()
        )
        return 1000 * min(after[0] - before[1] for pairs in met for before, after in pairs)

    async def _work(self, worker: str) -> None:
        frontier = await Frontier(self.link, self.crawl).open()
        while not self.stopped:
            asked = time.monotonic()
            leases = await frontier.lease(8, worker=worker, lease_ms=LEASE_MS)
            begun = time.monotonic()
            self.held_back.update(
                (lease.url.host, begun) for lease in leases if begun - asked >= DELAY_MS / 1000
            )
            for lease in leases:
                self.granted[lease.url.host].append(lease.deadline_ms - LEASE_MS)
            if begun - asked >= LEASE_MS / 1000:
                continue  # the leases may be over: another worker may hold these pages
            await asyncio.gather(*(self._fetch(frontier, lease, begun) for lease in leases))
            if not leases:
                await asyncio.sleep(random.uniform(0.05, 0.15))

    async def _fetch(self, frontier: Frontier, lease: Lease, begun: float) -> None:
        await asyncio.sleep(random.uniform(0, 0.03))
        self.exchanges[lease.url.host].append((begun, time.monotonic()))
        await frontier.release([HostRelease(lease=lease, elapsed_ms=0)])
        if lease.kind is Kind.ROBOTS:
            await frontier.origins.settle_robots(
                lease, rule="allow", body=b"", ttl_ms=3_600_000, delay_ms=None
            )
            return
        host, number = int(lease.url.host[5:-5]), int(lease.url.text.rpartition("/")[2])
        found = (page(host, number + 1), page((host + 1) % self.hosts, number + 1))
        settlement = Settlement(
            lease=lease, outcome=Outcome.FETCHED, discoveries=found if number + 1 < self.pages else ()
        )
        self.accepted[lease.url.text] += await frontier.settle([settlement])


async def check(fleet: Fleet, frontier: Frontier) -> None:
    """What holds whatever happened, and how close it was."""
    stats = await frontier.stats()
    whole = fleet.hosts * fleet.pages
    print(  # noqa: T201 - for who wants to see how close it was: pytest -s
        f"{whole} URLs, {sum(map(len, fleet.granted.values()))} grants, {fleet.accepted.total()} settlements accepted;"
        f" closest grants of a host {fleet.closest_grants_ms()} ms, exchanges {fleet.closest_exchanges_ms():.1f} ms"
    )
    assert (stats.seen, stats.outcomes["fetched"]) == (whole, whole)
    assert stats.is_drained
    assert max(fleet.accepted.values()) == 1
    assert fleet.closest_grants_ms() >= DELAY_MS
    assert fleet.closest_exchanges_ms() >= DELAY_MS - 1  # the frontier counts in whole milliseconds


def slot_of(crawl: str, partition: int) -> int:
    return key_slot(Partitions(crawl, ON_A_CLUSTER).key(partition).encode())


async def test_a_crawl_on_a_cluster_has_64_partitions_over_all_masters(cluster, link: Link, crawl):
    connected = await connect(",".join(cluster.addresses[:2]))
    assert isinstance(connected, ClusterLink)
    await connected.aclose()
    frontier = await Frontier(link, crawl).open()
    assert (await frontier.add([page(host, 0) for host in range(300)])).added == 300
    assert (await frontier.add([page(host, 0) for host in range(300)])).known == 300
    masters = {cluster.master_of(slot) for slot in (0, 8_000, 16_000)}
    held = [sum(crawl in key for key in master.run("KEYS", "*")) for master in masters]
    assert len(masters) == 3
    assert min(held) > 0
    assert await crawl_names(link) >= [crawl]
    await frontier.crawl.forget()
    assert not [key for master in masters for key in master.run("KEYS", "*") if f"{{{crawl}" in key]
    assert crawl not in await crawl_names(link)


@pytest.mark.slow
async def test_a_replica_takes_its_masters_place_and_slots_move_under_a_crawl(cluster, link: Link, crawl):
    fleet = Fleet(link, crawl, hosts=60, pages=5)

    async def trouble() -> None:
        await fleet.some(60)
        dead = await cluster.fail_over(slot_of(crawl, 0))
        await fleet.some(60)
        for partition in range(0, ON_A_CLUSTER, 8):
            slot = slot_of(crawl, partition)
            move = cluster.move_whole if partition % 16 else cluster.move
            await move(slot, cluster.master_of((slot + 5_461) % 16_384))
        await asyncio.to_thread(dead.start)
        await asyncio.to_thread(cluster.wait_settled)

    await check(fleet, await fleet.crawl_until_drained(trouble))


@pytest.mark.slow
async def test_masters_die_and_are_paused_and_every_slot_moves_under_a_crawl(cluster, link: Link, crawl):
    fleet = Fleet(link, crawl, hosts=150, pages=12, workers=24)

    async def trouble() -> None:
        for turn in range(3):
            slot = slot_of(crawl, turn)
            dead = await cluster.fail_over(slot)
            await fleet.some(100)
            await asyncio.to_thread(dead.start)
            await asyncio.to_thread(cluster.wait_settled)
            for partition in range(turn, ON_A_CLUSTER, 3):
                slot = slot_of(crawl, partition)
                move = cluster.move_whole if partition % 2 else cluster.move
                await move(slot, cluster.master_of((slot + 5_461) % 16_384))
        paused = await asyncio.to_thread(cluster.master_of, slot_of(crawl, 9))
        paused.pause()
        await asyncio.to_thread(
            wait_until, lambda: cluster.master_of(slot_of(crawl, 9)) is not paused, "a promotion"
        )
        await fleet.some(100)
        paused.resume()
        await asyncio.to_thread(cluster.wait_settled)

    await check(fleet, await fleet.crawl_until_drained(trouble))


@pytest.mark.slow
async def test_all_servers_die_together_under_a_crawl(cluster, link: Link, crawl):
    fleet = Fleet(link, crawl, hosts=60, pages=10)

    async def trouble() -> None:
        for _ in range(2):
            await fleet.some(100)
            for member in cluster.members:
                member.kill()
            await asyncio.to_thread(cluster.heal)

    await check(fleet, await fleet.crawl_until_drained(trouble))


@pytest.mark.slow
async def test_what_a_cluster_loses_makes_no_host_be_asked_sooner(cluster, link: Link, crawl):
    """A replica that was cut off for seconds takes the place of a master that went on alone: its last seconds are lost.

    What was granted in them and is held back for longer than the delay may meet another grant: nobody knows of it.
    """
    fleet = Fleet(link, crawl, hosts=60, pages=40)

    async def trouble() -> None:
        await fleet.some(60)
        master = await asyncio.to_thread(cluster.master_of, slot_of(crawl, 0))
        (replica,) = cluster.replicas_of(master)
        replica.pause()
        master.run("CLIENT", "KILL", "TYPE", "replica")
        await asyncio.sleep(4)  # longer than a master without a replica is waited for
        await fleet.some(200)
        master.kill()
        replica.resume()
        await asyncio.to_thread(
            wait_until, lambda: cluster.master_of(slot_of(crawl, 0)) is replica, "a promotion"
        )

    frontier = await fleet.crawl_until_drained(trouble)
    twice = sum(accepted > 1 for accepted in fleet.accepted.values())
    closest_ms = fleet.closest_exchanges_ms(prompt=True)
    print(f"{twice} pages settled twice; exchanges {closest_ms:.1f} ms apart")  # noqa: T201
    assert (await frontier.stats()).is_drained
    assert closest_ms >= DELAY_MS - 1
