"""What an export makes shards of, and the steps that come before: which documents have a conversation, and which occur
how often.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from thresher.core import CorruptData
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.working_stages import WorkingStages
from thresher.pipeline.steps.choice.selecting import Selection, SelectParameters, select_work, solve
from thresher.pipeline.steps.columns.known_columns import Column
from thresher.pipeline.steps.shard_specs import ShardSpec
from thresher.pipeline.steps.tokenizing import (
    TOKENIZER,
    DocumentGroup,
    Encoding,
    MixTask,
    NamedColumns,
)
from thresher.pipeline.terminal.progress import Progress
from thresher.shards.chat.chat_file import ChatFile
from thresher.shards.encoder import is_fast_equal
from thresher.shards.formats.shard_rows import RowColumns
from thresher.shards.mix import Mix, RealisedSource
from thresher.shards.order import Order
from thresher.shards.packer import Packing
from thresher.shards.tokenizer import TokenizerFile
from thresher.storage.manifest import Input, Manifest, Output
from thresher.storage.store import Store

FAST_FROM = 4 << 20
"""Bytes of text from which the fast tokenizer pays: for so many, the other one takes as much CPU as the proof that both
give the same ids (decision 45).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingPlan:
    """What to make shards of, and where."""

    storage: Store
    """The store of the documents."""
    scratch: Store
    """The store of the working files."""
    out: Store
    """The store that gets the shards."""
    recipe: Mapping[str, Any]
    tokenizer: TokenizerFile | None
    """None for rows without token ids."""
    messages: Column | None
    """The column of conversations that become the tokens; None for those of the texts."""
    chat: ChatFile | None
    """The template of the conversations."""
    bos: int | None
    eos: int | None
    special: tuple[str, ...]
    """Names of the tokenizer's special tokens."""
    id_bytes: int
    groups: tuple[DocumentGroup, ...]
    components: tuple[str, ...]
    order: Order
    formats: tuple[str, ...]
    columns: RowColumns
    shard_bytes: int | None
    """Bytes of a shard before compression; None for those that suit its format."""
    packing: Packing | None
    """None if documents are not packed."""
    mix: Mix | None
    """None if every document occurs once."""
    mix_columns: tuple[Column, ...]
    """The columns that the mix names."""
    named: tuple[Column, ...]
    """The columns that the user named for the rows."""
    text_bytes: int
    """UTF-8 bytes of the texts of all documents, each counted once."""
    wanted: tuple[ShardSpec, ...] | None
    """The shards to make; None for all."""


class Choice(NamedTuple):
    """Which documents occur how often."""

    order: Order
    groups: Sequence[DocumentGroup]
    conversations: Sequence[Output | None]
    """For each group the token ids of its conversations."""
    left_out: Mapping[str, int]
    """Documents without a conversation, by reason."""
    mixes: Sequence[MixTask | None]
    """For each group what its worker must know of the mix."""
    realised: tuple[RealisedSource, ...]
    """What the sources of the mix have."""
    fast: bool
    """Whether the fast tokenizer encodes. Then it is proven to give the same ids."""
    stages: WorkingStages
    """Those that decided it; the shards take more."""


def choose(plan: ShardingPlan, *, pool: WorkerPool, progress: Progress) -> Choice:
    """Decide which documents occur how often. Write nothing but working files.

    Raise `InputError` if a source of the mix has no document.
    """
    stages = WorkingStages(purpose="the export", scratch=plan.scratch, pool=pool, progress=progress)
    fast = False
    if plan.tokenizer is not None:
        _put_tokenizer(plan.scratch, plan.tokenizer.json.encode())
        fast = plan.chat is None and plan.text_bytes >= FAST_FROM and is_fast_equal(plan.tokenizer.json)
    conversations: Sequence[Output | None] = (None,) * len(plan.groups)
    left_out: Mapping[str, int] = {}
    if plan.messages is not None and plan.chat is not None:
        from thresher.pipeline.steps.choice.conversing import (  # noqa: PLC0415 - Jinja is for conversations only
            converse_work,
            with_conversations,
        )

        converse = Step(name="converse", version=1, recipe=plan.recipe)
        parts = [_converse_part(plan, plan.messages, plan.chat, group) for group in plan.groups]
        manifests = list(stages.run(converse, parts, converse_work))
        groups, conversations, order, left_out = with_conversations(
            plan.scratch, plan.groups, manifests, plan.order
        )
        plan = replace(plan, groups=groups, order=order)
    solved = None if plan.mix is None else _solved(plan, plan.mix, conversations, stages, fast=fast)
    return Choice(
        order=solved.order if solved else plan.order,
        groups=plan.groups,
        conversations=conversations,
        left_out=left_out,
        mixes=solved.tasks if solved else (None,) * len(plan.groups),
        realised=solved.realised if solved else (),
        fast=fast,
        stages=stages,
    )


def _solved(
    plan: ShardingPlan, mix: Mix, conversations: Sequence[Output | None], stages: WorkingStages, *, fast: bool
) -> Selection:
    """Return how often the mix has each document occur. `conversations` has the token ids of each group."""
    step = Step(name="select", version=3, recipe=plan.recipe)
    parts = [
        _select_part(plan, mix, group, ids, fast=fast)
        for group, ids in zip(plan.groups, conversations, strict=True)
    ]
    selections, encoded = [], []
    for part, manifest in zip(parts, stages.run(step, parts, select_work), strict=True):
        selection, *ids = sealed_outputs(part, manifest)
        selections.append(selection)
        encoded.append(ids[0] if ids else None)
    return solve(plan.scratch, mix, selections, encoded, plan.order.seed)


def _converse_part(plan: ShardingPlan, messages: Column, chat: ChatFile, group: DocumentGroup) -> Part:
    from thresher.pipeline.steps.choice.conversing import ConverseParameters  # noqa: PLC0415 - as in `choose`

    assert plan.tokenizer is not None, "conversations become tokens"
    named = NamedColumns((messages,), tuple(part.columns for part in group.parts))
    inputs = inputs_of(group, named)
    return Part(
        name=group.name,
        inputs=inputs,
        parameters=ConverseParameters(
            kept=tuple(part.kept for part in group.parts),
            messages=named,
            tokenizer=Input(name=TOKENIZER, sha256=plan.tokenizer.sha256),
            chat=chat,
        ),
        reads=tokenizer_read(plan),
        writes=(f"conversations/{group.name}.parquet",),
        stores={span.name: plan.storage for span in inputs},
    )


def _select_part(
    plan: ShardingPlan, mix: Mix, group: DocumentGroup, conversations: Output | None, *, fast: bool
) -> Part:
    named = NamedColumns(plan.mix_columns, tuple(part.columns for part in group.parts))
    inputs = inputs_of(group, named)
    return Part(
        name=group.name,
        inputs=inputs,
        parameters=SelectParameters(
            kept=tuple(part.kept for part in group.parts),
            named=named,
            mix=mix,
            encoding=encoding_of(plan, fast=fast),
            conversations=conversations,
        ),
        reads=(*tokenizer_read(plan), *(() if conversations is None else (conversations.name,))),
        writes=(
            f"selection/{group.name}.parquet",
            # Keeping the ids costs as much as encoding them again with the fast engine, and far less with the slow one.
            *(
                (f"encoded/{group.name}.parquet",)
                if mix.by == "tokens" and not fast and conversations is None
                else ()
            ),
        ),
        stores={span.name: plan.storage for span in inputs},
    )


def inputs_of(group: DocumentGroup, named: NamedColumns) -> tuple[Input, ...]:
    """Return the tables that a worker reads: those of the documents first, then those of the named columns."""
    spans = (span for each in named.tables for span in each.spans) if named.columns else ()
    return tuple(dict.fromkeys((*_spans_of(group), *spans)))


def _spans_of(group: DocumentGroup) -> tuple[Input, ...]:
    return tuple(span for part in group.parts for span in (part.documents, part.signatures, part.verdicts))


def tokenizer_read(plan: ShardingPlan) -> tuple[str, ...]:
    """Return the working file that a worker which encodes texts reads."""
    return () if plan.tokenizer is None else (TOKENIZER,)


def encoding_of(plan: ShardingPlan, *, fast: bool) -> Encoding | None:
    """Return how a worker encodes texts; None if rows have no token ids."""
    if plan.tokenizer is None:
        return None
    file = Input(name=TOKENIZER, sha256=plan.tokenizer.sha256)
    return Encoding(tokenizer=file, bos=plan.bos, eos=plan.eos, fast=fast)


def sealed_outputs(part: Part, manifest: Manifest) -> tuple[Output, ...]:
    """Return the outputs of a sealed part in the order of `part.writes`."""
    by_name = {output.name: output for output in manifest.outputs}
    return tuple(by_name[name] for name in part.writes)


def _put_tokenizer(scratch: Store, data: bytes) -> None:
    """Store the tokenizer for the workers. Replace what an earlier attempt left if that is damaged or changed."""
    if scratch.put(TOKENIZER, data):
        return
    try:
        is_same = scratch.read(TOKENIZER) == data
    except CorruptData:
        is_same = False
    if not is_same:
        scratch.delete(TOKENIZER)
        scratch.put(TOKENIZER, data)
