"""`MemoryOperator`: the verbs of `frontier.verbs.operator` on the state of a `MemoryCrawl`."""

from thresher.frontier.lease import Outcome, Rank
from thresher.frontier.testing.memory_crawl import MemoryCrawl
from thresher.frontier.testing.model.crawl_state import DROPPED
from thresher.frontier.urls.scope import Scope


class MemoryOperator:
    """Promises what `Operator` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    async def hold(self, host: str, ms: int, reason: str = "operator") -> bool:
        """As `Operator.hold`."""
        known, now = self._crawl.state.hosts.get(host), self._crawl.clock()
        if known is not None:
            known.hold(ms, now, reason)
            known.schedule(now)
        return known is not None

    async def resume(self, host: str) -> bool:
        """As `Operator.resume`."""
        known = self._crawl.state.hosts.get(host)
        if known is not None:
            known.revive()
            known.held_until, known.turn = 0, None
            for page in known.waiting:
                self._crawl.state.origins[page.discovery.url.origin].held_until = 0
            known.schedule(self._crawl.clock())
        return known is not None

    async def prefer(self, ranks: dict[str, Rank]) -> None:
        """As `Operator.prefer`."""
        for domain, rank in ranks.items():
            self._crawl.state.domains[domain].rank = rank
        for host in self._crawl.state.hosts.values():
            if host.domain in ranks:
                host.rank, host.turn = ranks[host.domain], None
                host.schedule(self._crawl.clock())

    async def drop(self, scope: Scope) -> int:
        """As `Operator.drop`."""
        state, now = self._crawl.state, self._crawl.clock()
        state.barred_scopes.add(scope)
        dropped = 0
        for host in state.hosts.values():
            anchor = {"host": host.name, "domain": host.domain}.get(scope.kind)
            if scope.kind == "any" or scope.anchor == anchor:
                dropped += state.settle_all_waiting(host, Outcome.REFUSED, DROPPED, now)
                host.schedule(now)
        return dropped

    async def undrop(self, scope: Scope) -> None:
        """As `Operator.undrop`."""
        self._crawl.state.barred_scopes.discard(scope)

    async def barred_scopes(self) -> list[Scope]:
        """As `Operator.barred_scopes`."""
        return sorted(self._crawl.state.barred_scopes, key=str)
