"""Ingest: what was made elsewhere becomes sealed archive files of a source, indexed like our own.

1. A WARC file with a member a record is copied byte for byte under its own name, read once from end to end for its index,
   and sealed. Everything else is rewritten, a WARC record a record (`storage.inputs.volumes`).
2. A file is known by its digest, whatever it is called. What is known is left as it is; another file under the same name
   is refused.
3. A file that is refused leaves nothing behind, and the others go on. What is damaged in one is counted and passed over.
4. Killed and begun again, it goes on behind what is sealed.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypedDict

from core import InputError
from pipeline.given import Given
from storage import cdxj
from storage.inputs.columns import USUAL, Columns
from storage.inputs.kinds import COMPRESSED, Kind, items, kind_of, kinds
from storage.inputs.origin import Origin, passed_over
from storage.inputs.volumes import FULL, Size, bring
from storage.manifest import (
    JSON,
    Manifest,
    digest,
    fingerprint,
    load,
    manifest_name,
    manifests,
    put_output,
    seal,
)
from storage.members import LZ4, PLAIN, ZSTD
from storage.records import DAMAGED, MANY_RECORDS
from storage.reseal import contents
from storage.store import Store
from storage.unfinished import INDEX_SUFFIX, STEP, STEP_NAME

ENTRIES = ("response", "resource", "conversion")
"""Types of records that a document can be made of."""
SUFFIXES: Mapping[bytes, str] = {PLAIN: ".warc", ZSTD: ".warc.zst", LZ4: ".warc.lz4"}
"""How the name of a copied file ends, by how its bytes begin; gzip has none of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How the user wants inputs read."""

    columns: Columns = USUAL
    by_line: bool = False
    """Whether a text has a document a line."""
    site: str = ""
    """Host of the site that a Posts.xml of Stack Exchange is of, where its folder does not say."""
    size: Size = FULL

    def options(self, kind: Kind) -> dict[str, JSON]:
        """What of it decides the records of an input of that kind."""
        if self.site and kind.name.startswith("stackexchange"):
            return {"site": self.site}
        return {**self.columns.given()} if kind.rows or kind.name.startswith("tar") else {}


class Refused(TypedDict):
    """A file that was not brought in."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What became of one file."""

    name: str
    kind: str
    """`jsonl`, `warc`, ...; empty where it was refused before that was known."""
    fate: Literal["added", "known", "refused"]
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of its Manifests."""
    reason: str = ""
    """Why it was refused, in a line."""

    @property
    def entries(self) -> int:
        """Records that a document can be made of."""
        return sum(self.counts.get(kind, 0) for kind in ENTRIES)

    @property
    def unusable(self) -> dict[str, int]:
        """Records that were passed over, by reason."""
        damaged = {DAMAGED: self.counts[DAMAGED]} if self.counts.get(DAMAGED) else {}
        return {**passed_over(self.counts), **damaged}

    @property
    def records(self) -> int:
        """Records in the archive."""
        return sum(self.counts.values()) - sum(self.unusable.values())


@dataclass(slots=True, kw_only=True)
class Ingested:
    """What became of all."""

    added: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)
    records: int = 0
    entries: int = 0
    unusable: dict[str, int] = field(default_factory=dict)
    """Records that were passed over, by reason."""

    def take(self, brought: Brought) -> None:
        """Count one more file."""
        self.added += brought.fate == "added"
        self.known += brought.fate == "known"
        self.records += brought.records
        self.entries += brought.entries
        self.unusable = dict(Counter(self.unusable) + Counter(brought.unusable))
        if brought.fate == "refused":
            self.refused.append({"file": brought.name, "reason": brought.reason})


def ingest(
    store: Store,
    source: str,
    files: Iterable[Given],
    ways: Ways | None = None,
    told: Callable[[Brought], None] = lambda _: None,
) -> Ingested:
    """Bring in every file; `told` hears of each what became of it. One that is refused does not keep the others out."""
    ways = ways or Ways()
    known = _known(store, source)
    done = Ingested()
    for given in files:
        try:
            with given.open() as path:
                brought = _bring(store, source, given.name, path, ways, known)
        except InputError as error:
            brought = Brought(name=given.name, kind="", fate="refused", reason=str(error))
        done.take(brought)
        told(brought)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A file that is there, in whole or in part."""

    stem: str
    counts: Mapping[str, int]
    name: str = ""
    """What it was called when it was rewritten; empty where it was copied."""


def _known(store: Store, source: str) -> dict[str, _Known]:
    """What the source has, by its identity."""
    found: dict[str, _Known] = {}
    for manifest in manifests(store, STEP_NAME, source):
        origin = manifest.recipe.get("origin")
        stem = manifest.part.partition("/")[2]
        if origin is None:
            for output in manifest.outputs:
                found[f"sha256:{output.sha256}"] = _Known(stem=stem, counts=manifest.counts)
        else:
            before = found[str(origin)].counts if str(origin) in found else {}
            found[str(origin)] = _Known(
                stem=stem.rpartition("-")[0],
                counts=Counter(before) + Counter(manifest.counts),
                name=str(manifest.recipe["ingested"]),
            )
    return found


def _bring(store: Store, source: str, name: str, path: Path, ways: Ways, known: dict[str, _Known]) -> Brought:
    if not name.isprintable() or not _is_utf8(name):
        raise InputError(f"ingest {name!r}: a name that other tools cannot read; rename the file")
    identity = f"sha256:{digest(path)}"
    there = known.get(identity)
    with path.open("rb") as file:
        kind = kind_of(file, name, kinds(ways.columns, by_line=ways.by_line, site=ways.site))
        word = kind.name.partition("@")[0]
        if there is not None and not there.name:
            return Brought(name=name, kind=word, fate="known", counts=there.counts)
        stem = _stem(name)
        copied = _copied(store, source, name, path, identity) if kind.is_warc and there is None else None
        if copied is not None:
            made = [copied]
            known[identity] = _Known(stem=stem, counts=copied.counts)
        else:
            origin = Origin(
                name=there.name if there else name,
                stem=there.stem if there else stem,
                identity=identity,
                reader=kind.name,
                options=ways.options(kind),
                rows=kind.rows,
            )
            made = list(bring(store, source, origin, partial(items, file, origin.name, kind), ways.size))
            counts = sum(
                (Counter(manifest.counts) for manifest in made), Counter(there.counts if there else {})
            )
            known[identity] = _Known(stem=origin.stem, counts=counts, name=origin.name)
    return Brought(name=name, kind=word, fate="added" if made else "known", counts=known[identity].counts)


def _copied(store: Store, source: str, name: str, path: Path, identity: str) -> Manifest | None:
    """Seal a WARC file as it lies; None for one that must be rewritten to be read record by record."""
    part = _free(store, source, name)
    with path.open("rb") as file:
        head = file.read(8)
        suffix = next((end for mark, end in SUFFIXES.items() if head.startswith(mark)), ".warc.gz")
        warc = f"warc/{part}{suffix}"
        try:
            found = contents(file, warc)
        except InputError:
            return None
    if not found.counts.keys() - {DAMAGED} or found.problems[MANY_RECORDS]:
        return None
    outputs = (
        put_output(store, warc, found.counts.total(), partial(shutil.copyfile, path)),
        put_output(
            store, f"warc/{part}{INDEX_SUFFIX}", len(found.lines), partial(cdxj.write, lines=found.lines)
        ),
    )
    if f"sha256:{outputs[0].sha256}" != identity:
        raise InputError(f"ingest {name}: it changed while it was read; ingest it when nobody writes to it")
    recipe = {"ingested": name}
    manifest = Manifest(
        step=STEP,
        part=part,
        fingerprint=fingerprint(STEP, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=outputs,
        counts=found.counts,
    )
    seal(store, manifest)
    return manifest


def _free(store: Store, source: str, name: str) -> str:
    """The part that a WARC file of this name is to be: without what says that it is WARC and how it is compressed, unless
    a file is called so that differs in that alone.
    """
    short = stem = _stem(name)
    for ending in COMPRESSED:
        short = short.removesuffix(ending)
    for part in (f"{source}/{short.removesuffix('.warc')}", f"{source}/{stem}"):
        sealed = manifest_name(STEP_NAME, part)
        if not store.exists(sealed):
            return part
        if load(store, sealed).recipe.get("ingested") == name:
            break
    raise InputError(f"ingest {name}: {source} holds another file of that name; rename one of them")


def _stem(name: str) -> str:
    return name.replace("/", "--")


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
