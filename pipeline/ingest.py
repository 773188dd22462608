"""Ingest: WARC files made elsewhere become sealed archive files of a source, indexed like our own.

A file is copied under its own name into `warc/<name>/`, read once from end to end for its CDXJ, and sealed.
A file that is no WARC is refused and leaves nothing behind; a damaged record is counted and passed over.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core import InputError
from storage import cdxj
from storage.files import Files
from storage.manifest import Manifest, Output, digest, fingerprint, manifest_name, manifests, seal
from storage.records import DAMAGED, read

SUFFIXES = (".warc", ".warc.gz", ".warc.zst", ".warc.lz4")
ARCHIVE = "archive@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of the files."""

    added: int
    known: int
    records: int
    responses: int


def ingest(files: Files, source: str, paths: Iterable[Path]) -> Ingested:
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
        manifest, new = _bring(files, source, path, path.name.removesuffix(suffix), suffix)
        added, known = added + new, known + (not new)
        counts.update(manifest.counts)
    return Ingested(added=added, known=known, records=counts.total(), responses=counts["response"])


def _bring(files: Files, source: str, path: Path, stem: str, suffix: str) -> tuple[Manifest, bool]:
    part, warc = f"{source}/{stem}", f"warc/{source}/{stem}{suffix}"
    sha256 = digest(path)
    for manifest in manifests(files, "archive", source):
        if any(output.sha256 == sha256 for output in manifest.outputs):
            return manifest, False
    sealed = manifest_name("archive", part)
    if files.exists(sealed):
        raise InputError(f"ingest {path}: {source} holds another file of that name; rename one of them")
    index = f"warc/{source}/{stem}.cdxj.gz"
    with files.stage(warc) as staged, files.stage(index) as staged_index:
        shutil.copyfile(path, staged.path)
        records = list(_rows(staged.path, warc))
        counts = Counter(kind for kind, _ in records)
        if not counts.keys() - {DAMAGED}:
            raise InputError(f"ingest {path}: no WARC record in it; is it a WARC file?")
        lines = [line for _, line in records if line]
        cdxj.write(staged_index.path, lines)
        for name, ready in ((warc, staged), (index, staged_index)):
            # What an attempt that was never sealed left is replaced, unless it is the same.
            if not ready.publish() and digest(files.path(name)) != digest(ready.path):
                files.delete(name)
                ready.publish()
    outputs = tuple(
        Output(name=name, bytes=files.size(name), sha256=digest(files.path(name)), rows=rows)
        for name, rows in ((warc, counts.total()), (index, len(lines)))
    )
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
    seal(files, manifest)
    return manifest, True


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rows(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Type of every record, and the index line of every response."""
    for record in read(path, name=name):
        line = ""
        if record.type == "response":
            row = cdxj.row(
                ref=record.ref, url=record.url, date_ms=record.date_ms, mime=record.mime, status=record.status
            )
            line = cdxj.line(row)
        yield record.type, line
