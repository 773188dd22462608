"""The export: it reads kept documents, and writes tokenized shards.

Rules
1. An export directory holds one dataset. `recipe.json` claims it before anything else is written. A directory of
   another dataset, or one with other files, is refused and not changed.
2. `manifest.json` is written last: its presence is completion. A finished export is checked against it, file by file,
   and missing or damaged files are made again. Equal inputs give equal bytes.
3. Files between the two steps (`pipeline.steps.sharding`) are kept under `.work`, and deleted after the manifest is
   written.
"""

import fcntl
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from core import Conflict, CorruptData, InputError
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import WorkerPool
from pipeline.engine.step import Step
from pipeline.funnel import Funnel
from pipeline.steps import sharding
from pipeline.steps.sharding import ExportPart
from pipeline.terminal.progress import Progress
from shards.card import CARD_NAME, dataset_card
from shards.dataset import Dataset, ShardFile, SideFile
from shards.tokenizer import TokenizerFile
from storage import sealed_reading, tables
from storage.directory_store import DirectoryStore
from storage.location import SCHEMES, open_store
from storage.manifest import Input, Manifest, fingerprint, manifests, recipe_difference, seal
from storage.store import Store

EXPORT = "export@2"
SEED = 0
SHARD_TEXT_BYTES = 128 * 2**20
"""Bytes of text in one shard before compression: about 30 million tokens of English."""
CLAIM_FILE, MANIFEST_FILE, REPORT_FILE, WORK_DIRECTORY = (
    "recipe.json",
    "manifest.json",
    "report.json",
    ".work",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """The inputs of an export. They follow from the sealed parts, the removals and the tokenizer alone."""

    storage: Store
    tokenizer: TokenizerFile
    sources: tuple[str, ...]
    recipe: Mapping[str, Any]
    inputs: tuple[Input, ...]
    parts: tuple[ExportPart, ...]
    documents: int
    text_bytes: int
    shards: int

    @property
    def fingerprint(self) -> str:
        """Identity of the dataset."""
        return fingerprint(EXPORT, self.recipe, self.inputs)


def make_plan(
    store: Store, sources: Sequence[str], tokenizer: TokenizerFile, removed: Manifest
) -> ExportPlan:
    """Number the kept documents, and decide how many shards they make. Raise `CorruptData` if removals do not fit."""
    (table,) = removed.outputs
    gone = frozenset(tables.read(store, table, tables.columns(tables.REMOVALS, "id"))["id"].to_pylist())
    kept: list[ExportPart] = []
    base = text_bytes = 0
    for source in sources:
        for manifest in manifests(store, "process", source):
            documents, signatures = (_output(manifest, kind) for kind in ("documents", "signatures"))
            signed = tables.read(store, signatures, tables.columns(tables.SIGNATURES, "id", "text_bytes"))
            ids = [str(one) for one in signed["id"].to_pylist()]
            stays = np.array([one not in gone for one in ids], dtype=bool)
            text_bytes += int(signed["text_bytes"].to_numpy()[stays].sum())
            kept.append(ExportPart(documents, signatures, base, tuple(one for one in ids if one in gone)))
            base += int(stays.sum())
    if base != sum(manifest_rows(store, sources)) - table.rows:
        raise CorruptData(f"{table.name}: its removals do not fit the kept documents; run dedup again")
    recipe = {
        "tokenizer": tokenizer.recipe,
        "order": {"permutation": "feistel-4", "seed": SEED},
        "shard_text_bytes": SHARD_TEXT_BYTES,
        "sources": list(sources),
        "dedup": dict(removed.recipe),
    }
    inputs = (
        *(span for part in kept for span in (part.documents, part.signatures)),
        Input(name=table.name, sha256=table.sha256),
    )
    return ExportPlan(
        storage=store,
        tokenizer=tokenizer,
        sources=tuple(sources),
        recipe=recipe,
        inputs=inputs,
        parts=tuple(kept),
        documents=base,
        text_bytes=text_bytes,
        shards=max(1, -(-text_bytes // SHARD_TEXT_BYTES)),
    )


def output_store(out: str) -> Store:
    """Return the store of the dataset: a path relative to the current directory, or a storage address."""
    if out.partition(":")[0] in SCHEMES:
        return open_store(out, Path.cwd(), key="--out")
    if "://" in out:
        raise InputError(f"--out {out}: give a directory, or an address of {' or '.join(SCHEMES)}")
    return DirectoryStore(Path(out).absolute())


def check_free(out: str) -> Store:
    """Return the export directory. Raise `InputError` if it is a file, or holds files that are not our dataset."""
    target = output_store(out)
    if isinstance(target, DirectoryStore) and target.root.exists() and not target.root.is_dir():
        raise InputError(f"--out {out}: is a file; give a directory")
    if not target.exists(CLAIM_FILE) and any(True for _ in target.list()):
        raise InputError(
            f"--out {out}: the directory holds other files and no dataset of ours; give an empty or new one"
        )
    return target


def claim(plan: ExportPlan, out: str) -> Store:
    """Return the export directory, claimed for this dataset. Raise `Conflict` if it holds another."""
    target = check_free(out)
    data = claim_bytes(plan.fingerprint, plan.recipe)
    target.put(CLAIM_FILE, data)
    if target.read(CLAIM_FILE) != data:
        try:
            there = json.loads(target.read(CLAIM_FILE))["recipe"]
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"--out {out}: its {CLAIM_FILE} is not one of ours; give an empty or new directory, or run "
                f"`thresher verify {out} --repair` if it was damaged"
            ) from None
        raise Conflict(
            f"--out {out}: holds another dataset "
            f"({recipe_difference(there, plan.recipe) or 'its documents have changed'}); "
            "give another directory, or delete that one"
        )
    return target


def claim_bytes(fingerprint: str, recipe: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file that claims a directory for a dataset."""
    body = {"fingerprint": fingerprint, "recipe": recipe}
    return (json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


@contextmanager
def write_lock(out: Store) -> Iterator[None]:
    """Hold the only permission to write to a directory. Raise `Conflict` if another command holds it.

    On an object store two exports may run at once and do the same work twice: equal plans put equal bytes.
    """
    if not isinstance(out, DirectoryStore):
        yield
        return
    with out.open(CLAIM_FILE) as claim:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"--out {out.root}: another command is writing to it; wait for it to end"
            ) from None
        yield


def step(plan: ExportPlan) -> Step:
    """Return the export as one step, for the record of its run."""
    name, _, version = EXPORT.partition("@")
    return Step(name=name, version=int(version), recipe=plan.recipe)


def make_shards(
    plan: ExportPlan, out: Store, *, pool: WorkerPool, progress: Progress
) -> tuple[tuple[ShardFile, ...], run_step.StepSummary]:
    """Make every shard that is missing or damaged. The same plan gives the same bytes.

    Raise `CorruptData` if the manifest of a finished export is damaged, and `Conflict` if one of its shards gets other
    bytes than before.
    """
    sealed = _sealed(out)
    whole = _intact_shards(out, sealed, progress)
    missing = [number for number in range(plan.shards) if number not in whole]
    ran = run_step.StepSummary(made=0, already=len(whole))
    if missing:
        made, ran = _make_missing(plan, out, missing, pool, progress)
        for number, line in made.items():
            if sealed and line != sealed[number]:
                raise Conflict(
                    f"{out.uri}/{line.name} was made again with other bytes than were sealed: another version of a"
                    " library wrote it. Export into another directory"
                )
        whole |= made
    return tuple(whole[number] for number in range(plan.shards)), ran


def finish(plan: ExportPlan, out: Store, shards: Sequence[ShardFile], funnel: Funnel) -> Dataset:
    """Write the report and the dataset card, then the manifest, and remove the working files."""
    report = (json.dumps(funnel.to_dict(), indent=1) + "\n").encode()
    files = (_put(out, REPORT_FILE, report), _put(out, CARD_NAME, dataset_card(plan.recipe, shards)))
    dataset = Dataset(fingerprint=plan.fingerprint, recipe=plan.recipe, shards=tuple(shards), files=files)
    _put(out, MANIFEST_FILE, dataset.to_json())
    out.substore(WORK_DIRECTORY).clear()
    return dataset


def is_intact(out: Store, line: ShardFile | SideFile) -> bool:
    """Return whether a file of a dataset is present and has the bytes that were sealed."""
    try:
        sealed_reading.check_sealed(out, line)
    except CorruptData:
        return False
    return True


def record_dataset(store: Store, plan: ExportPlan, dataset: Dataset) -> None:
    """Record the dataset in the project's storage, where the report finds its token count."""
    counts = {"documents": dataset.documents, "tokens": dataset.tokens, "text_bytes": plan.text_bytes}
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


def tokenizer_of(recipe: Mapping[str, Any]) -> str:
    """Return the name of the tokenizer in a recipe of an export."""
    return str(recipe["tokenizer"]["name"])


def manifest_rows(store: Store, sources: Sequence[str]) -> Iterator[int]:
    """Yield the number of signed documents of every part."""
    for source in sources:
        for manifest in manifests(store, "process", source):
            yield next(output.rows for output in manifest.outputs if output.name.startswith("signatures/"))


def _output(manifest: Manifest, kind: str) -> Input:
    output = next(output for output in manifest.outputs if output.name.startswith(f"{kind}/"))
    return Input(name=output.name, sha256=output.sha256)


def _intact_shards(out: Store, sealed: Sequence[ShardFile], progress: Progress) -> dict[int, ShardFile]:
    """Return the intact shards by their numbers. Threads share the work, because hashing releases Python's lock."""
    if not sealed:
        return {}
    progress.start("check", total=len(sealed))
    found = {}
    with ThreadPoolExecutor() as pool:
        for number, (line, there) in enumerate(
            zip(sealed, pool.map(partial(is_intact, out), sealed), strict=True)
        ):
            progress.advance(line.name)
            if there:
                found[number] = line
    progress.stop()
    return found


def _sealed(out: Store) -> tuple[ShardFile, ...]:
    """Return the shards of a finished export, or none if it is not finished."""
    if not out.exists(MANIFEST_FILE):
        return ()
    return Dataset.from_json(out.read(MANIFEST_FILE), f"{out.uri}/{MANIFEST_FILE}").shards


def _make_missing(
    plan: ExportPlan, out: Store, missing: Collection[int], pool: WorkerPool, progress: Progress
) -> tuple[dict[int, ShardFile], run_step.StepSummary]:
    """Make some of the shards. Working files of another selection lie in another directory."""
    key = hashlib.sha256(json.dumps(sorted(missing)).encode()).hexdigest()[:16]
    scratch = out.substore(f"{WORK_DIRECTORY}/{key}")
    wanted = frozenset(missing)
    work = sharding.ShardingPlan(
        storage=plan.storage,
        scratch=scratch,
        out=out,
        recipe=plan.recipe,
        tokenizer=plan.tokenizer,
        parts=plan.parts,
        documents=plan.documents,
        shards=plan.shards,
        shard_numbers=wanted,
        seed=SEED,
    )
    ran = sharding.make_shards(work, pool=pool, progress=progress)
    return {number: sharding.shard_line(scratch, number) for number in sorted(wanted)}, ran


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
