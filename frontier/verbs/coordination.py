"""`Home`: the verbs that concern a crawl as a whole, wherever its hosts are: what holds for it, who works on it, who follows it."""

import re
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any, Self

from core import InputError
from frontier.codec.replies import flow
from frontier.gate_state import Flow
from frontier.link.functions import code
from frontier.link.link import Arg, Link
from frontier.link.partition import MOST, ON_A_CLUSTER, Partitions, home
from frontier.outage import Outage
from frontier.settings import Settings, StorageId
from frontier.verbs.agreement import Agreement, after_gate, agree, copies, is_torn, read_agreement
from frontier.verbs.journal import Journal
from frontier.verbs.reconciler import Reconciler

HOSTS = 1_000
"""Of one call that goes through all."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Home:
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
            partitions=Partitions(crawl, 0), storage=None, settings=Settings(), revision=0
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
        settings: Settings | None = None,
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
        await self._link.open(code())
        wanted = partitions or (ON_A_CLUSTER if self._link.clustered else 1)
        if not 1 <= wanted <= MOST:
            raise InputError(f"crawl {self._crawl}: {wanted} partitions; choose from 1 to {MOST}")
        self._agreement = await agree(
            self._link, self._crawl, partitions=wanted, storage=storage, settings=settings, update=update
        )
        self._reconciler.begin(
            [nonce for nonce, _ in await self._link.call(self._partitions.calls("births"))]
        )
        return self

    async def exists(self) -> bool:
        """Return whether anybody has made the crawl. May come before `open`, and makes nothing."""
        await self._link.open(code())
        return await read_agreement(self._link, self._crawl) is not None

    async def torn(self) -> bool:
        """Return whether a part of the crawl is lost. May come before `open`, and makes nothing."""
        await self._link.open(code())
        found = await read_agreement(self._link, self._crawl)
        return found is not None and await is_torn(self._link, found)

    @property
    def restarts(self) -> int:
        """How often a server of this crawl has restarted, as far as this client has noticed: what it heard of the frontier before may
        not hold any more. What it told has been told again.
        """
        return self._journal.restarts

    @property
    def settings(self) -> Settings:
        """What holds for all workers of the crawl, as of the last lease."""
        return self._agreement.settings

    @property
    def storage(self) -> StorageId | None:
        """Which storage has the crawl's archive; None where nobody has said it."""
        return self._agreement.storage

    async def update(self, settings: Settings) -> None:
        """Replace the crawl's settings. From now on nothing is granted or let in under those of before; workers that run have
        the new ones with their next lease.
        """
        await self.open(settings, update=True)

    # What was lost

    @property
    def rebuilding(self) -> bool:
        """Whether somebody makes the frontier from the archive, as of `open`, or was killed at it."""
        return self._agreement.rebuilding

    async def rebuild(self) -> set[str]:
        """Say that the frontier is being made from the archive: nothing is leased until it is `complete`. Return the parts of
        it that are `rebuilt` already.
        """
        return {part.decode() for part in await self._home("rebuild")}

    async def rebuilt(self, part: str) -> None:
        """Say that everything of a part of the archive is in the frontier."""
        await self._home("rebuilt", part)

    async def complete(self) -> None:
        """Say that everything of the archive is in the frontier, and that pages may be leased."""
        await self._home("complete")

    async def sync(self) -> None:
        """Return when the servers have all that this client has told them, and have it on their disks, as far as they write to any.
        Whoever tells the frontier something that nobody will tell it again ends with it.
        """
        calls = self._partitions.calls("births")
        while True:
            replies = await self._link.sync(calls)
            if all([await self._reconciler.heard(p, nonce) for p, (nonce, _) in enumerate(replies)]):
                return

    async def forget(self) -> None:
        """Forget the crawl: every URL, lease and robots record of it. What lies in storage is left there. `open` makes it anew."""
        for call in self._partitions.calls("forget", HOSTS):
            while any(await self._link.call([call])):
                pass
        await self._home("forget", HOSTS)
        await self._link.unlist_name(self._crawl)
        self._listed = False
        self._begin_journal()

    @staticmethod
    async def crawls(link: Link) -> list[str]:
        """Return the names of the crawls that anything was ever added to, sorted."""
        return sorted(await link.names())

    # Those who follow

    async def follow(self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000) -> Flow:
        """Report that `backlog` bytes of the sealed archive are still to be processed; returns what follows.

        Every follower of a crawl measures the same backlog, so the newest report counts, whoever made it. It
        counts for `ttl_ms`: one who stops for minutes holds the crawl, one who is gone for good does not.
        """
        return flow(await self._home("follow", follower, backlog, limit, ttl_ms))

    async def unfollow(self, follower: str) -> None:
        """Take the report back, if the newest one is this follower's: the crawl goes on without it."""
        await self._home("unfollow", follower)

    async def flow(self) -> Flow | None:
        """Return how far the crawl is ahead of its follower; None where nobody follows it."""
        told = await self._home("flow")
        return flow(told) if told else None

    # Workers

    async def beat(
        self,
        worker: str,
        ttl_ms: int = 30_000,
        *,
        stalled_ms: int | None = None,
        outage: Outage | None = None,
    ) -> None:
        """Say that a worker lives: it is taken for living for `ttl_ms` from now. `stalled_ms` says for how long it
        has waited for its storage to answer, `outage` what keeps it from the web, if anything does. Raises `GivenUp` where its
        name was taken over.
        """
        stalled = -1 if stalled_ms is None else stalled_ms
        kept = (-1, "") if outage is None else (outage.ms, outage.why)
        await self._home("beat", worker, ttl_ms, stalled, *kept)

    async def stalls(self) -> list[int]:
        """Return for how long each living worker that waits for its storage has done so, in milliseconds."""
        return [int(waited) for waited in await self._home("stalls")]

    async def outages(self) -> dict[str, Outage]:
        """Return what keeps which living workers from the web."""
        rows = await self._home("outages")
        return {worker.decode(): Outage(why=why.decode(), ms=int(ms)) for worker, ms, why in rows}

    async def take_over(self, workers: Collection[str]) -> None:
        """Declare workers dead for ever. When this returns, nothing that they lease, beat or settle under these names is accepted any
        more: their calls raise `GivenUp`. Whoever takes over settles what they left by saying that they `died`.
        """
        if workers:
            calls = self._partitions.calls("take_over", *workers)
            _, *replies = await self._link.call([home(self._crawl, "take_over", *workers), *calls])
            for p, (call, (nonce, at_ms)) in enumerate(zip(calls, replies, strict=True)):
                await self._reconciler.tell(p, call, nonce, at_ms)

    async def leave(self, worker: str) -> None:
        """Say that a worker has come to its end, all of its leases over."""
        await self._home("leave", worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """Return those of some workers that were heard of in time."""
        return {worker.decode() for worker in await self._home("alive", *workers)}

    async def _list(self) -> None:
        if not self._listed:
            await self._link.list_name(self._crawl)
            self._listed = True

    async def _admitted(self, worker: str) -> bool:
        """Whether the gate lets anything be leased. What has changed of the settings is known afterwards."""
        before = self._agreement
        news = await self._home("gate", before.revision, worker)
        self._agreement, admitted = after_gate(self._crawl, news, before)
        if self._agreement is not before:  # who changed them may have died before it told the partitions
            await self._link.call(copies(self._agreement))
        return admitted

    async def _home(self, verb: str, *args: Arg) -> Any:
        (reply,) = await self._link.call([home(self._crawl, verb, *args)])
        return reply
