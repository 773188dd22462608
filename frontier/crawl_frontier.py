"""`Frontier`: the client of one crawl's state, which lives in Redis or Valkey, on one server or a cluster.

Every verb that changes something is one atomic function of `lua/` for each partition that it touches. So any number of
workers on any number of machines may call at once, and a worker that dies between two calls leaves nothing half done.
Every verb may be repeated: a change that was made is not made again.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Self, TypeVar

from thresher.core import InputError, Url
from thresher.frontier.codec.arguments import (
    add_calls,
    knows_calls,
    release_arguments,
    settle_arguments,
)
from thresher.frontier.codec.replies import (
    decode_add_result,
    decode_lease,
    decode_settlement,
    decode_stats,
    soonest_ms,
)
from thresher.frontier.crawl_settings import CrawlSettings, StorageId
from thresher.frontier.lease import (
    AddResult,
    Discovery,
    HostRelease,
    Lease,
    Leases,
    Outcome,
    Settlement,
    Stats,
    UnloggedBatch,
)
from thresher.frontier.link.call import Arg, Call, Link
from thresher.frontier.link.lost_frontier import lost_frontier_error
from thresher.frontier.verbs.backlog import Backlog
from thresher.frontier.verbs.crawl import Crawl
from thresher.frontier.verbs.fleet import Fleet
from thresher.frontier.verbs.inspection import Inspection
from thresher.frontier.verbs.operator import Operator
from thresher.frontier.verbs.origins import Origins
from thresher.frontier.verbs.politeness import Politeness
from thresher.frontier.verbs.queue_tail import MAX_IN_MEMORY, QueueTail, SegmentStore
from thresher.frontier.verbs.rebuild import Rebuild
from thresher.frontier.verbs.workers import Workers

T = TypeVar("T")

_MAX_NAME_LENGTH = 255  # of a worker: a byte says how long it is


class Frontier:
    """Add, lease and settle the URLs of one crawl, and hold its other clients as attributes. Call `open` before
    anything else.
    """

    def __init__(self, link: Link, crawl: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is that of the event loop, in seconds; leases are held by it."""
        self.crawl = Crawl(link, crawl, clock=clock)
        self.workers = Workers(self.crawl)
        self.backlog = Backlog(self.crawl)
        self.rebuild = Rebuild(self.crawl)
        self.politeness = Politeness(self.crawl)
        self.origins = Origins(self.crawl)
        self.operator = Operator(self.crawl)
        self.inspection = Inspection(self.crawl)
        self.fleet = Fleet(self.crawl)
        self._next = 0

    async def open(
        self,
        settings: CrawlSettings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,
        update: bool = False,
    ) -> Self:
        """Open the crawl as `Crawl.open` does, and return this frontier."""
        await self.crawl.open(settings, storage=storage, partitions=partitions, update=update)
        return self

    # URLs

    async def add(self, discoveries: Sequence[Discovery], *, revive: bool = False) -> AddResult:
        """Make unknown URLs wait; known URLs, in whatever state, stay as they are.

        A discovery is not let in, and not remembered, if the budget has no room for it, if it is barred
        (`operator.drop`), or if it leads into a trap: `AddResult.discarded` counts these by reason. With `revive`,
        hosts and origins that were given up are asked once more. A discovery with `notify` is let in although it leads
        into a trap or its host is dead: it is granted once, as given up (`Lease.failure`).
        """
        return decode_add_result(await self._add_discoveries(discoveries, revive=revive))

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        """Return for each URL whether its page is known, in whatever state."""
        found: dict[str, bool] = {}
        for call, some in knows_calls(urls, self.crawl.partitions, self.crawl.settings.policy):
            (reply,) = await self.crawl.link.call([call])
            found.update(zip((url.text for url in some), map(bool, reply), strict=True))
        return [found[url.text] for url in urls]

    async def unlogged_batch(self, n: int = 1_000) -> UnloggedBatch:
        """Return pages that the frontier settled without a worker and that are in no log yet, at most `n` of each
        partition. They are returned again until `acknowledge_batch` says that they are logged.
        """
        replies = await self.crawl.link.call(self.crawl.partitions.calls("unlogged", n))
        return UnloggedBatch(
            settlements=tuple(decode_settlement(item) for _, _, *items in replies for item in items),
            positions=tuple(
                (p, life, before, len(items)) for p, (life, before, *items) in enumerate(replies) if items
            ),
        )

    async def acknowledge_batch(self, batch: UnloggedBatch) -> None:
        """Forget the settlements of a batch: the caller says that they are durable in a log."""
        await self.crawl.link.call(
            [
                self.crawl.partitions.call(p, "logged", life, before, n)
                for p, life, before, n in batch.positions
            ]
        )

    async def lease(
        self,
        n: int,
        *,
        worker: str,
        lease_ms: int,
        max_pages: int | None = None,
        max_requests: int | None = None,
    ) -> Leases:
        """Take up to `n` leases. Within a partition, hosts of the highest rank come first, the longest waiting before
        the others. Within a host, the lowest level comes first, as far as the head of its queue goes: behind some 32
        URLs that are in order, the others wait in the order in which they came. If fewer than `n` leases come back,
        there may be more to be had; if none comes back, there are none now. `Leases.soonest_ms` says when to ask
        again.

        Nothing is granted that would reach a host sooner than its delay: the crawl's (`CrawlSettings.min_delay_ms`),
        the delay that its robots rules ask for, or twice the time that it takes to answer, whichever is longest. Once
        `max_pages` pages are fetched or leased, none is granted; on several partitions, others may be granted some at
        the same moment. Nothing is granted while the gate is shut (`gate_state`), nor once `max_requests` requests were
        started (`Stats.requests`). Leases whose deadline has passed go back before any is granted.

        The crawl's delay also scales the back-off of failures: a delay of less than a second shortens, in proportion
        and down to a thirtieth, every rest that no server asked for. Raise `CorruptData` if the crawl is no longer
        there, and `TakeoverError` if the worker's name was taken over.
        """
        if len(worker.encode()) > _MAX_NAME_LENGTH:
            raise InputError(f"worker {worker[:40]!r}: a name has at most {_MAX_NAME_LENGTH} bytes")
        if not await self.crawl.is_gate_open(worker):
            return Leases(soonest_ms=None)
        number = self.crawl.partitions.number
        limits = [-1 if each is None or number > 1 else each for each in (max_pages, max_requests)]
        shares, waits = await self._divide(n, max_pages=max_pages, max_requests=max_requests)
        expected = {p: self.crawl.journal.nonce(p) for p in shares}
        rounds = {p: self.crawl.reconciler.round(p) for p in shares}
        replies = await self.crawl.link.call(
            [
                self.crawl.partitions.call(
                    p, "lease", share, worker, lease_ms, *limits, number, p, expected[p]
                )
                for p, share in shares.items()
            ]
        )
        valid_rows: list[Any] = []
        void_rows: list[Any] = []
        for p, (rows, _, nonce) in zip(shares, replies, strict=True):
            is_valid = nonce == self.crawl.journal.nonce(p) and rounds[p] == self.crawl.reconciler.round(p)
            (valid_rows if is_valid else void_rows).extend(rows)
        self.crawl.reconciler.record_grants(valid_rows, worker, lease_ms)
        for p, (_, _, nonce) in zip(shares, replies, strict=True):
            await self.crawl.reconciler.ensure_current(p, nonce)
        if void_rows:
            void = [HostRelease(lease=decode_lease(row, worker), has_sent_request=False) for row in void_rows]
            await self.postpone_all([(each, 0) for each in void])
        waits += [wait for _, wait, _ in replies]
        return Leases((decode_lease(row, worker) for row in valid_rows), soonest_ms=soonest_ms(waits))

    async def _divide(
        self, n: int, *, max_pages: int | None, max_requests: int | None
    ) -> tuple[dict[int, int], list[int]]:
        """Divide `n` leases, as far as the limits allow, among the partitions that have a host ready. Return how many
        each of these grants, and the waits in milliseconds of the others. A single partition applies the limits itself.
        """
        number = self.crawl.partitions.number
        if number == 1:
            return {0: n}, []
        if max_pages is not None or max_requests is not None:
            now = await self.stats()
            pages = n if max_pages is None else max_pages - now.leased - now.outcomes[Outcome.FETCHED]
            n = max(0, min(n, pages, n if max_requests is None else max_requests - now.requests))
        due = await self.crawl.link.call(self.crawl.partitions.calls("due"))
        ready = [p for p in self._rotated_partitions() if not due[p]]
        share, more = divmod(n, max(len(ready), 1))
        # The call is made even for 0 leases: leases of dead workers count towards the limit until the call takes them
        # back.
        shares = {p: share + (i < more) for i, p in enumerate(ready) if share + (i < more) or not n}
        return shares, [due[p] for p in range(number) if p not in shares]

    async def postpone(
        self, lease: Lease, wait_ms: int, *, has_sent_request: bool = False, is_worker_dead: bool = False
    ) -> bool:
        """Give a lease back, and return whether it was held. Its page goes first in the queue again, and the host waits
        for `wait_ms`. With `has_sent_request`, a request may have reached the host: it counts, and the host's delay
        begins now. `is_worker_dead` is as for `settle`.
        """
        (done,) = await self.postpone_all(
            [(HostRelease(lease=lease, has_sent_request=has_sent_request), wait_ms)],
            is_worker_dead=is_worker_dead,
        )
        return done

    async def postpone_all(
        self, waits: Sequence[tuple[HostRelease, int]], *, is_worker_dead: bool = False
    ) -> list[bool]:
        """`postpone` for several leases, each for its own time."""
        done: dict[int, bool] = {}
        while left := [each for each in waits if each[0].lease.token not in done]:
            calls = [
                self._token_call(
                    back.lease,
                    "postpone",
                    back.lease.token,
                    wait_ms,
                    int(back.has_sent_request),
                    int(is_worker_dead),
                )
                for back, wait_ms in left
            ]
            for (back, _), was_held in zip(left, await self._end_exchanges(calls), strict=True):
                if was_held is not None:
                    done[back.lease.token] = bool(was_held)
                    self.crawl.journal.remove_grant(back.lease.token)
        return [done[back.lease.token] for back, _ in waits]

    async def renew(self, leases: Sequence[Lease], lease_ms: int) -> None:
        """Move the deadlines of the leases that are still held to `lease_ms` from now."""
        until = self.crawl.clock() + lease_ms / 1000
        for held in leases:
            self.crawl.journal.extend_grant(held.token, until)
        parts = self._by_partition(leases, lambda held: held.token)
        await self.crawl.link.call(
            [self.crawl.partitions.call(p, "renew", lease_ms, *(t.token for t in held)) for p, held in parts]
        )

    async def release(self, exchanges: Sequence[HostRelease]) -> int | None:
        """Say that requests are over: the delays of the hosts that were asked begin now. The leases stay held until
        they are settled.

        Return in how many milliseconds something of the partitions concerned may be leased; None if nothing has a time.
        """
        waits: list[int] = []
        while exchanges:
            parts = self._by_partition(exchanges, lambda ended: ended.lease.token)
            calls = [
                self.crawl.partitions.call(p, "release", *chain.from_iterable(map(release_arguments, ended)))
                for p, ended in parts
            ]
            exchanges = []
            for (_, ended), wait in zip(parts, await self._end_exchanges(calls), strict=True):
                if wait is None:
                    exchanges += ended
                    continue
                waits.append(wait)
                for each in ended:
                    self.crawl.journal.mark_released(each.lease.token)
        return soonest_ms(waits)

    async def settle(
        self, settlements: Sequence[Settlement], *, archived: int = 0, is_worker_dead: bool = False
    ) -> int:
        """End page leases, after adding the discoveries that their pages led to. Return how many settlements were
        accepted.

        A token that is not held (settled before, or expired and granted again) changes nothing, so settling twice is
        harmless. `archived` is the number of bytes by which the crawl's archive has grown, by these pages and others:
        the follower has so much more to process. Raise `TakeoverError` if the leases' worker was taken over
        (`Workers.take_over`), unless the caller says that `is_worker_dead` and settles on its behalf.
        """
        if archived:
            await self.crawl.call("archived", archived)
        accepted = 0
        while settlements:
            await self._add_discoveries(
                list(chain.from_iterable(settlement.discoveries for settlement in settlements))
            )
            parts = self._by_partition(settlements, lambda ended: ended.lease.token)
            nonces = [self.crawl.journal.nonce(p) for p, _ in parts]
            calls = [
                self.crawl.partitions.call(
                    p,
                    "settle",
                    expected,
                    int(is_worker_dead),
                    *chain.from_iterable(
                        settle_arguments(each, self.crawl.settings.policy) for each in ended
                    ),
                )
                for (p, ended), expected in zip(parts, nonces, strict=True)
            ]
            settlements = []
            for (p, ended), call, (nonce, at_ms, *done) in zip(
                parts, calls, await self.crawl.link.call(calls), strict=True
            ):
                accepted += sum(done)
                if nonce == call.args[0]:
                    tokens = [settlement.lease.token for settlement in ended]
                    await self.crawl.reconciler.record_call(p, call, nonce, at_ms, tokens)
                else:  # the server has restarted, and may have forgotten these leases and earlier calls
                    await self.crawl.reconciler.ensure_current(p, nonce)
                    settlements += ended
        return accepted

    # The crawl

    async def stats(self) -> Stats:
        """Return where every URL of the crawl stands, each partition at one moment."""
        while True:
            rows = await self.crawl.link.call(self.crawl.partitions.calls("stats"))
            if any(row[-1] != self.crawl.agreement.creation_id for row in rows):
                raise lost_frontier_error(self.crawl.name)
            if all([await self.crawl.reconciler.ensure_current(p, row[-2]) for p, row in enumerate(rows)]):
                return decode_stats(rows)

    def tail(self, store: SegmentStore, *, max_in_memory: int = MAX_IN_MEMORY) -> QueueTail:
        """Return the mover of URLs between memory and storage; `max_in_memory` is how many may wait in memory before
        any are moved.
        """
        return QueueTail(self.crawl.link, self.crawl.partitions, store, max_in_memory=max_in_memory)

    def __repr__(self) -> str:
        return f"Frontier({self.crawl.name!r})"

    async def _add_discoveries(self, discoveries: Sequence[Discovery], *, revive: bool = False) -> list[Any]:
        """Add discoveries and return the replies."""
        if discoveries:
            await self.crawl.register()
        calls: list[Call] = []
        for call in add_calls(discoveries, self.crawl.partitions, self.crawl.settings.policy, revive=revive):
            if calls:
                await asyncio.sleep(0)  # an adder of many URLs lets other tasks run
            calls.append(call)
        replies = await self.crawl.link.call(calls)
        for call, (_, _, nonce, at_ms, *_) in zip(calls, replies, strict=True):
            await self.crawl.reconciler.record_call(
                self.crawl.partitions.of_key(call.keys[0]), call, nonce, at_ms
            )
        return replies

    async def _end_exchanges(self, calls: Sequence[Call]) -> list[Any]:
        """Return the replies to calls that end requests. A reply is None if its server has restarted: the server may
        have forgotten the leases, and has them again by now.
        """
        found: list[Any] = []
        parts = [self.crawl.partitions.of_key(call.keys[0]) for call in calls]
        nonces = [self.crawl.journal.nonce(p) for p in parts]
        replies = await self.crawl.link.call(calls)
        for p, expected, (nonce, reply) in zip(parts, nonces, replies, strict=True):
            found.append(reply if nonce == expected else None)
            await self.crawl.reconciler.ensure_current(p, nonce)
        return found

    def _rotated_partitions(self) -> list[int]:
        """Return all partitions, starting with another one each time."""
        number = self.crawl.partitions.number
        self._next = (self._next + 1) % number
        return [*range(self._next, number), *range(self._next)]

    def _by_partition(self, items: Iterable[T], token: Callable[[T], int]) -> list[tuple[int, list[T]]]:
        parts: defaultdict[int, list[T]] = defaultdict(list)
        for item in items:
            parts[self.crawl.partitions.of_token(token(item))].append(item)
        return list(parts.items())

    def _token_call(self, lease: Lease, verb: str, *args: Arg) -> Call:
        return self.crawl.partitions.call(self.crawl.partitions.of_token(lease.token), verb, *args)
