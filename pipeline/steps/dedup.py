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

from thresher.core import InputError
from thresher.filters.dedup.dedup_versions import signature_version
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.steps.records.screened_parts import unseal_stale
from thresher.pipeline.steps.verdicts.verdict_sets import PROCESS, judged_parts
from thresher.pipeline.terminal.byte_text import byte_text
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.manifest import Input, Manifest, Output, fingerprint, manifests
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.pipeline.dedup_index.index_screen import ScreenTask
    from thresher.pipeline.dedup_index.index_stages import IndexSettings
    from thresher.pipeline.dedup_index.screen_filter import ScreenFilter

NAME = "dedup"
VERSION = 5


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
    from thresher.pipeline.dedup_index.index_stages import IndexSettings  # noqa: PLC0415 - see the top

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


def _fitting_signatures(
    store: Store, sources: Sequence[str], config: DedupConfig, verdict_set: str
) -> list[Output]:
    """Return what `signatures` returns. Raise `InputError` if a part was signed in another way than this configuration
    needs.
    """
    parts = [judged for source in sources for judged in judged_parts(store, source, verdict_set)]
    # A Manifest of `judge` does not say how its part was signed.
    signed = (
        [(each.part, each.recipe) for source in sources for each in manifests(store, PROCESS, source)]
        if verdict_set
        else [(each.name, each.recipe) for each in parts]
    )
    wanted = signature_version(config.permutations)
    for name, recipe in signed:
        if recipe.get("signature") != wanted:
            raise InputError(
                f"{name} has other signatures than dedup.near = '{config.near}' needs; "
                f"run `thresher process {name.split('/')[0]} --redo`, or set dedup.near as it was"
            )
    return [each.signatures for each in parts]


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
    from thresher.pipeline.dedup_index.index_removals import RemovalsTask, removals_work  # noqa: PLC0415 - see the top
    from thresher.pipeline.dedup_index.index_update import update  # noqa: PLC0415 - see the top

    found = _fitting_signatures(store, sources, config, verdict_set)
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


def choose_screen(
    store: Store,
    config: DedupConfig,
    names: Sequence[str],
    *,
    pool: WorkerPool,
    progress: Progress,
    screen: bool | None = None,
) -> ScreenTask | None:
    """Return the index that new documents of sources are looked up in, or None. `screen` takes the place of `[dedup]
    screen`. Remove the seals of stale parts of the sources, which are then made again without screening.
    """
    stale = unseal_stale(store, names)
    if stale:
        progress.print_line(
            f"{len(stale)} parts were screened for documents whose results are gone; they are made again without "
            "screening"
        )
    if not (config.screen if screen is None else screen):
        return None
    found = _newest_screen(store, config, pool=pool, progress=progress)
    if found is None:
        progress.print_line(
            "no document is screened, because no index of `thresher dedup` with these settings knows only documents "
            "that are still processed as they were; run `thresher dedup` first"
        )
        return None
    progress.print_line(
        f"new documents are screened with {found.documents:,} known ones: a filter of {byte_text(found.bytes)}, "
        f"{found.rate:.2%} looked up in vain"
    )
    return found.task


def _newest_screen(
    store: Store, config: DedupConfig, *, pool: WorkerPool, progress: Progress
) -> ScreenFilter | None:
    """Return the filter of the largest index of this configuration, and make it if there is none. Return None if there
    is no index whose documents are all processed as they were.
    """
    from thresher.pipeline.dedup_index import index_state  # noqa: PLC0415 - see the top
    from thresher.pipeline.dedup_index.screen_filter import seal_filter  # noqa: PLC0415 - see the top

    recipe = step(config).recipe
    sealed = {
        Input(name=output.name, sha256=output.sha256)
        for manifest in manifests(store, PROCESS)
        for output in manifest.outputs
    }
    index = index_state.largest(store, recipe, sealed)
    if index is None:
        return None
    return seal_filter(
        store,
        index,
        settings(config),
        recipe,
        rate=config.screen_rate,
        max_bytes=config.memory // 2,
        pool=pool,
        progress=progress,
    )
