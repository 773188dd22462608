"""`Politeness`: the turns of IP addresses, and of hosts that are requested without a lease of their own."""

from collections.abc import Collection, Sequence
from typing import cast

from thresher.frontier.exchange_times import ExchangeCheck, ExchangeTimes, Violation
from thresher.frontier.lease import Lease
from thresher.frontier.link.call import Arg, Call
from thresher.frontier.verbs.crawl import Crawl


class Politeness:
    """The turns of one crawl's hosts and IP addresses. A turn holds for the whole fleet."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def acquire_address(self, lease: Lease, address: str) -> int:
        """Return 0 if an IP address may be asked for a lease now, or the milliseconds until its turn.

        Two requests that are let in to one address are at least `CrawlSettings.min_ip_delay_ms` apart, whatever the
        fleet. A caller that must wait has a place in the line: it gives its lease back (`postpone`) and comes again
        with the lease that is granted then.
        """
        (wait,) = await self.acquire_addresses([(lease, address)])
        return wait

    async def acquire_addresses(self, asked: Sequence[tuple[Lease, str]]) -> list[int]:
        """`acquire_address` for several leases and addresses; the waits come in the same order."""
        partitions = self._crawl.partitions
        return await self._crawl.link.call(
            [
                partitions.call(
                    partitions.of_address(address), "enter", address, lease.held_until_ms, lease.worker
                )
                for lease, address in asked
            ]
        )

    async def reserve_turn(
        self, host: str, *, max_wait_ms: int, delay_ms: int = 0, since_ms: int | None = None, ahead: int = 0
    ) -> int:
        """Return in how many milliseconds a host may be asked in a turn. A turn is as far from other turns and from
        leases as leases are from each other, or `delay_ms` away if the host's rules ask for more. A turn that is
        more than `max_wait_ms` away is not taken.

        The caller has no lease of the host, or received the answer for which it leased the host `since_ms` ago. Under a
        lease, and if no rules ask for a delay, it may take `ahead` turns before their time. These turns are owed: no
        lease of the host is granted before the time of the last one, so over the whole period the host is asked no more
        often than once a delay.
        """
        since = -1 if since_ms is None else since_ms
        return cast(
            "int", await self._crawl.one(self._host_call(host, "turn", delay_ms, max_wait_ms, since, ahead))
        )

    async def end_turn(
        self, host: str, *, delay_ms: int = 0, has_lease: bool = False, busy: str = "", hold_ms: int = 0
    ) -> None:
        """Say that the request of a turn is over: the host's delay begins now.

        `busy` is the reason if the host said that it is asked too much (`status_429`, `status_503`): the host rests as
        after such an answer to a page, for `hold_ms` if it said how long. No turn of the host is granted meanwhile,
        whoever asks.
        """
        await self._crawl.one(self._host_call(host, "end_turn", delay_ms, int(has_lease), busy, hold_ms))

    async def restart_address_delays(self, addresses: Collection[str]) -> None:
        """Say that the requests to these addresses start only now, later than their turns were acquired: the delays of
        the addresses begin anew.
        """
        partitions = self._crawl.partitions
        await self._crawl.link.call(
            [partitions.call(partitions.of_address(address), "asked", address) for address in addresses]
        )

    async def check_exchanges(self, clock: str, exchanges: Sequence[ExchangeTimes]) -> ExchangeCheck:
        """Compare exchanges with what all workers have reported of the same hosts, and return those that were too near
        to another. The check uses nothing that plans turns. It misses an exchange of a worker that died before it
        reported it, and a host's own delay that is longer than the crawl's.

        `clock` names the clock of the times, as an earlier call returned it: times of another clock are dropped. A
        call without exchanges reads the clock.
        """
        rows = [
            (each.host, each.started_ms, each.ended_ms, each.delay_ms, each.error_ms) for each in exchanges
        ]
        arguments: list[Arg] = [argument for row in rows for argument in row]
        name, now_ms, found = await self._crawl.call("check_exchanges", clock, *arguments)
        return ExchangeCheck(
            clock=name.decode(),
            now_ms=now_ms,
            violations=tuple(
                Violation(host=host.decode(), gap_ms=gap_ms, delay_ms=delay_ms)
                for host, gap_ms, delay_ms in found
            ),
        )

    def _host_call(self, host: str, verb: str, *args: Arg) -> Call:
        return self._crawl.partitions.call(self._crawl.partitions.of_host(host), verb, host, *args)
