"""Open shards where they lie: mapped from a directory, or from the cache of a bucket."""

import resource
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shards.formats.tokens import TokensShard
from shards.loader.daemon_pool import DaemonPool
from shards.loader.datasets import LoaderShard
from shards.loader.loader_metrics import LoaderMetrics
from shards.loader.remote_shard import RemoteShard
from shards.loader.shard_cache import CachedFile, ShardCache
from storage.directory_store import DirectoryStore

DOWNLOADS = 4
"""Shards that a process downloads at the same time."""
DIRECT_BYTES = 64 << 20
"""What a loader reads from a bucket block by block before it waits for whole shards: enough for the first batches."""


class ShardAccess(Protocol):
    """Shards by their number."""

    def open(self, number: int) -> TokensShard | RemoteShard:
        """Return a shard, which stays usable. Raise `CorruptData` if it is missing or damaged."""
        ...

    def ends(self, number: int) -> npt.NDArray[np.uint64]:
        """Return for each document of a shard the index behind its last token."""
        ...

    def expect(self, now: Sequence[int], later: Iterable[int]) -> None:
        """Say which shards are used now and which later, in this order; no other shard is used before the next call."""
        ...

    def close(self) -> None:
        """Let go of every shard."""
        ...


class MappedShards:
    """Shards in a directory. The number of open mappings is bounded by the open files that the process may have."""

    def __init__(self, shards: Sequence[LoaderShard]) -> None:
        self._shards = shards
        self._open: OrderedDict[int, TokensShard] = OrderedDict()
        self._most = most_mappings()

    def open(self, number: int) -> TokensShard:
        """Return a shard, mapped."""
        shard = self._open.get(number)
        if shard is None:
            line = self._shards[number]
            assert isinstance(line.store, DirectoryStore)
            shard = self._open[number] = TokensShard.open(line.store.path(line.file.name))
            if len(self._open) > self._most:
                self._open.popitem(last=False)
        return shard

    def ends(self, number: int) -> npt.NDArray[np.uint64]:
        """Return the ends of a shard, checked."""
        return self.open(number).ends

    def expect(self, now: Sequence[int], later: Iterable[int]) -> None:
        """Do nothing: the operating system maps and evicts pages on its own."""

    def close(self) -> None:
        """Let go of every shard."""
        self._open.clear()


class CachedShards:
    """Shards in a bucket, through the cache of this machine. Those that are expected are downloaded in threads."""

    def __init__(self, shards: Sequence[LoaderShard], cache: ShardCache, metrics: LoaderMetrics) -> None:
        self._shards = shards
        self._cache = cache
        self._metrics = metrics
        self._mapped: dict[int, tuple[TokensShard, CachedFile]] = {}
        self._remote: dict[int, RemoteShard] = {}
        self._downloads: dict[int, Future[CachedFile]] = {}
        self._pool = DaemonPool[CachedFile](DOWNLOADS, "thresher-loader")

    def open(self, number: int) -> TokensShard | RemoteShard:
        """Return a shard: mapped if it is in the cache, else from the bucket for the first batches, else after its
        download.
        """
        if number in self._mapped:
            return self._mapped[number][0]
        download = self._downloads.get(number)
        if download is None:
            held = self._cache.take(self._key(number))
            if held:
                self._metrics.add(cache_hits=1)
                return self._map(number, held)
        is_there = download is not None and download.done()
        if not is_there and self._metrics.counts.direct_bytes < DIRECT_BYTES:
            return self._direct(number)
        download = download or self._request(number)
        try:
            held = download.result()
        except BaseException:
            del self._downloads[number]
            raise
        return self._map(number, held)

    def ends(self, number: int) -> npt.NDArray[np.uint64]:
        """Return the ends of a shard, without its download if it is not there."""
        held = None if number in self._mapped else self._cache.take(self._key(number))
        if held:
            self._map(number, held)
        if number in self._mapped:
            return self._mapped[number][0].ends
        return self._direct(number).ends

    def expect(self, now: Sequence[int], later: Iterable[int]) -> None:
        """Let go of all other shards, and download the expected ones."""
        for number in [
            number for number, each in self._downloads.items() if each.done() and _has_failed(each)
        ]:
            del self._downloads[number]  # the cache may have room now
        used = {*now}
        wanted = [*now, *(number for number in later if number not in used)]
        for number in self._mapped.keys() - wanted:
            self._mapped.pop(number)[1].release()
        for number in self._downloads.keys() - wanted:
            if self._downloads[number].cancel():
                del self._downloads[number]
        for number in wanted:
            if number not in self._mapped and number not in self._downloads:
                held = self._cache.take(self._key(number))
                if held:
                    self._metrics.add(cache_hits=1)
                    self._map(number, held)
                else:
                    self._request(number)

    def close(self) -> None:
        """Let go of every shard. Downloads that have begun come to their end, for the next run."""
        self._pool.close()
        for download in self._downloads.values():
            if not download.cancel():
                download.add_done_callback(_release)
        for _, held in self._mapped.values():
            held.release()
        for remote in self._remote.values():
            remote.close()
        self._downloads.clear()
        self._mapped.clear()
        self._remote.clear()

    def _request(self, number: int) -> Future[CachedFile]:
        shard = self._shards[number]
        download = self._pool.submit(
            lambda: self._cache.fetch(
                self._key(number),
                size=shard.file.bytes,
                sha256=shard.file.sha256,
                where=shard.where,
                download=lambda: shard.store.open(shard.file.name),
            )
        )
        self._downloads[number] = download
        return download

    def _direct(self, number: int) -> RemoteShard:
        if number not in self._remote:
            shard = self._shards[number]
            self._remote[number] = RemoteShard(shard.store, shard.file.name, shard.where, self._metrics)
        return self._remote[number]

    def _map(self, number: int, held: CachedFile) -> TokensShard:
        self._downloads.pop(number, None)
        self._remote.pop(number, None)  # rows that were found in it may still be read from it
        if number in self._mapped:
            held.release()
        else:
            self._mapped[number] = (TokensShard.open(held.path), held)
        return self._mapped[number][0]

    def _key(self, number: int) -> str:
        return self._shards[number].file.sha256


def _has_failed(download: Future[CachedFile]) -> bool:
    return download.cancelled() or download.exception() is not None


def _release(download: Future[CachedFile]) -> None:
    if not _has_failed(download):
        download.result().release()


def most_mappings() -> int:
    """Return how many files of one kind a loader may keep mapped: a mapping holds a descriptor of the process."""
    return max(64, (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 256) // 2)
