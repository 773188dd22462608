"""The dedup step: it brings the index of duplicates up to date, and writes one table of removals.

`pipeline.dedup_index` decides from the signatures of all kept documents of all sources, and works on new ones only.
Each removal names its witness, the better document that it duplicates. The run is named by its fingerprint: the same
sources, processed to the same results, find their removals again, and others do not.

A function imports the index if it needs it: reports only look for a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core import InputError
from filters.dedup.signature import signature_version
from pipeline.configuration import DedupConfig
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import WorkerPool
from pipeline.engine.step import Part, Step
from pipeline.steps.verdicts.verdict_sets import PROCESS, judged_parts
from pipeline.terminal.progress import Progress
from storage.manifest import Input, Manifest, Output, fingerprint, manifests
from storage.store import Store

if TYPE_CHECKING:
    from pipeline.dedup_index.index_stages import IndexSettings

NAME = "dedup"
VERSION = 4


def step(config: DedupConfig) -> Step:
    """Return the step that this configuration defines."""
    recipe = {
        "near": config.near,
        "similarity": config.similarity,
        "signature": signature_version(config.permutations),
        "prefer": list(config.prefer),
        "sources": list(config.sources),
        "versions": config.versions,
        "within": config.within,
    }
    return Step(name=NAME, version=VERSION, recipe=recipe)


def settings(config: DedupConfig) -> IndexSettings:
    """Return what decides about duplicates."""
    from pipeline.dedup_index.index_stages import IndexSettings  # noqa: PLC0415 - see the top

    bands, rows = config.bands_and_rows or (0, 0)
    return IndexSettings(
        bands=bands,
        rows=rows,
        permutations=config.permutations,
        fewest_equal=math.ceil(round(config.similarity * config.permutations, 6)),
        prefer=config.prefer,
        sources=config.sources,
        all_versions=config.versions == "all",
        within_source=config.within == "source",
    )


def signatures(store: Store, sources: Sequence[str], verdict_set: str = "") -> list[Output]:
    """Return the tables of signatures of the documents that a set of verdicts keeps. Raise `InputError` if the set does
    not cover the sources.
    """
    return [judged.signatures for source in sources for judged in judged_parts(store, source, verdict_set)]


def _require_signatures(store: Store, sources: Sequence[str], config: DedupConfig) -> None:
    """Raise `InputError` if a part was signed in another way than this configuration needs."""
    wanted = signature_version(config.permutations)
    for manifest in (each for source in sources for each in manifests(store, PROCESS, source)):
        if manifest.recipe.get("signature") != wanted:
            raise InputError(
                f"{manifest.part} has other signatures than dedup.near = '{config.near}' needs; "
                f"run `thresher process {manifest.part.split('/')[0]} --redo`, or set dedup.near as it was"
            )


def part(step: Step, found: Sequence[Output]) -> Part:
    """Return the only part of the step: it reads all tables of signatures."""
    spans = tuple(Input(name=table.name, sha256=table.sha256) for table in found)
    name = f"{fingerprint(str(step), step.recipe, spans)[:16]}/removed-00000"
    return Part(name=name, inputs=spans, writes=(f"dedup/{name}.parquet",))


def find(store: Store, sources: Sequence[str], config: DedupConfig, verdict_set: str = "") -> Manifest | None:
    """Return the run that covers the current results of these sources, or None if there is none."""
    now = step(config)
    return run_step.sealed_manifest(store, now, part(now, signatures(store, sources, verdict_set)))


def require_run(store: Store, sources: Sequence[str], config: DedupConfig, verdict_set: str = "") -> Manifest:
    """Return the run that covers these sources. Raise `InputError` if there is none."""
    manifest = find(store, sources, config, verdict_set)
    if manifest is None:
        option = f" --verdicts {verdict_set}" if verdict_set else ""
        raise InputError(
            f"no deduplication covers {', '.join(sources)} as {'judged' if verdict_set else 'processed'} now; "
            f"run `thresher dedup {' '.join(sources)}{option}` first"
        )
    return manifest


def run(
    store: Store,
    sources: Sequence[str],
    config: DedupConfig,
    *,
    pool: WorkerPool,
    progress: Progress,
    verdict_set: str = "",
) -> tuple[Manifest, run_step.StepSummary]:
    """Make the removals among the documents that a set of verdicts keeps, unless they are sealed already. Raise
    `InputError` if signatures are not those that the configuration needs.
    """
    from pipeline.dedup_index.index_removals import RemovalsTask, removals_work  # noqa: PLC0415 - see the top
    from pipeline.dedup_index.index_update import update  # noqa: PLC0415 - see the top

    _require_signatures(store, sources, config)
    found = signatures(store, sources, verdict_set)
    now = step(config)
    whole = part(now, found)
    done = run_step.sealed_manifest(store, now, whole)
    if done is not None:
        return done, run_step.StepSummary(made=0, already=1)
    chosen = settings(config)
    state, updated = update(
        store, found, chosen, now.recipe, memory=config.memory, pool=pool, progress=progress
    )
    removals = state.runs_of("removals")
    whole = replace(
        whole,
        parameters=RemovalsTask(settings=chosen, removals=removals),
        reads=tuple(run.name for run in removals),
    )
    ran = run_step.run_step(store, now, [whole], removals_work, pool=pool, progress=progress, retry=True)
    ran.require_all()
    manifest = run_step.sealed_manifest(store, now, whole)
    assert manifest is not None
    return manifest, updated.plus(ran)
