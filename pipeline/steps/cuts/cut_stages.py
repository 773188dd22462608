"""The stages of the cut step, as work functions.

| stage | a part is | it writes |
|---|---|---|
| `count` | a piece | hashes of its lines and paragraphs, and filters of its windows (`COUNTS`) |
| `repeated` | a range of hashes | those that repeat, by piece (`REPEATED`) |
| `units` | a piece | its lines, paragraphs and windows that may repeat (`UNITS`), and the first of each group |
| `first` | a range of hashes | the first unit of each group, for each piece that has the group (`FIRSTS`) |
| `repeats` | a piece | its units that repeat others (`REPEATS`) |
| `slices` | a piece | the texts that others repeat (`cut_slices`) |

A piece takes memory for its text (`cut_pieces`), and a range for one row a group and piece. So a line that a million
documents have does not take more memory than others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xxhash

from thresher.core import CorruptData
from thresher.filters.dedup import repeat_rows
from thresher.filters.dedup.dedup_versions import CUT_KINDS
from thresher.filters.dedup.document_rows import Preference
from thresher.filters.dedup.repeat_rows import HASH, SUBSTRING, last_word, rows_of
from thresher.filters.dedup.repeat_units import (
    Blocks,
    Hashes,
    Units,
    different,
    filter_counts,
    lines,
    paragraphs,
    window_filters,
    window_hashes,
    words,
)
from thresher.filters.dedup.zsets import IntArray, Rows, sort_order, starts_of
from thresher.pipeline.dedup_index.index_runs import KEY_RANGE, RunRef, rows_of_range, write_rows
from thresher.pipeline.domains import domain_of
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.cuts.cut_pieces import CutPiece, PieceDocuments, documents_of, texts_of
from thresher.pipeline.steps.cuts.cut_slices import write_slices


class CutSettings(NamedTuple):
    """What decides about cuts."""

    fewest: tuple[int, int]
    """Documents that must have a paragraph, and a line, before it is cut; 0 if it never is."""
    words: int
    """Words of a window; 0 if no passage is cut."""
    within_domain: bool
    """Whether documents are counted for each registered domain apart."""
    within_source: bool
    """Whether only documents of one source are compared."""
    prefer: tuple[Preference, ...]
    sources: tuple[str, ...]
    """Preferred sources, best first."""
    min_words: int
    """Words that a document must have left if it was cut."""


class CutTask(NamedTuple):
    """Parameters of a part besides its inputs."""

    stage: str
    settings: CutSettings
    keys: range
    """First fields of the rows that are read: hashes, or the number of the piece."""
    piece: CutPiece | None = None
    runs: tuple[RunRef, ...] = ()
    """The rows of the stage before."""
    units: tuple[RunRef, ...] = ()
    """The rows of `UNITS` of the piece."""


def stage_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write what a stage finds: one run for each of its `TABLES`."""
    task: CutTask = part.parameters
    if task.stage == "slices":
        (name,) = part.writes
        counted: list[int] = []
        output = store.write(name, 0, lambda file: counted.append(write_slices(file, _slices(store, task))))
        return PartOutputs(counts={"rows": counted[0]}, outputs=(replace(output, rows=counted[0]),))
    made = _WORK[task.stage](store, task)
    outputs = tuple(
        store.write(name, len(rows), partial(write_rows, rows=rows))
        for name, rows in zip(part.writes, made, strict=True)
    )
    return PartOutputs(counts={"rows": sum(map(len, made))}, outputs=outputs)


def span_of(
    text: str, units: Units, unit: int, count: int, kind: int, words_of_window: int
) -> tuple[int, int]:
    """Return the characters of a run of units. Raise `ValueError` if the text does not have them."""
    last = last_word(unit, count, kind, words_of_window)
    if last >= len(units.starts):
        raise ValueError(f"a text of {len(text)} characters has no {CUT_KINDS[kind]} {unit} of {count}")
    return int(units.starts[unit]), int(units.ends[last])


def units_of(text: str, kind: int) -> Units:
    """Return the words, lines or paragraphs of a text."""
    return (paragraphs, lines, words)[kind](text)


def _count(store: PartStore, task: CutTask) -> tuple[Rows, ...]:
    assert task.piece is not None
    settings, documents = task.settings, documents_of(store, task.piece)
    columns = _Columns()
    for number, text in texts_of(store, task.piece, documents.ids):
        for kind, group in _kinds(task, documents, number):
            if kind == SUBSTRING:
                found, counts = filter_counts(
                    window_filters(words(text).hashes, settings.words), settings.words
                )
                columns.add(kind, found ^ group, np.zeros(len(found), np.uint64), counts)
            else:
                blocks = _blocks(text, kind)
                high, low = different(blocks)
                columns.add(kind, high ^ group, low, np.ones(len(high), np.int64))
    hashes, checks, kinds, counts = columns.arrays()
    rows = rows_of(repeat_rows.COUNTS, len(hashes), hash=hashes, check=checks, kind=kinds)
    order = sort_order(rows, HASH)
    starts = starts_of(rows[order], HASH)
    summed = rows[order][starts]
    summed["piece"] = task.piece.number
    if len(starts):
        summed["count"] = np.add.reduceat(counts[order], starts)
    return (repeat_rows.in_order(summed),)


def _repeated(store: PartStore, task: CutTask) -> tuple[Rows, ...]:
    counts = rows_of_range(store, task.runs, task.keys, repeat_rows.COUNTS)
    return (repeat_rows.repeated(counts, (*task.settings.fewest, 2)),)


def _units(store: PartStore, task: CutTask) -> tuple[Rows, ...]:
    assert task.piece is not None
    settings, documents = task.settings, documents_of(store, task.piece)
    repeated = rows_of_range(store, task.runs, task.keys, repeat_rows.REPEATED)
    wanted = {kind: repeated[repeated["kind"] == kind] for kind in range(len(CUT_KINDS))}
    source = task.piece.source
    rank = settings.sources.index(source) if source in settings.sources else len(settings.sources)
    ranks = repeat_rows.document_ranks(settings.prefer, rank, documents.fetched_at_ms, documents.text_bytes)
    pieces = [np.empty(0, repeat_rows.UNITS)]
    for number, text in texts_of(store, task.piece, documents.ids):
        for kind, group in _kinds(task, documents, number):
            if kind == SUBSTRING:
                hashes = words(text).hashes
                filters = window_filters(hashes, settings.words) ^ group
                at = _among(filters, np.zeros(len(filters), np.uint64), wanted[kind])
                if not len(at):
                    continue
                high, low = window_hashes(hashes, settings.words)[at] ^ group, np.zeros(len(at), np.uint64)
            else:
                blocks = _blocks(text, kind)
                at = _among(blocks.high ^ group, blocks.low, wanted[kind])
                high, low = blocks.high[at] ^ group, blocks.low[at]
            if len(at):
                pieces.append(
                    rows_of(
                        repeat_rows.UNITS,
                        len(at),
                        hash=high,
                        check=low,
                        kind=kind,
                        rank=ranks[number],
                        text=documents.text_hashes[number],
                        piece=task.piece.number,
                        document=number,
                        unit=at,
                    )
                )
    rows = repeat_rows.in_order(np.concatenate(pieces))
    return rows, repeat_rows.best_units(rows)


def _first(store: PartStore, task: CutTask) -> tuple[Rows, ...]:
    return (repeat_rows.firsts(rows_of_range(store, task.runs, task.keys, repeat_rows.UNITS)),)


def _repeats(store: PartStore, task: CutTask) -> tuple[Rows, ...]:
    units = rows_of_range(store, task.units, KEY_RANGE, repeat_rows.UNITS)
    found = rows_of_range(store, task.runs, task.keys, repeat_rows.FIRSTS)
    try:
        claims = repeat_rows.claims(units, found)
    except ValueError as error:
        raise CorruptData(
            f"working files of dedup are damaged: {error}; run the same command again"
        ) from error
    return (repeat_rows.repeats(claims, task.settings.words),)


def _slices(store: PartStore, task: CutTask) -> Iterator[dict[str, Any]]:
    """Yield the slices of the documents of a piece for each piece that repeats them, in order.

    Each run has the repeats of one piece, so only the texts of this piece and the repeats of another are held.
    """
    assert task.piece is not None
    numbers = {
        int(number)
        for run in task.runs
        for number in np.unique(rows_of_range(store, [run], task.keys, repeat_rows.REPEATS)["first_document"])
    }
    if not numbers:
        return
    ids = documents_of(store, task.piece).ids
    wanted = [id_ if number in numbers else "" for number, id_ in enumerate(ids)]
    texts = dict(texts_of(store, task.piece, wanted))
    units: dict[tuple[int, int], Units] = {}
    for run in task.runs:
        rows = rows_of_range(store, [run], task.keys, repeat_rows.REPEATS)
        order = np.lexsort([rows[name] for name in ("unit", "kind", "document", "piece")])
        for row in rows[order].tolist():
            _, document, unit, kind, *place, count, _ = row
            text = texts[document]
            if (document, kind) not in units:
                units[document, kind] = units_of(text, kind)
            start, end = span_of(text, units[document, kind], unit, count, kind, task.settings.words)
            yield {
                **dict(zip(("piece", "document", "unit"), place, strict=True)),
                "count": count,
                "kind": kind,
                "witness": ids[document],
                "witness_start": start,
                "witness_end": end,
                "text": text[start:end],
            }


_WORK: Mapping[str, Callable[[PartStore, CutTask], tuple[Rows, ...]]] = {
    "count": _count,
    "repeated": _repeated,
    "units": _units,
    "first": _first,
    "repeats": _repeats,
}
TABLES: Mapping[str, Mapping[str, np.dtype[Any]]] = {
    "count": {"counts": repeat_rows.COUNTS},
    "repeated": {"repeated": repeat_rows.REPEATED},
    "units": {"units": repeat_rows.UNITS, "best": repeat_rows.UNITS},
    "first": {"firsts": repeat_rows.FIRSTS},
    "repeats": {"repeats": repeat_rows.REPEATS},
}
"""The tables that each stage writes as runs, in order, and the type of their rows. The stage `slices` writes a Parquet
file.
"""


class _Columns:
    """Hashes and counts that are collected."""

    def __init__(self) -> None:
        self._found: list[tuple[Hashes, Hashes, Any, IntArray]] = []

    def add(self, kind: int, hashes: Hashes, checks: Hashes, counts: IntArray) -> None:
        self._found.append((hashes, checks, np.full(len(hashes), kind, np.uint8), counts))

    def arrays(self) -> tuple[Hashes, Hashes, Any, IntArray]:
        empty = (np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.int64))
        hashes, checks, kinds, counts = (
            np.concatenate(each) for each in zip(empty, *self._found, strict=True)
        )
        return hashes, checks, kinds, counts


def _kinds(task: CutTask, documents: PieceDocuments, number: int) -> Iterator[tuple[int, np.uint64]]:
    """Yield the kinds of units that are compared, and a number for the documents that a document is compared with."""
    assert task.piece is not None
    settings = task.settings
    source = xxhash.xxh3_64_intdigest(task.piece.source.encode()) if settings.within_source else 0
    domain = 0
    if settings.within_domain and any(settings.fewest):
        domain = xxhash.xxh3_64_intdigest(domain_of(documents.urls[number]).encode())
    for kind, fewest in enumerate(settings.fewest):
        if fewest:
            yield kind, np.uint64(source ^ domain)
    if settings.words:
        yield SUBSTRING, np.uint64(source)


def _blocks(text: str, kind: int) -> Blocks:
    found = units_of(text, kind)
    assert isinstance(found, Blocks)
    return found


def _among(hashes: Hashes, checks: Hashes, repeated: Rows) -> IntArray:
    """Return the indexes of hashes that are among sorted rows of `REPEATED` of one kind.

    Of two groups with equal first words only one is found; the other is not cut. It takes 2^32 groups to expect that.
    """
    if not len(repeated):
        return np.empty(0, np.int64)
    at = np.minimum(np.searchsorted(repeated["hash"], hashes), len(repeated) - 1)
    return np.flatnonzero((repeated["hash"][at] == hashes) & (repeated["check"][at] == checks))
