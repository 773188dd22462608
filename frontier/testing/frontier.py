"""`MemoryFrontier`: the frontier's verbs on plain dictionaries of one process."""

from collections.abc import AsyncIterator, Collection, Sequence

from core import InputError, Url
from frontier.lease import (
    Added,
    Discovery,
    Exchange,
    Fault,
    Kind,
    Lease,
    Leases,
    Outcome,
    Rank,
    Restored,
    Settlement,
    Stats,
    Unlogged,
)
from frontier.robots_record import LARGE_KEPT_MS, RobotsRecord, Rule
from frontier.testing.address_line import asked, enter
from frontier.testing.circuit import LONGEST_HOLD_MS, OWN, RETRY_MS, rest, rest_reason
from frontier.testing.coordination import MemoryHome
from frontier.testing.crawl import DROPPED
from frontier.testing.inspection import find, hosts
from frontier.testing.lease_reply import told
from frontier.testing.robots_bodies import forget_bodies
from frontier.testing.settle_page import settle
from frontier.testing.turn import end_turn, turn
from frontier.urls.canonical import canonical
from frontier.urls.scope import Scope
from frontier.verbs.inspection import HostState, Place

_LONGEST_NAME = 255  # bytes of a worker's name


class MemoryFrontier(MemoryHome):
    """What `Frontier` promises, for one process and for as long as it lives."""

    async def add(self, discoveries: Sequence[Discovery], *, revive: bool = False) -> Added:
        """As `Frontier.add`."""
        return self._crawl.admit(discoveries, self._clock(), revive=revive)

    async def restore(self, restored: Sequence[Restored]) -> list[bool]:
        """As `Frontier.restore`."""
        return [self._crawl.restore(each, self._clock()) for each in restored]

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        """As `Frontier.knows`."""
        return [self._crawl.knows(url) for url in urls]

    async def unlogged(self, n: int = 1_000) -> Unlogged:
        """As `Frontier.unlogged`."""
        found = tuple(self._crawl.unlogged[:n])
        return Unlogged(
            conclusions=found, places=((0, b"", self._crawl.logged, len(found)),) if found else ()
        )

    async def logged(self, batch: Unlogged) -> None:
        """As `Frontier.logged`."""
        for _, _, before, number in batch.places:
            if before == self._crawl.logged:
                del self._crawl.unlogged[:number]
                self._crawl.logged += number

    async def lease(
        self,
        n: int,
        *,
        worker: str,
        lease_ms: int,
        limit: int | None = None,
        most_requests: int | None = None,
    ) -> Leases:
        """As `Frontier.lease`."""
        if len(worker.encode()) > _LONGEST_NAME:
            raise InputError(f"worker {worker[:40]!r}: a name has at most {_LONGEST_NAME} bytes")
        self._living.refuse(worker)
        crawl, now = self._crawl, self._clock()
        granted: list[Lease] = []
        if self.rebuilding or ((flow := self._gate.flow(now)) and flow.shut):
            return Leases(soonest_ms=None)
        crawl.catch_up(now)
        if limit is not None:
            n = min(n, limit - self._leased() - crawl.outcomes[Outcome.FETCHED])
        if most_requests is not None:
            n = min(n, most_requests - crawl.requests)
        while len(granted) < n and (line := crawl.line(now)[: n - len(granted)]):
            for host in line:
                slot = host.held if host.held > host.last else 0
                token = crawl.grant(host, worker, lease_ms, now)
                if token is not None:
                    granted.append(told(self._crawl, token, slot))
        return Leases(granted, soonest_ms=crawl.soonest(now) if len(granted) < n else 0)

    async def enter(self, lease: Lease, address: str) -> int:
        """As `Frontier.enter`."""
        self._living.refuse(lease.worker)
        delay = self._crawl.settings.min_ip_delay_ms
        return enter(self._crawl.addresses, address, delay, lease.slot_ms, self._clock())

    async def enter_all(self, asked: Sequence[tuple[Lease, str]]) -> list[int]:
        """As `Frontier.enter_all`."""
        return [await self.enter(lease, address) for lease, address in asked]

    async def turn(
        self, host: str, *, most_ms: int, delay_ms: int = 0, since_ms: int | None = None, ahead: int = 0
    ) -> int:
        """As `Frontier.turn`."""
        return turn(self._crawl, host, delay_ms, most_ms, since_ms=since_ms, ahead=ahead, now=self._clock())

    async def end_turn(
        self, host: str, *, delay_ms: int = 0, leased: bool = False, busy: str = "", hold_ms: int = 0
    ) -> None:
        """As `Frontier.end_turn`."""
        end_turn(self._crawl, host, delay_ms, leased=leased, busy=busy, hold_ms=hold_ms, now=self._clock())

    async def asked(self, addresses: Collection[str]) -> None:
        """As `Frontier.asked`."""
        for address in addresses:
            asked(self._crawl.addresses, address, self._clock())

    async def postpone(self, lease: Lease, wait_ms: int, *, asked: bool = False, died: bool = False) -> bool:
        """As `Frontier.postpone`."""
        self._refuse([lease], died=died)
        now = self._clock()
        promise = self._crawl.promises.get(lease.token)
        if promise is None or promise.released:
            return False
        if not asked:
            self._crawl.spare(promise)
        _, host = self._crawl.finish(lease.token, now + 1 if asked else 0)
        host.hold(wait_ms, now, "address")
        if promise.page is not None:
            self._crawl.put_back(promise.page, now)
        host.place(now)
        return True

    async def postpone_all(self, waits: Sequence[tuple[Exchange, int]], *, died: bool = False) -> list[bool]:
        """As `Frontier.postpone_all`."""
        return [
            await self.postpone(back.lease, wait_ms, asked=back.asked, died=died) for back, wait_ms in waits
        ]

    async def renew(self, leases: Sequence[Lease], lease_ms: int) -> None:
        """As `Frontier.renew`."""
        for lease in leases:
            if promise := self._crawl.promises.get(lease.token):
                promise.deadline = self._clock() + lease_ms

    async def release(self, exchanges: Sequence[Exchange]) -> int | None:
        """As `Frontier.release`."""
        self._refuse([exchange.lease for exchange in exchanges])
        now = self._clock()
        for exchange in exchanges:
            promise = self._crawl.promises.get(exchange.lease.token)
            if promise is not None and not promise.released:
                if not exchange.asked:
                    self._crawl.spare(promise)
                promise.released = True
                host = self._crawl.hosts[promise.host]
                host.end_exchange(now + 1 if exchange.asked else 0)
                if exchange.asked and exchange.elapsed_ms is not None:
                    host.hear_elapsed(max(exchange.elapsed_ms, 0))
                host.place(now)
        return self._crawl.soonest(now) if exchanges else None

    async def settle(
        self, settlements: Sequence[Settlement], *, archived: int = 0, died: bool = False
    ) -> int:
        """As `Frontier.settle`."""
        now = self._clock()
        self._crawl.admit((found for ended in settlements for found in ended.discoveries), now)
        self._gate.archived(archived)
        self._refuse([settlement.lease for settlement in settlements], died=died)
        return sum(settle(self._crawl, settlement, now) for settlement in settlements)

    async def settle_robots(
        self,
        lease: Lease,
        *,
        rule: Rule,
        body: bytes,
        ttl_ms: int,
        delay_ms: int | None,
        fault: Fault | None = None,
        reason: str = "",
        hold_ms: int = 0,
        died: bool = False,
    ) -> None:
        """As `Frontier.settle_robots`."""
        self._refuse([lease], died=died)
        now, delay = self._clock(), delay_ms or 0
        promise = self._crawl.promises.get(lease.token)
        if promise is None or promise.kind is not Kind.ROBOTS:
            return
        _, host = self._crawl.finish(lease.token, now + 1)
        self._crawl.origins[promise.origin].store(rule, body, now + ttl_ms, now)
        if rule != "disallow" and not (host.several and fault in OWN):
            hold = hold_ms if fault is Fault.BUSY else 0
            self._crawl.judge(host, fault, hold, promise.granted, now, reason=reason)
        host.hold(hold_ms, now, rest_reason(reason, fault))
        if delay > host.delay or promise.origin == host.slowest:
            host.delay, host.slowest = delay, promise.origin
        host.place(now)

    async def retry_robots(
        self,
        lease: Lease,
        *,
        after_ms: int | None,
        fault: Fault | None = None,
        reason: str = "",
        died: bool = False,
    ) -> None:
        """As `Frontier.retry_robots`."""
        self._refuse([lease], died=died)
        now = self._clock()
        promise = self._crawl.promises.get(lease.token)
        if promise is None or promise.kind is not Kind.ROBOTS:
            return
        origin = self._crawl.origins[promise.origin]
        told, wait = after_ms or 0, after_ms
        if wait is None:
            wait = self._crawl.scaled(min(RETRY_MS * 2**origin.attempt, LONGEST_HOLD_MS))
        origin.attempt += 1
        _, host = self._crawl.finish(lease.token, now + 1)
        if host.several and fault not in {None, Fault.DNS}:
            rest(origin, wait, now, fault, reason)
        else:
            if fault is not None:
                hold = told if fault is Fault.BUSY else 0
                self._crawl.judge(host, fault, hold, promise.granted, now, reason=reason)
            host.hold(wait, now, "robots_unreachable" if fault is None else rest_reason(reason, fault))
        host.place(now)

    async def robots(self, origin: str) -> RobotsRecord | None:
        """As `Frontier.robots`."""
        if (known := self._crawl.origins[origin]).version == 0:
            return None
        return RobotsRecord(origin=origin, version=known.version, rule=known.rule, body=known.body)

    async def responsive(self, n: int) -> list[str]:
        """As `Frontier.responsive`."""
        known = self._crawl.origins.items()
        answered = [text for text, origin in known if origin.version and not origin.given_up]
        hosts = {text: self._crawl.hosts[canonical("/", text).host] for text in answered}
        living = [text for text, host in hosts.items() if not host.dead]
        return sorted(living, key=lambda text: hosts[text].trips > 0)[:n]

    async def hold(self, host: str, ms: int) -> bool:
        """As `Frontier.hold`."""
        known, now = self._crawl.hosts.get(host), self._clock()
        if known is not None:
            known.hold(ms, now, "operator")
            known.place(now)
        return known is not None

    async def resume(self, host: str) -> bool:
        """As `Frontier.resume`."""
        known = self._crawl.hosts.get(host)
        if known is not None:
            known.revive()
            known.held, known.turn = 0, None
            for page in known.waiting:
                self._crawl.origins[page.found.url.origin].rest = 0
            known.place(self._clock())
        return known is not None

    async def hosts(self, *, resting: bool = False) -> AsyncIterator[HostState]:
        """As `Frontier.hosts`."""
        for host in hosts(self._crawl, self._clock()):
            if not resting or host.rest or host.origins or host.dead:
                yield host

    async def find(self, url: Url) -> Place:
        """As `Frontier.find`."""
        return find(self._crawl, url, self._clock())

    async def prefer(self, ranks: dict[str, Rank]) -> None:
        """As `Frontier.prefer`."""
        for domain, rank in ranks.items():
            self._crawl.domains[domain].rank = rank
        for host in self._crawl.hosts.values():
            if host.domain in ranks:
                host.rank, host.turn = ranks[host.domain], None
                host.place(self._clock())

    async def drop(self, scope: Scope) -> int:
        """As `Frontier.drop`."""
        self._crawl.bars.add(scope)
        dropped = 0
        for host in self._crawl.hosts.values():
            if scope.kind == "any" or scope.anchor == {"host": host.name, "domain": host.domain}.get(
                scope.kind
            ):
                dropped += self._crawl.bury(host, Outcome.REFUSED, DROPPED, self._clock())
                host.place(self._clock())
        return dropped

    async def holders(self) -> set[str]:
        """As `Frontier.holders`."""
        return {promise.worker for promise in self._crawl.promises.values()}

    async def reclaim(self, worker: str, *, died: bool = False, crashed: bool = False) -> int:
        """As `Frontier.reclaim`."""
        if not (died or crashed):
            self._living.refuse(worker)
        now = self._clock()
        held = [token for token, held in self._crawl.promises.items() if held.worker == worker]
        for token in sorted(held, reverse=True):  # each goes before those that are there
            promise = self._crawl.promises[token]
            if not (died or crashed):
                self._crawl.spare(promise)
            subject = promise.page or self._crawl.origins[promise.origin]
            subject.died = subject.died or died or crashed
            self._crawl.abandon(token, now + 1, int(crashed), now)
        forget_bodies(self._crawl.origins, self._crawl.hosts, now, now + LARGE_KEPT_MS)
        return len(held)

    async def leases(self, worker: str) -> list[Lease]:
        """As `Frontier.leases`."""
        return [
            told(self._crawl, token) for token, held in self._crawl.promises.items() if held.worker == worker
        ]

    async def stats(self) -> Stats:
        """As `Frontier.stats`."""
        crawl = self._crawl
        waiting, leased = sum(len(host.waiting) for host in crawl.hosts.values()), self._leased()
        return Stats(
            waiting=waiting,
            leased=leased,
            later=len(crawl.later),
            robots=len(crawl.promises) - leased,
            hosts=len(crawl.hosts),
            outcomes={
                str(outcome): crawl.outcomes[outcome] for outcome in Outcome if outcome is not Outcome.RETRY
            },
            reasons=dict(crawl.reasons),
            seen=waiting + leased + len(crawl.later) + crawl.outcomes.total(),
            scheduled=len(crawl.visits),
            held=sum(host.trips > 0 for host in crawl.hosts.values()),
            dead=sum(bool(host.dead) for host in crawl.hosts.values()),
            unlogged=len(crawl.unlogged),
            requests=crawl.requests,
            discarded=dict(crawl.discarded),
        )

    def _refuse(self, leases: Sequence[Lease], *, died: bool = False) -> None:
        """Raise `GivenUp` where one of some leases that are held is of a worker whose name was taken over."""
        held = [lease.worker for lease in leases if lease.token in self._crawl.promises]
        self._living.refuse(*(() if died else held))

    def _leased(self) -> int:
        return sum(promise.page is not None for promise in self._crawl.promises.values())
