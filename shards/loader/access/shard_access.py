"""Open shards where they lie: mapped from a directory, or from the cache of a bucket."""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from thresher.core import CorruptData
from thresher.shards.formats.checked_file import BLOCK_BYTES
from thresher.shards.formats.tokens import TokensShard
from thresher.shards.loader.access.daemon_pool import DaemonPool
from thresher.shards.loader.access.mapped_files import MapLimits, MappedFiles
from thresher.shards.loader.access.remote_shard import RemoteShard, hold, open_shards
from thresher.shards.loader.access.shard_cache import CachedFile, ShardCache
from thresher.shards.loader.datasets import LoaderShard, check_counts
from thresher.shards.loader.loader_metrics import LoaderMetrics
from thresher.shards.packed_rows import IdBytes
from thresher.shards.packing import IntArray
from thresher.storage.directory_store import DirectoryStore

_log = logging.getLogger(__name__)
DOWNLOADS = 4
"""Shards that a process downloads at the same time."""
DIRECT_BYTES = 64 << 20
"""What a loader reads from a bucket block by block before it waits for whole shards: enough for the first batches."""

Result = TypeVar("Result")


class ShardAccess(Protocol):
    """Shards by their number. `prepare` and `prepare_ends` read what the next calls need of many shards at once."""

    def prepare(self, spans: Iterable[tuple[int, IntArray, IntArray]]) -> None:
        """Get ready for `tokens` with each of these arguments, and for no others until the next call.

        Raise `CorruptData` as `tokens` does.
        """
        ...

    def prepare_ends(self, numbers: Iterable[int]) -> None:
        """Get ready for `ends` of these shards. Raise `CorruptData` as `ends` does."""
        ...

    def tokens(self, number: int, starts: IntArray, lengths: IntArray) -> IdBytes:
        """Return the token ids of a shard, checked where these spans of tokens lie: mapped, or a `RemoteShard`.

        Raise `CorruptData` with file and offset if the shard is missing or damaged.
        """
        ...

    def ends(self, number: int) -> npt.NDArray[np.uint64]:
        """Return for each document of a shard the index behind its last token, checked."""
        ...

    def expect(self, now: Sequence[int], later: Iterable[int]) -> None:
        """Say which shards are used now and which later, in this order; no other shard is used before the next call."""
        ...

    def most_shards(self) -> int:
        """Return how many shards may be in use at one time."""
        ...

    def close(self) -> None:
        """Let go of every shard."""
        ...


class MappedShards:
    """Shards in a directory. How much is mapped is bounded by what the process may map."""

    def __init__(self, shards: Sequence[LoaderShard]) -> None:
        self._shards = shards
        self._limits = MapLimits.of_process()
        self._mapped = MappedFiles[TokensShard](self._limits)

    def prepare(self, spans: Iterable[tuple[int, IntArray, IntArray]]) -> None:
        """Do nothing: a file is opened when it is needed."""

    def prepare_ends(self, numbers: Iterable[int]) -> None:
        """Do nothing, as `prepare`."""

    def tokens(self, number: int, starts: IntArray, lengths: IntArray) -> IdBytes:
        """Return the token ids of a shard, mapped."""
        shard = self._open(number)
        shard.check_spans(starts, lengths)
        return shard.unchecked_bytes

    def ends(self, number: int) -> npt.NDArray[np.uint64]:
        """Return the ends of a shard, checked."""
        return self._open(number).ends

    def expect(self, now: Sequence[int], later: Iterable[int]) -> None:
        """Do nothing: the operating system maps and evicts pages on its own."""

    def most_shards(self) -> int:
        """Return the number of files that may be mapped, or of the largest shards that fit into the address space."""
        largest = max(shard.file.bytes for shard in self._shards)
        fitting = self._limits.files if self._limits.bytes is None else self._limits.bytes // max(1, largest)
        return max(1, min(self._limits.files, fitting))

    def close(self) -> None:
        """Let go of every shard."""
        self._mapped.clear()

    def _open(self, number: int) -> TokensShard:
        shard = self._mapped.get(number)
        if shard is None:
            line = self._shards[number]
            assert isinstance(line.store, DirectoryStore)
            shard = _mapped(line, line.store.path(line.file.name))
            self._mapped.put(number, shard)
        return shard


class CachedShards:
    """Shards in a bucket, through the cache of this machine. Those that are expected are downloaded in threads."""

    def __init__(self, shards: Sequence[LoaderShard], cache: ShardCache, metrics: LoaderMetrics) -> None:
        self._shards = shards
        self._cache = cache
        self._metrics = metrics
        self._mapped: dict[int, tuple[TokensShard, CachedFile]] = {}
        self._remote: dict[int, RemoteShard] = {}
        self._direct: set[int] = set()
        """The shards that are read from the bucket until the next `prepare`."""
        self._downloads: dict[int, Future[CachedFile]] = {}
        self._discarded: set[int] = set()
        self._pool = DaemonPool[CachedFile](DOWNLOADS, "thresher-loader")

    def prepare(self, spans: Iterable[tuple[int, IntArray, IntArray]]) -> None:
        """Read the blocks of shards that are not here, if these are the first batches; else begin their downloads."""
        missing = {
            each[0]: each[1:] for each in spans if not self._intact(each[0], partial(self._local, each[0]))
        }
        self._direct.clear()
        left = DIRECT_BYTES - self._metrics.counts.direct_bytes
        for number in missing:
            if left > 0:
                self._direct.add(number)
                left -= min(BLOCK_BYTES, self._shards[number].file.bytes)
            elif number not in self._downloads:
                self._request(number)
        remote = self._opened(missing.keys() & self._direct)
        hold([(shard, shard.blocks(*missing[number])) for number, shard in remote.items()], self._metrics)

    def prepare_ends(self, numbers: Iterable[int]) -> None:
        """Read the ends of shards that are not here."""
        missing = [each for each in numbers if not self._intact(each, partial(self._cached, each))]
        hold([(shard, shard.blocks_of_ends()) for shard in self._opened(missing).values()], self._metrics)

    def tokens(self, number: int, starts: IntArray, lengths: IntArray) -> IdBytes:
        """Return the token ids of a shard: mapped if it is in the cache, else from the bucket for the first batches,
        else after its download.
        """

        def checked() -> IdBytes:
            shard = self._open(number)
            if isinstance(shard, RemoteShard):
                return shard
            shard.check_spans(starts, lengths)
            return shard.unchecked_bytes

        return self._intact(number, checked)

    def ends(self, number: int) -> npt.NDArray[np.uint64]:
        """Return the ends of a shard, without its download if it is not there."""

        def checked() -> npt.NDArray[np.uint64]:
            shard = self._cached(number) or self._opened([number])[number]
            return shard.ends

        return self._intact(number, checked)

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
                if held and self._try_map(number, held):
                    self._metrics.add(cache_hits=1)
                else:
                    self._request(number)

    def most_shards(self) -> int:
        """Return the number of files that may be mapped."""
        return MapLimits.of_process().files

    def close(self) -> None:
        """Let go of every shard. Downloads that have begun come to their end, for the next run."""
        self._pool.close()
        for download in self._downloads.values():
            if not download.cancel():
                download.add_done_callback(_release)
        for _, held in self._mapped.values():
            held.release()
        self._downloads.clear()
        self._mapped.clear()
        self._remote.clear()

    def _open(self, number: int) -> TokensShard | RemoteShard:
        shard = self._local(number)
        if shard is not None:
            return shard
        if number in self._direct:
            return self._opened([number])[number]
        return self._downloaded(number)

    def _cached(self, number: int) -> TokensShard | None:
        """Return a shard that is mapped or in the cache; None if there is none."""
        if number in self._mapped:
            return self._mapped[number][0]
        held = self._cache.take(self._key(number))
        return self._map(number, held) if held else None

    def _local(self, number: int) -> TokensShard | None:
        """Return a shard that is on this machine, as far as is known; None if there is none."""
        download = self._downloads.get(number)
        if download is None:
            is_mapped, shard = number in self._mapped, self._cached(number)
            self._metrics.add(cache_hits=shard is not None and not is_mapped)
            return shard
        return self._downloaded(number) if download.done() else None

    def _downloaded(self, number: int) -> TokensShard:
        """Return a shard when its download has ended."""
        download = self._downloads.get(number) or self._request(number)
        try:
            held = download.result()
        except BaseException:
            del self._downloads[number]
            raise
        return self._map(number, held)

    def _intact(self, number: int, read: Callable[[], Result]) -> Result:
        """Return what `read` returns. A shard that was damaged in the cache is downloaded again, once."""
        is_second = number in self._discarded
        try:
            return read()
        except CorruptData as error:
            if is_second:
                raise
            mapped = self._mapped.pop(number, None)
            if mapped is not None:
                self._discard(number, mapped[1], error)
            elif number not in self._discarded:  # it is the bucket that has other bytes
                raise
            return read()

    def _try_map(self, number: int, held: CachedFile) -> bool:
        """Map a shard of the cache and return True. If it is damaged, delete it and return False."""
        try:
            self._map(number, held)
        except CorruptData:
            return False
        return True

    def _discard(self, number: int, held: CachedFile, error: CorruptData) -> None:
        _log.warning(
            "%s is deleted and downloaded again: it is damaged, or another shard (%s)", held.path, error
        )
        self._discarded.add(number)
        held.delete()

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

    def _opened(self, numbers: Iterable[int]) -> dict[int, RemoteShard]:
        """Return shards as they lie in the bucket. Those that are not open yet are opened at the same time."""
        wanted = sorted(numbers)
        missing = [number for number in wanted if number not in self._remote]
        shards = open_shards([self._shards[number] for number in missing], self._metrics)
        self._remote.update(zip(missing, shards, strict=True))
        return {number: self._remote[number] for number in wanted}

    def _map(self, number: int, held: CachedFile) -> TokensShard:
        self._downloads.pop(number, None)
        self._remote.pop(number, None)  # rows that were found in it may still be read from it
        if number in self._mapped:
            held.release()
            return self._mapped[number][0]
        try:
            shard = _mapped(self._shards[number], held.path)
        except CorruptData as error:
            self._discard(number, held, error)
            raise
        self._mapped[number] = (shard, held)
        return shard

    def _key(self, number: int) -> str:
        return self._shards[number].file.sha256


def _mapped(line: LoaderShard, path: Path) -> TokensShard:
    """Return a shard at a path. Raise `CorruptData` if it is not the one that the manifest names."""
    shard = TokensShard.open(path, line.frame_sha256)
    check_counts(line, shard, str(path))
    return shard


def _has_failed(download: Future[CachedFile]) -> bool:
    return download.cancelled() or download.exception() is not None


def _release(download: Future[CachedFile]) -> None:
    if not _has_failed(download):
        download.result().release()
