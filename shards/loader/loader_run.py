"""A run: the exports, opened, and the order of all of its sequences. Steps of a run are found and copied here."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thresher.core import InputError
from thresher.core.settings import format_size
from thresher.shards.loader.access.plan_cache import PlanCache
from thresher.shards.loader.access.plans import Plans, count_sequences
from thresher.shards.loader.access.shard_access import CachedShards, MappedShards, ShardAccess
from thresher.shards.loader.access.shard_cache import ShardCache
from thresher.shards.loader.datasets import LoaderData, open_data
from thresher.shards.loader.epoch_order import EpochOrder
from thresher.shards.loader.loader_metrics import LoaderMetrics
from thresher.shards.loader.loader_options import LoaderOptions
from thresher.shards.loader.loader_values import MAX_SEQUENCES
from thresher.shards.loader.schedule import Schedule
from thresher.shards.loader.sequence_reader import SequenceReader, Source
from thresher.shards.loader.state import Identity, Position
from thresher.shards.packed_rows import Batch
from thresher.storage.directory_store import DirectoryStore

PLAN_SHARE = 10
"""Packing plans of other runs are deleted if all plans take more than this part of `cache_size`."""
MAX_ROWS, ROWS_GROWTH = 8192, 4
"""Rows that are found together: one batch at first, which comes soonest, then more, because each costs less among many.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that a loader needs to find any of its sequences."""

    options: LoaderOptions
    data: LoaderData
    access: ShardAccess
    reader: SequenceReader
    counts: Sequence[int]
    """Sequences of each shard."""
    end: int | None
    """Sequences of the whole run; None if it does not end."""
    identity: Identity
    metrics: LoaderMetrics


def open_run(locations: Sequence[str | Path], options: LoaderOptions) -> Run:
    """Open exports for a run. Raise `InputError` if the options do not fit them."""
    metrics = LoaderMetrics()
    data = open_data(locations)
    access = _access(data, options, metrics)
    cache = PlanCache(options.cache / "plans", options.cache_bytes // PLAN_SHARE)
    plans = Plans(data.shards, access, cache, options.length)
    counts = count_sequences(data.shards, options.packing, plans)
    if options.packing == "best-fit":
        plans.evict()
    sources = _sources(data, options, counts)
    if isinstance(access, CachedShards):
        _check_cache_size(data, sources, options)
    schedule = Schedule(
        [each.order.sequences for each in sources], _mixes(sources, options), seed=options.seed
    )
    end = _end(schedule, sources, options)
    _check_end(end, options)
    return Run(
        options=options,
        data=data,
        access=access,
        reader=SequenceReader(sources, schedule, access, plans, options, data.ids),
        counts=counts,
        end=end,
        identity=Identity(
            dataset=data.fingerprint,
            length=options.length,
            packing=options.packing,
            shuffle=options.shuffle,
            seed=options.seed,
            mix=Identity.mix_text(
                options.mix
                if options.mix or not options.phases
                else [each.described for each in options.phases]
            ),
        ),
        metrics=metrics,
    )


def steps(run: Run, start: int, first: int, stride: int) -> Iterator[tuple[Position, Batch]]:
    """Yield the steps `first`, `first + stride`, ... after sequence `start`, each with the position after it."""
    options, step, size = run.options, run.options.step, run.options.batch_size
    left = None if run.end is None else max(0, run.end - start)
    total = None if left is None else left // step if options.drop_last else -(-left // step)
    count, number = size, first
    most_rows = max(size, min(MAX_ROWS, run.access.most_shards()))  # each row may be of another shard
    counts, asked = run.metrics.counts, time.perf_counter()
    while total is None or number < total:
        begin = start + number * step
        fitting = (run.reader.reach(begin) - begin) // (stride * step)
        numbers = number + stride * np.arange(max(1, min(count // size, fitting)))
        begins = start + step * (numbers if total is None else numbers[numbers < total])
        wanted = (begins[:, None] + options.rank * size + np.arange(size)).reshape(-1)
        if run.end is not None:
            wanted = np.where(wanted < run.end, wanted, ~wanted)
        if number != first:
            run.reader.expect(int(begins[0]), int(begins[-1]) + step)
        rows = run.reader.rows(wanted)
        if number == first:  # the first batch does not share the network with downloads
            run.reader.expect(int(begins[0]), int(begins[-1]) + step)
        for begin, batch in zip(
            begins.tolist(), rows.batches(size, options.length, options.pad_id), strict=True
        ):
            stop = begin + step if run.end is None else min(begin + step, run.end)
            counts.sequences += size  # only this thread counts these three
            counts.batches += 1
            counts.stall_seconds += time.perf_counter() - asked
            yield Position(sequences=stop, last=stop - begin), batch
            asked = time.perf_counter()
        number += stride * len(begins)
        count = min(most_rows, count * ROWS_GROWTH) if rows.is_mapped else size


def _access(data: LoaderData, options: LoaderOptions, metrics: LoaderMetrics) -> ShardAccess:
    local = [isinstance(shard.store, DirectoryStore) for shard in data.shards]
    if all(local):
        return MappedShards(data.shards)
    if any(local):
        raise InputError(
            "Loader: some exports are in directories and some in buckets; copy them to one of both"
        )
    return CachedShards(data.shards, ShardCache(options.cache, options.cache_bytes, metrics), metrics)


def _mixes(sources: Sequence[Source], options: LoaderOptions) -> list[tuple[int, list[float]]]:
    """Return where each mix begins, and the weight of each source in it."""
    if not options.phases:
        return [(0, [1.0])]
    starts = [0, *(phase.until for phase in options.phases if phase.until is not None)]
    weights = [
        phase.weights({each.name: each.order.sequences for each in sources}) for phase in options.phases
    ]
    return [
        (start, [mine.get(each.name, 0.0) for each in sources])
        for start, mine in zip(starts, weights, strict=True)
    ]


def _end(schedule: Schedule, sources: Sequence[Source], options: LoaderOptions) -> int | None:
    """Return the sequences of the run, or None if it does not end. Raise `InputError` if it ends before its last phase
    begins.
    """
    if options.epochs is None:
        return options.max_sequences
    end, source = schedule.end(options.epochs)
    starts = [phase.until for phase in options.phases if phase.until is not None]
    if starts and end <= starts[-1]:
        raise InputError(
            f"phases: the last one begins at sequence {starts[-1]}, and {sources[source].name!r} has had its "
            f"epochs={options.epochs} at {end}; raise epochs, or give None"
        )
    return end if options.max_sequences is None else min(end, options.max_sequences)


def _check_end(end: int | None, options: LoaderOptions) -> None:
    """Raise `InputError` if a run has no step, or more sequences than can be counted."""
    if end is None:
        return
    if end > MAX_SEQUENCES:
        raise InputError(
            f"epochs={options.epochs}: the run has {end} sequences; give fewer, or None for a run without end"
        )
    if options.drop_last and options.step > end:
        raise InputError(
            f"batch_size={options.batch_size} times world_size={options.world_size} is {options.step}, and the run has "
            f"{end} sequences: no step would be full; lower them, raise epochs, or give drop_last=False"
        )


def _sources(data: LoaderData, options: LoaderOptions, counts: Sequence[int]) -> list[Source]:
    """Return the sources of the mix; without a mix, one that has all shards."""
    found = data.sources
    named = {name for phase in options.phases for name in phase.shares or found}
    if not options.phases:
        members = {"": tuple(range(len(data.shards)))}
    elif unknown := named - found.keys():
        raise InputError(
            f"mix: there is no source {min(unknown)!r}; the export has {', '.join(map(repr, found))}"
        )
    else:
        members = {name: found[name] for name in sorted(named)}
    sources = []
    for name, shards in members.items():
        sizes = [counts[shard] for shard in shards]
        if not any(sizes):
            raise InputError(f"{f'source {name!r}' if name else 'the export'}: has no tokens")
        order = EpochOrder(sizes, seed=options.seed, name=name, shuffle=options.shuffle)
        sources.append(Source(name=name, shards=np.array(shards, np.int64), order=order))
    return sources


def _check_cache_size(data: LoaderData, sources: Sequence[Source], options: LoaderOptions) -> None:
    """Raise `InputError` if the shards that are needed at one time do not fit into the cache."""
    needed = sum(
        source.order.largest_need([data.shards[shard].file.bytes for shard in source.shards.tolist()])
        for source in sources
    )
    if needed > options.cache_bytes:
        instead = ' or give shuffle="window", which needs fewer shards at a time' * (
            options.shuffle != "window"
        )
        raise InputError(
            f"cache_size={format_size(options.cache_bytes)}: shuffle={options.shuffle!r} needs "
            f"{format_size(needed)} of shards at one time; raise cache_size to that{instead}"
        )
