"""The first step of an export with a mix: say for each kept document which source of the mix it belongs to, its weight,
and its tokens. Then solve how often each document occurs.

The results of the workers are read group by group, so memory does not grow with the number of documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core import InputError
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.steps.tokenizing import TOKENIZER, MixTask, encoder_of, kept_documents
from shards.mix import (
    CLUSTER_SIZE,
    Bounds,
    Condition,
    FloatArray,
    IntArray,
    Mix,
    MixSource,
    RealisedSource,
    copies,
    ranks,
    solve_factors,
    wanted_amounts,
)
from shards.order import Order
from storage import tables
from storage.manifest import Input, Output
from storage.store import Store

DOMAIN = "domain"
NO_SOURCE = 65_535
COUNT_ROWS = 256
_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("source", pa.uint16()),
    pa.field("weight", pa.float64()),
    pa.field("amount", pa.int64()),
]
SELECTION = pa.schema(_FIELDS)
"""One kept document a row: the number of its source of the mix, or 65,535, its weight, and its tokens or 1."""


class SelectParameters(NamedTuple):
    """Parameters of a select worker besides its inputs."""

    kept: tuple[bytes, ...]
    clusters: tuple[bytes, ...]
    verdicts: tuple[Input, ...]
    mix: Mix
    eos: int | None
    fast: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How often each document occurs."""

    order: Order
    tasks: tuple[MixTask, ...]
    """For each group what its worker must know."""
    realised: tuple[RealisedSource, ...]


def select_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the table of the selection."""
    task: SelectParameters = part.parameters
    spans = part.inputs[: 2 * len(task.kept)]
    columns = document_columns(task.mix)
    documents = kept_documents(store, spans, task.kept, ["id", "url", "text", *columns])
    documents = _with_measurements(store, documents, task)
    numbers = np.full(documents.num_rows, NO_SOURCE, dtype=np.uint16)
    weights = np.ones(documents.num_rows, dtype=np.float64)
    clusters = (
        np.concatenate([np.frombuffer(each, "<u4") for each in task.clusters]) if any(task.clusters) else None
    )
    for number, source in enumerate(task.mix.source):
        mine = (numbers == NO_SOURCE) & _meets(documents, source)
        numbers[mine] = number
        if source.weight is not None:
            weights[mine] = _weights(documents, source.weight, clusters)[mine]
    amounts = np.ones(documents.num_rows, dtype=np.int64)
    if task.mix.by == "tokens":
        amounts = _token_counts(store, documents["text"], numbers != NO_SOURCE, task)
    table = pa.table([pa.array(numbers), pa.array(weights), pa.array(amounts)], schema=SELECTION)
    (name,) = part.writes
    output = store.write(name, table.num_rows, partial(tables.write, table=table))
    return PartOutputs(counts={"documents": table.num_rows}, outputs=(output,))


def solve(store: Store, mix: Mix, selections: Sequence[Output], seed: int) -> Selection:
    """Return how often each document occurs, given the tables that `select_work` made of each group."""
    sources = len(mix.source)
    counts = np.zeros((len(selections), sources), dtype=np.int64)
    for at, (numbers, _, _) in enumerate(_read(store, selections)):
        counts[at] = np.bincount(numbers[numbers != NO_SOURCE], minlength=sources)
    totals = counts.sum(axis=0)
    firsts = np.cumsum(counts, axis=0) - counts
    limits = [source.repeat for source in mix.source]

    def amounts(factors: FloatArray) -> FloatArray:
        found = np.zeros(factors.shape)
        for at, (numbers, weights, amount) in enumerate(_read(store, selections)):
            for source in range(sources):
                mine = numbers == source
                rank = ranks(firsts[at, source] + np.arange(mine.sum()), int(totals[source]), seed)
                for tried in range(factors.shape[1]):
                    times = copies(factors[source, tried], weights[mine], rank, limits[source])
                    found[source, tried] += float((times * amount[mine]).sum())
        return found

    once = np.zeros(sources)
    smallest = np.ones(sources)
    for numbers, weights, amount in _read(store, selections):
        for source in range(sources):
            mine = numbers == source
            once[source] += amount[mine].sum()
            positive = weights[mine & (weights > 0)]
            smallest[source] = min(smallest[source], positive.min() if len(positive) else 1.0)
    highest = np.array(limits) / smallest + 1
    most = [int(amount) for amount in amounts(highest[:, None])[:, 0]]
    empty = [each.name for each, amount in zip(mix.source, most, strict=True) if not amount]
    if empty:
        raise InputError(f"--mix: no kept document belongs to source {empty[0]!r}; change its conditions")
    wanted, reasons = wanted_amounts(mix, most)
    targets = [
        min(amount, part.cap if part.cap is not None else amount)
        for amount, part in zip(wanted, mix.source, strict=True)
    ]
    factors = solve_factors(amounts, targets, highest.tolist())
    return _selection(store, mix, selections, seed, factors, wanted, reasons, once.astype(int).tolist())


def _selection(  # noqa: PLR0913 - the columns of one result
    store: Store,
    mix: Mix,
    selections: Sequence[Output],
    seed: int,
    factors: Sequence[float],
    wanted: Sequence[int],
    reasons: Sequence[str],
    once: Sequence[int],
) -> Selection:
    sources = len(mix.source)
    candidates = np.zeros((len(selections), sources), dtype=np.int64)
    rows = np.zeros((len(selections), sources), dtype=np.int64)
    realised = np.zeros(sources, dtype=np.int64)
    for at, (numbers, _, _) in enumerate(_read(store, selections)):
        candidates[at] = np.bincount(numbers[numbers != NO_SOURCE], minlength=sources)
    totals = candidates.sum(axis=0)
    firsts = np.cumsum(candidates, axis=0) - candidates
    for at, (numbers, weights, amount) in enumerate(_read(store, selections)):
        for source in range(sources):
            mine = numbers == source
            rank = ranks(firsts[at, source] + np.arange(mine.sum()), int(totals[source]), seed)
            times = copies(factors[source], weights[mine], rank, mix.source[source].repeat)
            rows[at, source] = times.sum()
            realised[source] += (times * amount[mine]).sum()
    row_firsts = np.cumsum(rows, axis=0) - rows
    share = sum(source.share for source in mix.source)
    return Selection(
        order=Order(rows=tuple(rows.sum(axis=0).tolist()), seed=seed),
        tasks=tuple(
            MixTask(
                selection=selections[at].name,
                factors=tuple(factors),
                repeats=tuple(source.repeat for source in mix.source),
                candidates=tuple(totals.tolist()),
                first_candidates=tuple(firsts[at].tolist()),
                first_rows=tuple(row_firsts[at].tolist()),
            )
            for at in range(len(selections))
        ),
        realised=tuple(
            RealisedSource(
                name=source.name,
                share=source.share / share,
                wanted=wanted[at],
                realised=int(realised[at]),
                available=once[at],
                documents=int(totals[at]),
                rows=int(rows[:, at].sum()),
                limit=reasons[at],
            )
            for at, source in enumerate(mix.source)
        ),
    )


def document_columns(mix: Mix) -> list[str]:
    """Return the columns of documents that the conditions of a mix name."""
    named = {column for source in mix.source for column in source.where}
    return sorted((named & set(tables.DOCUMENTS.names)) - {"id", "url", "text"})


def measurements(mix: Mix) -> list[str]:
    """Return the measurements that a mix names."""
    named = {column for source in mix.source for column in source.where}
    named |= {source.weight for source in mix.source if source.weight} - {CLUSTER_SIZE}
    return sorted(named - set(tables.DOCUMENTS.names) - {DOMAIN})


def check_columns(mix: Mix, known: Sequence[str]) -> None:
    """Raise `InputError` if a condition does not fit its column; `known` are the measurements there are."""
    for name in measurements(mix):
        if name not in known:
            columns = ", ".join(
                (*(each for each in tables.DOCUMENTS.names if each != "text"), DOMAIN, *known)
            )
            raise InputError(f"--mix: documents have no column {name!r}; known are {columns}")
    texts = {field.name for field in tables.DOCUMENTS if field.type == pa.string()} | {DOMAIN}
    for source in mix.source:
        for column, condition in source.where.items():
            if isinstance(condition, Bounds) == (column in texts):
                kind = "a text or a list of texts" if column in texts else "a table of min and max"
                raise InputError(f"--mix: source {source.name}: where.{column} must be {kind}")


def _read(store: Store, selections: Sequence[Output]) -> Iterator[tuple[IntArray, FloatArray, IntArray]]:
    for selection in selections:
        table = tables.read(store, selection, SELECTION)
        yield (
            table["source"].to_numpy().astype(np.int64),
            table["weight"].to_numpy(),
            table["amount"].to_numpy(),
        )


def _with_measurements(store: PartStore, documents: pa.Table, task: SelectParameters) -> pa.Table:
    names = measurements(task.mix)
    if not names:
        return documents
    schema = pa.schema([tables.VERDICTS.field("id"), *(pa.field(name, pa.float64()) for name in names)])
    verdicts = pa.concat_tables([tables.read(store, each, schema) for each in task.verdicts])
    verdicts = verdicts.take(pc.index_in(documents["id"], value_set=verdicts["id"].combine_chunks()))
    for name in names:
        documents = documents.append_column(name, verdicts[name])
    return documents


def _meets(documents: pa.Table, source: MixSource) -> Any:
    meets = np.ones(documents.num_rows, dtype=np.bool_)
    for column, condition in source.where.items():
        if column == DOMAIN:
            meets &= _in_domains(documents["url"].to_pylist(), condition)
        else:
            meets &= _column_meets(documents[column], condition)
    return meets


def _column_meets(column: Any, condition: Condition) -> Any:
    if isinstance(condition, Bounds):
        values = column.cast(pa.float64()).to_numpy()
        low = condition.min if condition.min is not None else -np.inf
        high = condition.max if condition.max is not None else np.inf
        return (values >= low) & (values <= high)
    values = [condition] if isinstance(condition, str) else condition
    return pc.is_in(column.cast(pa.string()), value_set=pa.array(values, pa.string())).to_numpy()


def _in_domains(urls: Sequence[Any], condition: Condition) -> Any:
    assert not isinstance(condition, Bounds), "check_columns comes first"
    domains = [condition] if isinstance(condition, str) else condition
    ends = tuple(f".{domain.lower().lstrip('.')}" for domain in domains)
    return np.array([f".{_host(url)}".endswith(ends) for url in urls], dtype=np.bool_)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _weights(documents: pa.Table, name: str, clusters: Any) -> FloatArray:
    if name == CLUSTER_SIZE:
        assert clusters is not None
        sizes: FloatArray = clusters.astype(np.float64)
        return sizes
    values = documents[name].to_numpy()
    return np.maximum(np.nan_to_num(values.astype(np.float64), nan=0.0), 0.0)


def _token_counts(store: PartStore, texts: Any, chosen: Any, task: SelectParameters) -> IntArray:
    encoder = encoder_of(store.read(TOKENIZER).decode(), fast=task.fast)
    counts = np.zeros(len(chosen), dtype=np.int64)
    wanted = np.flatnonzero(chosen)
    for start in range(0, len(wanted), COUNT_ROWS):
        rows = wanted[start : start + COUNT_ROWS]
        _, lengths = encoder.encode(texts.take(pa.array(rows, pa.int64())).to_pylist())
        counts[rows] = lengths + (task.eos is not None)
    return counts
