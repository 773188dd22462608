"""`Workers`: the verbs that concern who works on a crawl: who is alive, who holds leases, and who takes over from the dead."""

from collections.abc import Collection, Iterable
from itertools import chain

from frontier.codec.replies import decode_lease
from frontier.lease import Lease
from frontier.link.partition import crawl_call
from frontier.outage import Outage
from frontier.verbs.crawl import Crawl


class Workers:
    """The workers of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def send_heartbeat(
        self,
        worker: str,
        ttl_ms: int = 30_000,
        *,
        stalled_ms: int | None = None,
        outage: Outage | None = None,
    ) -> None:
        """Say that a worker lives: it is taken for living for `ttl_ms` from now. `stalled_ms` says for how long it
        has waited for its storage to answer, `outage` what keeps it from the web, if anything does. Raises `TakeoverError` where its
        name was taken over.
        """
        stalled = -1 if stalled_ms is None else stalled_ms
        kept = (-1, "") if outage is None else (outage.ms, outage.why)
        await self._crawl.call("beat", worker, ttl_ms, stalled, *kept)

    async def stalls(self) -> list[int]:
        """Return for how long each living worker that waits for its storage has done so, in milliseconds."""
        return [int(waited) for waited in await self._crawl.call("stalls")]

    async def outages(self) -> dict[str, Outage]:
        """Return what keeps which living workers from the web."""
        rows = await self._crawl.call("outages")
        return {worker.decode(): Outage(why=why.decode(), ms=int(ms)) for worker, ms, why in rows}

    async def take_over(self, workers: Collection[str]) -> None:
        """Declare workers dead for ever. When this returns, nothing that they lease, beat or settle under these names is accepted any
        more: their calls raise `TakeoverError`. Whoever takes over settles what they left by saying that they `died`.
        """
        if workers:
            calls = self._crawl.partitions.calls("take_over", *workers)
            _, *replies = await self._crawl.link.call(
                [crawl_call(self._crawl.name, "take_over", *workers), *calls]
            )
            for p, (call, (nonce, at_ms)) in enumerate(zip(calls, replies, strict=True)):
                await self._crawl.reconciler.record_call(p, call, nonce, at_ms)

    async def deregister(self, worker: str) -> None:
        """Say that a worker has come to its end, all of its leases over."""
        await self._crawl.call("leave", worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """Return those of some workers that were heard of in time."""
        return {worker.decode() for worker in await self._crawl.call("alive", *workers)}

    async def holders(self) -> set[str]:
        """Return every worker that holds a lease."""
        rows = await self._crawl.link.call(self._crawl.partitions.calls("holders", key="leases"))
        return {worker.decode() for worker in chain.from_iterable(rows)}

    async def reclaim(self, worker: str, *, is_worker_dead: bool = False, has_crashed: bool = False) -> int:
        """Take back every lease of a worker that is at its end; returns how many. Its hosts wait their delay.

        Where it `is_worker_dead`, pages and robots.txt files are known for its orphans from then on (`Lease.orphan`). Where it `has_crashed`, nobody knows of what,
        and that counts like an expiry of each: a page that was held at five crashes has failed, `lease_expired`; a robots.txt forbids
        the pages of its origin for an hour, which fail for the same reason. `TakeoverError` as for `settle`.
        """
        self._crawl.journal.remove_grants(worker)
        return sum(
            await self._crawl.link.call(
                self._crawl.partitions.calls("reclaim", worker, 2 if has_crashed else int(is_worker_dead))
            )
        )

    async def leases(self, worker: str) -> list[Lease]:
        """Return the leases that a worker holds, oldest first of each partition."""
        rows = await self._crawl.link.call(self._crawl.partitions.calls("leases", worker))
        return sorted(
            (decode_lease(row, worker) for row in chain.from_iterable(rows)), key=lambda held: held.token
        )
