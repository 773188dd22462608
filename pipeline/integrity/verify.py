"""Verify: hash and read everything sealed again, and name all damage.

1. An output must have the bytes that were sealed, and a table must hold its rows. `pipeline.integrity.audit` checks
   archive files and their indexes. The originals of revisits must be archived. A deep check reads every record a second
   time with warcio (`pipeline.integrity.crosscheck`).
2. Nothing is changed without a repair. A repair removes the seals of damaged parts that can be made again from their
   inputs. The next run of their step makes these parts again, and nothing else. The index of an archive file is made
   again at once, and a file without its Manifest is sealed again.
3. The bytes of an archive file never change. Processing refuses a damaged one until it is copied back or the user
   accepts the loss: then it is sealed again as it is, and its results are made again. A damaged file of a crawl log is
   deleted then.
4. Files that dead workers left unsealed are named. They are not damaged: the next run of the crawl recovers them.
5. A frontier has settled at most as many pages as can be read (`pipeline.integrity.reconcile`). More pages are a loss,
   and named.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType

from thresher.core import CorruptData, InputError
from thresher.pipeline.dedup_index import index_state
from thresher.pipeline.integrity import audit, reconcile
from thresher.pipeline.integrity.findings import CrossCheck, VerifyResult
from thresher.pipeline.integrity.garbage import collect, unsealed_outputs
from thresher.pipeline.integrity.revisit_references import RevisitReferences
from thresher.pipeline.steps.cuts import cut_results
from thresher.pipeline.terminal.progress import Progress
from thresher.storage import run, storage_id
from thresher.storage.archive import reseal
from thresher.storage.archive.open_files import STEP, STEP_NAME, archive_outputs, crawls_with_open_files
from thresher.storage.archive.recovery import recoverable_files
from thresher.storage.crawllog import log_writer as log
from thresher.storage.inputs.origin import PASSED_OVER
from thresher.storage.manifest import Manifest, Output, load_manifest, manifest_name, stored_digest
from thresher.storage.store import Store
from thresher.storage.warc.compression import stem

REPRODUCIBLE_STEPS = (
    "process",
    "judge",
    "annotate",
    "dedup",
    index_state.STEP_NAME,
    index_state.SCREEN_STEP,
    cut_results.NAME,
)
"""Steps whose parts can be made again from storage."""
LISTS_PREFIX = "lists/"
PROCESS_MANIFESTS = "manifests/process/"


def verify_storage(
    store: Store,
    progress: Progress,
    *,
    is_deep: bool = False,
    settled: Mapping[str, int] = MappingProxyType({}),
) -> VerifyResult:
    """Check every output of every Manifest, and that `settled` pages, counted by crawl, can be read.

    `settled` comes from `reconcile.settled_pages`. Raise `InputError` if there is nothing to check.
    """
    checked = size = 0
    damage: list[str] = []
    redo: list[str] = []
    unreadable: list[str] = []
    damaged: defaultdict[str, list[Manifest]] = defaultdict(list)
    cross = CrossCheck()
    accepted: set[str] = set()
    with RevisitReferences() as references:
        # In this order a file that is sealed in between is read twice, and none is missed.
        lines_without_record = reconcile.add_log_lines(store, [*settled], references)
        reconcile.add_open_records(store, [*settled], references)
        names = list(store.list("manifests/"))
        progress.start("verify", total=len(names))
        for name in names:
            progress.advance(name)
            step = name.split("/")[1]
            try:
                manifest = load_manifest(store, name)
            except CorruptData as error:
                damage.append(str(error))
                (redo if step in REPRODUCIBLE_STEPS else unreadable).append(name)
                continue
            checked += len(manifest.outputs)
            size += sum(output.bytes for output in manifest.outputs)
            changed = [output for output in manifest.outputs if _is_changed(store, output)]
            faults = list(_faults(store, manifest, changed, references))
            if step == STEP_NAME and (changed or reconcile.is_loss_accepted(manifest)):
                accepted.add(archive_outputs(manifest.outputs)[0].name)
            if step == STEP_NAME and is_deep and not changed:
                from thresher.pipeline.integrity.crosscheck import cross_check_archive  # noqa: PLC0415 - warcio is slow to import

                cross = cross.plus(cross_check_archive(store, manifest))
            damage.extend(f"{name}: {fault}" for fault in faults)
            if faults and step in REPRODUCIBLE_STEPS:
                redo.append(name)
            if changed:
                damaged[_kind(manifest, changed)].append(manifest)
        damage.extend(
            f"{file} at {offset}: a revisit of a record that is not archived"
            for file, offset in references.missing_originals()
        )
        nameless = list(reseal.unsealed_files(store))
        accepted.update(nameless)
        damage.extend(reconcile.lost_pages(settled, lines_without_record, references, accepted))
    progress.stop()
    damage.extend(cross.damage)
    damage.extend(f"{name} is archived, but no Manifest names it" for name in nameless)
    for name, fault in _unsealed_faults(store):
        damage.append(fault)
        unreadable.append(name)
    damage.extend(_with_read_errors(_identity_faults(store)))
    if not names and not damage and not crawls_with_open_files(store):
        raise InputError(
            f"verify: nothing is sealed in the storage {store.uri}; run `thresher crawl` or `thresher ingest` first, or"
            " correct project.storage"
        )
    return VerifyResult(
        files=checked,
        bytes=size,
        damage=tuple(damage),
        redo=tuple(redo),
        unreadable=tuple(unreadable),
        indexes=tuple(damaged["index"]),
        archives=tuple(damaged["archive"]),
        logs=tuple(damaged["log"]),
        differences=cross.differences,
        unread=cross.unread,
        unfinished=tuple(_unfinished(store)),
        garbage=sum(1 for _ in unsealed_outputs(store)),
    )


def repair(store: Store, found: VerifyResult) -> None:
    """Unseal parts that can be made again; the next run of their step makes them.

    Make indexes again. Seal archive files again that have lost their Manifest. Remove the outputs of failed attempts.
    """
    for name in (*found.redo, *found.unreadable):
        store.delete(name)
    for manifest in found.indexes:
        reseal.reindex(store, manifest)
    for name in list(reseal.unsealed_files(store)):
        reseal.reseal(store, name)
    collect(store)


def accept_loss(store: Store, found: VerifyResult) -> list[str]:
    """Seal damaged archive files again as they are, and return their names.

    The damaged records count as such from now on, and the process step makes the results of the files again. A damaged
    table of columns is deleted. A file without a single readable record, or a missing one, is not changed.
    """
    accepted = []
    for manifest in found.archives:
        warc, index = archive_outputs(manifest.outputs)
        with suppress(InputError, CorruptData):
            is_damaged = _is_changed(store, warc)
            for columns in manifest.outputs:
                if columns not in (warc, index) and _is_changed(store, columns):
                    store.delete(columns.name)
            reseal.reseal(store, warc.name, manifest.recipe, _passed_over_counts(manifest))
            accepted.append(warc.name)
            if is_damaged:
                _unseal_parts(store, warc.name)
    return accepted


def delete_damaged_logs(store: Store, found: VerifyResult) -> list[str]:
    """Delete the damaged files of crawl logs and their Manifests, and return the names of the files.

    No line of a damaged file can be trusted, so none is kept. Their number is kept (`log_writer.seal_as_lost`).
    """
    for manifest in found.logs:
        log.seal_as_lost(store, manifest)
        store.delete(manifest_name(log.STEP_NAME, manifest.part))
        for output in manifest.outputs:
            store.delete(output.name)
    return [output.name for manifest in found.logs for output in manifest.outputs]


def _kind(manifest: Manifest, changed: list[Output]) -> str:
    """Return what is damaged: the `archive` file or its columns, its `index`, the `log`, or `made` otherwise."""
    if manifest.step == STEP:
        _, index = archive_outputs(manifest.outputs)
        return "index" if changed == [index] else "archive"
    return "log" if manifest.step == log.STEP else "made"


def _passed_over_counts(manifest: Manifest) -> dict[str, int]:
    return {kind: count for kind, count in manifest.counts.items() if kind.startswith(PASSED_OVER)}


def _unseal_parts(store: Store, archive: str) -> None:
    """Remove the seals of the process step's results for an archive file."""
    source, _, own = stem(archive).removeprefix("warc/").partition("/")
    part = re.compile(rf"part-{re.escape(own)}-\d{{12}}\.json")
    for name in list(store.list(f"{PROCESS_MANIFESTS}{source}/part-{own}-")):
        if part.fullmatch(name.rpartition("/")[2]):
            store.delete(name)


def _unfinished(store: Store) -> Iterator[str]:
    for crawl in crawls_with_open_files(store):
        for file in recoverable_files(store, crawl):
            yield (
                f"{file.name} was left open with {file.records} complete records in {file.record_bytes} bytes, and "
                f"{file.torn_bytes} bytes without a record; `thresher crawl {crawl}` seals the complete records"
            )


def _faults(
    store: Store, manifest: Manifest, changed: list[Output], references: RevisitReferences
) -> Iterator[str]:
    """Yield one line per damage."""
    if manifest.step == STEP:
        yield from _archive_faults(store, manifest, changed, references)
        return
    for output in manifest.outputs:
        if output in changed:
            yield _change(store, output)
        elif output.name.endswith(".parquet"):
            from thresher.storage import tables  # noqa: PLC0415 - a crawl that was not processed has no table

            yield from _with_read_errors(tables.faults(store, output))


def _archive_faults(
    store: Store, manifest: Manifest, changed: list[Output], references: RevisitReferences
) -> Iterator[str]:
    """Yield the places of a changed WARC file that cannot be read or, if there are none, that it is changed."""
    warc, index = archive_outputs(manifest.outputs)
    # Every file is read, because the originals of revisits may be in any of them.
    found = (
        list(_with_read_errors(audit.audit_archive(store, manifest, references)))
        if store.exists(warc.name)
        else []
    )
    if warc in changed and not any(line.startswith(warc.name) for line in found):
        yield _change(store, warc)
    yield from (_change(store, output) for output in changed if output is not warc)
    yield from (line for line in found if index not in changed or not line.startswith(index.name))


def _with_read_errors(check: Iterator[str]) -> Iterator[str]:
    """Yield the faults of a check. If the store itself finds the bytes damaged, yield its error."""
    try:
        yield from check
    except CorruptData as error:
        yield str(error)


def _is_changed(store: Store, output: Output) -> bool:
    try:
        return stored_digest(store, output.name) != output.sha256
    except CorruptData:  # it is missing, or the store itself finds it damaged
        return True


def _change(store: Store, output: Output) -> str:
    if not store.exists(output.name):
        return f"{output.name} is missing"
    if (size := store.size(output.name)) != output.bytes:
        return f"{output.name} has {size} bytes; {output.bytes} were sealed"
    return f"{output.name}: its bytes are not those that were sealed"


def _unsealed_faults(store: Store) -> Iterator[tuple[str, str]]:
    """Yield the name and the fault of damaged runs and lists, which no Manifest names."""
    for name in store.list(run.RUNS):
        try:
            run.load(store, name)
        except CorruptData as error:
            yield name, str(error)
    for name in store.list(LISTS_PREFIX):
        if not _is_list(store, name):
            yield name, f"{name}: its bytes are not those that its name says"


def _identity_faults(store: Store) -> Iterator[str]:
    """Raise `CorruptData` if the storage's id cannot be read; yield nothing."""
    storage_id.read_storage_id(store)
    yield from ()


def _is_list(store: Store, name: str) -> bool:
    try:
        return name == f"{LISTS_PREFIX}{hashlib.sha256(store.read(name)).hexdigest()}.txt"
    except CorruptData:  # the store itself finds it damaged
        return False
