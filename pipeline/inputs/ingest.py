"""Ingest: data from elsewhere becomes sealed archive files of a source, indexed like our own.

1. A WARC file with one member per record is copied byte for byte under its own name, read once from end to end for its
   index, and sealed. Everything else is rewritten, one WARC record per record (`storage.inputs.volumes`).
2. Small files that are not archives share archive files (`storage.inputs.shared_archive`). A single one has its own.
3. A file is known by its digest under any name. A known file is not ingested again. Another file under the same name is
   refused.
4. A refused file leaves nothing behind, and the others go on. Damaged records in a file are counted and skipped. Index
   files below a directory are skipped and counted.
5. If the command is killed and typed again, it continues after the sealed files.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, TypedDict

from thresher.core import Failure, InputError, failure_boundary
from thresher.pipeline.inputs.commoncrawl_selection import SelectionSummary
from thresher.pipeline.inputs.ingest_workers import IngestWorkers, available_workers
from thresher.pipeline.inputs.inventory import Inventory, InventoryEntry
from thresher.pipeline.inputs.kept_columns import KeptColumns
from thresher.pipeline.inputs.locate import InputFile
from thresher.pipeline.inputs.prepared_warcs import PreparedWarc, free_part_name, stem_of, with_prepared
from thresher.pipeline.inputs.source_lock import source_lock
from thresher.storage.archive.reseal import read_contents, seal_contents
from thresher.storage.in_place.placed_file import FIELD as IN_PLACE
from thresher.storage.inputs import shared_archive
from thresher.storage.inputs.decompression import max_unpacked_bytes
from thresher.storage.inputs.indexes import IndexFileError
from thresher.storage.inputs.input_kinds import InputKind, detect_kind, input_kinds, read_items
from thresher.storage.inputs.made_records import DEFAULT_SIZE, VolumeSize
from thresher.storage.inputs.origin import Origin, passed_over, require_same_reading
from thresher.storage.inputs.shared_archive import SMALL, SharedArchive
from thresher.storage.inputs.slicing.sliced_volumes import ingest_slices
from thresher.storage.inputs.slicing.slices import TableSlices, table_slices
from thresher.storage.inputs.table_files.columns import DEFAULT_COLUMNS, Columns
from thresher.storage.inputs.volumes import ingest_volumes, sealed_volumes
from thresher.storage.manifest import JSON, Manifest, Output, digest, put_output
from thresher.storage.store import Store
from thresher.storage.warc.dictionary import FRAME
from thresher.storage.warc.members import LZ4, PLAIN, ZSTD
from thresher.storage.warc.records import DAMAGED, MANY_RECORDS, page_records

SUFFIXES: Mapping[bytes, str] = {PLAIN: ".warc", ZSTD: ".warc.zst", LZ4: ".warc.lz4"}
"""Suffix of a copied file by its first bytes. A file with other first bytes is gzip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How to read inputs."""

    columns: Columns = DEFAULT_COLUMNS
    by_line: bool = False
    """Whether each line of a text file is a document."""
    site: str = ""
    """Host of the site of a Stack Exchange Posts.xml, if its folder does not name it."""
    size: VolumeSize = DEFAULT_SIZE
    in_place: bool = False
    """Whether files stay where they are, and only their index and seal come into the storage."""

    def reader_options(self, kind: InputKind) -> dict[str, JSON]:
        """Return the options that decide the records of an input of that kind."""
        if self.site and kind.name.startswith("stackexchange"):
            return {"site": self.site}
        if not kind.rows and not kind.name.startswith("tar"):
            return {}
        return {**self.columns.named(), **({"exact_text": True} if self.columns.exact_text else {})}


class RefusedInput(TypedDict):
    """A file that was not ingested."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """The result of one file."""

    name: str
    kind: str
    """`jsonl`, `warc`, ...; empty if the file was refused before its kind was known."""
    status: Literal["added", "known", "refused", "index"]
    counts: Mapping[str, int] = field(default_factory=dict)
    """Its records by type and its skipped records, from its Manifests or from the list in a shared archive file."""
    reason: str = ""
    """Why it was refused, in one line."""
    is_shared: bool = False
    """Whether other inputs lie in the same archive file."""

    @property
    def entries(self) -> int:
        """Number of records to be processed. Each of them gets a verdict."""
        return page_records(self.counts)

    @property
    def unusable(self) -> dict[str, int]:
        """Skipped records, and damaged stretches in the archive, by reason."""
        damaged = {DAMAGED: self.counts[DAMAGED]} if self.counts.get(DAMAGED) else {}
        return {**passed_over(self.counts), **damaged}

    @property
    def records(self) -> int:
        """Number of records in the archive, damaged stretches included."""
        return sum(self.counts.values()) - sum(passed_over(self.counts).values())


@dataclass(slots=True, kw_only=True)
class IngestSummary:
    """The result of a whole ingest."""

    added: int = 0
    known: int = 0
    indexes: int = 0
    """Index files. They hold no text and are skipped."""
    refused: list[RefusedInput] = field(default_factory=list)
    records: int = 0
    entries: int = 0
    unusable: dict[str, int] = field(default_factory=dict)
    """Skipped records, by reason."""
    columns: dict[str, str] = field(default_factory=dict)
    """Columns that are kept beside the records of added files, with their types."""
    columns_not_kept: dict[str, dict[str, int]] = field(default_factory=dict)
    """Values of columns that are not kept, by reason and column."""
    selection: SelectionSummary | None = None
    """What became of the single records of a selection from Common Crawl; None if whole files were read. `added` counts
    its archive files then, and `records` and `entries` its added records."""

    def add(self, result: IngestResult) -> None:
        """Count the result of one more file."""
        self.added += result.status == "added"
        self.known += result.status == "known"
        self.indexes += result.status == "index"
        self.records += result.records
        self.entries += result.entries
        self.unusable = dict(Counter(self.unusable) + Counter(result.unusable))
        if result.status == "refused":
            self.refused.append({"file": result.name, "reason": result.reason})


def ingest(
    store: Store,
    source: str,
    files: Iterable[InputFile],
    options: IngestOptions | None = None,
    on_result: Callable[[IngestResult], None] = lambda _: None,
    workers: int | None = 1,
) -> IngestSummary:
    """Ingest every file, and hand the result of each to `on_result`. A refused file does not stop the others.

    The result of a small file comes when the archive file that it shares is sealed. The same files give the same bytes
    with any number of `workers`; None stands for one per core. Raise `Conflict` if another command is ingesting into
    the source.
    """
    options = options or IngestOptions()
    summary = IngestSummary()

    def report(result: IngestResult) -> None:
        summary.add(result)
        on_result(result)

    with (
        source_lock(store, source),
        IngestWorkers(workers or available_workers()) as processes,
        SharedArchive(source, options.size) as small,
        _inventory(store, source) as inventory,
    ):
        target = _Target(
            store=store, source=source, options=options, inventory=inventory, small=small, workers=processes
        )
        waiting: list[_SmallFile] = []
        try:
            for input_file, prepared in with_prepared(files, source, processes):
                result = _ingest_file(target, input_file, prepared)
                if isinstance(result, IngestResult):
                    report(result)
                else:
                    waiting.append(result)
                if small.is_full:
                    _seal_small(target, waiting, report)
        except InputError:  # an argument without any file must not lose the files before it
            _seal_small(target, waiting, report)
            raise
        _seal_small(target, waiting, report)
    summary.columns = target.kept.types
    summary.columns_not_kept = {reason: dict(by_name) for reason, by_name in target.kept.losses.items()}
    return summary


def _inventory(store: Store, source: str) -> Inventory:
    shared_archive.seal_unsealed(store, source)
    return Inventory(store, source)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The destination of the files of one command."""

    store: Store
    source: str
    options: IngestOptions
    inventory: Inventory
    small: SharedArchive
    workers: IngestWorkers
    kept: KeptColumns = field(default_factory=KeptColumns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SmallFile:
    """A file that waits for its archive file to be sealed."""

    file: InputFile
    kind: InputKind
    origin: Origin


def _ingest_file(
    target: _Target, input_file: InputFile, prepared: PreparedWarc | None
) -> IngestResult | _SmallFile:
    if input_file.is_derived:
        return IngestResult(name=input_file.name, kind="", status="index")
    try:
        with input_file.open() as path, failure_boundary("ingest"):
            return _read_input(target, input_file, path, prepared)
    except Failure as failure:
        return _refusal(
            input_file,
            InputError(
                f"ingest {input_file.name!r}: cannot be read: {failure}; get the file again, or report it"
            ),
        )
    except InputError as error:
        return _refusal(input_file, error)


def _read_input(
    target: _Target, input_file: InputFile, path: Path, prepared: PreparedWarc | None
) -> IngestResult | _SmallFile:
    name = input_file.name
    if not name.isprintable() or not _is_utf8(name):
        raise InputError(f"ingest {name!r}: other tools cannot read this name; rename the file")
    identity = f"sha256:{prepared.sha256 if prepared else digest(path)}"
    entry = target.inventory.find(identity)
    with path.open("rb") as file:
        try:
            kind = detect_kind(
                file,
                name,
                input_kinds(target.options.columns, by_line=target.options.by_line, site=target.options.site),
            )
        except IndexFileError:
            if not input_file.is_from_directory:
                raise
            return IngestResult(name=name, kind="", status="index")
        origin = Origin(
            name=entry.name if entry else name,
            stem=entry.stem if entry and entry.stem else stem_of(name),
            identity=identity,
            reader=kind.name,
            options=target.options.reader_options(kind),
            rows=kind.rows,
        )
        if entry is not None and entry.read_options is not None:
            require_same_reading(origin, target.source, entry.read_options)
        if entry is None:
            return _add_new(target, input_file, origin, kind, file, prepared)
        if entry.stem:  # some of its archive files may be missing
            return _seal_alone(target, name, origin, kind, file)
        is_shared = entry.read_options is not None
        return IngestResult(
            name=name, kind=kind.short_name, status="known", counts=entry.counts, is_shared=is_shared
        )


def _add_new(
    target: _Target,
    input_file: InputFile,
    origin: Origin,
    kind: InputKind,
    file: BinaryIO,
    prepared: PreparedWarc | None,
) -> IngestResult | _SmallFile:
    """Add a file that the source does not hold: as a copy, among small files, or in archive files of its own."""
    name, identity, path = input_file.name, origin.identity, Path(file.name)
    if kind.is_warc:
        place = input_file.place(path) if target.options.in_place else None
        copied = _seal_copy(target, origin, path, place, prepared)
        if copied is not None:
            target.inventory.put(identity, InventoryEntry(name=name, counts=copied.counts))
            return IngestResult(name=name, kind=kind.short_name, status="added", counts=copied.counts)
    if target.options.in_place:
        raise InputError(
            f"ingest {name}: only WARC files with one record per member can stay in place; ingest it without --in-place"
        )
    if target.inventory.has_name(name):
        raise InputError(
            f"ingest {name}: {target.source} holds another file of that name; rename one of them"
        )
    is_small = not kind.is_archive and path.stat().st_size <= SMALL
    if is_small and target.small.add(origin, read_items(file, name, kind)):
        counts = target.small.listed[-1].counts
        entry = InventoryEntry(name=name, counts=counts, read_options=origin.reading_options)
        target.inventory.put(identity, entry)
        return _SmallFile(file=input_file, kind=kind, origin=origin)
    return _seal_alone(target, name, origin, kind, file)


def _seal_alone(target: _Target, name: str, origin: Origin, kind: InputKind, file: BinaryIO) -> IngestResult:
    """Seal a file in archive files of its own, or those of them that are not sealed yet."""
    slices = table_slices(file, Path(file.name), origin.name, kind.short_name, target.options.size.records)
    if slices is not None:
        manifests = _seal_slices(target, origin, slices, file)
    else:
        manifests = list(
            ingest_volumes(
                target.store,
                target.source,
                origin,
                partial(read_items, file, origin.name, kind),
                target.options.size,
            )
        )
    counts = Counter[str]()
    for manifest in manifests:
        target.kept.add(target.store, manifest)
    for manifest in sealed_volumes(target.store, target.source, origin):
        counts.update(manifest.counts)
    target.inventory.put(origin.identity, InventoryEntry(name=origin.name, stem=origin.stem, counts=counts))
    return IngestResult(
        name=name, kind=kind.short_name, status="added" if manifests else "known", counts=counts
    )


def _seal_slices(target: _Target, origin: Origin, slices: TableSlices, file: BinaryIO) -> list[Manifest]:
    """Seal the archive files of a large table that are not sealed yet, in the worker processes, and return them."""
    return [
        made.manifest
        for made in ingest_slices(
            target.store,
            target.source,
            origin,
            target.options.columns,
            slices,
            most=max_unpacked_bytes(os.fstat(file.fileno()).st_size),
            run=target.workers.map_in_order,
        )
        if made.is_new
    ]


def _seal_small(
    target: _Target, pending: list[_SmallFile], on_result: Callable[[IngestResult], None]
) -> None:
    """Seal the small files that wait, and report their results. A single one gets an archive file of its own."""
    if len(pending) == 1:
        (only,) = pending
        target.small.clear()
        try:
            with only.file.open() as path, path.open("rb") as file:
                _require_unchanged(only.file.name, path, only.origin.identity)
                on_result(_seal_alone(target, only.file.name, only.origin, only.kind, file))
        except InputError as error:
            on_result(_refusal(only.file, error))
    elif pending:
        all_counts = [listed.counts for listed in target.small.listed]
        target.kept.add(target.store, target.small.seal(target.store))
        for small, counts in zip(pending, all_counts, strict=True):
            on_result(
                IngestResult(
                    name=small.file.name,
                    kind=small.kind.short_name,
                    status="added",
                    counts=counts,
                    is_shared=True,
                )
            )
    pending.clear()


def _require_unchanged(name: str, path: Path, identity: str) -> None:
    if f"sha256:{digest(path)}" != identity:
        raise InputError(f"ingest {name}: it changed while it was read; ingest it when nobody writes to it")


def _refusal(input_file: InputFile, error: InputError) -> IngestResult:
    return IngestResult(name=input_file.name, kind="", status="refused", reason=str(error))


def _seal_copy(
    target: _Target,
    origin: Origin,
    path: Path,
    place: Mapping[str, JSON] | None,
    prepared: PreparedWarc | None,
) -> Manifest | None:
    """Seal a WARC file byte for byte, as a copy or in its `place`. Return None if it must be rewritten to be readable
    record by record.
    """
    store, name = target.store, origin.name
    part = free_part_name(store, target.source, name)
    with path.open("rb") as file:
        head = file.read(8)
        if head.startswith(FRAME):  # few tools read a dictionary, and one member per record all of them
            return None
        suffix = next((end for mark, end in SUFFIXES.items() if head.startswith(mark)), ".warc.gz")
        warc = f"warc/{part}{suffix}"
        try:
            is_prepared = prepared is not None and prepared.name == warc
            contents = prepared.contents if prepared and is_prepared else read_contents(file, warc)
        except InputError:
            return None
    if not contents.counts.keys() - {DAMAGED} or contents.problems[MANY_RECORDS]:
        return None
    recipe: dict[str, JSON] = {"ingested": name}
    if place is None:
        copy = put_output(store, warc, 0, partial(shutil.copyfile, path))
    else:
        recipe[IN_PLACE] = place
        copy = Output(name=warc, bytes=path.stat().st_size, sha256=digest(path), rows=0)
    if f"sha256:{copy.sha256}" != origin.identity:
        raise InputError(f"ingest {name}: it changed while it was read; ingest it when nobody writes to it")
    return seal_contents(store, part, copy, contents, recipe)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
