"""`Reconciler`: notices that a server has restarted, and repeats the calls that it has forgotten.

1. A reply names the life of the server. A life that is not known yet means that the server may have forgotten
   something. Before the client uses the reply, it repeats to the partition the calls that the partition lost
   (`frontier.verbs.journal`).
2. First, leases that the partition has of this client's workers but that the workers do not hold go back: their hosts
   would wait for the deadline. Then the client repeats the leases that are held and those that a lost settlement ended,
   and then the lost calls in their order.
3. Nothing is granted meanwhile: not to this client, which does not know the new life yet, and for a moment not to
   others (`lua/state/clock.lua`), because they would fetch again the pages whose settlements are repeated a little
   later.
4. If a server restarts during this, the client begins again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from thresher.frontier.link.call import Call, Link
from thresher.frontier.verbs.agreement import Agreement
from thresher.frontier.verbs.journal import Grant, Journal, JournaledCall, regrant_arguments

MAX_REPEATED = 500
"""Leases, or calls, that are repeated at once, at most."""


class Reconciler:
    """The reconciler of one client of one crawl."""

    def __init__(
        self,
        link: Link,
        journal: Journal,
        agreement: Callable[[], Agreement],
        clock: Callable[[], float],
    ) -> None:
        """`clock` is that of the event loop, in seconds."""
        self._link, self._journal, self._agreement, self._clock = link, journal, agreement, clock
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._workers: set[str] = set()
        self._rounds: defaultdict[int, int] = defaultdict(int)

    def register_partitions(self, nonces: Sequence[bytes]) -> None:
        """Record the lives of the partitions; lives that are known stay."""
        for partition, nonce in enumerate(nonces):
            self._journal.register_partition(partition, nonce)

    def round(self, partition: int) -> int:
        """Return how often lost calls were repeated to a partition. Leases of a call that was under way during a
        repetition have gone back.
        """
        return self._rounds[partition]

    def record_grants(self, rows: Sequence[Sequence[Any]], worker: str, lease_ms: int) -> None:
        """Record the leases that were granted to a worker; `rows` are those of `lease`."""
        self._workers.add(worker)
        until = self._clock() + lease_ms / 1000
        self._journal.add_grants(
            [
                Grant(
                    token=int(token),
                    kind=kind,
                    host=host.decode(),
                    subject=subject,
                    failure=failure,
                    worker=worker,
                    until=until,
                )
                for token, kind, _, _, _, _, host, subject, failure, _ in rows
            ]
        )

    async def record_call(
        self, partition: int, call: Call, nonce: bytes, at_ms: int, tokens: Sequence[int] = ()
    ) -> None:
        """Record that a call was carried out in this life at this time and ended the leases of `tokens`."""
        self._journal.add(partition, call, nonce, at_ms, tokens)
        await self.ensure_current(partition, nonce)

    async def ensure_current(self, partition: int, nonce: bytes) -> bool:
        """Return whether a reply is of the known life; if not, first repeat to the partition what it has forgotten."""
        if nonce == self._journal.nonce(partition):
            return True
        await self.reconcile(partition)
        return False

    async def reconcile(self, partition: int) -> None:
        """Repeat to a partition what it has forgotten, until it has all calls of this client. Raise `CorruptData` if it
        has forgotten more than the journal remembers.
        """
        async with self._locks[partition]:
            while True:
                nonce, births = await self._one(self._call(partition, "births"))
                if self._journal.is_current(partition, nonce):
                    return
                self._journal.suspend(partition)
                self._rounds[partition] += 1
                lost, kept = self._journal.split_by_loss(partition, nonce, births)
                resent = await self._resend_lost(partition, nonce, lost)
                if resent is not None:
                    self._journal.mark_reconciled(partition, nonce, births, resent, kept)

    async def _resend_lost(
        self, partition: int, nonce: bytes, lost: Sequence[JournaledCall]
    ) -> list[tuple[JournaledCall, int]] | None:
        """Repeat the lost calls, and return them with the new times. Return None if the server has
        restarted meanwhile.
        """
        now = self._clock()
        held = self._journal.current_grants(partition, self._agreement().partitions.number, now)
        ended = [grant for change in lost for grant in change.grants]
        grants = sorted(ended + held, key=lambda grant: grant.token)
        await self._return_leases(partition, {grant.token for grant in grants})
        policy = self._agreement().settings.policy
        workers: defaultdict[str, list[Grant]] = defaultdict(list)
        for grant in grants:
            workers[grant.worker].append(grant)
        for worker, some in workers.items():
            for first in range(0, len(some), MAX_REPEATED):
                args = regrant_arguments(some[first : first + MAX_REPEATED], policy, now)
                call = self._call(partition, "regrant", worker, *args)
                if await self._one(call) != nonce:
                    return None
        resent: list[tuple[JournaledCall, int]] = []
        for first in range(0, len(lost), MAX_REPEATED):
            changes = lost[first : first + MAX_REPEATED]
            replies = await self._link.call([_resend_call(change.call, nonce) for change in changes])
            for change, reply in zip(changes, replies, strict=True):
                found, at_ms = (reply[2:] if change.call.verb == "add" else reply)[:2]
                if found != nonce:
                    return None
                resent.append((change, at_ms))
        return resent

    async def _return_leases(self, partition: int, kept: AbstractSet[int]) -> None:
        """Give back the leases that the partition has of our workers, except those of the tokens `kept`."""
        for worker in list(self._workers):
            rows = await self._one(self._call(partition, "leases", worker))
            tokens = [token for row in rows if (token := int(row[0])) not in kept]
            await self._link.call([self._call(partition, "postpone", token, 0, 1, 0) for token in tokens])

    def _call(self, partition: int, verb: str, *args: Any) -> Call:
        return self._agreement().partitions.call(partition, verb, *args)

    async def _one(self, call: Call) -> Any:
        (reply,) = await self._link.call([call])
        return reply


def _resend_call(call: Call, nonce: bytes) -> Call:
    """Return a call in the form in which it is repeated: a settlement names the life in which its
    leases were granted.
    """
    return Call(call.verb, call.keys, (nonce, *call.args[1:])) if call.verb == "settle" else call
