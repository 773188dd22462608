"""`MemoryFrontier`: the frontier's verbs on plain dictionaries of one process."""

from collections.abc import Callable, Iterable, Sequence

from frontier.canonical import canonical
from frontier.flow import Flow
from frontier.lease import Added, Discovery, Kind, Lease, Outcome, Settlement, Stats
from frontier.memory.crawl import MAX_ATTEMPTS, Crawl
from frontier.memory.gate import Gate
from frontier.memory.living import Living
from frontier.robots import RobotsRecord, Rule
from frontier.scope import Scope

_RETRY_MS = 30_000  # doubles with every attempt


class MemoryFrontier:
    """What `Frontier` promises, for one process and for as long as it lives."""

    def __init__(self, *, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._crawl = Crawl()
        self._gate = Gate()
        self._living = Living()

    async def open(self) -> None:
        """Nothing is to be made ready."""

    async def add(self, discoveries: Sequence[Discovery]) -> Added:
        """As `Frontier.add`."""
        added = self._crawl.admit(discoveries, self._clock())
        return Added(added=added, known=len(discoveries) - added)

    async def lease(
        self, n: int, *, worker: str, lease_ms: int, min_delay_ms: int, limit: int | None = None
    ) -> list[Lease]:
        """As `Frontier.lease`."""
        crawl, now = self._crawl, self._clock()
        crawl.catch_up(now)
        flow = self._gate.flow(now)
        granted: list[Lease] = []
        if flow is not None and flow.shut:
            return granted
        while len(granted) < n and (line := crawl.line(now)[: n - len(granted)]):
            for host in line:
                if limit is not None and self._taken() >= limit:
                    return granted
                token = crawl.grant(host, worker, now + lease_ms, min_delay_ms, now)
                if token is not None:
                    granted.append(self._told(token))
        return granted

    async def renew(self, leases: Sequence[Lease], lease_ms: int) -> None:
        """As `Frontier.renew`."""
        for lease in leases:
            if promise := self._crawl.promises.get(lease.token):
                promise.deadline = self._clock() + lease_ms

    async def release(self, leases: Sequence[Lease]) -> None:
        """As `Frontier.release`."""
        now = self._clock()
        for lease in leases:
            promise = self._crawl.promises.get(lease.token)
            if promise is not None and not promise.released:
                promise.released = True
                host = self._crawl.hosts[promise.host]
                host.end_exchange(now)
                host.place(now)

    async def settle(self, settlements: Sequence[Settlement], *, archived: int = 0) -> int:
        """As `Frontier.settle`."""
        accepted = sum(self._settle(settlement, self._clock()) for settlement in settlements)
        self._gate.archived(archived)
        return accepted

    async def settle_robots(
        self, lease: Lease, *, rule: Rule, body: bytes, ttl_ms: int, delay_ms: int | None
    ) -> None:
        """As `Frontier.settle_robots`."""
        now = self._clock()
        promise = self._crawl.promises.get(lease.token)
        if promise is None or promise.kind is not Kind.ROBOTS:
            return
        origin = self._crawl.origin(promise.origin)
        origin.version += 1
        origin.rule, origin.body, origin.expires = rule, body, now + ttl_ms
        origin.attempt = origin.expiries = 0
        self._crawl.finish(lease.token, now)
        host = self._crawl.hosts[promise.host]
        if (delay_ms or 0) > host.delay or promise.origin == host.slowest:
            host.delay, host.slowest = delay_ms or 0, promise.origin
        host.place(now)

    async def retry_robots(self, lease: Lease, *, after_ms: int) -> None:
        """As `Frontier.retry_robots`."""
        now = self._clock()
        promise = self._crawl.promises.get(lease.token)
        if promise is None or promise.kind is not Kind.ROBOTS:
            return
        origin = self._crawl.origin(promise.origin)
        origin.attempt, origin.expiries = origin.attempt + 1, 0
        self._crawl.finish(lease.token, now)
        host = self._crawl.hosts[promise.host]
        host.held = max(host.held, now + after_ms)
        host.place(now)

    async def robots(self, origin: str) -> RobotsRecord | None:
        """As `Frontier.robots`."""
        known = self._crawl.origins.get(origin)
        if known is None or known.version == 0:
            return None
        return RobotsRecord(origin=origin, version=known.version, rule=known.rule, body=known.body)

    async def follow(self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000) -> Flow:
        """As `Frontier.follow`."""
        now = self._clock()
        return self._gate.follow(follower, backlog, limit, now + ttl_ms, now)

    async def unfollow(self, follower: str) -> None:
        """As `Frontier.unfollow`."""
        self._gate.unfollow(follower)

    async def flow(self) -> Flow | None:
        """As `Frontier.flow`."""
        return self._gate.flow(self._clock())

    async def beat(self, worker: str, ttl_ms: int = 30_000, *, stalled_ms: int | None = None) -> None:
        """As `Frontier.beat`."""
        self._living.beat(worker, ttl_ms, stalled_ms, self._clock())

    async def stalls(self) -> list[int]:
        """As `Frontier.stalls`."""
        return self._living.stalls(self._clock())

    async def leave(self, worker: str) -> None:
        """As `Frontier.leave`."""
        self._living.leave(worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """As `Frontier.alive`."""
        return self._living.alive(workers, self._clock())

    async def holders(self) -> set[str]:
        """As `Frontier.holders`."""
        return {promise.worker for promise in self._crawl.promises.values()}

    async def reclaim(self, worker: str) -> int:
        """As `Frontier.reclaim`."""
        now = self._clock()
        held = [token for token, promise in self._crawl.promises.items() if promise.worker == worker]
        for token in held:
            self._crawl.abandon(token, now, 0, now)
        return len(held)

    async def leases(self, worker: str) -> list[Lease]:
        """As `Frontier.leases`."""
        promises = sorted(self._crawl.promises.items())
        return [self._told(token) for token, promise in promises if promise.worker == worker]

    async def stats(self) -> Stats:
        """As `Frontier.stats`."""
        crawl = self._crawl
        leased = self._leased()
        return Stats(
            waiting=sum(len(host.waiting) for host in crawl.hosts.values()),
            leased=leased,
            later=len(crawl.later),
            robots=len(crawl.promises) - leased,
            hosts=len(crawl.hosts),
            outcomes={
                str(outcome): crawl.outcomes[outcome] for outcome in Outcome if outcome is not Outcome.RETRY
            },
            reasons=dict(crawl.reasons),
            seen=len(crawl.seen),
        )

    async def drop(self) -> None:
        """As `Frontier.drop`."""
        self.__init__(clock=self._clock)

    def __repr__(self) -> str:
        return "MemoryFrontier()"

    def _leased(self) -> int:
        return sum(promise.page is not None for promise in self._crawl.promises.values())

    def _taken(self) -> int:
        return self._crawl.outcomes[Outcome.FETCHED] + self._leased()

    def _settle(self, settlement: Settlement, now: int) -> bool:
        crawl, token = self._crawl, settlement.lease.token
        held = crawl.promises.get(token)
        if held is None or held.page is None:
            return False
        crawl.admit(settlement.discoveries, now)
        page = held.page
        crawl.finish(token, now)
        host = crawl.hosts[held.host]
        if settlement.hold_ms > 0:
            host.held = max(host.held, now + settlement.hold_ms)
        if settlement.outcome is not Outcome.RETRY:
            crawl.conclude(settlement.outcome, settlement.reason)
        else:
            wait = settlement.retry_after_ms
            if wait is None:
                wait = _RETRY_MS * 2**page.attempt
            page.attempt += 1
            if page.attempt >= MAX_ATTEMPTS:
                crawl.conclude(Outcome.FAILED, settlement.reason)
            else:
                crawl.wait_until(now + max(wait, 0), page)
        host.place(now)
        return True

    def _told(self, token: int) -> Lease:
        promise = self._crawl.promises[token]
        origin = self._crawl.origin(promise.origin)
        if promise.page is not None:
            found, attempt = promise.page.found, promise.page.attempt
        else:
            url = canonical("/robots.txt", promise.origin)
            found, attempt = Discovery(url=url, scope=Scope(kind="any", anchor="")), origin.attempt
        return Lease(
            url=found.url,
            kind=promise.kind,
            token=token,
            worker=promise.worker,
            deadline_ms=promise.deadline,
            scope=found.scope,
            depth=found.depth,
            max_depth=found.max_depth,
            hops=found.hops,
            generation=found.generation,
            interval_s=found.interval_s,
            attempt=attempt,
            robots_version=origin.version,
        )
