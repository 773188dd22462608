"""`MemoryPoliteness`: the verbs of `frontier.verbs.politeness` on the state of a `MemoryCrawl`."""

from collections.abc import Collection, Sequence

from thresher.frontier.exchange_times import ExchangeCheck, ExchangeTimes
from thresher.frontier.lease import Lease
from thresher.frontier.testing.memory_crawl import MemoryCrawl
from thresher.frontier.testing.model.address_line import acquire_address, restart_address_delay
from thresher.frontier.testing.model.last_exchanges import check_exchanges
from thresher.frontier.testing.model.turn import end_turn, reserve_turn

CLOCK = "memory"
"""Name of the clock."""


class MemoryPoliteness:
    """Promises what `Politeness` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    async def acquire_address(self, lease: Lease, address: str) -> int:
        """As `Politeness.acquire_address`."""
        self._crawl.heartbeats.check_not_taken_over(lease.worker)
        delay = self._crawl.state.settings.min_ip_delay_ms
        return acquire_address(
            self._crawl.state.addresses, address, delay, lease.held_until_ms, self._crawl.clock()
        )

    async def acquire_addresses(self, asked: Sequence[tuple[Lease, str]]) -> list[int]:
        """As `Politeness.acquire_addresses`."""
        return [await self.acquire_address(lease, address) for lease, address in asked]

    async def reserve_turn(
        self, host: str, *, max_wait_ms: int, delay_ms: int = 0, since_ms: int | None = None, ahead: int = 0
    ) -> int:
        """As `Politeness.reserve_turn`."""
        return reserve_turn(
            self._crawl.state,
            host,
            delay_ms,
            max_wait_ms,
            since_ms=since_ms,
            ahead=ahead,
            now=self._crawl.clock(),
        )

    async def end_turn(
        self, host: str, *, delay_ms: int = 0, has_lease: bool = False, busy: str = "", hold_ms: int = 0
    ) -> None:
        """As `Politeness.end_turn`."""
        end_turn(
            self._crawl.state,
            host,
            delay_ms,
            has_lease=has_lease,
            busy=busy,
            hold_ms=hold_ms,
            now=self._crawl.clock(),
        )

    async def restart_address_delays(self, addresses: Collection[str]) -> None:
        """As `Politeness.restart_address_delays`."""
        for address in addresses:
            restart_address_delay(self._crawl.state.addresses, address, self._crawl.clock())

    async def check_exchanges(self, clock: str, exchanges: Sequence[ExchangeTimes]) -> ExchangeCheck:
        """As `Politeness.check_exchanges`. The clock of this frontier never changes."""
        seen, now = self._crawl.last_exchanges, self._crawl.clock()
        violations = check_exchanges(seen, exchanges, now) if clock == CLOCK else ()
        return ExchangeCheck(clock=CLOCK, now_ms=now, violations=tuple(violations))
