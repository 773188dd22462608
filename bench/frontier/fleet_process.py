"""`FleetProcess`: one process of workers, each of which leases, waits some milliseconds, releases and settles.

Each worker has a client of its own, as a real worker process has. What the client remembers of the frontier
(`frontier.verbs.journal`) is lost when its worker dies.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from time import monotonic_ns as now

from bench.frontier.facts import Fact, FactLog, Kind
from bench.frontier.scenario import Scenario, address, crawl_delay_ms, least_delay_ms, settlement
from thresher.core import Unavailable
from thresher.frontier import Frontier, HostRelease, Lease
from thresher.frontier import Kind as Wanted
from thresher.frontier.link.call import Link
from thresher.frontier.link.connect import connect
from thresher.storage.directory_store import DirectoryStore

CRAWL = "fleet"
SERIALS = 1 << 16
"""Workers of one process, at most."""
IDLE_S = 0.1
"""Seconds that a worker waits which has nothing, or no server: as many as one of the crawler would."""
POLL_S = 0.3
"""Seconds between two questions whether the crawl is drained."""
RENEWAL_SHARE = 0.1
"""Share of the turns in which the leases are renewed."""


class WorkerDeath(Exception):
    """A worker dies between two calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWorker:
    """One worker, until its death."""

    number: int
    frontier: Frontier


@dataclass(kw_only=True)
class FleetProcess:
    """One process of workers. The workers of generation g have numbers from g * SERIALS on."""

    scenario: Scenario
    generation: int
    link: Link
    frontier: Frontier
    """The client of the process itself, which reads counts and reclaims leases."""
    fact_log: FactLog
    random: Random
    drained: bool = False
    _serial: "count[int]" = field(default_factory=count)

    async def run(self, recovers: int | None) -> None:
        """Run workers until the crawl is drained; first recover leases of the generation `recovers`."""
        if recovers is not None:
            await self._recover(recovers)
        tail = asyncio.create_task(self._maintain_tail())
        await asyncio.gather(self._poll(), *(self._start_workers() for _ in range(self.scenario.workers)))
        tail.cancel()

    async def _maintain_tail(self) -> None:
        """Move the tail of the queues into storage and back, if the scenario says so."""
        while self.scenario.hot:
            with suppress(Unavailable):
                tail = self.frontier.tail(
                    DirectoryStore(self.scenario.dir / "shelf"), max_in_memory=self.scenario.hot
                )
                await tail.run(f"tail {self.generation}")

    async def _poll(self) -> None:
        while True:
            with suppress(Unavailable):
                self.drained = (await self.frontier.stats()).is_drained
            if self.drained:
                return
            await asyncio.sleep(POLL_S)

    async def _recover(self, generation: int) -> None:
        """Reclaim the leases of half of a dead process's workers; the others expire."""
        with suppress(Unavailable):
            for holder in sorted(await self.frontier.workers.holders()):
                if int(holder) // SERIALS == generation and self.random.random() < 0.5:
                    await self._reclaim(int(holder))

    async def _start_workers(self) -> None:
        """Run one worker after another; start the next when one dies."""
        while not self.drained:
            worker = FleetWorker(
                number=self.generation * SERIALS + next(self._serial), frontier=await client_on(self.link)
            )
            try:
                while not self.drained:
                    await self._run_turn(worker)
            except WorkerDeath:
                self.fact_log.write([Fact(Kind.DEATH, worker=worker.number)])
                if self.random.random() < 0.5:
                    await asyncio.sleep(self.random.random())
                    await self._reclaim(worker.number)

    async def _reclaim(self, worker: int) -> None:
        self.fact_log.write([Fact(Kind.RECLAIM, worker=worker, before=now())])
        with suppress(Unavailable):
            await self.frontier.workers.reclaim(str(worker))

    async def _run_turn(self, worker: FleetWorker) -> None:
        leases = await self._lease(worker)
        if not leases:
            await asyncio.sleep(self.random.uniform(0, IDLE_S))
            return
        leases = [lease for lease in leases if await self._acquire_address(worker, lease)]
        await self._think()
        if leases and self.random.random() < RENEWAL_SHARE:
            with suppress(Unavailable):
                await worker.frontier.renew(leases, self.scenario.lease_ms)
        await self._release(worker, leases)
        await self._think()
        for lease in leases:
            if lease.kind is Wanted.ROBOTS:
                await self._settle_robots(worker, lease)
        await self._settle(worker, [lease for lease in leases if lease.kind is Wanted.PAGE])
        self._may_die()

    async def _think(self) -> None:
        self._may_die()
        await asyncio.sleep(self.random.random() * self.scenario.think_ms / 1000)
        self._may_die()

    def _may_die(self) -> None:
        if self.random.random() * 100 < self.scenario.die:
            raise WorkerDeath

    async def _lease(self, worker: FleetWorker) -> list[Lease]:
        scenario, before = self.scenario, now()
        try:
            leases = await worker.frontier.lease(
                self.random.randint(1, scenario.batch),
                worker=str(worker.number),
                lease_ms=scenario.lease_ms,
            )
        except Unavailable:
            await asyncio.sleep(IDLE_S)
            return []
        after = now()
        self.fact_log.write(
            Fact(
                Kind.GRANT,
                version=lease.robots_version,
                worker=worker.number,
                host=(host := host_of(lease)),
                wait=max(scenario.min_delay_ms, least_delay_ms(scenario, host, lease.robots_version)),
                url=-1 if lease.kind is Wanted.ROBOTS else page_of(lease),
                token=lease.token,
                at=lease.deadline_ms - scenario.lease_ms,
                before=before,
                after=after,
            )
            for lease in leases
        )
        return leases

    async def _acquire_address(self, worker: FleetWorker, lease: Lease) -> bool:
        """Return whether the lease's address may be requested now; postpone the lease if it may not."""
        number, delay = address(host_of(lease)), self.scenario.min_delay_ms
        if number is None:
            return True
        self._may_die()
        before = now()
        try:
            wait = await worker.frontier.politeness.acquire_address(lease, f"192.0.2.{number}")
            if wait == 0:
                fact = Fact(
                    Kind.ENTER, worker=worker.number, host=number, wait=delay, before=before, after=now()
                )
                self.fact_log.write([fact])
                return True
            self._may_die()
            fact = Fact(Kind.POSTPONE, worker=worker.number, token=lease.token, before=now())
            self.fact_log.write([fact])
            await worker.frontier.postpone(lease, wait)
        except Unavailable:
            pass
        return False

    async def _release(self, worker: FleetWorker, leases: Sequence[Lease]) -> None:
        before = now()
        self.fact_log.write(
            Fact(Kind.END, worker=worker.number, token=lease.token, before=before) for lease in leases
        )
        with suppress(Unavailable):
            await worker.frontier.release([HostRelease(lease=lease, elapsed_ms=1) for lease in leases])

    async def _settle_robots(self, worker: FleetWorker, lease: Lease) -> None:
        self.fact_log.write([Fact(Kind.END, worker=worker.number, token=lease.token, before=now())])
        delay = crawl_delay_ms(self.scenario, host_of(lease), lease.robots_version + 1)
        with suppress(Unavailable):
            await worker.frontier.origins.settle_robots(
                lease, rule="allow", body=b"", ttl_ms=self.scenario.ttl_ms, delay_ms=delay
            )

    async def _settle(self, worker: FleetWorker, leases: Sequence[Lease]) -> None:
        if not leases:
            return
        before = now()
        settlements = [(lease, *settlement(self.scenario, lease, page_of(lease))) for lease in leases]
        facts = [
            Fact(
                Kind.SETTLE,
                final=final,
                worker=worker.number,
                host=host_of(lease),
                wait=settled.hold_ms,
                url=page_of(lease),
                token=lease.token,
                before=before,
            )
            for lease, settled, final in settlements
        ]
        self.fact_log.write(facts)
        try:
            accepted = await worker.frontier.settle([settled for _, settled, _ in settlements])
        except Unavailable:
            return
        if accepted == len(facts):  # if fewer are accepted, the reply does not say which
            after = now()
            self.fact_log.write(fact._replace(kind=Kind.ACCEPTED, after=after) for fact in facts)


def host_of(lease: Lease) -> int:
    """Return the number of the lease's host."""
    return int(lease.url.host[1:].removesuffix(".test"))


def page_of(lease: Lease) -> int:
    """Return the number of the leased page."""
    return int(lease.url.text.rpartition("/")[2])


async def client_on(link: Link) -> Frontier:
    """Return a new client, as soon as the server responds."""
    while True:
        try:
            return await Frontier(link, CRAWL).open()
        except Unavailable:
            await asyncio.sleep(IDLE_S)


async def run_process(scenario: Scenario, generation: int, recovers: int | None) -> None:
    """Run one process of workers until the crawl is drained."""
    while True:
        try:
            link = await connect(f"unix://{scenario.proxy_socket}")
            break
        except Unavailable:  # the server is away
            await asyncio.sleep(IDLE_S)
    try:
        await FleetProcess(
            scenario=scenario,
            generation=generation,
            link=link,
            frontier=await client_on(link),
            fact_log=FactLog(scenario.dir / f"{generation}.facts"),
            random=Random(f"{scenario.seed} {generation}"),
        ).run(recovers)
    finally:
        await link.aclose()
