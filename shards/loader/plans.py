"""Find the packing plan of each shard: in the export, in the cache of this machine, or computed and kept there."""

import hashlib
import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from core import CorruptData, Unavailable
from shards.dataset import SideFile
from shards.formats.checked_file import HEADER_BYTES
from shards.formats.packing_plan import PackingPlan, plan_name, sequences_of, write_plan
from shards.loader.datasets import LoaderData
from shards.loader.shard_access import ShardAccess, most_mappings
from shards.packing import sequence_count
from storage.cache.file_lock import locked
from storage.directory_store import DirectoryStore

PLANNING_SECONDS = 3600
"""How long to wait for another process that plans or downloads the plan of the same shard."""
REQUESTS = 16


class Plans:
    """The best-fit plans of the shards for one length, mapped."""

    def __init__(self, data: LoaderData, access: ShardAccess, directory: Path, length: int) -> None:
        self._data = data
        self._access = access
        self._directory = directory
        self.length = length
        self._open: OrderedDict[int, PackingPlan] = OrderedDict()
        self._most = most_mappings()

    def open(self, number: int) -> PackingPlan:
        """Return the plan of a shard. Raise `CorruptData` if it is damaged, and `Unavailable` if it cannot be kept."""
        plan = self._open.get(number)
        if plan is None:
            plan = self._open[number] = PackingPlan.open(self._path(number))
            shard = self._data.shards[number]
            if (plan.length, plan.documents, plan.tokens) != (
                self.length,
                shard.file.documents,
                shard.file.tokens,
            ):
                raise CorruptData(
                    f"{shard.where}: its packing plan belongs to another shard; run the export again"
                )
            if len(self._open) > self._most:
                self._open.popitem(last=False)
        return plan

    def sequences(self, number: int) -> int:
        """Return the number of sequences of a shard, reading no more of the plan than its header if the export has it
        in a bucket.
        """
        shard, exported = self._data.shards[number], self._exported(number)
        if exported and not isinstance(shard.store, DirectoryStore) and not self._kept(number).exists():
            with shard.store.open(exported.name) as file:
                return sequences_of(file.read(HEADER_BYTES), f"{shard.store.uri}/{exported.name}")
        return self.open(number).sequences

    def close(self) -> None:
        """Let go of every plan."""
        self._open.clear()

    def _exported(self, number: int) -> SideFile | None:
        shard = self._data.shards[number]
        return shard.side_files.get(plan_name(shard.file.name, self.length))

    def _kept(self, number: int) -> Path:
        return self._directory / f"{self._data.shards[number].file.sha256}-best-fit-{self.length}.plan"

    def _path(self, number: int) -> Path:
        shard, exported, kept = self._data.shards[number], self._exported(number), self._kept(number)
        if exported and isinstance(shard.store, DirectoryStore):
            return shard.store.path(exported.name)
        if kept.exists():
            return kept
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with locked(kept.with_suffix(".lock"), PLANNING_SECONDS):
                if not kept.exists():
                    self._make(number, exported, kept)
        except TimeoutError:
            raise Unavailable(
                f"{kept}: another process has not written it within {PLANNING_SECONDS} s; end that process"
            ) from None
        except OSError as error:
            raise Unavailable(
                f"{self._directory}: {error.strerror or error}; give a directory for packing plans (cache=)"
            ) from None
        return kept

    def _make(self, number: int, exported: SideFile | None, kept: Path) -> None:
        new = kept.with_suffix(".new")  # the caller holds the lock, so what is there is of a killed process
        with new.open("wb") as file:
            if exported:
                file.write(self._downloaded(number, exported))
            else:
                write_plan(file, self._access.ends(number), self.length)
            file.flush()
            os.fsync(file.fileno())
        new.rename(kept)

    def _downloaded(self, number: int, exported: SideFile) -> bytes:
        store = self._data.shards[number].store
        data = store.read(exported.name)
        if hashlib.sha256(data).hexdigest() != exported.sha256:
            raise CorruptData(
                f"{store.uri}/{exported.name}: not what was sealed; run `thresher verify` on the export"
            )
        return data


def count_sequences(data: LoaderData, packing: str, plans: Plans) -> list[int]:
    """Return the number of sequences of each shard."""
    known = [
        sequence_count(packing, documents=each.file.documents, tokens=each.file.tokens, length=plans.length)
        for each in data.shards
    ]
    missing = [number for number, count in enumerate(known) if count is None]
    if any(not isinstance(data.shards[number].store, DirectoryStore) for number in missing):
        with ThreadPoolExecutor(REQUESTS) as pool:
            counted = list(pool.map(plans.sequences, missing))
    else:
        counted = [plans.sequences(number) for number in missing]
    found = dict(zip(missing, counted, strict=True))
    return [found[number] if count is None else count for number, count in enumerate(known)]
