"""The Bloom filter of an index, as a step: what `index_screen` asks before it looks a document up.

1. The filter has the keys of all texts and bands of one sealed index, and is sealed under a name of its own. It is
   sized from the wanted rate of false positives. If it would take more memory than it may, the rate is higher.
2. The Manifest names the runs of the index as inputs. They stay as long as the filter, even if a later `dedup` seals
   another index.
3. A filter that is not the newest is deleted after `MAX_AGE_MS`. A command that runs longer fails by name then, and
   takes the newest filter when it is run again.
"""

from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from thresher.filters.dedup.bloom_filter import BloomFilter, rate_of_each
from thresher.pipeline.dedup_index.index_runs import RunRef, key_ranges, rows_of_range
from thresher.pipeline.dedup_index.index_screen import ScreenTask
from thresher.pipeline.dedup_index.index_stages import IndexSettings
from thresher.pipeline.dedup_index.index_state import SCREEN_STEP, IndexState
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.manifest import Input, fingerprint, manifest_name, manifests
from thresher.storage.store import Store

VERSION = 1
FOLDER = "screens"
MAX_AGE_MS = 7 * 86_400_000
"""A command that follows a crawl uses one filter for as long as it runs."""
RANGE_BYTES = 4 << 20
"""Bytes of keys that are read at a time."""


class FilterTask(NamedTuple):
    """Parameters of the part."""

    settings: IndexSettings
    texts: tuple[RunRef, ...]
    bands: tuple[RunRef, ...]
    rate: float
    max_bytes: int


class ScreenFilter(NamedTuple):
    """A sealed filter."""

    task: ScreenTask
    documents: int
    """Documents of the index."""
    bytes: int
    rate: float
    """Share of new documents that are looked up although the index has none like them."""


def seal_filter(  # noqa: PLR0913 - what decides, and what runs it
    store: Store,
    index: IndexState,
    settings: IndexSettings,
    recipe: Mapping[str, Any],
    *,
    rate: float,
    max_bytes: int,
    pool: WorkerPool,
    progress: Progress,
) -> ScreenFilter:
    """Return the filter of an index, and make it if there is none. `recipe` is that of `dedup`.

    `rate` is the share of new documents that may be looked up in vain. `max_bytes` bounds the filter.
    """
    texts, bands, documents = (index.runs_of(table) for table in ("texts", "bands", "documents"))
    step = Step(
        name=SCREEN_STEP,
        version=VERSION,
        recipe={**recipe, "rate": rate, "max_bytes": max_bytes},
        memory=2 * max_bytes,
    )
    digests = {output.name: output.sha256 for output in index.sealed}
    runs = tuple(Input(name=run.name, sha256=digests[run.name]) for run in (*texts, *bands, *documents))
    name = fingerprint(str(step), step.recipe, runs)[:16]
    part = Part(
        name=name,
        inputs=runs,
        parameters=FilterTask(settings, texts, bands, rate, max_bytes),
        writes=(f"{FOLDER}/{name}.bloom",),
    )
    run_step.run_step(
        store, step, [part], filter_work, pool=pool, progress=progress, retry=True
    ).require_all()
    manifest = run_step.sealed_manifest(store, step, part)
    assert manifest is not None
    (output,) = manifest.outputs
    _delete_old(store, name)
    return ScreenFilter(
        task=ScreenTask(
            filter=Input(name=output.name, sha256=output.sha256),
            settings=settings,
            texts=texts,
            bands=bands,
            documents=documents,
        ),
        documents=manifest.counts["documents"],
        bytes=output.bytes,
        rate=manifest.counts["rate_ppm"] / 1e6,
    )


def filter_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the filter of an index. Memory: the filter and a range of keys."""
    task: FilterTask = part.parameters
    documents, keys = (sum(run.rows for run in runs) for runs in (task.texts, (*task.texts, *task.bands)))
    asked = 1 + task.settings.bands
    made = BloomFilter.of_size(keys, rate_of_each(task.rate, asked), task.max_bytes)
    types = task.settings.types
    for runs, dtype in ((task.texts, types.texts), (task.bands, types.bands)):
        for some in key_ranges(sum(run.rows for run in runs) * dtype.itemsize, RANGE_BYTES):
            # In pieces, because each key takes several words while it enters.
            rows = rows_of_range(store, runs, some, dtype)
            made.add(np.unique(rows[(dtype.names or ("",))[0]]))
    rate = 1 - (1 - made.rate(keys)) ** asked

    def write(file: BinaryIO) -> None:
        file.writelines(made.to_bytes())

    (name,) = part.writes
    output = store.write(name, keys, write)
    return PartOutputs(
        counts={"documents": documents, "keys": keys, "rate_ppm": round(rate * 1e6)}, outputs=(output,)
    )


def _delete_old(store: Store, newest: str) -> None:
    for manifest in list(manifests(store, SCREEN_STEP)):
        seal = manifest_name(SCREEN_STEP, manifest.part)
        if manifest.part != newest and store.age_ms(seal) > MAX_AGE_MS:
            store.delete(seal)
            for output in manifest.outputs:
                store.delete(output.name)
