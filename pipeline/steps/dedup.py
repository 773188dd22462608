"""The dedup step: it reads the signatures of all kept documents of all sources, and writes one table of removals.

Signatures are read a column at a time. `filters.dedup.duplicates` decides. Each removal names its witness, the better
document that it duplicates. The run is named by its fingerprint: the same sources, processed to the same results, find
their removals again, and others do not.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from core import InputError
from filters.dedup import duplicates
from filters.dedup.signature import SIGNATURE_VERSION
from pipeline.configuration import DedupConfig
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import WorkerPool
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.terminal.progress import Progress
from storage import tables
from storage.manifest import Input, Manifest, Output, fingerprint, manifests
from storage.store import Store

NAME = "dedup"
VERSION = 1
BYTES_PER_SIGNATURE = 2500
"""Memory of the decision per document: measured at 200,000 documents (2,190 bytes), plus a margin."""


def step(config: DedupConfig) -> Step:
    """Return the step that this configuration defines."""
    recipe = {"near": config.near, "similarity": duplicates.SIMILARITY, "signature": SIGNATURE_VERSION}
    return Step(name=NAME, version=VERSION, recipe=recipe)


def signatures(store: Store, sources: Sequence[str]) -> list[Output]:
    """Return every table of signatures that the sources have sealed."""
    return [
        output
        for source in sources
        for manifest in manifests(store, "process", source)
        for output in manifest.outputs
        if output.name.startswith("signatures/")
    ]


def part(step: Step, found: Sequence[Output], config: DedupConfig) -> Part:
    """Return the only part of the step: it reads all tables of signatures."""
    spans = tuple(Input(name=table.name, sha256=table.sha256) for table in found)
    name = f"{fingerprint(str(step), step.recipe, spans)[:16]}/removed-00000"
    return Part(name=name, inputs=spans, writes=(f"dedup/{name}.parquet",), parameters=config.bands_and_rows)


def find(store: Store, sources: Sequence[str], config: DedupConfig) -> Manifest | None:
    """Return the run that covers the current results of these sources, or None if there is none."""
    now = step(config)
    return run_step.sealed_manifest(store, now, part(now, signatures(store, sources), config))


def require_run(store: Store, sources: Sequence[str], config: DedupConfig) -> Manifest:
    """Return the run that covers these sources. Raise `InputError` if there is none."""
    manifest = find(store, sources, config)
    if manifest is None:
        raise InputError(
            f"no deduplication covers {', '.join(sources)} as processed now; "
            f"run `thresher dedup {' '.join(sources)}` first"
        )
    return manifest


def run(
    store: Store, sources: Sequence[str], config: DedupConfig, *, pool: WorkerPool, progress: Progress
) -> tuple[Manifest, run_step.StepSummary]:
    """Make the removals, unless they are sealed already."""
    found = signatures(store, sources)
    now = replace(step(config), memory=sum(table.rows for table in found) * BYTES_PER_SIGNATURE)
    whole = part(now, found, config)
    ran = run_step.run_step(store, now, [whole], work, pool=pool, progress=progress, retry=True)
    ran.require_all()
    manifest = run_step.sealed_manifest(store, now, whole)
    assert manifest is not None
    return manifest, ran


def work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Read the signatures, decide, and write the removals."""
    read = tables.read_signatures(store, part.inputs)
    removals = duplicates.find_removals(read, part.parameters)
    counts: Counter[str] = Counter()
    payload = dict(zip(read.ids, read.payload_bytes, strict=True))
    text = dict(zip(read.ids, read.text_bytes, strict=True))
    for removal in removals:
        counts[f"{removal.kind}.documents"] += 1
        counts[f"{removal.kind}.payload_bytes"] += int(payload[removal.id])
        counts[f"{removal.kind}.text_bytes"] += int(text[removal.id])
    table = tables.removal_rows(removals)
    (name,) = part.writes
    output = store.write(name, table.num_rows, partial(tables.write, table=table))
    return PartOutputs(counts=dict(counts), outputs=(output,))
