"""`Home`: the verbs that concern a crawl as a whole, wherever its hosts are: what holds for it, who works on it, who follows it."""

import re
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any, Self

from core import InputError
from frontier.codec.replies import decode_gate_state
from frontier.gate_state import GateState
from frontier.link.functions import library_code
from frontier.link.link import Arg, Link
from frontier.link.partition import MAX_PARTITIONS, ON_A_CLUSTER, Partitions, crawl_call
from frontier.outage import Outage
from frontier.settings import CrawlSettings, StorageId
from frontier.verbs.agreement import (
    Agreement,
    agree,
    has_lost_partition,
    read_agreement,
    read_gate_reply,
    settings_calls,
)
from frontier.verbs.journal import Journal
from frontier.verbs.reconciler import Reconciler

HOSTS_PER_CALL = 1_000
"""Of one call that goes through all."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Coordination:
    """One crawl. `open` comes before anything else."""

    def __init__(self, link: Link, crawl: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is that of the event loop, in seconds: leases are held by it."""
        if not _NAME.fullmatch(crawl):
            raise InputError(
                f"crawl {crawl!r}: a name is letters, digits, dots, dashes and underscores; choose another"
            )
        self._link = link
        self._crawl = crawl
        self._clock = clock
        self._agreement = Agreement(
            partitions=Partitions(crawl, 0), storage=None, settings=CrawlSettings(), revision=0
        )
        self._listed = False
        self._begin_journal()

    def _begin_journal(self) -> None:
        self._journal = Journal(self._crawl)
        self._reconciler = Reconciler(self._link, self._journal, lambda: self._agreement, self._clock)

    @property
    def _partitions(self) -> Partitions:
        return self._agreement.partitions

    async def open(
        self,
        settings: CrawlSettings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,
        update: bool = False,
    ) -> Self:
        """Make the servers ready, and learn what the crawl was made with, or make it so where it is new.

        `settings` and `storage` are what the caller has: an `InputError` names what the crawl has otherwise, and with `update`
        the settings of the crawl are replaced. Who does not say them takes them as they are. `partitions` (at most 256)
        is for a new crawl: 1 on a single server, 64 on a cluster, where not said. Raises `Unavailable` where a server is too
        old or would evict keys when its memory is full, `CorruptData` where another release made the crawl.
        """
        await self._link.open(library_code())
        wanted = partitions or (ON_A_CLUSTER if self._link.is_cluster else 1)
        if not 1 <= wanted <= MAX_PARTITIONS:
            raise InputError(f"crawl {self._crawl}: {wanted} partitions; choose from 1 to {MAX_PARTITIONS}")
        self._agreement = await agree(
            self._link, self._crawl, partitions=wanted, storage=storage, settings=settings, update=update
        )
        self._reconciler.register_partitions(
            [nonce for nonce, _ in await self._link.call(self._partitions.calls("births"))]
        )
        return self

    async def exists(self) -> bool:
        """Return whether anybody has made the crawl. May come before `open`, and makes nothing."""
        await self._link.open(library_code())
        return await read_agreement(self._link, self._crawl) is not None

    async def has_lost_partition(self) -> bool:
        """Return whether a part of the crawl is lost. May come before `open`, and makes nothing."""
        await self._link.open(library_code())
        found = await read_agreement(self._link, self._crawl)
        return found is not None and await has_lost_partition(self._link, found)

    @property
    def server_restarts(self) -> int:
        """How often a server of this crawl has restarted, as far as this client has noticed: what it heard of the frontier before may
        not hold any more. What it told has been told again.
        """
        return self._journal.server_restarts

    @property
    def settings(self) -> CrawlSettings:
        """What holds for all workers of the crawl, as of the last lease."""
        return self._agreement.settings

    @property
    def storage(self) -> StorageId | None:
        """Which storage has the crawl's archive; None where nobody has said it."""
        return self._agreement.storage

    async def update_settings(self, settings: CrawlSettings) -> None:
        """Replace the crawl's settings. From now on nothing is granted or let in under those of before; workers that run have
        the new ones with their next lease.
        """
        await self.open(settings, update=True)

    # What was lost

    @property
    def is_rebuilding(self) -> bool:
        """Whether somebody makes the frontier from the archive, as of `open`, or was killed at it."""
        return self._agreement.is_rebuilding

    async def start_rebuild(self) -> set[str]:
        """Say that the frontier is being made from the archive: nothing is leased until it is `finish_rebuild`. Return the parts of
        it that are `mark_rebuilt` already.
        """
        return {part.decode() for part in await self._crawl_call("rebuild")}

    async def mark_rebuilt(self, part: str) -> None:
        """Say that everything of a part of the archive is in the frontier."""
        await self._crawl_call("rebuilt", part)

    async def finish_rebuild(self) -> None:
        """Say that everything of the archive is in the frontier, and that pages may be leased."""
        await self._crawl_call("complete")

    async def sync(self) -> None:
        """Return when the servers have all that this client has told them, and have it on their disks, as far as they write to any.
        Whoever tells the frontier something that nobody will tell it again ends with it.
        """
        calls = self._partitions.calls("births")
        while True:
            replies = await self._link.sync(calls)
            if all([await self._reconciler.ensure_current(p, nonce) for p, (nonce, _) in enumerate(replies)]):
                return

    async def forget(self) -> None:
        """Forget the crawl: every URL, lease and robots record of it. What lies in storage is left there. `open` makes it anew."""
        for call in self._partitions.calls("forget", HOSTS_PER_CALL):
            while any(await self._link.call([call])):
                pass
        await self._crawl_call("forget", HOSTS_PER_CALL)
        await self._link.remove_crawl_name(self._crawl)
        self._listed = False
        self._begin_journal()

    @staticmethod
    async def crawl_names(link: Link) -> list[str]:
        """Return the names of the crawls that anything was ever added to, sorted."""
        return sorted(await link.crawl_names())

    # Those who follow

    async def report_backlog(
        self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000
    ) -> GateState:
        """Report that `backlog` bytes of the sealed archive are still to be processed; returns what follows.

        Every follower of a crawl measures the same backlog, so the newest report counts, whoever made it. It
        counts for `ttl_ms`: one who stops for minutes holds the crawl, one who is gone for good does not.
        """
        return decode_gate_state(await self._crawl_call("follow", follower, backlog, limit, ttl_ms))

    async def withdraw_backlog(self, follower: str) -> None:
        """Take the report back, if the newest one is this follower's: the crawl goes on without it."""
        await self._crawl_call("unfollow", follower)

    async def gate_state(self) -> GateState | None:
        """Return how far the crawl is ahead of its follower; None where nobody follows it."""
        told = await self._crawl_call("flow")
        return decode_gate_state(told) if told else None

    # Workers

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
        await self._crawl_call("beat", worker, ttl_ms, stalled, *kept)

    async def stalls(self) -> list[int]:
        """Return for how long each living worker that waits for its storage has done so, in milliseconds."""
        return [int(waited) for waited in await self._crawl_call("stalls")]

    async def outages(self) -> dict[str, Outage]:
        """Return what keeps which living workers from the web."""
        rows = await self._crawl_call("outages")
        return {worker.decode(): Outage(why=why.decode(), ms=int(ms)) for worker, ms, why in rows}

    async def take_over(self, workers: Collection[str]) -> None:
        """Declare workers dead for ever. When this returns, nothing that they lease, beat or settle under these names is accepted any
        more: their calls raise `TakeoverError`. Whoever takes over settles what they left by saying that they `died`.
        """
        if workers:
            calls = self._partitions.calls("take_over", *workers)
            _, *replies = await self._link.call([crawl_call(self._crawl, "take_over", *workers), *calls])
            for p, (call, (nonce, at_ms)) in enumerate(zip(calls, replies, strict=True)):
                await self._reconciler.record_call(p, call, nonce, at_ms)

    async def deregister_worker(self, worker: str) -> None:
        """Say that a worker has come to its end, all of its leases over."""
        await self._crawl_call("leave", worker)

    async def alive_workers(self, workers: Iterable[str]) -> set[str]:
        """Return those of some workers that were heard of in time."""
        return {worker.decode() for worker in await self._crawl_call("alive", *workers)}

    async def _register_crawl(self) -> None:
        if not self._listed:
            await self._link.add_crawl_name(self._crawl)
            self._listed = True

    async def _is_gate_open(self, worker: str) -> bool:
        """Whether the gate lets anything be leased. What has changed of the settings is known afterwards."""
        before = self._agreement
        news = await self._crawl_call("gate", before.revision, worker)
        self._agreement, admitted = read_gate_reply(self._crawl, news, before)
        if self._agreement is not before:  # who changed them may have died before it told the partitions
            await self._link.call(settings_calls(self._agreement))
        return admitted

    async def _crawl_call(self, verb: str, *args: Arg) -> Any:
        (reply,) = await self._link.call([crawl_call(self._crawl, verb, *args)])
        return reply
