"""The first step of an export of conversations: encode them, and leave out the documents that have none.

1. Each kept document is encoded once, and its token ids are kept for the steps that follow. Documents that are left
   out are counted by reason; the places of the others are computed without them.
2. A document in which rules have masked something is left out: its messages still hold that.
3. Memory is bounded by the texts of a group of parts and their token ids.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from thresher.core import InputError
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.tokenizing import (
    ENCODE_ROWS,
    IDS,
    DocumentGroup,
    ExportPart,
    NamedColumns,
    kept_documents,
)
from thresher.shards.chat.chat_file import ChatFile
from thresher.shards.chat.conversation_encoder import MASKED, REASONS, ConversationEncoder
from thresher.shards.order import Order
from thresher.storage import tables
from thresher.storage.columns.conversations import UnusableConversation
from thresher.storage.manifest import Input, Manifest, Output
from thresher.storage.sealed_reading import read_sealed
from thresher.storage.store import Store

_ENCODED: "list[pa.Field[Any]]" = [pa.field("document", pa.int64()), IDS.field("input_ids")]
ENCODED = pa.schema(_ENCODED)
"""One conversation a row: the number of its document among the kept ones of its group, and its marked token ids."""
NUMBERS = pa.schema(_ENCODED[:1])


class ConverseParameters(NamedTuple):
    """Parameters of a converse worker besides its inputs."""

    kept: tuple[bytes, ...]
    messages: NamedColumns
    """The column that holds the conversations."""
    tokenizer: Input
    chat: ChatFile


class Conversations(NamedTuple):
    """The documents that have a conversation."""

    groups: tuple[DocumentGroup, ...]
    encoded: tuple[Output, ...]
    """The token ids of each group."""
    order: Order
    left_out: Mapping[str, int]
    """Documents that are left out, by reason."""


def converse_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the token ids of the conversations of a group."""
    task: ConverseParameters = part.parameters
    spans = part.inputs[: 3 * len(task.kept)]
    documents = kept_documents(store, spans, task.kept, ["id"], task.messages)
    masked = {
        id_
        for verdicts in spans[2::3]
        for id_, edits in tables.edits_by_id(store, verdicts).items()
        if any(edit.replacement.strip() for edit in edits)  # where lines are removed, a line feed may stay
    }
    encoder = _encoder(read_sealed(store, task.tokenizer).decode(), task.chat)
    (column,) = task.messages.columns
    left_out: Counter[str] = Counter()
    numbers: list[int] = []
    ids: list[Any] = [np.zeros(0, np.int32)]
    for start in range(0, documents.num_rows, ENCODE_ROWS):
        rows = documents.slice(start, ENCODE_ROWS)
        values = zip(rows["id"].to_pylist(), rows[column.name].to_pylist(), strict=True)
        for number, (id_, value) in enumerate(values, start):
            if id_ in masked:
                left_out[MASKED] += 1
                continue
            try:
                ids.append(encoder.encode(value))
            except UnusableConversation as error:
                left_out[error.reason] += 1
            else:
                numbers.append(number)
    offsets = np.cumsum([len(each) for each in ids], dtype=np.int64)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(np.concatenate(ids), pa.int32()))
    table = pa.table([pa.array(numbers, pa.int64()), lists], names=ENCODED.names).cast(ENCODED)
    output = store.write(part.writes[0], table.num_rows, partial(tables.write, table=table))
    return PartOutputs(counts={"documents": documents.num_rows, **left_out}, outputs=(output,))


def with_conversations(
    store: Store, groups: Sequence[DocumentGroup], manifests: Sequence[Manifest], order: Order
) -> Conversations:
    """Return what `converse_work` made of the groups. Raise `InputError` if no document has a conversation."""
    outputs = tuple(manifest.outputs[0] for manifest in manifests)
    left_out = {
        reason: count
        for reason in REASONS
        if (count := sum(manifest.counts.get(reason, 0) for manifest in manifests))
    }
    rows = [0] * len(order.rows)
    found = []
    for group, output in zip(groups, outputs, strict=True):
        numbers = tables.read(store, output, NUMBERS)["document"].to_numpy()
        found.append(group._replace(parts=_reduced(group.parts, numbers), first=rows[group.component]))
        rows[group.component] += len(numbers)
    if not sum(rows):
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in left_out.items())
        raise InputError(
            f"--messages: no document has a conversation ({reasons or 'there are no documents'})"
        )
    return Conversations(tuple(found), outputs, replace(order, rows=tuple(rows)), left_out)


def _reduced(parts: Sequence[ExportPart], numbers: Any) -> tuple[ExportPart, ...]:
    """Return the parts of a group with those of their kept documents that have these numbers."""
    found, first = [], 0
    for part in parts:
        kept = np.flatnonzero(np.unpackbits(np.frombuffer(part.kept, np.uint8)))
        mine = numbers[(numbers >= first) & (numbers < first + part.rows)] - first
        first += part.rows
        stays = np.zeros(8 * len(part.kept), np.bool_)
        stays[kept[mine]] = True
        found.append(part._replace(kept=np.packbits(stays).tobytes(), rows=len(mine)))
    return tuple(found)


@lru_cache(maxsize=1)
def _encoder(json: str, chat: ChatFile) -> ConversationEncoder:
    """Return the encoder of a tokenizer file and a template; it is kept between the parts of a process."""
    return ConversationEncoder(json, chat)
