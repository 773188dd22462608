"""The first step of an export with a mix: say for each kept document which source of the mix it belongs to, its weight,
and its tokens. Then solve how often each document occurs.

The results of the workers are read group by group, so memory does not grow with the number of documents.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thresher.core import InputError
from thresher.core.url import split_url
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.pipeline.steps.tokenizing import (
    IDS,
    NO_SOURCE,
    SELECTION,
    Encoding,
    MixTask,
    NamedColumns,
    encoded,
    kept_documents,
    kept_ids,
)
from thresher.shards.mix import (
    Bounds,
    Condition,
    FloatArray,
    IntArray,
    Mix,
    MixSource,
    RealisedSource,
    coarseness,
    copies,
    factor_bounds,
    ranks,
    solve_factors,
    wanted_amounts,
)
from thresher.shards.order import Order
from thresher.storage import tables
from thresher.storage.manifest import Output
from thresher.storage.store import Store

DOMAIN = "domain"
MIN_WEIGHT, MAX_WEIGHT = 1e-100, 1e100
"""Weights beyond are taken as these: a factor times a weight then stays a number."""


class SelectParameters(NamedTuple):
    """Parameters of a select worker besides its inputs."""

    kept: tuple[bytes, ...]
    named: NamedColumns
    """The columns that the mix names."""
    mix: Mix
    encoding: Encoding | None
    """None for a mix by documents of texts that get no token ids."""
    conversations: Output | None
    """The token ids of all documents, if they are conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How often each document occurs."""

    order: Order
    tasks: tuple[MixTask, ...]
    """For each group what its worker must know."""
    realised: tuple[RealisedSource, ...]


def select_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the table of the selection, and the token ids if they are to be kept."""
    task: SelectParameters = part.parameters
    spans = part.inputs[: 3 * len(task.kept)]
    texts_too = ("text",) if task.mix.by == "tokens" else ()
    documents = kept_documents(store, spans, task.kept, ["id", "url", *texts_too], task.named)
    numbers = np.full(documents.num_rows, NO_SOURCE, dtype=np.uint16)
    weights = np.ones(documents.num_rows, dtype=np.float64)
    for number, source in enumerate(task.mix.source):
        mine = (numbers == NO_SOURCE) & _meets(documents, source)
        numbers[mine] = number
        if source.weight is not None:
            weights[mine] = _weights(documents, source.weight)[mine]
    amounts = np.ones(documents.num_rows, dtype=np.int64)
    outputs: list[Output] = []
    name, *names = part.writes
    if task.mix.by == "tokens" and task.conversations is not None:
        every = np.ones(documents.num_rows, dtype=np.bool_)
        lists = kept_ids(store, task.conversations, every)
        amounts = pc.list_value_length(lists).to_numpy().astype(np.int64)
    elif task.mix.by == "tokens" and (encoding := task.encoding) is not None:
        belongs = numbers != NO_SOURCE
        texts = documents["text"].filter(pa.array(belongs))
        lengths = [np.zeros(0, np.int64)]

        def counted() -> "Iterator[pa.ListArray[Any]]":
            for ids in encoded(store, texts, encoding):
                lengths.append(pc.list_value_length(ids).to_numpy().astype(np.int64))
                yield ids

        if names:
            outputs.append(store.write(names[0], len(texts), lambda file: _write_ids(file, counted())))
        else:
            deque(counted(), maxlen=0)
        amounts[belongs] = np.concatenate(lengths)
    table = pa.table([pa.array(numbers), pa.array(weights), pa.array(amounts)], schema=SELECTION)
    outputs.append(store.write(name, table.num_rows, partial(tables.write, table=table)))
    return PartOutputs(counts={"documents": table.num_rows}, outputs=tuple(outputs))


def _write_ids(file: BinaryIO, batches: "Iterator[pa.ListArray[Any]]") -> None:
    with pq.ParquetWriter(
        file,
        IDS,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        write_page_checksum=True,
    ) as writer:
        for ids in batches:
            writer.write_table(pa.table([ids], schema=IDS))


def solve(
    store: Store, mix: Mix, selections: Sequence[Output], encoded_ids: Sequence[Output | None], seed: int
) -> Selection:
    """Return how often each document occurs, given what `select_work` made of each group.

    Raise `InputError` if a source has no document.
    """
    candidates = _Candidates(store, mix, selections, seed)
    bounds = candidates.bounds()
    most = [int(amount) for amount in candidates.amounts(np.array(bounds)[:, 1:])[:, 0]]
    empty = [each.name for each, amount in zip(mix.source, most, strict=True) if not amount]
    if empty:
        raise InputError(f"--mix: no kept document belongs to source {empty[0]!r}; change its conditions")
    wanted, limits = wanted_amounts(mix, most)
    caps = [source.cap for source in mix.source]
    targets = [amount if cap is None else min(amount, cap) for amount, cap in zip(wanted, caps, strict=True)]
    factors = solve_factors(
        candidates.amounts,
        targets,
        bounds,
        [cap is not None for cap in caps],
    )
    rows, realised = candidates.counts(factors)
    row_firsts = np.cumsum(rows, axis=0) - rows
    share = math.fsum(source.share for source in mix.source)
    return Selection(
        order=Order(rows=tuple(rows.sum(axis=0).tolist()), seed=seed),
        tasks=tuple(
            MixTask(
                selection=selection,
                encoded=ids,
                factors=tuple(factors),
                repeats=tuple(source.repeat for source in mix.source),
                candidates=tuple(candidates.totals.tolist()),
                first_candidates=tuple(candidates.firsts[at].tolist()),
                first_rows=tuple(row_firsts[at].tolist()),
            )
            for at, (selection, ids) in enumerate(zip(selections, encoded_ids, strict=True))
        ),
        realised=tuple(
            RealisedSource(
                name=source.name,
                share=source.share / share,
                wanted=wanted[at],
                realised=int(realised[at]),
                available=int(candidates.once[at]),
                documents=int(candidates.totals[at]),
                rows=int(rows[:, at].sum()),
                limit=limits[at] or coarseness(wanted[at], int(realised[at])),
            )
            for at, source in enumerate(mix.source)
        ),
    )


class _Candidates:
    """The documents of each source of a mix. They are read group by group whenever they are needed."""

    def __init__(self, store: Store, mix: Mix, selections: Sequence[Output], seed: int) -> None:
        self._store, self._mix, self._selections, self._seed = store, mix, selections, seed
        sources = len(mix.source)
        counts = np.zeros((len(selections), sources), dtype=np.int64)
        self.once = np.zeros(sources, dtype=np.int64)
        """Tokens or documents of each source, each document counted once."""
        self.lightest, self.heaviest = np.full(sources, np.inf), np.zeros(sources)
        """The smallest and the largest weight of each source that is more than 0."""
        for at, (numbers, weights, amount) in enumerate(self._read()):
            for source in range(sources):
                mine = numbers == source
                counts[at, source] = mine.sum()
                self.once[source] += amount[mine].sum()
                positive = weights[mine & (weights > 0)]
                self.lightest[source] = min(self.lightest[source], positive.min(initial=np.inf))
                self.heaviest[source] = max(self.heaviest[source], positive.max(initial=0.0))
        weightless = self.heaviest == 0
        self.lightest[weightless] = self.heaviest[weightless] = 1.0
        self.totals = counts.sum(axis=0)
        """Documents of each source."""
        self.firsts = np.cumsum(counts, axis=0) - counts
        """Number of the first document of each group in each source."""

    def bounds(self) -> list[tuple[float, float]]:
        """Return the smallest and the largest factor that can matter for each source."""
        return [
            factor_bounds(float(lightest), float(heaviest), int(count), source.repeat)
            for source, lightest, heaviest, count in zip(
                self._mix.source, self.lightest, self.heaviest, self.totals, strict=True
            )
        ]

    def amounts(self, factors: FloatArray) -> FloatArray:
        """Return the tokens or documents of each source with factors of shape (sources, tries)."""
        found = np.zeros(factors.shape)
        for _, source, weights, rank, amount in self._ranked():
            for tried in range(factors.shape[1]):
                times = copies(factors[source, tried], weights, rank, self._mix.source[source].repeat)
                found[source, tried] += float((times * amount).sum())
        return found

    def counts(self, factors: Sequence[float]) -> tuple[IntArray, IntArray]:
        """Return the rows of each group and source, and the tokens or documents of each source."""
        rows = np.zeros((len(self._selections), len(factors)), dtype=np.int64)
        realised = np.zeros(len(factors), dtype=np.int64)
        for at, source, weights, rank, amount in self._ranked():
            times = copies(factors[source], weights, rank, self._mix.source[source].repeat)
            rows[at, source] = times.sum()
            realised[source] += (times * amount).sum()
        return rows, realised

    def _ranked(self) -> Iterator[tuple[int, int, FloatArray, FloatArray, IntArray]]:
        """Yield weights, ranks and amounts of the documents of each group and source."""
        for at, (numbers, weights, amount) in enumerate(self._read()):
            for source, total in enumerate(self.totals.tolist()):
                mine = np.flatnonzero(numbers == source)
                rank = ranks(self.firsts[at, source] + np.arange(len(mine)), total, self._seed)
                yield at, source, weights[mine], rank, amount[mine]

    def _read(self) -> Iterator[tuple[IntArray, FloatArray, IntArray]]:
        for selection in self._selections:
            table = tables.read(self._store, selection, SELECTION)
            yield (
                table["source"].to_numpy().astype(np.int64),
                table["weight"].to_numpy(),
                table["amount"].to_numpy(),
            )


def mix_columns(mix: Mix, known: KnownColumns) -> tuple[Column, ...]:
    """Return the columns that a mix names. Raise `InputError` if there is no such column, or if a condition or a weight
    does not fit it.
    """
    found: dict[str, Column] = {}
    for source in mix.source:
        where = f"--mix: source {source.name}"
        for name, condition in source.where.items():
            if name == "text":
                raise InputError(f"{where}: where.text: {known.unknown(name, [DOMAIN])}")
            if name != DOMAIN:
                found[name] = known.find(name, f"{where}: where.{name}", [DOMAIN])
            if fault := _misfit(found.get(name), condition):
                raise InputError(f"{where}: where.{name} must be {fault}")
        if source.weight is not None:
            found[source.weight] = weight = known.find(source.weight, f"{where}: weight")
            if not weight.is_number:
                raise InputError(f"{where}: weight: {weight.name} holds {weight.described}, and no numbers")
    return tuple(found.values())


def _misfit(column: Column | None, condition: Condition) -> str:
    """Return what a condition on a column must be, or an empty text if it is that. Only the domain has no column."""
    if column is None or column.is_text:
        return "" if isinstance(condition, str | list) else "a text or a list of texts"
    if pa.types.is_boolean(column.type):
        return "" if isinstance(condition, bool) else "true or false"
    if column.is_number:
        return "" if isinstance(condition, Bounds) else "a table of min and max"
    return f"about a column of texts, numbers or true and false; {column.name} holds {column.described}"


def _meets(documents: pa.Table, source: MixSource) -> Any:
    meets = np.ones(documents.num_rows, dtype=np.bool_)
    for column, condition in source.where.items():
        if column == DOMAIN:
            meets &= _in_domains(documents["url"].to_pylist(), condition)
        else:
            meets &= _column_meets(documents[column], condition)
    return meets


def _column_meets(column: "pa.ChunkedArray[Any]", condition: Condition) -> Any:
    if isinstance(condition, Bounds):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        low = condition.min if condition.min is not None else -np.inf
        high = condition.max if condition.max is not None else np.inf
        return (values >= low) & (values <= high)
    if isinstance(condition, bool):
        return np.array([value is condition for value in column.to_pylist()], dtype=np.bool_)
    wanted = pa.array([condition] if isinstance(condition, str) else condition, pa.string())
    if pa.types.is_list(column.type):
        return _any_meets(column, wanted)
    return pc.is_in(column.cast(pa.string()), value_set=wanted).to_numpy()


def _any_meets(column: "pa.ChunkedArray[Any]", wanted: pa.StringArray) -> Any:
    """Return which lists have one of the wanted texts."""
    meets = np.zeros(len(column), dtype=np.bool_)
    first = 0
    for chunk in column.chunks:
        hits = pc.is_in(pc.list_flatten(chunk).cast(pa.string()), value_set=wanted)
        meets[first + pc.list_parent_indices(chunk).filter(hits).to_numpy().astype(np.int64)] = True
        first += len(chunk)
    return meets


def _in_domains(urls: Sequence[Any], condition: Condition) -> Any:
    assert isinstance(condition, str | list), "mix_columns comes first"
    domains = [condition] if isinstance(condition, str) else condition
    ends = tuple(f".{domain.lower().lstrip('.')}" for domain in domains)
    return np.array([f".{_host(url)}".endswith(ends) for url in urls], dtype=np.bool_)


def _host(url: str) -> str:
    return split_url(url).host


def _weights(documents: pa.Table, name: str) -> FloatArray:
    values: FloatArray = np.nan_to_num(documents[name].cast(pa.float64(), safe=False).to_numpy(), nan=0.0)
    positive = values > 0
    values[positive] = np.clip(values[positive], MIN_WEIGHT, MAX_WEIGHT)
    values[~positive] = 0.0
    return values
