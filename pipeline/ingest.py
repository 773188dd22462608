"""Ingest: WARC files made elsewhere become sealed archive files of a source, indexed like our own.

A file is copied under its own name into `warc/<name>/`, read once from end to end for its CDXJ, and sealed.
A file that is no WARC is refused and leaves nothing behind; a damaged record is counted and passed over.
"""

import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core import InputError
from storage import cdxj
from storage.manifest import Manifest, digest, fingerprint, manifest_name, manifests, put_output, seal
from storage.records import DAMAGED
from storage.reseal import contents
from storage.store import Store

SUFFIXES = (".warc", ".warc.gz", ".warc.zst", ".warc.lz4")
ARCHIVE = "archive@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of the files."""

    added: int
    known: int
    records: int
    responses: int


def ingest(store: Store, source: str, paths: Iterable[Path]) -> Ingested:
    """Bring in every file. Raises InputError for the first that is no WARC; what was sealed before it stays."""
    added = known = 0
    counts: Counter[str] = Counter()
    for path in paths:
        suffix = next(
            (end for end in sorted(SUFFIXES, key=len, reverse=True) if path.name.endswith(end)), None
        )
        if suffix is None:
            raise InputError(f"ingest {path}: not a WARC file by its name; give .warc or .warc.gz")
        if not path.is_file():
            raise InputError(f"ingest {path}: no such file")
        if not path.name.isprintable() or not _is_utf8(path.name):
            raise InputError(f"ingest {path.name!r}: a name that other tools cannot read; rename the file")
        manifest, new = _bring(store, source, path, path.name.removesuffix(suffix), suffix)
        added, known = added + new, known + (not new)
        counts.update(manifest.counts)
    return Ingested(added=added, known=known, records=counts.total(), responses=counts["response"])


def _bring(store: Store, source: str, path: Path, stem: str, suffix: str) -> tuple[Manifest, bool]:
    part, warc = f"{source}/{stem}", f"warc/{source}/{stem}{suffix}"
    sha256 = digest(path)
    for manifest in manifests(store, "archive", source):
        if any(output.sha256 == sha256 for output in manifest.outputs):
            return manifest, False
    sealed = manifest_name("archive", part)
    if store.exists(sealed):
        raise InputError(f"ingest {path}: {source} holds another file of that name; rename one of them")
    index = f"warc/{source}/{stem}.cdxj.gz"
    with path.open("rb") as file:
        counts, lines = contents(file, warc)
    if not counts.keys() - {DAMAGED}:
        raise InputError(f"ingest {path}: no WARC record in it; is it a WARC file?")
    outputs = (
        put_output(store, warc, counts.total(), partial(shutil.copyfile, path)),
        put_output(store, index, len(lines), partial(cdxj.write, lines=lines)),
    )
    if outputs[0].sha256 != sha256:
        raise InputError(f"ingest {path}: it changed while it was read; ingest it when nobody writes to it")
    recipe = {"ingested": path.name}
    manifest = Manifest(
        step=ARCHIVE,
        part=part,
        fingerprint=fingerprint(ARCHIVE, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=outputs,
        counts=counts,
    )
    seal(store, manifest)
    return manifest, True


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
