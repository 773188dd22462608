"""The rows that a stored object becomes: one Manifest, or one run."""

from collections.abc import Iterator

from sqlmodel import SQLModel

from thresher.core import CorruptData
from thresher.storage import run as runs
from thresher.storage.archive.open_files import INDEX_SUFFIX
from thresher.storage.catalog.catalog_tables import ArchiveFile, Cost, Run, SealedPart
from thresher.storage.manifest import Manifest, load_manifest
from thresher.storage.store import Store

NAMED_SETS = ("judge", "annotate")
"""Steps whose parts are named `set/source/part`, after the set of verdicts or the annotation."""


def manifest_rows(store: Store, name: str, stamp: str) -> list[SQLModel]:
    """Return the rows of a Manifest: its part, and the WARC files that it seals. Raise `CorruptData` if it is missing
    or damaged.
    """
    manifest = load_manifest(store, name)
    step, _, version = manifest.step.partition("@")
    first, second, *_ = (*manifest.part.split("/", 2), "")
    source = _text(second if step in NAMED_SETS else first)
    sealed = SealedPart(
        manifest=name,
        stamp=stamp,
        step=_text(step),
        version=int(version) if version.isdecimal() and len(version) < 10 else 0,
        part=_text(manifest.part),
        source=source,
        fingerprint=manifest.fingerprint,
        counts=dict(manifest.counts),
        bytes=_number(name, sum(output.bytes for output in manifest.outputs)),
        rows=_number(name, sum(output.rows for output in manifest.outputs)),
    )
    return [sealed, *(_archive_files(name, source, manifest) if step == "archive" else ())]


def _archive_files(name: str, source: str, manifest: Manifest) -> Iterator[ArchiveFile]:
    for output in manifest.outputs:
        if not output.name.endswith(INDEX_SUFFIX):
            yield ArchiveFile(
                manifest=name,
                name=_text(output.name),
                source=source,
                kind="ingest" if "ingested" in manifest.recipe else "crawl",
                bytes=_number(name, output.bytes),
                records=_number(name, output.rows),
                responses=_number(name, manifest.counts.get("response", 0)),
                sha256=_text(output.sha256),
            )


def run_rows(store: Store, name: str, stamp: str) -> list[SQLModel]:
    """Return the rows of a run and of its cost; none if the run is damaged."""
    try:
        run = runs.load(store, name)
    except CorruptData:  # nothing depends on it; the next refresh reads it again
        return []
    return [
        Run(
            name=name,
            stamp=stamp,
            id=run.id,
            step=run.step,
            version=run.version,
            started_ms=run.started_ms,
            ended_ms=run.ended_ms,
            host=_text(run.host),
            engine=_text(run.engine),
            sources=list(run.sources),
            outcome=run.outcome,
            message=_text(run.message),
        ),
        Cost(
            run=name,
            cpu_s=run.cpu_s,
            wall_s=run.wall_s,
            worker_s=run.worker_s,
            bytes_read=run.bytes_read,
            bytes_written=run.bytes_written,
            peak_rss=run.peak_rss,
            made=run.made,
            already=run.already,
            redone=run.redone,
            quarantined=run.quarantined,
        ),
    ]


def _text(value: str) -> str:
    """Return the text without what a database cannot hold: NUL, and halves of surrogate pairs."""
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _number(name: str, value: int) -> int:
    if not 0 <= value < 1 << 63:
        raise CorruptData(f"{name} counts {value}, which cannot be; delete it and run its step again")
    return value
