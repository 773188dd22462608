"""The export: it reads kept documents, and writes tokenized shards.

Rules
1. An export directory holds one dataset (`pipeline.steps.export_directory`). It is claimed when the sources of the mix
   are known to have documents, and before any shard is written.
2. `manifest.json` is written last: its presence is completion. A finished export is checked against it, file by file,
   and missing or damaged files are made again. Equal inputs give equal bytes.
3. Files between the steps (`pipeline.steps.choice`, `sharding`) are kept under `.work`, and deleted after the
   manifest is written. If an export goes on, they are held against their digests, and damaged ones are made again.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from thresher.core import Conflict, CorruptData, InputError
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.step import Step
from thresher.pipeline.engine.working_stages import DamagedWorkingFiles
from thresher.pipeline.funnel import Funnel
from thresher.pipeline.steps import sharding
from thresher.pipeline.steps.choice import choosing
from thresher.pipeline.steps.export_directory import (
    MANIFEST_FILE,
    WORK_DIRECTORY,
    claim,
    is_intact,
    open_target,
    work_store,
)
from thresher.pipeline.steps.export_plan import EXPORT, ExportPlan
from thresher.pipeline.steps.shard_specs import ShardSpec
from thresher.pipeline.terminal.progress import Progress
from thresher.shards.card import CARD_NAME, dataset_card
from thresher.shards.card_facts import CardFacts
from thresher.shards.croissant import CROISSANT_NAME, FORMATS_READ, croissant
from thresher.shards.dataset import Dataset, ShardFile, SideFile
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.shard_rows import schema_body
from thresher.shards.special_tokens import special_tokens
from thresher.storage.manifest import Manifest, seal
from thresher.storage.store import Store

RUNS = "runs@3"
"""The layout of the working files: an unfinished export with another one begins again."""
REPORT_FILE = "report.json"
ATTEMPTS = 2
"""Working files that are damaged while an export runs are made again, and the export goes on."""


def open_directory(plan: ExportPlan, out: str) -> Store:
    """Return the export directory if it is free or holds this dataset. Raise `Conflict` if it holds another, and
    `InputError` if it holds anything else.
    """
    return open_target(out, plan.fingerprint, plan.recipe)


def step(plan: ExportPlan) -> Step:
    """Return the export as one step, for the record of its run."""
    name, _, version = EXPORT.partition("@")
    return Step(name=name, version=int(version), recipe=plan.recipe)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """The shards of a dataset."""

    files: tuple[ShardFile, ...]
    mix: tuple[Mapping[str, Any], ...]
    """What each source of a mix has: the fields of `shards.mix.RealisedSource`."""
    contents: Mapping[str, Mapping[str, int]]
    """Documents by language, licence and special token (`shards.dataset.Dataset.contents`)."""
    left_out: Mapping[str, int]
    """Documents without a conversation, by reason (`shards.dataset.Dataset.left_out`)."""
    summary: run_step.StepSummary


def make_shards(plan: ExportPlan, out: Store, *, pool: WorkerPool, progress: Progress) -> Shards:
    """Make every shard that is missing or damaged. The same plan gives the same bytes.

    Raise `CorruptData` if the manifest of a finished export is damaged, and `Conflict` if one of its shards gets other
    bytes than before.
    """
    sealed = _sealed(out)
    if sealed is None:
        return _make(plan, out, None, pool, progress)
    claim(out, plan.fingerprint, plan.recipe)
    lost = _lost_shards(out, sealed.shards, progress)
    if not lost:
        summary = run_step.StepSummary(made=0, already=len(sealed.shards))
        return _sealed_shards(sealed, summary)
    specs = _specs(sealed.shards)
    made = _make(plan, out, tuple(specs[number] for number in lost), pool, progress)
    for number, line in zip(lost, made.files, strict=True):
        if line != sealed.shards[number]:
            raise Conflict(
                f"{out.uri}/{line.name} was made again with other bytes than were sealed: another version of a"
                " library wrote it. Export into another directory"
            )
    return _sealed_shards(sealed, made.summary)


def finish(plan: ExportPlan, out: Store, made: Shards, funnel: Funnel) -> Dataset:
    """Write the files that describe the dataset, then the manifest, and remove the working files."""
    shards = made.files
    facts = CardFacts(id_bytes=plan.id_bytes, contents=made.contents, stages=funnel.to_dict()["stages"])
    first = FORMATS[plan.options.formats[0]]
    described = {
        REPORT_FILE: (json.dumps(funnel.to_dict(), indent=1) + "\n").encode(),
        CARD_NAME: dataset_card(plan.recipe, shards, plan.row_schema(first), facts),
        **facts.pictures,
    }
    for name in plan.options.formats:
        kind = FORMATS[name]
        if kind.side_files is not None:
            mine = [shard for shard in shards if shard.format == name]
            described |= kind.side_files(mine, plan.row_schema(kind), facts)
    read = next((name for name in FORMATS_READ if name in plan.options.formats), None)
    if read is not None:
        mine = [shard for shard in shards if shard.format == read]
        schema = plan.row_schema(FORMATS[read])
        described[CROISSANT_NAME] = croissant(plan.recipe, mine, schema, facts.license_name)
    files = tuple(_put(out, name, data) for name, data in described.items())
    dataset = Dataset(
        fingerprint=plan.fingerprint,
        recipe=plan.recipe,
        shards=shards,
        files=files,
        mix=made.mix,
        contents=made.contents,
        left_out=made.left_out,
        schema={}
        if plan.has_usual_columns
        else {name: schema_body(plan.row_schema(FORMATS[name])) for name in plan.options.formats},
    )
    _put(out, MANIFEST_FILE, dataset.to_json())
    out.substore(WORK_DIRECTORY).clear()
    return dataset


def is_intact_shard(out: Store, shard: ShardFile) -> bool:
    """Return whether all files of a shard are present and have the bytes that were sealed."""
    return all(is_intact(out, file) for file in shard.files)


def record_dataset(store: Store, plan: ExportPlan, dataset: Dataset) -> None:
    """Record the dataset in the project's storage, where the report finds its token count. `text_bytes` are those of
    all kept documents; a mix has none, and conversations neither.
    """
    counts = {"documents": dataset.documents}
    if dataset.tokens is not None:
        counts["tokens"] = dataset.tokens
    if plan.has_tokens_of_texts:
        counts["text_bytes"] = plan.text_bytes
    seal(
        store,
        Manifest(
            step=EXPORT,
            part=f"{plan.fingerprint[:16]}/dataset",
            fingerprint=plan.fingerprint,
            recipe=plan.recipe,
            inputs=plan.inputs,
            outputs=(),
            counts=counts,
        ),
    )


def _lost_shards(out: Store, sealed: Sequence[ShardFile], progress: Progress) -> list[int]:
    """Return the places in the list of shards that are missing or damaged. Threads share the work, because hashing
    releases Python's lock.
    """
    progress.start("check", total=len(sealed))
    lost = []
    with ThreadPoolExecutor() as pool:
        for number, (line, there) in enumerate(
            zip(sealed, pool.map(partial(is_intact_shard, out), sealed), strict=True)
        ):
            progress.advance(line.name)
            if not there:
                lost.append(number)
    progress.stop()
    return lost


def _sealed(out: Store) -> Dataset | None:
    """Return a finished export, or None if it is not finished."""
    if not out.exists(MANIFEST_FILE):
        return None
    return Dataset.from_json(out.read(MANIFEST_FILE), f"{out.uri}/{MANIFEST_FILE}")


def _sealed_shards(sealed: Dataset, summary: run_step.StepSummary) -> Shards:
    return Shards(
        files=sealed.shards,
        mix=sealed.mix,
        contents=sealed.contents,
        left_out=sealed.left_out,
        summary=summary,
    )


def _specs(sealed: Sequence[ShardFile]) -> list[ShardSpec]:
    """Return how each shard of a finished export was made. Shards of a format are in the order of their places."""
    counts = Counter((shard.format, shard.source) for shard in sealed)
    numbers: Counter[tuple[str, str | None]] = Counter()
    ends: Counter[str] = Counter()
    specs = []
    for shard in sealed:
        key = (shard.format, shard.source)
        start = ends[shard.format]
        ends[shard.format] += shard.documents
        specs.append(
            ShardSpec(
                format=shard.format,
                number=numbers[key],
                count=counts[key],
                source=shard.source,
                places=range(start, ends[shard.format]),
            )
        )
        numbers[key] += 1
    return specs


def _make(
    plan: ExportPlan, out: Store, specs: tuple[ShardSpec, ...] | None, pool: WorkerPool, progress: Progress
) -> Shards:
    """Make some of the shards, or all. Working files of another selection lie in another directory."""
    names = [RUNS, *(spec.names(plan.packing)[0] for spec in specs or ())]
    key = hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]
    sharding_plan = choosing.ShardingPlan(
        storage=plan.storage,
        scratch=work_store(out, plan.fingerprint, key),
        out=out,
        recipe=plan.recipe,
        tokenizer=plan.encoding,
        messages=plan.messages,
        chat=plan.options.chat,
        bos=plan.bos,
        eos=plan.eos,
        special=() if plan.tokenizer is None else tuple(special_tokens(plan.tokenizer.json)),
        id_bytes=plan.id_bytes,
        groups=plan.groups,
        components=plan.components,
        order=plan.order,
        formats=plan.options.formats,
        columns=plan.columns,
        shard_bytes=plan.options.shard_bytes,
        packing=plan.packing,
        mix=plan.options.mix,
        mix_columns=plan.mix_columns,
        named=plan.named,
        text_bytes=plan.text_bytes,
        wanted=specs,
    )
    sharding_plan.scratch.sweep()
    try:
        choice = choosing.choose(sharding_plan, pool=pool, progress=progress)
    except InputError:  # the mix is wrong: nothing of it can be used again
        sharding_plan.scratch.clear()
        raise
    claim(out, plan.fingerprint, plan.recipe)
    for attempt in range(ATTEMPTS):
        try:
            found = sharding.make_shards(sharding_plan, choice)
            break
        except DamagedWorkingFiles:
            if attempt == ATTEMPTS - 1:
                raise
            choice = choosing.choose(sharding_plan, pool=pool, progress=progress)
    return Shards(
        files=found.files,
        mix=tuple(map(asdict, choice.realised)),
        contents=found.contents,
        left_out=choice.left_out,
        summary=choice.stages.summary,
    )


def _put(out: Store, name: str, data: bytes) -> SideFile:
    """Put a file, and replace a different one of the same name."""
    if not out.put(name, data) and _read(out, name) != data:
        out.delete(name)
        out.put(name, data)
    return SideFile(name=name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _read(out: Store, name: str) -> bytes | None:
    try:
        return out.read(name)
    except CorruptData:  # the store itself finds it damaged
        return None
