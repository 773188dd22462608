"""The first step of an export: encode the kept documents of a group of parts, and write them as runs.

1. The places of all rows are computed before anything is encoded. Only documents with a wanted place are encoded, so
   making one shard of a thousand again costs little more than reading the texts.
2. A document that occurs more than once is encoded once.
3. Memory is bounded by the texts of the group and its longest document.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import CorruptData
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.columns.column_values import ColumnTables, column_values, document_fields
from thresher.pipeline.steps.columns.export_columns import column_schema
from thresher.pipeline.steps.columns.known_columns import Column
from thresher.pipeline.steps.records.edited_texts import with_edits
from thresher.pipeline.steps.sorted_runs import token_counts, write_run
from thresher.shards.card_facts import OTHERS
from thresher.shards.encoder import Encoder
from thresher.shards.formats.format import RowSize
from thresher.shards.formats.row_groups import row_bytes
from thresher.shards.formats.shard_rows import EXACT_REFERENCE, EXACT_ROW, RowColumns
from thresher.shards.mix import copies, ranks
from thresher.shards.order import IntArray, Order, within
from thresher.storage import tables
from thresher.storage.manifest import Input, Output
from thresher.storage.sealed_reading import check_sealed, read_sealed
from thresher.storage.store import Readable

TOKENIZER = "tokenizer.json"
ENCODE_ROWS = 1024
COUNTED = ("language", "license")
"""Columns whose values are counted for the cards."""
NAMED_SPECIAL = "special_token"
"""Counted beside them, for tokenizers that have special tokens."""
MAX_VALUES = 200
"""Values of a counted column that a group counts apart. Licences are texts of strangers."""
COLUMNS = (*EXACT_REFERENCE.names, "text", *COUNTED)
IDS = pa.schema([EXACT_ROW.field("input_ids")])
"""The token ids of a document."""
NO_SOURCE = 65_535
_SELECTION: "list[pa.Field[Any]]" = [
    pa.field("source", pa.uint16()),
    pa.field("weight", pa.float64()),
    pa.field("amount", pa.int64()),
]
SELECTION = pa.schema(_SELECTION)
"""One kept document a row: the number of its source of the mix, or 65,535, its weight, and its tokens or 1."""


class ExportPart(NamedTuple):
    """The documents of one part that may go into the dataset."""

    documents: Input
    signatures: Input
    kept: bytes
    """One bit for each signed document: whether deduplication keeps it."""
    rows: int
    """Number of kept documents."""
    verdicts: Input
    columns: ColumnTables
    """Where the columns lie that the export names."""


class DocumentGroup(NamedTuple):
    """Parts of one component that one worker encodes."""

    name: str
    parts: tuple[ExportPart, ...]
    component: int
    first: int
    """Number of the group's first row in its component."""


class NamedColumns(NamedTuple):
    """Columns that a user named, and where they lie for each part."""

    columns: tuple[Column, ...]
    tables: tuple[ColumnTables, ...]


NO_COLUMNS = NamedColumns((), ())


class LayoutTask(NamedTuple):
    """One run to write."""

    order: str
    """An order of `shards.order`."""
    columns: RowColumns
    wanted: tuple[range, ...]
    """Places of the rows that are needed, in order."""


class Encoding(NamedTuple):
    """How a worker encodes texts."""

    tokenizer: Input
    """The tokenizer's file in the working directory."""
    bos: int | None
    """Token id that begins each document."""
    eos: int | None
    """Token id that ends each document."""
    fast: bool
    """Whether the fast tokenizer is proven to give the same ids."""


class MixTask(NamedTuple):
    """What the worker of a group must know of the mix. Each tuple has a number for each source of the mix."""

    selection: Output
    """The table that says which source each document belongs to."""
    encoded: Output | None
    """The token ids of all documents that belong to a source, if they are encoded already."""
    factors: tuple[float, ...]
    repeats: tuple[int, ...]
    candidates: tuple[int, ...]
    """Documents of the source in all groups."""
    first_candidates: tuple[int, ...]
    """Number of the group's first document in the source."""
    first_rows: tuple[int, ...]
    """Number of the group's first row in the source."""


class TokenizeParameters(NamedTuple):
    """Parameters of a tokenize worker besides its inputs."""

    kept: tuple[bytes, ...]
    """For each part one bit for each signed document."""
    component: int
    """The component of all documents of the group."""
    first: int
    """Number of the group's first row in its component."""
    order: Order
    encoding: Encoding | None
    """None for rows without token ids."""
    layouts: tuple[LayoutTask, ...]
    mix: MixTask | None
    """None if every document occurs once."""
    named: NamedColumns
    """The columns that the user named for the rows."""
    special: tuple[str, ...]
    """Names of the tokenizer's special tokens."""
    conversations: Output | None
    """The marked token ids of all documents, if they are conversations (`pipeline.steps.choice.conversing`)."""


class _Rows(NamedTuple):
    """The rows that the documents of a group make."""

    documents: IntArray
    """Index of the document of each row."""
    components: IntArray
    numbers: IntArray
    """Number of each row in its component."""


def tokenize_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write one run for each layout."""
    task: TokenizeParameters = part.parameters
    documents = kept_documents(store, part.inputs[: 3 * len(task.kept)], task.kept, COLUMNS, task.named)
    sources = None if task.mix is None else tables.read(store, task.mix.selection, SELECTION)
    rows = (
        _rows(task, documents.num_rows)
        if task.mix is None or sources is None
        else _mixed_rows(sources, task.mix, task.order.seed)
    )
    places = [task.order.places(each.order, rows.components, rows.numbers) for each in task.layouts]
    wanted = [within(each, layout.wanted) for each, layout in zip(places, task.layouts, strict=True)]
    needed = np.zeros(documents.num_rows, dtype=np.bool_)
    needed[rows.documents[np.logical_or.reduce(wanted)]] = True
    index = np.cumsum(needed) - 1
    documents = documents.filter(pa.array(needed))
    table = documents
    if task.conversations is not None:
        table = table.add_column(0, IDS.field(0), kept_ids(store, task.conversations, needed))
    elif task.mix is not None and task.mix.encoded is not None and sources is not None:
        belongs = sources["source"].to_numpy() != NO_SOURCE
        table = table.add_column(0, IDS.field(0), kept_ids(store, task.mix.encoded, needed[belongs]))
    elif task.encoding is not None:
        ids = pa.chunked_array(list(encoded(store, documents["text"], task.encoding)), IDS.field(0).type)
        table = table.add_column(0, IDS.field(0), ids)
    chosen_columns = column_schema(task.named.columns)
    every = RowColumns(has_ids=task.encoding is not None, chosen=chosen_columns).exact
    table = table.select(every.names).cast(every).combine_chunks()
    outputs = []
    for name, layout, at, chosen in zip(part.writes, task.layouts, places, wanted, strict=True):
        columns = table.select(layout.columns.exact.names)
        write = partial(write_run, rows=columns, documents=index[rows.documents[chosen]], places=at[chosen])
        outputs.append(store.write(name, int(chosen.sum()), write))
    used = np.logical_or.reduce(wanted)
    counts = contents_of(documents, index[rows.documents[used]])
    counts |= special_names_of(documents["text"], index[rows.documents[used]], task.special)
    counts |= _sizes(table, chosen_columns.names, index[rows.documents[used]], rows.components[used])
    return PartOutputs(counts=counts, outputs=tuple(outputs))


def kept_ids(
    store: PartStore, encoded_before: Output, needed: npt.NDArray[np.bool_]
) -> "pa.ChunkedArray[Any]":
    """Return the ids of some of the documents that were encoded before. Raise `CorruptData` if they are damaged."""
    check_sealed(store, encoded_before)
    chunks, first = [], 0
    for table in tables.row_groups(store, encoded_before, IDS):
        chunks += table["input_ids"].filter(pa.array(needed[first : first + table.num_rows])).chunks
        first += table.num_rows
    return pa.chunked_array(chunks, IDS.field(0).type)


def size_of(counts: Mapping[str, int], component: int) -> RowSize:
    """Return the size of a component's rows that a worker counted."""
    return RowSize(
        **{
            field: counts.get(f"{component}.{field}", 0)
            for field in ("rows", "tokens", "text_bytes", "column_bytes")
        }
    )


def _rows(task: TokenizeParameters, documents: int) -> _Rows:
    every = np.arange(documents, dtype=np.int64)
    return _Rows(every, np.full(documents, task.component, dtype=np.int64), task.first + every)


def _mixed_rows(selected: pa.Table, mix: MixTask, seed: int) -> _Rows:
    sources, weights = selected["source"].to_numpy(), selected["weight"].to_numpy()
    documents, components, numbers = [], [], []
    for source, factor in enumerate(mix.factors):
        mine = np.flatnonzero(sources == source)
        rank = ranks(mix.first_candidates[source] + np.arange(len(mine)), mix.candidates[source], seed)
        repeated = np.repeat(mine, copies(factor, weights[mine], rank, mix.repeats[source]))
        documents.append(repeated)
        components.append(np.full(len(repeated), source, dtype=np.int64))
        numbers.append(mix.first_rows[source] + np.arange(len(repeated)))
    return _Rows(*(np.concatenate(each).astype(np.int64) for each in (documents, components, numbers)))


def kept_documents(
    store: Readable,
    inputs: Sequence[Input],
    kept: Sequence[bytes],
    fields: Sequence[str],
    named: NamedColumns = NO_COLUMNS,
) -> pa.Table:
    """Return the kept documents of several parts, in order, their texts as the rules edited them: the `fields` of
    `storage.tables.DOCUMENTS`, and the columns that a user named.

    `inputs` has documents, signatures and verdicts of each part in turn. Raise `CorruptData` if a table is not as it
    was sealed.
    """
    schema = tables.columns(tables.DOCUMENTS, *dict.fromkeys([*fields, *document_fields(named.columns)]))
    found = [_with_columns(schema.empty_table(), named.columns, None)]
    for documents, signatures, verdicts, bits, lies in zip(
        inputs[::3], inputs[1::3], inputs[2::3], kept, named.tables or [None] * len(kept), strict=True
    ):
        signed = tables.read(store, signatures, tables.columns(tables.SIGNATURES, "id"))["id"]
        stays = signed.filter(pa.array(kept_mask(bits, len(signed)))).combine_chunks()
        table = tables.read(store, documents, schema)
        if lies is not None:
            table = _with_columns(table, named.columns, column_values(store, lies, named.columns, table))
        table = table.filter(pc.is_in(table["id"], value_set=stays))
        if table.num_rows != len(stays):
            raise CorruptData(
                f"{documents.name} lacks documents that {signatures.name} has; run `thresher process --redo`"
            )
        found.append(with_edits(table, tables.edits_by_id(store, verdicts)) if "text" in fields else table)
    return pa.concat_tables(found)


def _with_columns(table: pa.Table, columns: Sequence[Column], values: pa.Table | None) -> pa.Table:
    """Return documents with the columns that they do not have yet; without `values` there are no documents."""
    for column in columns:
        if column.name not in table.schema.names:
            given = pa.nulls(0, cast("Any", column.type)) if values is None else values[column.name]
            table = table.append_column(column.name, given)
    return table


def kept_mask(bits: bytes, count: int) -> npt.NDArray[np.bool_]:
    """Return the bits of a part as an array."""
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count).astype(np.bool_)


def encoded(
    store: PartStore, texts: "pa.ChunkedArray[Any]", encoding: Encoding
) -> "Iterator[pa.ListArray[Any]]":
    """Yield the token ids of all texts, some texts at a time; each text has the begin token before it and the end
    token behind it, if there are such tokens.

    Raise `CorruptData` if the tokenizer's file is not as it was put.
    """
    encoder = encoder_of(read_sealed(store, encoding.tokenizer).decode(), fast=encoding.fast)
    bos, eos = encoding.bos, encoding.eos
    for start in range(0, len(texts), ENCODE_ROWS):
        ids, lengths = encoder.encode(cast("list[str]", texts.slice(start, ENCODE_ROWS).to_pylist()))
        if bos is not None:
            ids = np.insert(ids, np.cumsum(lengths) - lengths, bos)
            lengths = lengths + 1
        if eos is not None:
            ids = np.insert(ids, np.cumsum(lengths), eos)
            lengths = lengths + 1
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        yield pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ids, pa.int32()))


def contents_of(documents: pa.Table, rows: IntArray) -> dict[str, int]:
    """Return how many rows have each value of the counted columns, by `column=value`."""
    found: dict[str, int] = {}
    for name in COUNTED:
        values = documents[name].take(pa.array(rows, pa.int64())).combine_chunks()
        encoded_values = values.dictionary_encode()
        names = [str(each) for each in encoded_values.dictionary.to_pylist()]
        counted = np.bincount(encoded_values.indices.to_numpy(), minlength=len(names)).tolist()
        ordered = sorted(zip(names, counted, strict=True), key=lambda item: (-item[1], item[0]))
        found |= {f"{name}={value}": count for value, count in ordered[:MAX_VALUES]}
        if rest := sum(count for _, count in ordered[MAX_VALUES:]):
            found[f"{name}={OTHERS}"] = rest
    return found


def special_names_of(texts: "pa.ChunkedArray[Any]", rows: IntArray, special: Sequence[str]) -> dict[str, int]:
    """Return how many rows have a text with the name of a special token, by the first one in it, and how many have
    none, as `special_token=name`; nothing if the tokenizer has no special token.
    """
    if not special:
        return {}
    # Of two names that begin alike, the longer one is found.
    pattern = "|".join(map(re.escape, sorted(special, reverse=True)))
    found = pc.match_substring_regex(texts, pattern)
    often = np.bincount(rows, minlength=len(found))
    has_name = found.to_numpy()
    counts = Counter({"": int(often[~has_name].sum())})
    names = pc.struct_field(pc.extract_regex(texts.filter(found), f"(?P<name>{pattern})"), "name")
    for name, count in zip(names.to_pylist(), often[has_name].tolist(), strict=True):
        counts[name] += count
    return {f"{NAMED_SPECIAL}={name}": count for name, count in counts.items() if count or not name}


def _sizes(
    table: pa.Table, named: Sequence[str], documents: IntArray, components: IntArray
) -> Mapping[str, int]:
    tokens = token_counts(table)[documents]
    text_bytes = row_bytes(table.select(["text"]))[documents]
    column_bytes = row_bytes(table.select(named))[documents]
    found = {}
    for component in np.unique(components).tolist():
        mine = components == component
        found[f"{component}.rows"] = int(mine.sum())
        found[f"{component}.tokens"] = int(tokens[mine].sum())
        found[f"{component}.text_bytes"] = int(text_bytes[mine].sum())
        found[f"{component}.column_bytes"] = int(column_bytes[mine].sum())
    return found


@lru_cache(maxsize=1)
def encoder_of(text: str, *, fast: bool) -> Encoder:
    """Return the encoder of a tokenizer file; it is kept between the parts of a process."""
    return Encoder(text, fast=fast)
