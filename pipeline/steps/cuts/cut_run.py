"""Run the cut step: pass all pieces through the stages, and seal the tables of all parts together.

1. The step decides over all documents that deduplication keeps. A document that is new, or removed, may change which
   unit is the first of its group anywhere, so every run decides everything anew.
2. Each stage is a step of the engine, so a run may be killed anywhere and run again. Working files that are damaged are
   made again by the next run.
3. One Manifest seals all tables. Its presence is completion. Tables of earlier runs of the same sources are deleted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from thresher.filters.dedup import repeat_rows
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.dedup_index.index_runs import COPIES, RunRef, key_ranges, run_ref
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import WorkFunction
from thresher.pipeline.engine.working_stages import WorkingStages
from thresher.pipeline.steps.cuts.cut_pieces import CutPiece, inputs_of, pieces_of
from thresher.pipeline.steps.cuts.cut_results import (
    CUTS,
    NAME,
    SIGNATURES,
    VERDICTS,
    VERSION,
    WORK_FOLDER,
    delete_superseded,
    output_name,
    step,
    whole_part,
)
from thresher.pipeline.steps.cuts.cut_slices import slices_ref
from thresher.pipeline.steps.cuts.cut_stages import TABLES, CutSettings, CutTask, stage_work
from thresher.pipeline.steps.cuts.cut_tables import CutTablesTask, tables_work
from thresher.pipeline.steps.verdicts.removed_documents import removed_ids
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart, judged_parts
from thresher.pipeline.terminal.progress import Progress, SilentProgress
from thresher.storage.manifest import Input, Manifest, Output, seal
from thresher.storage.store import Store

TEXT_COPIES = 40
"""Bytes of memory that a piece takes for each byte of its texts, if all of it repeats: a row of 47 bytes for each word
of 6 bytes, sorted and joined with the first ones."""


def settings(config: DedupConfig) -> CutSettings:
    """Return what decides about cuts."""
    return CutSettings(
        fewest=(config.paragraph_documents, config.line_documents),
        words=config.substring_words,
        within_domain=config.lines_within == "domain",
        within_source=config.within == "source",
        prefer=config.prefer,
        sources=config.sources,
        min_words=config.min_words,
    )


def run(  # noqa: PLR0913 - what decides, and what runs it
    store: Store,
    sources: Sequence[str],
    config: DedupConfig,
    removed: Manifest,
    *,
    pool: WorkerPool,
    progress: Progress,
    verdict_set: str = "",
) -> tuple[Manifest, StepSummary]:
    """Cut what repeats in the documents that stay after the removals, unless that is sealed already."""
    now = step(config)
    judged = [part for source in sources for part in judged_parts(store, source, verdict_set)]
    whole = whole_part(now, judged, removed)
    done = run_step.sealed_manifest(store, now, whole)
    if done is not None:
        delete_superseded(store, done)
        return done, StepSummary(made=0, already=1)
    # Pieces and ranges follow from the memory too.
    scratch = store.substore(f"{WORK_FOLDER}/{whole.name}-{config.memory}")
    stages = WorkingStages(purpose="the cuts", scratch=scratch, pool=pool, progress=SilentProgress())
    going = _Run(store=store, step=now, settings=settings(config), stages=stages, progress=progress)
    pieces = _pieces(store, judged, removed, config.memory // TEXT_COPIES)
    progress.start("cut", total=None)
    slices = _slices(going, pieces)
    outputs, counts = _tables(going, whole, pieces, slices)
    progress.stop()
    manifest = Manifest(
        step=str(now),
        part=whole.name,
        fingerprint=whole.fingerprint(now),
        recipe=now.recipe,
        inputs=whole.inputs,
        outputs=outputs,
        counts=counts,
    )
    seal(store, manifest)
    delete_superseded(store, manifest)
    return manifest, stages.summary


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run of the stages."""

    store: Store
    step: Step
    settings: CutSettings
    stages: WorkingStages
    progress: Progress
    """Shows stages, because a run has many parts of different kinds."""
    sealed: dict[str, Output] = field(default_factory=dict)
    """Working files by name."""


def _pieces(store: Store, judged: Sequence[JudgedPart], removed: Manifest, text_bytes: int) -> list[CutPiece]:
    (table,) = removed.outputs
    pieces: list[CutPiece] = []
    with removed_ids(store, table) as gone:
        for part in judged:
            pieces += pieces_of(store, part, gone, len(pieces), text_bytes)
    return pieces


def _slices(going: _Run, pieces: Sequence[CutPiece]) -> tuple[RunRef, ...]:
    """Pass the pieces through all stages but the last one, and return the slices."""
    (counts,) = _by_piece(going, "count", pieces, {})
    repeated = _by_hash(going, "repeated", counts, repeat_rows.COUNTS.itemsize)
    units, best = _by_piece(going, "units", pieces, _for_each(pieces, repeated))
    firsts = _by_hash(going, "first", best, repeat_rows.UNITS.itemsize)
    chosen = [piece for piece in pieces if piece.number in units]
    (repeats,) = _by_piece(going, "repeats", chosen, _for_each(chosen, firsts), units)
    claimed = _for_each(pieces, tuple(repeats.values()))
    chosen = [piece for piece in pieces if claimed[piece.number]]
    (slices,) = _by_piece(going, "slices", chosen, claimed)
    return tuple(slices.values())


def _tables(
    going: _Run, whole: Part, pieces: Sequence[CutPiece], slices: tuple[RunRef, ...]
) -> tuple[tuple[Output, ...], Mapping[str, int]]:
    """Write the tables of all parts. Return them, and the sums of their counts."""
    wanted = _for_each(pieces, slices)
    tasks = []
    for name, of_part in groupby(pieces, key=lambda piece: piece.part):
        some = tuple(of_part)
        task = CutTablesTask(
            settings=going.settings,
            pieces=some,
            slices=tuple(wanted[piece.number] for piece in some),
        )
        runs = dict.fromkeys(run for each in task.slices for run in each)
        writes = tuple(output_name(folder, whole.name, name) for folder in (VERDICTS, SIGNATURES, CUTS))
        tasks.append(_part(going, f"tables/{name}", task, some, tuple(runs), writes))
    outputs, counts = list[Output](), Counter[str]()
    for manifest in _run(going, tasks, tables_work):
        outputs += manifest.outputs
        counts.update(manifest.counts)
    return tuple(outputs), counts


def _by_piece(
    going: _Run,
    stage: str,
    pieces: Sequence[CutPiece],
    runs: Mapping[int, tuple[RunRef, ...]],
    units: Mapping[int, RunRef] | None = None,
) -> tuple[dict[int, RunRef], ...]:
    """Run a stage with one part a piece. Return the runs that have rows, by piece, for each table of the stage."""
    tasks = []
    for piece in pieces:
        task = CutTask(
            stage=stage,
            settings=going.settings,
            keys=range(piece.number, piece.number + 1),
            piece=piece,
            runs=runs.get(piece.number, ()),
            units=() if units is None else (units[piece.number],),
        )
        tasks.append(_stage_part(going, f"{stage}/{piece.number:06d}", task))
    made = _made(going, tasks)
    return tuple(
        {piece.number: run for piece, runs in zip(pieces, made, strict=True) if (run := runs[at]) is not None}
        for at in range(len(_writes(stage)))
    )


def _by_hash(going: _Run, stage: str, runs: Mapping[int, RunRef], row_bytes: int) -> tuple[RunRef, ...]:
    """Run a stage with one part a range of hashes, and return the runs that have rows."""
    rows = sum(run.rows for run in runs.values())
    tasks = []
    for at, keys in enumerate(key_ranges(rows * row_bytes * COPIES, going.step.memory)):
        task = CutTask(stage=stage, settings=going.settings, keys=keys, runs=tuple(runs.values()))
        tasks.append(_stage_part(going, f"{stage}/{at:06d}", task))
    return tuple(run for runs in _made(going, tasks) for run in runs if run is not None)


def _for_each(pieces: Sequence[CutPiece], runs: Sequence[RunRef]) -> dict[int, tuple[RunRef, ...]]:
    """Return for each piece the runs that may have rows of it."""
    return {
        piece.number: tuple(run for run in runs if run.first <= piece.number <= run.last) for piece in pieces
    }


def _stage_part(going: _Run, name: str, task: CutTask) -> Part:
    pieces = (task.piece,) if task.piece is not None and task.stage != "repeats" else ()
    writes = tuple(f"{name}-{file}" for file in _writes(task.stage))
    return _part(going, name, task, pieces, (*task.runs, *task.units), writes)


def _part(
    going: _Run,
    name: str,
    task: CutTask | CutTablesTask,
    pieces: Sequence[CutPiece],
    runs: Sequence[RunRef],
    writes: tuple[str, ...],
) -> Part:
    spans = inputs_of(pieces)
    stored = [span.name for span in spans]
    if isinstance(task, CutTablesTask):
        stored += writes
    return Part(
        name=name,
        inputs=(
            *spans,
            *(Input(name=run.name, sha256=going.sealed[run.name].sha256) for run in runs),
        ),
        parameters=task,
        writes=writes,
        stores=dict.fromkeys(stored, going.store),
    )


def _made(going: _Run, parts: Sequence[Part]) -> list[list[RunRef | None]]:
    """Run the parts of a stage. Return the runs of each, None for those without rows."""
    found: list[list[RunRef | None]] = []
    for part, manifest in zip(parts, _run(going, parts, stage_work), strict=True):
        outputs = {output.name: output for output in manifest.outputs}
        going.sealed.update(outputs)
        types = tuple(TABLES.get(part.parameters.stage, {}).values()) or (None,)
        found.append(
            [
                _ref(going.stages.scratch, outputs[name], dtype) if outputs[name].rows else None
                for name, dtype in zip(part.writes, types, strict=True)
            ]
        )
    return found


def _ref(scratch: Store, output: Output, dtype: np.dtype[Any] | None) -> RunRef:
    """Return the reference to a file of a stage: of a run of rows, or of slices."""
    if dtype is None:
        return slices_ref(scratch, output.name, output.rows)
    return run_ref(scratch, output.name, output.rows, dtype)


def _writes(stage: str) -> tuple[str, ...]:
    """Return the ends of the names of the files that a part of a stage writes."""
    return tuple(f"{table}.npy" for table in TABLES.get(stage, ())) or (f"{stage}.parquet",)


def _run(going: _Run, parts: Sequence[Part], work: WorkFunction) -> Iterator[Manifest]:
    """Make the parts of a stage, and return their Manifests."""
    if not parts:
        return iter(())
    name = parts[0].name.partition("/")[0]
    now = Step(name=f"{NAME}-{name}", version=VERSION, recipe=going.step.recipe, memory=going.step.memory)
    manifests = going.stages.run(now, parts, work)
    going.progress.advance(name)
    return manifests
