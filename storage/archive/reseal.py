"""Resealing: a published archive file without a readable Manifest is sealed again from its bytes.

A WARC needs no Manifest to be read, so a lost Manifest loses nothing: records are counted and indexed again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from thresher.storage.archive.open_files import INDEX_SUFFIX, RECIPE, STEP, STEP_NAME, archive_outputs
from thresher.storage.archive.provenance import read_recipe
from thresher.storage.columns.kept_names import kept_table_name
from thresher.storage.manifest import (
    JSON,
    Manifest,
    Output,
    fingerprint,
    manifest_name,
    put_output,
    seal,
    stored_digest,
)
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import stem
from thresher.storage.warc.index_lines import IndexLines
from thresher.storage.warc.records import read_records

GRACE_MS = 60_000
"""A writer seals a file seconds after it publishes it. An older file without a seal has lost its seal."""


class ArchiveContents(NamedTuple):
    """What an archive file holds."""

    counts: Counter[str]
    """Records by type."""
    lines: IndexLines
    """The lines of its index."""
    problems: Counter[str]
    """Records by what is wrong with them."""
    columns: Output | None = None
    """The table of its inputs' columns, if it has one."""


def read_contents(file: BinaryIO, name: str) -> ArchiveContents:
    """Read an archive file from beginning to end, and return its contents. Raise `InputError` if the file is no
    WARC.
    """
    found = ArchiveContents(counts=Counter(), lines=IndexLines(), problems=Counter())
    for record in read_records(file, name=name):
        found.counts[record.type] += 1
        if record.problem is not None:
            found.problems[record.problem] += 1
        row = cdxj.row_of(record, record.ref)
        if row is not None:
            found.lines.append(cdxj.format_line(row))
    return found


def seal_contents(
    store: Store,
    part: str,
    warc: Output,
    found: ArchiveContents,
    recipe: Mapping[str, JSON],
    passed_over: Mapping[str, int] = MappingProxyType({}),
) -> Manifest:
    """Put the index of a published archive file, then its Manifest, and return that. `passed_over` counts what was left
    out of the file.
    """
    index = _put_index(store, part, found.lines)
    manifest = Manifest(
        step=STEP,
        part=part,
        fingerprint=fingerprint(STEP, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=(
            replace(warc, rows=found.counts.total()),
            index,
            *([found.columns] if found.columns else []),
        ),
        counts={**found.counts, **passed_over},
    )
    seal(store, manifest)
    return manifest


def unsealed_files(store: Store, grace_ms: int = GRACE_MS) -> Iterator[str]:
    """Yield the archive files that no Manifest names and that are at least `grace_ms` old."""
    sealed = {
        name.removeprefix(f"manifests/{STEP_NAME}/").removesuffix(".json")
        for name in store.list(f"manifests/{STEP_NAME}/")
    }
    for name in store.list("warc/"):
        part = _part(name)
        if part and part not in sealed and store.age_ms(name) >= grace_ms:
            yield name


def reindex(store: Store, manifest: Manifest) -> Manifest:
    """Make the index of a sealed archive file again and return its Manifest. The file itself must be as it was sealed.
    If the bytes of the index differ from before, the file is sealed again with the new index.
    """
    warc, index = archive_outputs(manifest.outputs)
    with store.open(warc.name) as file:
        lines = read_contents(file, warc.name).lines
    remade_index = _put_index(store, manifest.part, lines)
    outputs = tuple(remade_index if output is index else output for output in manifest.outputs)
    remade = replace(manifest, outputs=outputs)
    if remade.outputs != manifest.outputs:
        store.delete(manifest_name(STEP_NAME, manifest.part))
        seal(store, remade)
    return remade


def reseal(
    store: Store,
    name: str,
    recipe: Mapping[str, JSON] | None = None,
    passed_over: Mapping[str, int] = MappingProxyType({}),
    *,
    anew: bool = True,
) -> Manifest:
    """Seal the archive file of that name as it is now, and return its Manifest. `recipe` is that of its last seal, if
    that can be read, and `passed_over` that seal's counts of what was left out of the file. If `anew` is false, an
    existing seal stays. A table of columns beside the file belongs to it. Raise `InputError` if the file is no WARC.
    """
    part = _part(name)
    source, _, own = part.partition("/")
    with store.open(name) as file:
        found = read_contents(file, name)
        recipe = recipe or read_recipe(file, source)
    warc = Output(name=name, bytes=store.size(name), sha256=stored_digest(store, name), rows=0)
    if recipe is None:
        recipe = RECIPE if own.startswith(f"{source}-") else {"ingested": name.rpartition("/")[2]}
    if anew:
        store.delete(manifest_name(STEP_NAME, part))
    if store.exists(kept_table_name(part)):
        from thresher.storage.columns.kept_table import stored_kept  # noqa: PLC0415 - a crawler reads no table

        found = found._replace(columns=stored_kept(store, part))
    return seal_contents(store, part, warc, found, recipe, passed_over)


def _put_index(store: Store, part: str, lines: IndexLines) -> Output:
    return put_output(store, f"warc/{part}{INDEX_SUFFIX}", len(lines), partial(cdxj.write, lines=lines))


def _part(name: str) -> str:
    """Return `source/stem` of an archive file; an empty text for an index."""
    part = stem(name)
    return part.removeprefix("warc/") if part != name else ""
