"""The stages of a change of the index, as work functions: each reads a range of keys, and writes runs.

A stage reads the change of the stage before it and those rows of the index that the change touches, asks
`filters.dedup.changes` what follows, and writes that. Because keys are hashes, equal ranges of keys are equal shares of
the work, and their number bounds the memory of a part.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thresher.filters.dedup import changes, document_rows
from thresher.filters.dedup.dedup_rows import ID, RowTypes, converted, find, row_types
from thresher.filters.dedup.document_rows import Preference, TableFacts, hex_ids
from thresher.filters.dedup.zsets import SIGN, Rows, identity, negated, starts_of, total
from thresher.pipeline.dedup_index.index_runs import Keys, RunRef, rows_of_keys, rows_of_range, write_rows
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.storage import tables
from thresher.storage.manifest import Input


class IndexSettings(NamedTuple):
    """What decides about duplicates."""

    bands: int
    """0 if near duplicates stay."""
    rows: int
    permutations: int
    """Numbers of a MinHash."""
    fewest_equal: int
    """Equal numbers of two MinHashes that make their documents near duplicates."""
    prefer: tuple[Preference, ...]
    sources: tuple[str, ...]
    """Preferred sources, best first."""
    all_versions: bool
    """Whether several versions of a URL stay."""
    within_source: bool
    """Whether only documents of one source are compared."""

    @property
    def types(self) -> RowTypes:
        """The row types of the index."""
        return row_types(len(self.prefer) + 1, self.permutations)


class StageTask(NamedTuple):
    """Parameters of a part besides its inputs."""

    stage: str
    settings: IndexSettings
    keys: range
    """First words of the keys that the part decides."""
    change: tuple[RunRef, ...] = ()
    """The change of the stage before."""
    before: tuple[RunRef, ...] = ()
    """The runs of the index that the change adds to."""
    documents: tuple[RunRef, ...] = ()
    """Runs of `documents` that have every document of the change."""
    tables: tuple[Input, ...] = ()
    """Tables of signatures that enter."""
    leaving: tuple[int, ...] = ()
    """Hashes of the tables of signatures that leave, sorted."""
    table: str = ""
    """Name of the table of the index whose runs are merged."""


def stage_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write what a stage changes in its range of keys: one run for each table of `STAGES`."""
    task: StageTask = part.parameters
    made = STAGES[task.stage].work(store, task)
    outputs = tuple(
        store.write(name, len(rows), partial(write_rows, rows=rows))
        for name, rows in zip(part.writes, made, strict=True)
    )
    return PartOutputs(counts={"rows": sum(len(rows) for rows in made)}, outputs=outputs)


def _enter(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    settings, types = task.settings, task.settings.types
    pieces = [np.empty(0, types.documents)]
    for table in task.tables:
        source = table.name.split("/")[1]
        known = source in settings.sources
        facts = TableFacts(
            table=document_rows.table_hash(table.name, table.sha256),
            source=source,
            source_rank=settings.sources.index(source) if known else len(settings.sources),
        )
        columns = tables.read_signatures(store, [table], settings.permutations)
        pieces.append(
            document_rows.document_rows(
                types, columns, facts, settings.prefer, within_source=settings.within_source
            )
        )
    documents = _sorted(np.concatenate(pieces))
    return documents, document_rows.text_rows(types, documents)


def _leave(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    known = rows_of_range(store, task.documents, task.keys, types.documents)
    leaving = negated(known[np.isin(known["table"], np.array(task.leaving, np.uint64))])
    return leaving, document_rows.text_rows(types, leaving)


def _texts(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    before, change = _touched(store, task, types.texts)
    found = changes.change_of_texts(types, before, change)
    if task.settings.all_versions:
        return found.removals, np.empty(0, types.urls), _sorted(converted(found.best, types.stays))
    urls, stays = changes.with_url(types, found.best)
    return found.removals, _sorted(urls), _sorted(stays)


def _urls(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    before, change = _touched(store, task, types.urls)
    found = changes.change_of_urls(types, before, change)
    return found.removals, _sorted(converted(found.best, types.stays))


def _bands(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types, settings = task.settings.types, task.settings
    stays = rows_of_range(store, task.change, task.keys, types.stays)
    documents = _documents(store, task, stays)
    return (document_rows.band_rows(types, stays, documents, settings.bands, settings.rows),)


def _members(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    before, change = _touched(store, task, types.bands)
    return (changes.change_of_members(types, before, change),)


def _candidates(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    members = rows_of_range(store, task.change, task.keys, types.members)
    return (changes.candidates_of(types, members, _documents(store, task, members)),)


def _matches(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    candidates = rows_of_range(store, task.change, task.keys, types.candidates)
    return (changes.change_of_matches(types, candidates, task.settings.fewest_equal),)


def _merge(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    """Add up the runs of a table."""
    dtype = getattr(task.settings.types, task.table)
    return (rows_of_range(store, task.change, task.keys, dtype),)


def _near(store: PartStore, task: StageTask) -> tuple[Rows, ...]:
    types = task.settings.types
    before, change = _touched(store, task, types.matches)
    return (_sorted(changes.change_of_removals(types, before, change)),)


class Stage(NamedTuple):
    """A stage: its work, and the tables that it writes, in order."""

    work: Callable[[PartStore, StageTask], tuple[Rows, ...]]
    writes: tuple[str, ...]


STAGES: Mapping[str, Stage] = {
    "enter": Stage(_enter, ("documents", "texts")),
    "leave": Stage(_leave, ("documents", "texts")),
    "texts": Stage(_texts, ("removals", "urls", "stays")),
    "urls": Stage(_urls, ("removals", "stays")),
    "bands": Stage(_bands, ("bands",)),
    "members": Stage(_members, ("members",)),
    "candidates": Stage(_candidates, ("candidates",)),
    "matches": Stage(_matches, ("matches",)),
    "near": Stage(_near, ("removals",)),
    "merge": Stage(_merge, ("merged",)),
}
INDEX_TABLES = ("documents", "texts", "urls", "bands", "matches", "removals")
"""Tables of the index. The others pass from one stage to the next, and are deleted."""


def _touched(store: PartStore, task: StageTask, dtype: np.dtype[Any]) -> tuple[Rows, Rows]:
    """Return the rows before the change that it touches, and the change."""
    change = rows_of_range(store, task.change, task.keys, dtype)
    keys = _first_words(change, identity(dtype)[0])
    return rows_of_keys(store, task.before, keys, dtype), change


def _documents(store: PartStore, task: StageTask, rows: Rows) -> Rows:
    """Return the document of each row. Rows are sorted by id. A document that leaves is still among those given. Raise
    `KeyError` if one is not there.

    The newest run that has a document has its present row, so older runs are not read for it: of an increment most
    documents are new, and older runs are large.
    """
    dtype = task.settings.types.documents
    documents, missing = np.empty(len(rows), dtype), np.arange(len(rows))
    for run in reversed(task.documents):
        wanted = rows[missing]
        found = rows_of_keys(store, [run], _first_words(wanted, ID[0]), dtype)
        found = found[found[SIGN] > 0]
        at = find(wanted, found)
        documents[missing[at >= 0]] = found[at[at >= 0]]
        missing = missing[at < 0]
    if len(missing):
        raise KeyError(hex_ids(rows[missing[:1]])[0])
    return documents


def _first_words(rows: Rows, field: str) -> Keys:
    """Return the different values of a field by which rows are sorted."""
    keys: Keys = rows[field][starts_of(rows, (field,))]
    return keys


def _sorted(rows: Rows) -> Rows:
    return total(rows)
