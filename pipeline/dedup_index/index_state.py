"""A sealed index: the tables of signatures that it knows, and the runs of each of its tables.

An index is sealed by a Manifest under the name of the run of `dedup` that made it. A later index may share runs with
it, because runs never change. Of the indexes of the same sources and settings only the newest is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from thresher.core import CorruptData
from thresher.storage import sealed_reading
from thresher.storage.manifest import (
    Input,
    Manifest,
    Output,
    fingerprint,
    load_manifest,
    manifest_name,
    manifests,
    put_output,
    seal,
)
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.pipeline.dedup_index.index_runs import RunRef

STEP_NAME = "dedup-index"
STEP = f"{STEP_NAME}@2"
SCREEN_STEP = "screen"
"""The step that makes the Bloom filter of an index (`screen_filter`)."""
FOLDER, WORK_FOLDER = "dedup-index", "dedup-work"
"""Folders of the runs in the storage, and of what stages pass on while a run is under way."""

Generations: TypeAlias = "tuple[tuple[RunRef, ...], ...]"
"""The runs of a table, those of each change together, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """What an index knows."""

    name: str
    """Fingerprint of settings and tables; 16 hexadecimal digits."""
    tables: tuple[Input, ...]
    """Tables of signatures, in the order of their names."""
    runs: Mapping[str, Generations]
    """Runs by the name of the table."""
    sealed: tuple[Output, ...] = ()
    """The runs as they were sealed."""

    def runs_of(self, table: str) -> tuple[RunRef, ...]:
        """Return all runs of a table."""
        return tuple(run for generation in self.runs.get(table, ()) for run in generation)


EMPTY = IndexState(name="", tables=(), runs={})


def name_of(recipe: Mapping[str, Any], tables: Sequence[Input]) -> str:
    """Return the name of the index of these tables."""
    return fingerprint(STEP, recipe, tables)[:16]


def nearest(store: Store, recipe: Mapping[str, Any], tables: Sequence[Input]) -> IndexState:
    """Return the index of the same settings that has most tables in common, or an empty one if that saves nothing.

    Raise `CorruptData`, which names it, if that index is damaged.
    """
    wanted, best, fewest = set(tables), None, len(tables)
    for manifest in _of_settings(store, recipe):
        changed = len(wanted.symmetric_difference(manifest.inputs))
        if changed < fewest:
            best, fewest = manifest, changed
    return EMPTY if best is None else _load(store, best)


def largest(store: Store, recipe: Mapping[str, Any], tables: AbstractSet[Input]) -> IndexState | None:
    """Return the index of the same settings with most rows that knows some of these tables and no others, or None.

    Raise `CorruptData`, which names it, if that index is damaged.
    """
    known = [each for each in _of_settings(store, recipe) if set(each.inputs) <= tables and each.inputs]
    best = max(known, key=lambda each: (each.counts["rows"], each.part), default=None)
    return None if best is None else _load(store, best)


def seal_index(store: Store, recipe: Mapping[str, Any], state: IndexState) -> None:
    """Seal an index whose runs are all there."""
    body = {table: [[list(run) for run in runs] for runs in state.runs[table]] for table in state.runs}
    data = json.dumps(body, sort_keys=True).encode()
    rows = sum(run.rows for table in state.runs for run in state.runs_of(table))
    described = put_output(store, f"{FOLDER}/{state.name}/index.json", rows, partial(_write, data=data))
    seal(
        store,
        Manifest(
            step=STEP,
            part=state.name,
            fingerprint=fingerprint(STEP, recipe, state.tables),
            recipe=recipe,
            inputs=state.tables,
            outputs=(described, *state.sealed),
            counts={"rows": rows},
        ),
    )


def delete_superseded(store: Store, recipe: Mapping[str, Any], state: IndexState) -> None:
    """Delete the earlier indexes of the same sources and settings, and all files that no sealed index has.

    Two runs of `dedup` at once may lose their files here: the later one ends with an error, and may be run again.
    """
    sources = _sources(state.tables)
    for manifest in list(_of_settings(store, recipe)):
        if manifest.part != state.name and _sources(manifest.inputs) == sources:
            store.delete(manifest_name(STEP_NAME, manifest.part))
    for name in list(unsealed(store)):
        store.delete(name)


def unsealed(store: Store) -> Iterator[str]:
    """Yield the files that no sealed index and no filter of one has, and what stages of an unfinished run passed on."""
    sealed = {output.name for manifest in _readable(store, STEP_NAME) for output in manifest.outputs}
    sealed |= {span.name for manifest in _readable(store, SCREEN_STEP) for span in manifest.inputs}
    yield from (name for name in store.list(f"{FOLDER}/") if name not in sealed)
    yield from store.list(f"{WORK_FOLDER}/")


def _readable(store: Store, step: str) -> Iterator[Manifest]:
    """Yield the Manifests that can be read: a damaged one keeps no file, and `verify` names it."""
    for name in store.list(f"manifests/{step}/"):
        with suppress(CorruptData):
            yield load_manifest(store, name)


def _of_settings(store: Store, recipe: Mapping[str, Any]) -> Iterable[Manifest]:
    made_of = json.loads(json.dumps(recipe))
    return (
        manifest
        for manifest in manifests(store, STEP_NAME)
        if manifest.step == STEP and manifest.recipe == made_of
    )


def _load(store: Store, manifest: Manifest) -> IndexState:
    from thresher.pipeline.dedup_index.index_runs import RunRef  # noqa: PLC0415 - it needs NumPy; `verify` reads no index

    described, *sealed = sorted(manifest.outputs, key=lambda output: not output.name.endswith("/index.json"))
    body = json.loads(sealed_reading.read_sealed(store, described))
    runs = {
        table: tuple(tuple(RunRef(*run) for run in generation) for generation in generations)
        for table, generations in body.items()
    }
    for output in sealed:
        if not store.exists(output.name):
            raise CorruptData(
                f"the index of deduplication is damaged: {output.name} is missing; run `thresher verify --repair`, "
                "then the same command"
            )
    return IndexState(name=manifest.part, tables=manifest.inputs, runs=runs, sealed=tuple(sealed))


def _sources(tables: Iterable[Input]) -> set[str]:
    return {table.name.split("/")[1] for table in tables}


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
