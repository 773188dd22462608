"""Common Crawl as an input: whole files of a crawl, or single records looked up in its index.

1. Whole files come in the order of their list. Each is downloaded by ranges into a private file, and then ingested like
   a local one (`pipeline.inputs.ingest`), under its path at Common Crawl. Files that the source has are not requested.
2. Single records come in batches (`storage.commoncrawl.batch`). Each batch is sealed as one archive file, followed by a
   table with the result of each row. A killed command loses the current batch, and continues after the sealed ones.
3. A finished selection is sealed itself: typed again, it does nothing and requests nothing.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from thresher.core import Conflict, InputError
from thresher.crawler.user_agent import user_agent
from thresher.pipeline.configuration import Config
from thresher.pipeline.inputs.commoncrawl_selection import (
    CommonCrawlSelection,
    IndexName,
    SelectionSummary,
    index_selection,
    selected_paths,
)
from thresher.pipeline.inputs.ingest import IngestResult, IngestSummary, ingest
from thresher.pipeline.inputs.locate import InputFile
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.archive.open_files import INDEX_SUFFIX, STEP, STEP_NAME
from thresher.storage.commoncrawl import row_results
from thresher.storage.commoncrawl.batch import ROWS, BatchResult, batch_digest, batches, fetch_batch
from thresher.storage.commoncrawl.index import columnar, zipnum
from thresher.storage.commoncrawl.index.row import CrawlIndexRow
from thresher.storage.commoncrawl.index.selection import Selection
from thresher.storage.commoncrawl.transport.http_source import HttpSource
from thresher.storage.commoncrawl.transport.source import FileSource
from thresher.storage.commoncrawl.transport.source_client import SourceClient, pieces
from thresher.storage.inputs.origin import PASSED_OVER, passed_over
from thresher.storage.manifest import (
    JSON,
    Manifest,
    fingerprint,
    load_manifest,
    manifest_name,
    manifests,
    put_output,
    seal,
)
from thresher.storage.spool import spool_file
from thresher.storage.store import Store
from thresher.storage.warc import cdxj

SELECTION_NAME = "selection"
SELECTION = f"{SELECTION_NAME}@1"
FINGERPRINT_DIGITS = 16
"""Digits of a fingerprint in the name of a part."""


@contextmanager
def open_client(config: Config) -> Iterator[SourceClient]:
    """Yield a client for the Common Crawl source of the configuration. It closes with the context."""
    client = SourceClient(_source(config))
    try:
        yield client
    finally:
        client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonCrawlJob:
    """One ingest from Common Crawl: `client` reads the records, and they are stored as the source `source`."""

    store: Store
    source: str
    client: SourceClient
    progress: Progress


def ingest_files(
    job: CommonCrawlJob,
    arguments: Iterable[str],
    selection: CommonCrawlSelection,
    on_result: Callable[[IngestResult], None] = lambda _: None,
) -> IngestSummary:
    """Ingest whole files: of `commoncrawl:CC-MAIN-2024-22/wet`, or of a local list of paths.

    Raise `InputError` for an impossible selection, before anything is ingested, and `Unavailable` if Common Crawl does
    not respond for long. Files sealed before stay.
    """
    files = [path for argument in arguments for path in selected_paths(job.client, argument, selection)]
    ingested = {
        str(manifest.recipe.get("ingested")) for manifest in manifests(job.store, STEP_NAME, job.source)
    }
    new = [path for path in dict.fromkeys(files) if path not in ingested]

    def report(result: IngestResult) -> None:
        on_result(result)
        job.progress.advance()

    job.progress.start(f"ingest {job.source}", len(new))
    try:
        inputs = (InputFile(name=path, open=partial(_download, job.client, path)) for path in new)
        summary = ingest(job.store, job.source, inputs, on_result=report)
    finally:
        job.progress.stop()
    summary.known += len(files) - len(new)
    return summary


def ingest_selections(
    job: CommonCrawlJob, arguments: Iterable[str], selection: CommonCrawlSelection
) -> SelectionSummary:
    """Ingest single records of one or more crawls. Raise the errors of `ingest_files`."""
    summary = SelectionSummary()
    for crawl_selection in [index_selection(argument, selection) for argument in arguments]:
        summary += ingest_selection(job, crawl_selection, selection.index)
    return summary


def ingest_selection(
    job: CommonCrawlJob, selection: Selection, index: IndexName, *, rows_a_file: int = ROWS
) -> SelectionSummary:
    """Ingest the records of a selection that the source lacks, at most `rows_a_file` in one archive file."""
    store, source, progress = job.store, job.source, job.progress
    recipe: dict[str, JSON] = {**selection.recipe(), "index": index}
    recipe_fingerprint = fingerprint(SELECTION, recipe, ())
    part = f"{source}/{selection.crawl}-{recipe_fingerprint[:FINGERPRINT_DIGITS]}"
    if store.exists(sealed := manifest_name(SELECTION_NAME, part)):
        rows = load_manifest(store, sealed).counts["rows"]
        return SelectionSummary(found=rows, known=rows)
    counts: Counter[str] = Counter({"rows": 0})
    wanted = islice(_rows(job.client, selection, index), selection.limit)
    known = row_results.known_ranges(store, source)
    summary = SelectionSummary()
    progress.start(f"ingest {source}", None)
    try:
        for batch in batches(_new_rows(wanted, known, counts), rows_a_file):
            summary += _ingest_batch(job, selection.crawl, batch)
            progress.advance(f"{summary.added:,} records added", len(batch))
    finally:
        progress.stop()
    manifest = Manifest(
        step=SELECTION,
        part=part,
        fingerprint=recipe_fingerprint,
        recipe=recipe,
        inputs=(),
        outputs=(),
        counts=dict(counts),
    )
    seal(store, manifest)
    return summary + SelectionSummary(found=counts["known"], known=counts["known"])


def _rows(client: SourceClient, selection: Selection, index: IndexName) -> Iterator[CrawlIndexRow]:
    spans = selection.spans()
    if index == "cdx":
        rows = zipnum.rows(client, selection.crawl, spans)
    else:
        rows = columnar.rows(client, selection.crawl, spans, selection.subsets)
    return filter(selection.admits, rows)


def _new_rows(
    rows: Iterable[CrawlIndexRow], known: row_results.KnownRanges, counts: Counter[str]
) -> Iterator[CrawlIndexRow]:
    for row in rows:
        counts["rows"] += 1
        if row in known:
            counts["known"] += 1
        else:
            yield row


def _ingest_batch(job: CommonCrawlJob, crawl: str, batch: tuple[CrawlIndexRow, ...]) -> SelectionSummary:
    """Ingest one batch: its archive file first, then the table that makes it known."""
    store, digest = job.store, batch_digest(batch)
    part = f"{job.source}/{crawl}-{digest[:FINGERPRINT_DIGITS]}"
    warc = f"warc/{part}.warc.gz"
    with store.stage(warc) as staged:
        fetched = fetch_batch(job.client, batch, staged.path, warc, crawl)
        unusable = Counter(f"{PASSED_OVER}{one.reason}" for one in fetched.results if one.reason)
        added = len(batch) - unusable.total()
        if added:
            _seal_archive(store, part, warc, staged.path, fetched, unusable)
    table = put_output(
        store,
        row_results.table_name(part),
        len(batch),
        partial(row_results.write, results=fetched.results, file=warc),
    )
    recipe: dict[str, JSON] = {"crawl": crawl, "ranges": digest}
    manifest = Manifest(
        step=row_results.STEP,
        part=part,
        fingerprint=fingerprint(row_results.STEP, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=(table,),
        counts={"rows": len(batch), **unusable},
    )
    seal(store, manifest)
    return SelectionSummary(found=len(batch), added=added, files=bool(added), unusable=passed_over(unusable))


def _seal_archive(
    store: Store, part: str, warc: str, staged: Path, fetched: BatchResult, unusable: Counter[str]
) -> None:
    """Publish the archive file of a batch with its index and its Manifest."""
    lines = fetched.lines
    outputs = (
        put_output(store, warc, fetched.counts.total(), partial(shutil.copyfile, staged)),
        put_output(store, f"warc/{part}{INDEX_SUFFIX}", len(lines), partial(cdxj.write, lines=lines)),
    )
    # The same Manifest as `storage.archive.reseal` gives a file that has lost its seal.
    recipe: dict[str, JSON] = {"ingested": warc.rpartition("/")[2]}
    sealed = manifest_name(STEP_NAME, part)
    if store.exists(sealed):
        if load_manifest(store, sealed).outputs[0].sha256 != outputs[0].sha256:
            raise Conflict(
                f"{sealed} was sealed with other bytes than Common Crawl has now; use another source"
            )
        return
    manifest = Manifest(
        step=STEP,
        part=part,
        fingerprint=fingerprint(STEP, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=outputs,
        counts={**fetched.counts, **unusable},
    )
    seal(store, manifest)


@contextmanager
def _download(client: SourceClient, path: str) -> Iterator[Path]:
    """Yield a local copy of a file of Common Crawl. It is deleted with the context."""
    expected = client.head(path)
    with spool_file(path) as local:
        with local.open("wb") as file:
            for data in client.read_ahead(pieces(path, expected), etag=expected.etag):
                file.write(data)
        if (received := local.stat().st_size) != expected.size:
            raise InputError(
                f"ingest {path}: only {received:,} of {expected.size:,} bytes arrived; run the command again"
            )
        yield local


def _source(config: Config) -> FileSource:
    base, name = config.ingest.commoncrawl, user_agent(config.contact)
    parts = urlsplit(base)
    if parts.scheme == "s3":
        # The client takes most of a second to import.
        from thresher.storage.commoncrawl.transport.s3_source import S3Source  # noqa: PLC0415

        return S3Source(parts.netloc, parts.path, name)
    return HttpSource(base, name)
