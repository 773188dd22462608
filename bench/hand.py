"""`Hand`: one process of workers, each of which leases, waits some milliseconds, releases and settles, until it dies.

Each worker has a client of its own, as a process has: what it remembers of the frontier (`frontier.verbs.journal`) dies
with it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from time import monotonic_ns as now

from bench.ledger import Fact, FactLog, Kind
from bench.play import Scenario, address, crawl_delay_ms, least_delay_ms, settlement
from core import Unavailable
from frontier import Frontier, HostRelease, Lease
from frontier import Kind as Wanted
from frontier.link.call import Link
from frontier.link.connect import connect
from storage.directory_store import DirectoryStore

CRAWL = "fleet"
SERIALS = 1 << 16
"""Workers of one process, one after the other."""
IDLE_S = 0.1
POLL_S = 0.3
RENEWAL_SHARE = 0.1
"""Share of the turns in which the leases are renewed."""


class WorkerDeath(Exception):
    """Of a worker, between two calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWorker:
    """One of them, from its birth to its death."""

    number: int
    frontier: Frontier


@dataclass(kw_only=True)
class FleetProcess:
    """One process of workers. Workers of generation g have numbers from g * SERIALS on."""

    play: Scenario
    generation: int
    link: Link
    frontier: Frontier
    """Of who looks on and takes back."""
    ledger: FactLog
    random: Random
    drained: bool = False
    _serial: "count[int]" = field(default_factory=count)

    async def run(self, recovers: int | None) -> None:
        """Work until nothing is left."""
        if recovers is not None:
            await self._recover(recovers)
        keeping = asyncio.create_task(self._maintain_tail())
        await asyncio.gather(self._poll(), *(self._start_workers() for _ in range(self.play.workers)))
        keeping.cancel()

    async def _maintain_tail(self) -> None:
        """Keep the tail, if there is to be one."""
        while self.play.hot:
            with suppress(Unavailable):
                tail = self.frontier.tail(
                    DirectoryStore(self.play.dir / "shelf"), max_in_memory=self.play.hot
                )
                await tail.run(f"keeper {self.generation}")

    async def _poll(self) -> None:
        while True:
            with suppress(Unavailable):
                self.drained = (await self.frontier.stats()).is_drained
            if self.drained:
                return
            await asyncio.sleep(POLL_S)

    async def _recover(self, generation: int) -> None:
        """Take half of what a dead process held; the rest expires."""
        with suppress(Unavailable):
            for holder in sorted(await self.frontier.workers.holders()):
                if int(holder) // SERIALS == generation and self.random.random() < 0.5:
                    await self._reclaim(int(holder))

    async def _start_workers(self) -> None:
        """One worker after the other."""
        while not self.drained:
            worker = FleetWorker(
                number=self.generation * SERIALS + next(self._serial), frontier=await client_on(self.link)
            )
            try:
                while not self.drained:
                    await self._run_turn(worker)
            except WorkerDeath:
                self.ledger.write([Fact(Kind.DEATH, worker=worker.number)])
                if self.random.random() < 0.5:
                    await asyncio.sleep(self.random.random())
                    await self._reclaim(worker.number)

    async def _reclaim(self, worker: int) -> None:
        self.ledger.write([Fact(Kind.RECLAIM, worker=worker, before=now())])
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
                await worker.frontier.renew(leases, self.play.lease_ms)
        await self._release(worker, leases)
        await self._think()
        for lease in leases:
            if lease.kind is Wanted.ROBOTS:
                await self._settle_robots(worker, lease)
        await self._settle(worker, [lease for lease in leases if lease.kind is Wanted.PAGE])
        self._may_die()

    async def _think(self) -> None:
        self._may_die()
        await asyncio.sleep(self.random.random() * self.play.think_ms / 1000)
        self._may_die()

    def _may_die(self) -> None:
        if self.random.random() * 100 < self.play.die:
            raise WorkerDeath

    async def _lease(self, worker: FleetWorker) -> list[Lease]:
        play, before = self.play, now()
        try:
            leases = await worker.frontier.lease(
                self.random.randint(1, play.batch),
                worker=str(worker.number),
                lease_ms=play.lease_ms,
            )
        except Unavailable:
            await asyncio.sleep(IDLE_S)
            return []
        after = now()
        self.ledger.write(
            Fact(
                Kind.GRANT,
                version=lease.robots_version,
                worker=worker.number,
                host=(host := host_of(lease)),
                wait=max(play.min_delay_ms, least_delay_ms(play, host, lease.robots_version)),
                url=-1 if lease.kind is Wanted.ROBOTS else page_of(lease),
                token=lease.token,
                at=lease.deadline_ms - play.lease_ms,
                before=before,
                after=after,
            )
            for lease in leases
        )
        return leases

    async def _acquire_address(self, worker: FleetWorker, lease: Lease) -> bool:
        """Whether the lease's host may be asked now, as far as its address goes; if not, the lease is given back."""
        number, delay = address(host_of(lease)), self.play.min_delay_ms
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
                self.ledger.write([fact])
                return True
            self._may_die()
            fact = Fact(Kind.POSTPONE, worker=worker.number, token=lease.token, before=now())
            self.ledger.write([fact])
            await worker.frontier.postpone(lease, wait)
        except Unavailable:
            pass
        return False

    async def _release(self, worker: FleetWorker, leases: Sequence[Lease]) -> None:
        before = now()
        self.ledger.write(
            Fact(Kind.END, worker=worker.number, token=lease.token, before=before) for lease in leases
        )
        with suppress(Unavailable):
            await worker.frontier.release([HostRelease(lease=lease, elapsed_ms=1) for lease in leases])

    async def _settle_robots(self, worker: FleetWorker, lease: Lease) -> None:
        self.ledger.write([Fact(Kind.END, worker=worker.number, token=lease.token, before=now())])
        delay = crawl_delay_ms(self.play, host_of(lease), lease.robots_version + 1)
        with suppress(Unavailable):
            await worker.frontier.origins.settle_robots(
                lease, rule="allow", body=b"", ttl_ms=self.play.ttl_ms, delay_ms=delay
            )

    async def _settle(self, worker: FleetWorker, leases: Sequence[Lease]) -> None:
        if not leases:
            return
        before = now()
        told = [(lease, *settlement(self.play, lease, page_of(lease))) for lease in leases]
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
            for lease, settled, final in told
        ]
        self.ledger.write(facts)
        try:
            accepted = await worker.frontier.settle([settled for _, settled, _ in told])
        except Unavailable:
            return
        if accepted == len(facts):  # of fewer nobody says which
            after = now()
            self.ledger.write(fact._replace(kind=Kind.ACCEPTED, after=after) for fact in facts)


def host_of(lease: Lease) -> int:
    """Number of the host."""
    return int(lease.url.host[1:].removesuffix(".test"))


def page_of(lease: Lease) -> int:
    """Number of the page."""
    return int(lease.url.text.rpartition("/")[2])


async def client_on(link: Link) -> Frontier:
    """A client that remembers nothing yet, as soon as the server is there."""
    while True:
        try:
            return await Frontier(link, CRAWL).open()
        except Unavailable:
            await asyncio.sleep(IDLE_S)


async def run_process(play: Scenario, generation: int, recovers: int | None) -> None:
    """The process, to its end."""
    while True:
        try:
            link = await connect(f"unix://{play.proxy_socket}")
            break
        except Unavailable:  # the server is away
            await asyncio.sleep(IDLE_S)
    try:
        await FleetProcess(
            play=play,
            generation=generation,
            link=link,
            frontier=await client_on(link),
            ledger=FactLog(play.dir / f"{generation}.facts"),
            random=Random(f"{play.seed} {generation}"),
        ).run(recovers)
    finally:
        await link.aclose()
