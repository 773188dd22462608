"""`QueueTail`: moves the backs of queues that have no room in memory to storage.

1. The back of a host's queue is written into a **segment**: one object, put once, that holds **runs** of entries of
   many hosts, each compressed by itself. The server keeps 22 bytes of a run: segment, offset, length, entries, lowest
   level, CRC-32.
2. A run replaces its entries in one atomic step, after its segment is durable (`spill`). The entries replace the run in
   another, when the head of the host runs out (`refill`). If the process dies in between, an object stays that nobody
   needs; `sweep` deletes it.
3. Nothing is spilled while fewer than `MAX_IN_MEMORY` URLs wait in memory.
4. A segment is deleted `SEGMENT_RETENTION_S` after the last of its runs was read: a server that lost its last second
   may need it again.
5. A run that cannot be read any more is an error that names it: its URLs are neither fetched nor settled.
6. URLs in storage of a host that was given up are brought back for the log of the crawl (`refill_outbox`), while few
   settlements in memory still wait for the log.

One process at a time keeps the tail of a crawl (`run`); two do no harm.
"""

import asyncio
import struct
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain
from typing import Any, Protocol
from uuid import uuid4

from thresher.core import CorruptData
from thresher.frontier.link.call import Link
from thresher.frontier.link.partition import Partitions, crawl_call

MAX_IN_MEMORY = 100_000
"""URLs that may wait in memory before any are spilled: some 15 MB."""
RUN = 64
"""Entries of a run, at most."""
SEGMENT_RETENTION_S = 600
_MAX_SEGMENT_HOSTS = 512
_MAX_HOST_ENTRIES = 4_096  # in one segment
_REFILL_RUNS = 64  # read at once
_IDLE_S = 0.25
_SWEEP_S = 60.0
_KEEPS_MS = 15_000
_RUN = struct.Struct(">IIIHII")


class SegmentStore(Protocol):
    """The part of a store that a tail uses; `storage.store.Store` has it."""

    def put(self, name: str, data: bytes) -> bool:
        """Store bytes under a new name, durable on return."""
        ...

    def open(self, name: str) -> BufferedReader:
        """Open an object for reading. Raise `CorruptData` if it is missing."""
        ...

    def age_ms(self, name: str) -> int:
        """Return the age of an object in milliseconds. Raise `CorruptData` if it is missing."""
        ...

    def list(self, prefix: str = "") -> Iterator[str]:
        """Return the names that begin with the prefix."""
        ...

    def delete(self, name: str) -> None:
        """Delete an object."""
        ...


class QueueTail:
    """The tail of one crawl. `Frontier.tail` makes it."""

    def __init__(
        self, link: Link, partitions: Partitions, store: SegmentStore, *, max_in_memory: int = MAX_IN_MEMORY
    ) -> None:
        """`max_in_memory` is how many URLs may wait in memory before any are spilled."""
        self._link, self._partitions, self._store = link, partitions, store
        self._max_in_memory = max_in_memory
        self._folder = f"frontier/{partitions.crawl}/"

    async def run(self, keeper: str, extra_work: Callable[[], Awaitable[int]] | None = None) -> None:
        """Keep the tail until cancelled, whenever no other keeper does. `keeper` names this one.

        `extra_work` is further work that only one keeper is to do; it returns how much it did.
        """
        swept = kept = 0.0
        clock = asyncio.get_running_loop().time
        while True:
            moved = 0
            if clock() - kept > _KEEPS_MS / 3000:
                (mine,) = await self._link.call(
                    [crawl_call(self._partitions.crawl, "keep", keeper, _KEEPS_MS)]
                )
                kept = clock() if mine else 0.0
            if kept:
                # `spill` comes first, because it makes room.
                moved = await self.spill() + await self.refill() + await self.refill_outbox()
                if extra_work is not None:
                    moved += await extra_work()
                if clock() - swept > _SWEEP_S:
                    await self.sweep()
                    swept = clock()
            await asyncio.sleep(0 if moved else _IDLE_S)

    async def spill(self) -> int:
        """Put URLs into storage if too many wait in memory; return how many."""
        counts = await self._link.call(self._partitions.calls("stats"))
        if sum(row[0] - row[5] for row in counts) <= self._max_in_memory:
            return 0
        return sum([await self._spill(partition) for partition in range(self._partitions.number)])

    async def refill(self) -> int:
        """Bring back runs of hosts whose heads run out; return how many URLs left storage."""
        return await self._refill_runs("hungry", "refill")

    async def refill_outbox(self) -> int:
        """Bring back runs of hosts that were given up, for the log (`Frontier.unlogged_batch`). Return how many URLs
        left storage.
        """
        return await self._refill_runs("outbox_runs", "refill_outbox")

    async def sweep(self) -> int:
        """Delete segments that nobody needs; return how many."""
        deleted = 0
        replies = await self._link.call(self._partitions.calls("segments", SEGMENT_RETENTION_S * 1000))
        for partition, (over, kept) in enumerate(replies):
            needed = {name.decode() for name in kept}
            done = {name.decode() for name in over}
            prefix = f"{self._folder}{partition:04}-"
            gone = await asyncio.to_thread(self._delete, prefix, needed, done)
            deleted += len(gone)
            if forgotten := [name for name in done if name in gone]:
                await self._link.call([self._partitions.call(partition, "forget_segments", *forgotten)])
        return deleted

    async def _refill_runs(self, list_verb: str, take_verb: str) -> int:
        """Read the runs that the function `list_verb` names, and pass them to the function `take_verb`."""
        rows = await self._link.call(self._partitions.calls(list_verb, _REFILL_RUNS))
        runs = [(p, _Run.read(*row)) for p, some in enumerate(rows) for row in some]
        read = await asyncio.to_thread(self._read, [run for _, run in runs])
        await self._link.call(
            [
                self._partitions.call(p, take_verb, run.owner, run.ref, *entries)
                for (p, run), entries in zip(runs, read, strict=True)
            ]
        )
        return sum(run.number for _, run in runs)

    async def _spill(self, partition: int) -> int:
        moved = 0
        while True:
            call = self._partitions.call(partition, "overflow", _MAX_SEGMENT_HOSTS, _MAX_HOST_ENTRIES)
            (reply,) = await self._link.call([call])
            nonce, *hosts = reply
            if not hosts:
                return moved
            segment, args = _segment(hosts)
            name = f"{self._folder}{partition:04}-{uuid4().hex}"
            await asyncio.to_thread(self._store.put, name, segment)
            (taken,) = await self._link.call([self._partitions.call(partition, "spill", name, nonce, *args)])
            moved += sum(len(entries) for _, _, entries in hosts)
            if not taken:
                return moved

    def _read(self, runs: Sequence["_Run"]) -> list[list[bytes]]:
        """Return the entries of runs. Raise `CorruptData` if a run cannot be read."""
        found = []
        for run in runs:
            try:
                with self._store.open(run.segment) as file:
                    file.seek(run.offset)
                    found.append(run.entries(file.read(run.length)))
            except CorruptData as error:
                crawl = self._partitions.crawl
                raise CorruptData(
                    f"crawl {crawl}: {run.number} of its URLs wait in {run.segment}, which cannot be read ({error});"
                    f" restore that file, or make the frontier again with `thresher frontier rebuild {crawl} --anew`"
                ) from error
        return found

    def _delete(self, prefix: str, needed: set[str], done: set[str]) -> set[str]:
        """Delete segments that are done with, and old ones that the server never knew; return those that are gone."""
        gone = set(done)
        for name in list(self._store.list(prefix)):
            with suppress(CorruptData):  # another process has deleted it
                if name in done or (
                    name not in needed and self._store.age_ms(name) > SEGMENT_RETENTION_S * 1000
                ):
                    self._store.delete(name)
                    gone.add(name)
        return gone

    def __repr__(self) -> str:
        return f"<tail of {self._partitions.crawl}>"


@dataclass(frozen=True, slots=True)
class _Run:
    owner: bytes
    """The host, or the number of its closed queue (`lua/state/outbox.lua`)."""
    ref: bytes
    segment: str
    offset: int
    length: int
    number: int
    crc: int

    @classmethod
    def read(cls, owner: bytes, ref: bytes, segment: bytes) -> "_Run":
        _, offset, length, number, _, crc = _RUN.unpack(ref)
        return cls(owner, ref, segment.decode(), offset, length, number, crc)

    def entries(self, data: bytes) -> list[bytes]:
        """Return the entries. Raise `CorruptData` if these bytes are not the run's."""
        if len(data) != self.length or zlib.crc32(data) != self.crc:
            raise CorruptData(f"{self.segment}: the run at {self.offset} is damaged")
        return list(_split(zlib.decompress(data)))


def _segment(hosts: Sequence[tuple[bytes, int, list[bytes]]]) -> tuple[bytes, list[Any]]:
    """Return a segment of the backs of hosts, and the arguments of `spill` for it."""
    segment, args = bytearray(), list[Any]()
    for host, turn, entries in hosts:
        ordered = sorted(entries, key=_level)  # stable: of one level as they came
        runs = []
        for first in range(0, len(ordered), RUN):
            some = ordered[first : first + RUN]
            data = zlib.compress(
                b"".join(chain.from_iterable((len(e).to_bytes(2, "big"), e) for e in some)), 1
            )
            runs.append(_RUN.pack(0, len(segment), len(data), len(some), _level(some[0]), zlib.crc32(data)))
            segment += data
        args += (host, turn, len(entries), len(runs), *runs)
    return bytes(segment), args


def _level(entry: bytes) -> int:
    return int.from_bytes(entry[:4], "big")


def _split(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        yield data[at + 2 : at + 2 + length]
        at += 2 + length
