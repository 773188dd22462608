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
from dataclasses import replace
from typing import NamedTuple

from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.steps.choice.choosing import (
    Choice,
    ShardingPlan,
    encoding_of,
    inputs_of,
    sealed_outputs,
    tokenizer_read,
)
from thresher.pipeline.steps.merging import MergeParameters, merge_work
from thresher.pipeline.steps.shard_files import ShardParameters, line_name, shard_work
from thresher.pipeline.steps.shard_specs import ShardSize, ShardSpec, order_of, shards_of
from thresher.pipeline.steps.tokenizing import (
    COUNTED,
    NAMED_SPECIAL,
    DocumentGroup,
    LayoutTask,
    MixTask,
    NamedColumns,
    TokenizeParameters,
    size_of,
    tokenize_work,
)
from thresher.shards.dataset import ShardFile, shard_file
from thresher.shards.formats.format import RowSize
from thresher.shards.formats.registry import FORMATS
from thresher.shards.order import BY_SOURCE, MIXED, split
from thresher.storage import sealed_reading
from thresher.storage.manifest import Input, Manifest, Output
from thresher.storage.store import Store

FAN_IN = 256


class MadeShards(NamedTuple):
    """The wanted shards, and what their documents are."""

    files: tuple[ShardFile, ...]
    contents: Mapping[str, Mapping[str, int]]
    """Documents by the values of each counted column."""


class _Region(NamedTuple):
    """Runs that together have all rows at some places."""

    places: range
    runs: tuple[Output, ...]


class _Bucket(NamedTuple):
    """A range of places, and the parts that merge the runs of a region into it."""

    places: range
    parts: list[Part]


def make_shards(plan: ShardingPlan, choice: Choice) -> MadeShards:
    """Make the wanted shards that are missing or damaged. Return all wanted ones.

    Raise `ThresherError` if a shard cannot be made, and `DamagedWorkingFiles` if that is because of working files; then
    they are made again by a second call.
    """
    stages = choice.stages
    plan = replace(plan, order=choice.order, groups=tuple(choice.groups))
    layouts = _layouts(plan)
    tokenize = Step(name="tokenize", version=4, recipe=plan.recipe)
    pieces = [
        _tokenize_part(plan, group, layouts, mix, ids, fast=choice.fast)
        for group, mix, ids in zip(plan.groups, choice.mixes, choice.conversations, strict=True)
    ]
    written, counts = [], []
    for part, manifest in zip(pieces, stages.run(tokenize, pieces, tokenize_work), strict=True):
        written.append(sealed_outputs(part, manifest))
        counts.append(manifest.counts)
    regions: dict[str, list[_Region]] = {}
    merge = Step(name="merge", version=1, recipe=plan.recipe)
    for at, layout in enumerate(layouts):
        found = [_Region(range(plan.order.total), tuple(outputs[at] for outputs in written))]
        level = 0
        while max(len(region.runs) for region in found) > FAN_IN:
            level += 1
            buckets = [bucket for region in found for bucket in _buckets(region, layout, level)]
            parts = [part for bucket in buckets for part in bucket.parts]
            manifests = stages.run(merge, parts, merge_work)
            found = [
                _Region(bucket.places, tuple(next(manifests).outputs[0] for _ in bucket.parts))
                for bucket in buckets
            ]
        regions[layout.order] = found
    specs = tuple(_all_shards(plan, counts)) if plan.wanted is None else plan.wanted
    shard = Step(name="shard", version=3, recipe=plan.recipe)
    numbered = [_shard_part(plan, spec, regions[order_of(FORMATS[spec.format])]) for spec in specs]
    made = zip(numbered, stages.run(shard, numbered, shard_work), strict=True)
    return MadeShards(
        tuple(_line(plan.scratch, part, manifest) for part, manifest in made), _contents(counts)
    )


def _contents(counts: Sequence[Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
    """Return the documents by the values of each counted column, given what the workers counted."""
    found: dict[str, Counter[str]] = {name: Counter() for name in COUNTED}
    if any(key.startswith(f"{NAMED_SPECIAL}=") for each in counts for key in each):
        found[NAMED_SPECIAL] = Counter()
    for each in counts:
        for key, count in each.items():
            name, equals, value = key.partition("=")
            if equals:
                found[name][value] += count
    return {name: dict(sorted(values.items())) for name, values in found.items()}


def _layouts(plan: ShardingPlan) -> tuple[LayoutTask, ...]:
    layouts = []
    for order in (MIXED, BY_SOURCE):
        kinds = [FORMATS[name] for name in plan.formats if order_of(FORMATS[name]) == order]
        wanted: tuple[range, ...] = (range(plan.order.total),)
        if plan.wanted is not None:
            chosen = (spec.places for spec in plan.wanted if order_of(FORMATS[spec.format]) == order)
            wanted = _united(chosen)
        if kinds and wanted:
            has_text = (
                plan.columns.has_text and plan.packing is None and any(kind.holds_text for kind in kinds)
            )
            columns = replace(plan.columns, has_text=has_text)
            layouts.append(LayoutTask(order=order, columns=columns, wanted=wanted))
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
    conversations: Output | None,
    *,
    fast: bool,
) -> Part:
    named = NamedColumns(plan.named, tuple(part.columns for part in group.parts))
    inputs = inputs_of(group, named)
    read = (conversations,) if mix is None else (conversations, mix.selection, mix.encoded)
    return Part(
        name=group.name,
        inputs=inputs,
        parameters=TokenizeParameters(
            kept=tuple(part.kept for part in group.parts),
            component=group.component,
            first=group.first,
            order=plan.order,
            encoding=encoding_of(plan, fast=fast),
            layouts=layouts,
            mix=mix,
            named=named,
            special=plan.special,
            conversations=conversations,
        ),
        reads=(*tokenizer_read(plan), *(each.name for each in read if each is not None)),
        writes=tuple(f"runs/{layout.order}/0/{group.name}.parquet" for layout in layouts),
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
        task = MergeParameters(places=places, wanted=wanted, columns=layout.columns)
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


def _all_shards(plan: ShardingPlan, counts: Sequence[Mapping[str, int]]) -> Iterator[ShardSpec]:
    """Yield the shards of all rows, given what the workers counted."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    sizes = [size_of(total, component) for component in range(len(plan.components))]
    for name in plan.formats:
        kind = FORMATS[name]
        size_options = ShardSize(
            bytes=plan.shard_bytes, id_bytes=plan.id_bytes, columns=plan.columns, packing=plan.packing
        )
        if kind.is_by_source:
            for component, source in enumerate(plan.components):
                places = plan.order.component_places(component)
                if places:
                    yield from shards_of(kind, source, sizes[component], places, size_options)
        else:
            yield from shards_of(kind, None, sum(sizes, RowSize()), range(plan.order.total), size_options)


def _shard_part(plan: ShardingPlan, spec: ShardSpec, regions: Sequence[_Region]) -> Part:
    runs = [run for region in regions if _meet(region.places, spec.places) for run in region.runs]
    kind = FORMATS[spec.format]
    has_text = plan.columns.has_text and kind.holds_text and (plan.packing is None or kind.is_by_source)
    name = f"{spec.format}/{spec.source or 'mixed'}/{spec.number:05d}"
    names = spec.names(plan.packing)
    return Part(
        name=name,
        inputs=_spans(runs),
        parameters=ShardParameters(
            format=spec.format,
            source=spec.source,
            places=spec.places,
            columns=replace(plan.columns, has_text=has_text),
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


def _line(scratch: Store, part: Part, manifest: Manifest) -> ShardFile:
    return shard_file(json.loads(sealed_reading.read_sealed(scratch, sealed_outputs(part, manifest)[-1])))
