"""Parts of the process step whose documents are screened: which index each is screened with, and which are stale.

1. A part is screened with one sealed index, whose Bloom filter is among its inputs. So its bytes follow from its
   inputs, whatever the order or the number of workers.
2. A sealed part keeps its index, or that it has none. A later index changes nothing of it.
3. Only an index whose tables are all sealed is used. So no document is screened for a document of its own part, and no
   two documents for each other.
4. A screened part is stale if a table that has one of its witnesses is sealed no more, or otherwise. It is made again
   without screening, so a document that was left out for another comes back when that one goes. A mark in the storage
   says so, until the results of the source are deleted.

A function imports what reads tables if it needs it: most projects screen nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from thresher.core import CorruptData
from thresher.pipeline.engine.step import Part
from thresher.storage.manifest import Manifest, load_manifest, manifest_name, manifests
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.pipeline.dedup_index.index_screen import ScreenTask

PROCESS, SCREENED, SIGNATURES = "process", "screened", "signatures"
TABLE, MARK = ".parquet", ".stale"
"""Suffixes of a table of screened documents, and of the mark of a part that is not screened again."""


def with_screen(store: Store, parts: Iterable[Part], screen: ScreenTask | None) -> Iterator[Part]:
    """Yield the parts with the index that each is screened with."""
    screened, stale = _names(store, "", TABLE), _names(store, "", MARK)
    if screen is None and not screened:
        yield from parts
        return
    sealed = {
        name.removeprefix(f"manifests/{PROCESS}/").removesuffix(".json")
        for name in store.list(f"manifests/{PROCESS}/")
    }
    for part in parts:
        if part.name in sealed:
            made = load_manifest(store, manifest_name(PROCESS, part.name)) if part.name in screened else None
            yield (
                part
                if made is None
                else replace(part, inputs=(*part.inputs, *made.inputs[len(part.inputs) :]))
            )
        elif screen is None or part.name in stale:
            yield part
        else:
            yield replace(
                part,
                inputs=(*part.inputs, screen.filter),
                reads=(*part.reads, *screen.names),
                writes=(*part.writes, f"{SCREENED}/{part.name}{TABLE}"),
                parameters=part.parameters._replace(screen=screen),
            )


def stale_parts(store: Store, sources: Sequence[str]) -> list[str]:
    """Return the sealed parts of sources that are stale, and those that are stale because of these."""
    witnesses = {
        part: tables_of
        for source in sources
        for part in sorted(_names(store, f"{source}/", TABLE))
        if (tables_of := _witness_tables(store, part)) is not None
    }
    if not witnesses:
        return []
    known = {manifest.part: _signatures(manifest) for manifest in manifests(store, PROCESS)}
    stale: list[str] = []
    while True:
        current = set(known.values())
        found = [part for part, of in witnesses.items() if part in known and not of <= current]
        if not found:
            return stale
        stale += found
        for part in found:
            del known[part]


def unseal_stale(store: Store, sources: Sequence[str]) -> list[str]:
    """Mark the stale parts of sources, remove their seals, and return their names."""
    stale = stale_parts(store, sources)
    for part in stale:
        store.put(f"{SCREENED}/{part}{MARK}", b"")
        store.delete(manifest_name(PROCESS, part))
    for source in sources:
        for part in _names(store, f"{source}/", MARK) & _names(store, f"{source}/", TABLE):
            if not store.exists(manifest_name(PROCESS, part)):  # also of a command that was killed here
                store.delete(f"{SCREENED}/{part}{TABLE}")
    return stale


def _names(store: Store, prefix: str, suffix: str) -> set[str]:
    """Return the names of parts that have a table of screened documents, or a mark."""
    return {
        name.removeprefix(f"{SCREENED}/").removesuffix(suffix)
        for name in store.list(f"{SCREENED}/{prefix}")
        if name.endswith(suffix)
    }


def _witness_tables(store: Store, part: str) -> set[int] | None:
    """Return the hashes of the tables that have the witnesses of a part; None if it is not sealed."""
    seal = manifest_name(PROCESS, part)
    if not store.exists(seal):
        return None
    output = next(
        (each for each in load_manifest(store, seal).outputs if each.name.startswith(f"{SCREENED}/")), None
    )
    if output is None:
        return None
    from thresher.storage import tables  # noqa: PLC0415 - see the top

    witnesses = tables.read(store, output, tables.columns(tables.SCREENED, "witness_table"))
    return set(cast("list[int]", witnesses["witness_table"].to_pylist()))


def _signatures(manifest: Manifest) -> int:
    from thresher.filters.dedup.document_rows import table_hash  # noqa: PLC0415 - see the top

    for output in manifest.outputs:
        if output.name.startswith(f"{SIGNATURES}/"):
            return table_hash(output.name, output.sha256)
    raise CorruptData(f"{manifest.part} has no table of signatures; run `thresher verify --repair`")
