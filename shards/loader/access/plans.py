"""Find the packing plan of each shard: in the export, in the cache of this machine, or computed and kept there."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from thresher.core import CorruptData
from thresher.shards.dataset import SideFile
from thresher.shards.formats.checked_file import REMEDY
from thresher.shards.formats.packing_plan import PackingPlan, plan_name, write_plan
from thresher.shards.loader.access.mapped_files import MapLimits, MappedFiles
from thresher.shards.loader.access.plan_cache import PlanCache
from thresher.shards.loader.access.shard_access import ShardAccess
from thresher.shards.loader.datasets import LoaderShard
from thresher.shards.packing import WINDOW_DOCUMENTS, IntArray, Pieces, sequence_count
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.store import ByteRange

AT_ONCE = 64
"""Shards in a bucket whose ends are read at the same time, to compute their plans."""


class Plans:
    """The best-fit plans of the shards for one length, mapped."""

    def __init__(
        self, shards: Sequence[LoaderShard], access: ShardAccess, cache: PlanCache, length: int
    ) -> None:
        self._shards = shards
        self._access = access
        self._cache = cache
        self.length = length
        self._open = MappedFiles[PackingPlan](MapLimits.of_process())

    def pieces(self, number: int, sequences: IntArray) -> Pieces:
        """Return the pieces of some sequences of a shard.

        Raise `CorruptData` if a plan of the export is damaged, and `Unavailable` if a plan cannot be kept. A damaged
        plan of the cache is made again.
        """
        try:
            return self.open(number).pieces(sequences)
        except CorruptData as error:
            if self._exported_here(number) is not None:
                raise
            self._open.drop(number)
            self._cache.discard(self._key(number), error)
            return self.open(number).pieces(sequences)

    def prepare(self, numbers: Iterable[int]) -> None:
        """Get ready for `open` of these shards: read what it needs from buckets, of many shards at the same time.

        Raise as `pieces` does.
        """
        unplanned: list[int] = []
        elsewhere: list[tuple[int, SideFile]] = []
        for number in numbers:
            exported = self._exported(number)
            is_here = exported is not None and isinstance(self._shards[number].store, DirectoryStore)
            if is_here or self._open.get(number) is not None or self._cache.has(self._key(number)):
                continue
            if exported is None:
                unplanned.append(number)
            else:
                elsewhere.append((number, exported))
        for store, group in groupby(elsewhere, lambda each: self._shards[each[0]].store):
            wanted = list(group)
            ranges = (ByteRange(name=plan.name, first=0, length=plan.bytes) for _, plan in wanted)
            for (number, plan), data in zip(wanted, store.read_ranges(ranges), strict=True):
                self._open.put(number, self._kept(number, plan, partial(_write_exported, plan, data)))
        for start in range(0, len(unplanned), AT_ONCE):
            some = unplanned[start : start + AT_ONCE]
            self._access.prepare_ends(some)
            for number in some:
                self.open(number)

    def open(self, number: int) -> PackingPlan:
        """Return the plan of a shard, which belongs to it. Raise as `pieces` does."""
        plan = self._open.get(number)
        if plan is None:
            plan = self._opened(number)
            self._open.put(number, plan)
        return plan

    def is_exported(self, number: int) -> bool:
        """Return whether the export has the plan of a shard."""
        return self._exported(number) is not None

    def sequences(self, number: int) -> int:
        """Return the number of sequences of a shard: from the manifest, if the export has the plan."""
        if self._exported(number) is not None:
            return self._shards[number].file.sequences
        return self.open(number).sequences

    def evict(self) -> None:
        """Delete what is too much in the cache; the plans of these shards stay."""
        self._cache.evict({self._key(number) for number in range(len(self._shards))})

    def close(self) -> None:
        """Let go of every plan."""
        self._open.clear()

    def _opened(self, number: int) -> PackingPlan:
        exported, store = self._exported(number), self._shards[number].store
        if exported is not None and isinstance(store, DirectoryStore):
            return self._read(number, exported, store.path(exported.name))
        return self._kept(number, exported, partial(self._make, number, exported))

    def _kept(self, number: int, exported: SideFile | None, make: Callable[[BinaryIO], None]) -> PackingPlan:
        """Return the plan of a shard from the cache. `make` writes it if it is missing or damaged."""
        return self._cache.open(self._key(number), make, partial(self._read, number, exported))

    def _read(self, number: int, exported: SideFile | None, path: Path) -> PackingPlan:
        """Return the plan at a path. Raise `CorruptData` if it is damaged, or does not belong to the shard."""
        plan, shard = (
            PackingPlan.open(path, exported.frame_sha256 if exported else None),
            self._shards[number].file,
        )
        found = (plan.shard, plan.length, plan.documents, plan.tokens, plan.window)
        wanted = (shard.frame_sha256, self.length, shard.documents, shard.tokens, WINDOW_DOCUMENTS)
        if found != wanted or (exported is not None and plan.sequences != shard.sequences):
            raise CorruptData(
                f"{path}: belongs to another shard than {self._shards[number].where}, or another length; {REMEDY}"
            )
        return plan

    def _exported(self, number: int) -> SideFile | None:
        shard = self._shards[number]
        return shard.side_files.get(plan_name(shard.file.name, self.length))

    def _exported_here(self, number: int) -> SideFile | None:
        return self._exported(number) if isinstance(self._shards[number].store, DirectoryStore) else None

    def _key(self, number: int) -> str:
        return f"{self._shards[number].file.sha256}-best-fit-{self.length}"

    def _make(self, number: int, exported: SideFile | None, file: BinaryIO) -> None:
        shard = self._shards[number]
        if exported is None:
            write_plan(file, self._access.ends(number), self.length, shard.frame_sha256)
            return
        _write_exported(exported, shard.store.read(exported.name), file)


def _write_exported(plan: SideFile, data: bytes, file: BinaryIO) -> None:
    """Write the bytes of a plan of an export. Raise `CorruptData` if they are not what was sealed."""
    if hashlib.sha256(data).hexdigest() != plan.sha256:
        raise CorruptData(f"{plan.name}: is not what was sealed; {REMEDY}")
    file.write(data)


def count_sequences(shards: Sequence[LoaderShard], packing: str, plans: Plans) -> list[int]:
    """Return the number of sequences of each shard."""
    known = [
        sequence_count(packing, documents=each.file.documents, tokens=each.file.tokens, length=plans.length)
        for each in shards
    ]
    missing = [number for number, count in enumerate(known) if count is None]
    plans.prepare(number for number in missing if not plans.is_exported(number))
    counted = map(plans.sequences, missing)
    found = dict(zip(missing, counted, strict=True))
    return [found[number] if count is None else count for number, count in enumerate(known)]
