"""Bring the index up to date: find what came and what went, pass it through the stages, and seal the next index.

1. Tables of signatures that went leave first, then the new ones enter: a document may go and come with another text.
2. A stage is a step of the engine with one part for each range of keys, so it may be killed anywhere and run again.
3. The runs of a change are added to those of the index. Runs of similar sizes are merged, so their number grows with
   the logarithm of the documents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thresher.filters.dedup.dedup_rows import RowTypes
from thresher.filters.dedup.document_rows import table_hash
from thresher.pipeline.dedup_index import index_state
from thresher.pipeline.dedup_index.index_runs import COPIES, KEY_RANGE, RunRef, key_ranges, run_ref
from thresher.pipeline.dedup_index.index_stages import (
    INDEX_TABLES,
    STAGES,
    IndexSettings,
    StageTask,
    stage_work,
)
from thresher.pipeline.dedup_index.index_state import FOLDER, WORK_FOLDER, IndexState
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.working_stages import WorkingStages
from thresher.pipeline.terminal.progress import Progress, SilentProgress
from thresher.storage.manifest import Input, Output
from thresher.storage.store import Store

SIGNATURE_FOLDERS = ("signatures/", "judged_signatures/")
"""Where `process` and `judge` put the signatures of kept documents."""
MERGE_RATIO = 2
"""A generation of runs is merged with the one before it if that has at most so many times its rows."""


@dataclass(slots=True, kw_only=True)
class _Update:
    """A run of the stages."""

    store: Store
    name: str
    settings: IndexSettings
    recipe: Mapping[str, Any]
    memory: int
    stages: WorkingStages
    progress: Progress
    """Shows stages, because a run has many parts of different kinds."""
    runs: dict[str, tuple[tuple[RunRef, ...], ...]]
    sealed: dict[str, Output]
    """The runs of the index by name, as they were sealed."""

    @property
    def types(self) -> RowTypes:
        return self.settings.types


def update(  # noqa: PLR0913 - what decides, and what runs it
    store: Store,
    tables: Sequence[Output],
    settings: IndexSettings,
    recipe: Mapping[str, Any],
    *,
    memory: int,
    pool: WorkerPool,
    progress: Progress,
) -> tuple[IndexState, StepSummary]:
    """Return the sealed index of these tables of signatures. Make it if there is none.

    `memory` bounds the bytes that a part takes. Raise `CorruptData` if an index or a table is damaged.
    """
    spans = tuple(Input(name=table.name, sha256=table.sha256) for table in tables)
    name = index_state.name_of(recipe, spans)
    base = index_state.nearest(store, recipe, spans)
    if base.name == name:
        index_state.delete_superseded(store, recipe, base)  # a run may have been killed before it did
        return base, StepSummary(made=0, already=1)
    stages = WorkingStages(
        purpose="deduplication",
        scratch=store.substore(f"{WORK_FOLDER}/{name}"),
        pool=pool,
        progress=SilentProgress(),
    )
    going = _Update(
        store=store,
        name=name,
        settings=settings,
        recipe={**recipe, "base": base.name},
        memory=memory,
        stages=stages,
        progress=progress,
        runs=dict(base.runs),
        sealed={output.name: output for output in base.sealed},
    )
    progress.start("dedup", total=None)
    here = set(base.tables)
    leaving = [table_hash(table.name, table.sha256) for table in base.tables if table not in set(spans)]
    entering = [table for table in tables if Input(name=table.name, sha256=table.sha256) not in here]
    if leaving:
        _leave(going, sorted(leaving))
    if entering:
        _enter(going, entering)
    _merge(going)
    progress.stop()
    live = {run.name for generations in going.runs.values() for runs in generations for run in runs}
    state = IndexState(
        name=name,
        tables=spans,
        runs=going.runs,
        sealed=tuple(output for at, output in sorted(going.sealed.items()) if at in live),
    )
    index_state.seal_index(store, recipe, state)
    index_state.delete_superseded(store, recipe, state)
    return state, stages.summary


def _enter(going: _Update, tables: Sequence[Output]) -> None:
    rows = max(1, going.memory // (COPIES * going.types.documents.itemsize))
    tasks, chunk, size = [], list[Output](), 0
    for table in tables:
        if chunk and size + table.rows > rows:
            tasks.append(chunk)
            chunk, size = [], 0
        chunk.append(table)
        size += table.rows
    tasks.append(chunk)
    made = _run(
        going,
        "enter/enter",
        [
            StageTask(
                stage="enter",
                settings=going.settings,
                keys=KEY_RANGE,
                tables=tuple(Input(name=table.name, sha256=table.sha256) for table in each),
            )
            for each in tasks
        ],
    )
    documents = (*_runs_of(going, "documents"), *made["documents"])
    _decide(going, "enter", made["texts"], documents)
    _add(going, {"documents": made["documents"]})


def _leave(going: _Update, leaving: Sequence[int]) -> None:
    documents = _runs_of(going, "documents")
    tasks = [
        StageTask(
            stage="leave",
            settings=going.settings,
            keys=keys,
            documents=documents,
            leaving=tuple(leaving),
        )
        for keys in _ranges(going, sum(run.rows for run in documents), going.types.documents.itemsize)
    ]
    made = _run(going, "leave/leave", tasks)
    _decide(going, "leave", made["texts"], documents)
    _add(going, {"documents": made["documents"]})


def _decide(going: _Update, direction: str, texts: tuple[RunRef, ...], documents: tuple[RunRef, ...]) -> None:
    """Pass a change of the texts through the stages, and add what it changes to the index."""
    types = going.types

    def stage(name: str, change: tuple[RunRef, ...], table: str, before: str = "") -> dict[str, Any]:
        tasks = [
            StageTask(
                stage=name,
                settings=going.settings,
                keys=keys,
                change=change,
                before=_runs_of(going, before),
                documents=documents if name in {"bands", "candidates"} else (),
            )
            for keys in _ranges(going, sum(run.rows for run in change), getattr(types, table).itemsize)
        ]
        return _run(going, f"{direction}/{name}", tasks)

    by_text = stage("texts", texts, "texts", "texts")
    by_url = stage("urls", by_text["urls"], "urls", "urls")
    _add(going, {"texts": texts, "urls": by_text["urls"]})
    removals = (*by_text["removals"], *by_url["removals"])
    if going.settings.bands:
        bands = stage("bands", (*by_text["stays"], *by_url["stays"]), "documents")["bands"]
        members = stage("members", bands, "bands", "bands")["members"]
        candidates = stage("candidates", members, "documents")["candidates"]
        matches = stage("matches", candidates, "candidates")["matches"]
        near = stage("near", matches, "matches", "matches")["removals"]
        _add(going, {"bands": bands, "matches": matches})
        removals = (*removals, *near)
    _add(going, {"removals": removals})


def _merge(going: _Update) -> None:
    """Merge the newest generations of each table as long as they are of similar sizes."""
    for table in INDEX_TABLES:
        generations = going.runs.get(table, ())
        sizes = [sum(run.rows for run in runs) for runs in generations]
        merged = len(sizes)
        total = 0
        while merged and (total == 0 or sizes[merged - 1] <= MERGE_RATIO * total):
            merged -= 1
            total += sizes[merged]
        if len(sizes) - merged < 2:
            continue
        change = tuple(run for runs in generations[merged:] for run in runs)
        tasks = [
            StageTask(stage="merge", settings=going.settings, keys=keys, change=change, table=table)
            for keys in _ranges(going, total, getattr(going.types, table).itemsize)
        ]
        made = _run(going, f"merge/{table}", tasks)
        going.runs[table] = (*generations[:merged], made["merged"])


def _add(going: _Update, made: Mapping[str, tuple[RunRef, ...]]) -> None:
    for table, runs in made.items():
        if runs:
            going.runs[table] = (*going.runs.get(table, ()), runs)


def _runs_of(going: _Update, table: str) -> tuple[RunRef, ...]:
    return tuple(run for runs in going.runs.get(table, ()) for run in runs)


def _ranges(going: _Update, rows: int, row_bytes: int) -> list[range]:
    """Return ranges of keys that have so many rows that a part stays within its memory."""
    return key_ranges(rows * row_bytes * COPIES, going.memory)


def _run(going: _Update, name: str, tasks: Sequence[StageTask]) -> dict[str, tuple[RunRef, ...]]:
    """Run the parts of a stage, and return their runs that have rows, by table."""
    step = Step(name="dedup-stage", version=1, recipe=going.recipe, memory=going.memory)
    tables = STAGES[tasks[0].stage].writes
    parts = [_part(going, f"{name}-{at:05d}", task, tables) for at, task in enumerate(tasks)]
    manifests = going.stages.run(step, parts, stage_work)
    going.progress.advance(name)
    made: dict[str, tuple[RunRef, ...]] = dict.fromkeys(tables, ())
    for part, manifest in zip(parts, manifests, strict=True):
        by_name = {output.name: output for output in manifest.outputs}
        for table, written in zip(tables, part.writes, strict=True):
            output = by_name[written]
            if output.rows:
                dtype = getattr(going.types, part.parameters.table or table)
                stored = part.stores.get(written, going.stages.scratch)
                made[table] = (*made[table], run_ref(stored, written, output.rows, dtype))
                going.sealed[written] = output
    return made


def _part(going: _Update, name: str, task: StageTask, tables: tuple[str, ...]) -> Part:
    kept = {
        f"{FOLDER}/{going.name}/{name}-{table}.npy": table
        for table in tables
        if table in INDEX_TABLES or task.stage == "merge"
    }
    writes = tuple(
        next((file for file, of in kept.items() if of == table), f"{name}-{table}.npy") for table in tables
    )
    runs = (*task.change, *task.before, *task.documents)
    read = [*(table.name for table in task.tables), *(run.name for run in runs)]
    stored = [each for each in (*read, *writes) if each.startswith((f"{FOLDER}/", *SIGNATURE_FOLDERS))]
    digests = {table.name: table.sha256 for table in task.tables}
    return Part(
        name=name,
        inputs=tuple(
            Input(name=each, sha256=digests.get(each) or going.sealed[each].sha256)
            for each in dict.fromkeys(read)
        ),
        parameters=task,
        writes=writes,
        stores=dict.fromkeys(stored, going.store),
    )
