"""`MemoryOrigins`: the verbs of `frontier.verbs.origins` on the state of a `MemoryCrawl`."""

from thresher.frontier.lease import Fault, Kind, Lease
from thresher.frontier.robots_record import RobotsRecord, RobotsRule
from thresher.frontier.testing.memory_crawl import MemoryCrawl, check_not_taken_over
from thresher.frontier.testing.model.circuit import (
    MAX_HOLD_MS,
    ORIGIN_FAULTS,
    RETRY_MS,
    Exchange,
    hold_origin,
    hold_reason,
)
from thresher.frontier.urls.canonical import canonicalize


class MemoryOrigins:
    """Promises what `Origins` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    async def settle_robots(  # noqa: PLR0913 - as `Origins.settle_robots`
        self,
        lease: Lease,
        *,
        rule: RobotsRule,
        body: bytes,
        ttl_ms: int,
        delay_ms: int | None,
        fault: Fault | None = None,
        reason: str = "",
        hold_ms: int = 0,
        is_worker_dead: bool = False,
    ) -> None:
        """As `Origins.settle_robots`."""
        check_not_taken_over(self._crawl, [lease], is_worker_dead=is_worker_dead)
        now, delay = self._crawl.clock(), delay_ms or 0
        held = self._crawl.state.open_leases.get(lease.token)
        if held is None or held.kind is not Kind.ROBOTS:
            return
        _, host = self._crawl.state.end_lease(lease.token, now + 1)
        self._crawl.state.origins[held.origin].store(rule, body, now + ttl_ms, now)
        if rule != "disallow" and not (host.has_several_origins and fault in ORIGIN_FAULTS):
            hold = hold_ms if fault is Fault.BUSY else 0
            exchange = Exchange(fault=fault, reason=reason, hold_ms=hold, granted_at=held.granted_at)
            self._crawl.state.record_exchange(host, exchange, now)
        host.hold(hold_ms, now, hold_reason(reason, fault))
        if delay > host.delay or held.origin == host.slowest:
            host.delay, host.slowest = delay, held.origin
        host.schedule(now)

    async def retry_robots(
        self,
        lease: Lease,
        *,
        after_ms: int | None,
        fault: Fault | None = None,
        reason: str = "",
        is_worker_dead: bool = False,
    ) -> None:
        """As `Origins.retry_robots`."""
        check_not_taken_over(self._crawl, [lease], is_worker_dead=is_worker_dead)
        now = self._crawl.clock()
        held = self._crawl.state.open_leases.get(lease.token)
        if held is None or held.kind is not Kind.ROBOTS:
            return
        origin = self._crawl.state.origins[held.origin]
        retry_after_ms, wait = after_ms or 0, after_ms
        if wait is None:
            wait = self._crawl.state.scaled(min(RETRY_MS * 2**origin.attempt, MAX_HOLD_MS))
        origin.attempt += 1
        _, host = self._crawl.state.end_lease(lease.token, now + 1)
        if host.has_several_origins and fault not in {None, Fault.DNS}:
            hold_origin(origin, wait, now, fault, reason)
        else:
            if fault is not None:
                hold = retry_after_ms if fault is Fault.BUSY else 0
                exchange = Exchange(fault=fault, reason=reason, hold_ms=hold, granted_at=held.granted_at)
                self._crawl.state.record_exchange(host, exchange, now)
            host.hold(wait, now, "robots_unreachable" if fault is None else hold_reason(reason, fault))
        host.schedule(now)

    async def robots(self, origin: str) -> RobotsRecord | None:
        """As `Origins.robots`."""
        if (known := self._crawl.state.origins[origin]).version == 0:
            return None
        return RobotsRecord(origin=origin, version=known.version, rule=known.rule, body=known.body)

    async def responsive(self, n: int) -> list[str]:
        """As `Origins.responsive`."""
        known = self._crawl.state.origins.items()
        answered = [text for text, origin in known if origin.version and not origin.is_given_up]
        hosts = {text: self._crawl.state.hosts[canonicalize("/", text).host] for text in answered}
        not_given_up = [text for text, host in hosts.items() if not host.dead_reason]
        return sorted(not_given_up, key=lambda text: hosts[text].trips > 0)[:n]
