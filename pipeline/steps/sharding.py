"""The steps of an export after its plan: `tokenize` writes runs, `merge` makes fewer and wider ones of them, and
`shard` writes the shards.

1. Each document is read once and encoded once, whatever number of formats and shards there is.
2. A shard is merged from at most `FAN_IN` runs. If there are more, levels of merging come first: `FAN_IN` runs become
   as many runs, each with a part of the places. A level reads and writes the rows once more.
3. A shard holds exactly the rows of its places. Pages of the runs have a CRC-32, which is checked.

Decision 43 has the arithmetic for 10^9 documents.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from core import CorruptData
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import WorkerPool
from pipeline.engine.step import Part, Step
from pipeline.engine.task import WorkFunction
from pipeline.steps.merging import MergeParameters, merge_work
from pipeline.steps.selecting import SelectParameters, measurements, select_work, solve
from pipeline.steps.shard_files import ShardParameters, line_name, shard_work
from pipeline.steps.tokenizing import (
    TOKENIZER,
    ExportPart,
    LayoutTask,
    MixTask,
    TokenizeParameters,
    size_of,
    tokenize_work,
)
from pipeline.terminal.progress import Progress
from shards.dataset import ShardFile, shard_file
from shards.encoder import is_fast_equal
from shards.formats.format import Format, RowSize
from shards.formats.packing_plan import plan_name
from shards.formats.registry import FORMATS
from shards.mix import Mix, RealisedSource
from shards.order import BY_SOURCE, MIXED, Order, split
from shards.packer import Packing
from shards.tokenizer import TokenizerFile
from storage import sealed_reading
from storage.manifest import Input, Output, manifest_name
from storage.store import Store

FAN_IN = 256
PACKED_COLUMNS = 3
"""Columns of numbers that a packed row has for each token."""


class DocumentGroup(NamedTuple):
    """Parts of one component that one worker encodes."""

    name: str
    parts: tuple[ExportPart, ...]
    component: int
    first: int
    """Number of the group's first row in its component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSpec:
    """One shard to make."""

    format: str
    number: int
    """Its number among the shards of its format and source."""
    count: int
    """Number of shards of its format and source."""
    source: str | None
    places: range
    """Places of its rows in the order of its format."""

    def names(self, packing: Packing | None) -> tuple[str, ...]:
        """Return the files of the shard, relative to the export directory. The first one is the shard itself."""
        kind = FORMATS[self.format]
        directory = kind.directory if self.source is None else f"{kind.directory}/{self.source}"
        names = tuple(f"{directory}/{name}" for name in kind.file_names(self.number, self.count))
        if kind.is_by_source and packing is not None and packing.kind == "best-fit":
            names += (plan_name(names[0], packing.length),)
        return names


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
    tokenizer: TokenizerFile
    eos: int | None
    id_bytes: int
    groups: tuple[DocumentGroup, ...]
    components: tuple[str, ...]
    order: Order
    formats: tuple[str, ...]
    with_text: bool
    shard_bytes: int | None
    """Bytes of a shard before compression; None for those that suit its format."""
    packing: Packing | None
    """None if documents are not packed."""
    mix: Mix | None
    """None if every document occurs once."""
    wanted: tuple[ShardSpec, ...] | None
    """The shards to make; None for all."""


class _Region(NamedTuple):
    """Runs that together have all rows at some places."""

    places: range
    runs: tuple[Output, ...]


class _Bucket(NamedTuple):
    """A range of places, and the parts that merge the runs of a region into it."""

    places: range
    parts: list[Part]


def make_shards(
    plan: ShardingPlan, *, pool: WorkerPool, progress: Progress
) -> tuple[tuple[ShardFile, ...], tuple[RealisedSource, ...], run_step.StepSummary]:
    """Make the wanted shards that are missing or damaged. Return all wanted ones, and what the sources of a mix have.

    Raise `ThresherError` if a shard cannot be made, and `InputError` if a source of the mix has no document.
    """
    scratch = plan.scratch
    _put_tokenizer(scratch, plan.tokenizer.json.encode())
    fast = is_fast_equal(plan.tokenizer.json)
    ran, realised = run_step.StepSummary(made=0, already=0), tuple[RealisedSource, ...]()
    mixes: Sequence[MixTask | None] = [None] * len(plan.groups)
    if plan.mix is not None:
        select = Step(name="select", version=1, recipe=plan.recipe)
        selecting = [_select_part(plan, plan.mix, group, fast=fast) for group in plan.groups]
        ran = _run(scratch, select, selecting, select_work, pool, progress, ())
        selection = solve(
            scratch, plan.mix, [_outputs(scratch, select, part)[0] for part in selecting], plan.order.seed
        )
        mixes, realised, plan = selection.tasks, selection.realised, replace(plan, order=selection.order)
    layouts = _layouts(plan)
    tokenize = Step(name="tokenize", version=2, recipe=plan.recipe)
    pieces = [
        _tokenize_part(plan, group, layouts, mix, fast=fast)
        for group, mix in zip(plan.groups, mixes, strict=True)
    ]
    ran = ran.plus(_run(scratch, tokenize, pieces, tokenize_work, pool, progress, ()))
    regions: dict[str, list[_Region]] = {}
    made: list[tuple[Step, Part]] = [(tokenize, piece) for piece in pieces]
    merge = Step(name="merge", version=1, recipe=plan.recipe)
    for at, layout in enumerate(layouts):
        runs = tuple(_outputs(scratch, tokenize, piece)[at] for piece in pieces)
        found = [_Region(range(plan.order.total), runs)]
        level = 0
        while max(len(region.runs) for region in found) > FAN_IN:
            level += 1
            buckets = [bucket for region in found for bucket in _buckets(region, layout, level)]
            parts = [part for bucket in buckets for part in bucket.parts]
            ran = ran.plus(_run(scratch, merge, parts, merge_work, pool, progress, made))
            made.extend((merge, part) for part in parts)
            found = [
                _Region(bucket.places, tuple(_outputs(scratch, merge, part)[0] for part in bucket.parts))
                for bucket in buckets
            ]
        regions[layout.order] = found
    specs = plan.wanted if plan.wanted is not None else tuple(_all_shards(plan, scratch, tokenize, pieces))
    shard = Step(name="shard", version=3, recipe=plan.recipe)
    numbered = [_shard_part(plan, spec, regions[order_of(FORMATS[spec.format])]) for spec in specs]
    for part in numbered:
        _unseal_lost(plan, shard, part)
    ran = ran.plus(_run(scratch, shard, numbered, shard_work, pool, progress, made))
    return tuple(_line(scratch, part) for part in numbered), realised, ran


def order_of(kind: Format) -> str:
    """Return the order in which a format has its rows."""
    return BY_SOURCE if kind.is_by_source else MIXED


def _layouts(plan: ShardingPlan) -> tuple[LayoutTask, ...]:
    layouts = []
    for order in (MIXED, BY_SOURCE):
        kinds = [FORMATS[name] for name in plan.formats if order_of(FORMATS[name]) == order]
        wanted: tuple[range, ...] = (range(plan.order.total),)
        if plan.wanted is not None:
            chosen = (spec.places for spec in plan.wanted if order_of(FORMATS[spec.format]) == order)
            wanted = _united(chosen)
        if kinds and wanted:
            with_text = plan.with_text and plan.packing is None and any(kind.holds_text for kind in kinds)
            layouts.append(LayoutTask(order=order, with_text=with_text, wanted=wanted))
    return tuple(layouts)


def _united(places: Iterator[range]) -> tuple[range, ...]:
    united: list[range] = []
    for each in sorted(places, key=lambda each: each.start):
        if united and each.start <= united[-1].stop:
            united[-1] = range(united[-1].start, max(united[-1].stop, each.stop))
        else:
            united.append(each)
    return tuple(united)


def _tokenize_part(
    plan: ShardingPlan,
    group: DocumentGroup,
    layouts: tuple[LayoutTask, ...],
    mix: MixTask | None,
    *,
    fast: bool,
) -> Part:
    inputs = tuple(span for part in group.parts for span in (part.documents, part.signatures))
    return Part(
        name=group.name,
        inputs=inputs,
        parameters=TokenizeParameters(
            kept=tuple(part.kept for part in group.parts),
            component=group.component,
            first=group.first,
            order=plan.order,
            eos=plan.eos,
            fast=fast,
            layouts=layouts,
            mix=mix,
        ),
        reads=(TOKENIZER,) if mix is None else (TOKENIZER, mix.selection),
        writes=tuple(f"runs/{layout.order}/0/{group.name}.parquet" for layout in layouts),
        stores={span.name: plan.storage for span in inputs},
    )


def _select_part(plan: ShardingPlan, mix: Mix, group: DocumentGroup, *, fast: bool) -> Part:
    spans = tuple(span for part in group.parts for span in (part.documents, part.signatures))
    verdicts = tuple(part.verdicts for part in group.parts) if measurements(mix) else ()
    inputs = (*spans, *verdicts)
    return Part(
        name=group.name,
        inputs=inputs,
        parameters=SelectParameters(
            kept=tuple(part.kept for part in group.parts),
            clusters=tuple(part.clusters for part in group.parts),
            verdicts=verdicts,
            mix=mix,
            eos=plan.eos,
            fast=fast,
        ),
        reads=(TOKENIZER,),
        writes=(f"selection/{group.name}.parquet",),
        stores={span.name: plan.storage for span in inputs},
    )


def _buckets(region: _Region, layout: LayoutTask, level: int) -> Iterator[_Bucket]:
    """Yield the ranges of places into which a level of merging divides a region, each with the parts that make it."""
    for places in split(region.places, min(FAN_IN, len(region.places))):
        wanted = tuple(
            range(max(each.start, places.start), min(each.stop, places.stop))
            for each in layout.wanted
            if _meet(each, places)
        )
        task = MergeParameters(places=places, wanted=wanted, with_text=layout.with_text)
        names = [
            f"{layout.order}/{level}/{places.start:013d}-{first // FAN_IN:05d}"
            for first in range(0, len(region.runs), FAN_IN)
        ]
        yield _Bucket(
            places,
            [
                Part(
                    name=name,
                    inputs=_spans(region.runs[number * FAN_IN : (number + 1) * FAN_IN]),
                    parameters=task,
                    writes=(f"runs/{name}.parquet",),
                )
                for number, name in enumerate(names)
                if wanted
            ],
        )


def _all_shards(
    plan: ShardingPlan, scratch: Store, step: Step, pieces: Sequence[Part]
) -> Iterator[ShardSpec]:
    counts: Counter[str] = Counter()
    for piece in pieces:
        counts.update(_manifest_counts(scratch, step, piece))
    sizes = [size_of(counts, component) for component in range(len(plan.components))]
    for name in plan.formats:
        kind = FORMATS[name]
        if kind.is_by_source:
            for component, source in enumerate(plan.components):
                places = plan.order.component_places(component)
                if places:
                    yield from _shards_of(plan, kind, source, sizes[component], places)
        else:
            yield from _shards_of(plan, kind, None, sum(sizes, RowSize()), range(plan.order.total))


def _shards_of(
    plan: ShardingPlan, kind: Format, source: str | None, size: RowSize, places: range
) -> Iterator[ShardSpec]:
    packs = plan.packing is not None and not kind.is_by_source
    if packs or not (plan.with_text and kind.holds_text):
        # A packed row has a position and a segment for each token.
        size = RowSize(
            rows=size.rows, tokens=size.tokens * (PACKED_COLUMNS if packs and kind.holds_text else 1)
        )
    most = plan.shard_bytes or kind.shard_bytes
    count = min(max(1, -(-kind.bytes_of(size, plan.id_bytes) // most)), max(len(places), 1))
    for number, each in enumerate(split(places, count)):
        yield ShardSpec(format=kind.name, number=number, count=count, source=source, places=each)


def _shard_part(plan: ShardingPlan, spec: ShardSpec, regions: Sequence[_Region]) -> Part:
    runs = [run for region in regions if _meet(region.places, spec.places) for run in region.runs]
    kind = FORMATS[spec.format]
    name = f"{spec.format}/{spec.source or 'mixed'}/{spec.number:05d}"
    names = spec.names(plan.packing)
    return Part(
        name=name,
        inputs=_spans(runs),
        parameters=ShardParameters(
            format=spec.format,
            source=spec.source,
            places=spec.places,
            with_text=plan.with_text and kind.holds_text and (plan.packing is None or kind.is_by_source),
            id_bytes=plan.id_bytes,
            packing=plan.packing,
        ),
        writes=(*names, line_name(name)),
        stores=dict.fromkeys(names, plan.out),
    )


def _meet(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _spans(runs: Sequence[Output]) -> tuple[Input, ...]:
    return tuple(Input(name=run.name, sha256=run.sha256) for run in runs)


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


def _run(  # noqa: PLR0913 - those of `run_step`, and what its parts read
    scratch: Store,
    step: Step,
    parts: Sequence[Part],
    work: WorkFunction,
    pool: WorkerPool,
    progress: Progress,
    made: Sequence[tuple[Step, Part]],
) -> run_step.StepSummary:
    """Make all parts of a step. If one fails, unseal those of the parts `made` before whose files are damaged."""
    ran = run_step.run_step(scratch, step, parts, work, pool=pool, progress=progress, retry=True)
    if ran.quarantined:
        _unseal_damaged(scratch, made)
    ran.require_all()
    return ran


def _outputs(scratch: Store, step: Step, part: Part) -> tuple[Output, ...]:
    """Return the outputs of a sealed part in the order of `part.writes`."""
    manifest = run_step.sealed_manifest(scratch, step, part)
    assert manifest is not None
    by_name = {output.name: output for output in manifest.outputs}
    return tuple(by_name[name] for name in part.writes)


def _manifest_counts(scratch: Store, step: Step, part: Part) -> Mapping[str, int]:
    manifest = run_step.sealed_manifest(scratch, step, part)
    assert manifest is not None
    return manifest.counts


def _line(scratch: Store, part: Part) -> ShardFile:
    return shard_file(json.loads(scratch.read(line_name(part.name))))


def _unseal_lost(plan: ShardingPlan, step: Step, part: Part) -> None:
    """Unseal a shard of an earlier attempt that is missing or damaged now, so that it is made again."""
    if run_step.sealed_manifest(plan.scratch, step, part) is None:
        return
    try:
        line = _line(plan.scratch, part)
        for file in line.files:
            sealed_reading.check_sealed(plan.out, file)
    except CorruptData:
        plan.scratch.delete(manifest_name(step.name, part.name))


def _unseal_damaged(scratch: Store, made: Sequence[tuple[Step, Part]]) -> None:
    """Unseal damaged working files, so that they are made again."""
    for step, part in made:
        try:
            for output in _outputs(scratch, step, part):
                sealed_reading.check_sealed(scratch, output)
        except CorruptData:
            scratch.delete(manifest_name(step.name, part.name))
