"""`Crawl`: one crawl as a whole: the settings that hold for it, and the state that all its clients share.

The clients (`crawl_frontier`, `workers`, `backlog`, `rebuild`, `operator`, `inspection`) have one `Crawl` together: its
link, the agreement that `open` reads, and the journal of calls that must be repeated to a server after a restart.
"""

import re
import time
from collections.abc import Callable
from typing import Any

from thresher.core import InputError
from thresher.frontier.crawl_settings import CrawlSettings, StorageId
from thresher.frontier.link.call import Arg, Call, Link
from thresher.frontier.link.functions import library_code
from thresher.frontier.link.partition import MAX_PARTITIONS, ON_A_CLUSTER, Partitions, crawl_call
from thresher.frontier.verbs.agreement import (
    Agreement,
    agree,
    has_lost_partition,
    read_agreement,
    read_gate_reply,
    settings_calls,
)
from thresher.frontier.verbs.journal import Journal
from thresher.frontier.verbs.reconciler import Reconciler

HOSTS_PER_CALL = 1_000
"""Hosts of one call, when calls go through all hosts."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Crawl:
    """One crawl on a link. Call `open` before anything else."""

    def __init__(self, link: Link, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is that of the event loop, in seconds: leases are held by it."""
        if not _NAME.fullmatch(name):
            raise InputError(
                f"crawl {name!r}: a name is letters, digits, dots, dashes and underscores; choose another"
            )
        self.link = link
        self.name = name
        self.clock = clock
        self.agreement = Agreement(
            partitions=Partitions(name, 0), storage=None, settings=CrawlSettings(), revision=0
        )
        self._listed = False
        self._begin_journal()

    def _begin_journal(self) -> None:
        self.journal = Journal(self.name)
        self.reconciler = Reconciler(self.link, self.journal, lambda: self.agreement, self.clock)

    @property
    def partitions(self) -> Partitions:
        """The partitions of the crawl, as of `open`."""
        return self.agreement.partitions

    async def open(
        self,
        settings: CrawlSettings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,
        update: bool = False,
    ) -> None:
        """Make the servers ready and read the settings that the crawl was made with, or make the crawl if it is new.

        `settings` and `storage` are the caller's. If the crawl has others, `InputError` names the differences; with
        `update` the settings of the crawl are replaced instead. A caller that passes None accepts those of the crawl.
        `partitions` (at most 256) is for a new crawl: by default 1 on a single server and 64 on a cluster. Raise
        `Unavailable` if a server is too old or would evict keys when its memory is full, and `CorruptData` if another
        release made the crawl.
        """
        await self.link.open(library_code())
        wanted = partitions or (ON_A_CLUSTER if self.link.is_cluster else 1)
        if not 1 <= wanted <= MAX_PARTITIONS:
            raise InputError(f"crawl {self.name}: {wanted} partitions; choose from 1 to {MAX_PARTITIONS}")
        self.agreement = await agree(
            self.link, self.name, partitions=wanted, storage=storage, settings=settings, update=update
        )
        self.reconciler.register_partitions(
            [nonce for nonce, _ in await self.link.call(self.partitions.calls("births"))]
        )

    async def exists(self) -> bool:
        """Return whether the crawl was made. May be called before `open`, and makes nothing."""
        await self.link.open(library_code())
        return await read_agreement(self.link, self.name) is not None

    async def has_lost_partition(self) -> bool:
        """Return whether a partition of the crawl is lost. May be called before `open`, and makes nothing."""
        await self.link.open(library_code())
        found = await read_agreement(self.link, self.name)
        return found is not None and await has_lost_partition(self.link, found)

    @property
    def server_restarts(self) -> int:
        """How often a server of this crawl has restarted, as far as this client has noticed. What the client read from
        the frontier before a restart may not hold any more; its own calls have been repeated.
        """
        return self.journal.server_restarts

    @property
    def settings(self) -> CrawlSettings:
        """The settings that hold for all workers of the crawl, as of the last lease."""
        return self.agreement.settings

    @property
    def storage(self) -> StorageId | None:
        """The storage of the crawl's archive; None if no client has set it."""
        return self.agreement.storage

    async def update_settings(self, settings: CrawlSettings) -> None:
        """Replace the crawl's settings. From now on nothing is granted or let in under the former ones; running workers
        have the new ones with their next lease.
        """
        await self.open(settings, update=True)

    async def sync(self) -> None:
        """Return when the servers have all that this client has sent, and have it on their disks, as far as they write
        to any. A command whose changes nobody would repeat ends with it.
        """
        calls = self.partitions.calls("births")
        while True:
            replies = await self.link.sync(calls)
            if all([await self.reconciler.ensure_current(p, nonce) for p, (nonce, _) in enumerate(replies)]):
                return

    async def forget(self) -> None:
        """Forget the crawl: every URL, lease and robots record of it. Its segments in storage stay. `open` makes it
        anew.
        """
        for call in self.partitions.calls("forget", HOSTS_PER_CALL):
            while any(await self.link.call([call])):
                pass
        await self.call("forget", HOSTS_PER_CALL)
        await self.link.remove_crawl_name(self.name)
        self._listed = False
        self._begin_journal()

    async def register(self) -> None:
        """List the crawl among the crawls of its servers (`crawl_names`)."""
        if not self._listed:
            await self.link.add_crawl_name(self.name)
            self._listed = True

    async def is_gate_open(self, worker: str) -> bool:
        """Return whether anything may be leased, and read the crawl's settings if somebody has updated them. Raise
        `TakeoverError` if the name of the worker was taken over.
        """
        before = self.agreement
        reply = await self.call("gate", before.revision, worker)
        self.agreement, admitted = read_gate_reply(self.name, reply, before)
        if self.agreement is not before:
            # The client that changed the settings may have died before it configured the partitions.
            await self.link.call(settings_calls(self.agreement))
        return admitted

    async def call(self, verb: str, *args: Arg) -> Any:
        """Return the reply of a function that concerns the crawl as a whole."""
        (reply,) = await self.link.call([crawl_call(self.name, verb, *args)])
        return reply

    async def one(self, call: Call) -> Any:
        """Return the reply to one call."""
        (reply,) = await self.link.call([call])
        return reply


async def crawl_names(link: Link) -> list[str]:
    """Return the names of the crawls that anything was ever added to, sorted."""
    return sorted(await link.crawl_names())
