"""The refetch command: what a source holds cut off is fetched whole, into a crawl of its own.

1. Common Crawl cuts payloads off (at 1 MiB, later at 5 MiB), a quarter of all PDFs among them. Which, the process step
   has found out: documents whose record was truncated, and records of which nothing could be read for that.
2. Their addresses go into the frontier of a crawl, or into a list for `thresher seed`. Links on them are not followed.
3. An address that the crawl knows it does not ask again: the command may be killed, and typed again behind more ingests.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import cast

import pyarrow as pa

from core import InputError, RecordRef
from extract.record_document import document_id
from frontier import InvalidUrl, canonicalize
from pipeline.crawls import seed, seed_files
from pipeline.project import Project
from pipeline.steps import process
from storage import tables
from storage.manifest import Manifest, manifests
from storage.store import Store
from storage.warc.cdxj import read as read_cdxj

TRUNCATED = "truncated_pdf"
"""Reason of a record of which nothing could be read, for its end is missing."""

_DOCUMENTS = tables.columns(tables.DOCUMENTS, "url", "truncated")
_VERDICTS = tables.columns(tables.VERDICTS, "id", "reason")


def refetch_truncated(
    project: Project,
    source: str,
    crawl: str,
    on_refused: Callable[[seed_files.RefusedLine], None] = lambda _: None,
) -> seed.SeedSummary:
    """Let the pages of a source that are cut off wait in a crawl.

    Raises `InputError` where the source is not processed as far as it goes, or nothing in it is cut off.
    """
    lines = (_seed(number, url) for number, url in enumerate(_require_urls(project, source), 1))
    return seed.add_seeds(project, lines, seed.SeedPlan(crawl=crawl, max_depth=0), source, on_refused)


def write_urls(project: Project, source: str, out: Path) -> int:
    """Write their addresses to a file, one a line, and return how many. The same errors; none is added to anything."""
    count = 0
    found = _require_urls(project, source)
    half = out.with_name(f"{out.name}.part")
    try:
        with half.open("w", encoding="utf-8", newline="\n") as file:
            for url in found:
                file.write(f"{url}\n")
                count += 1
        half.replace(out)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error}); give another file") from None
    return count


def truncated_urls(store: Store, source: str) -> Iterator[str]:
    """The URL of each document and each record of a source that is cut off, as far as it is processed."""
    indexes = {
        warc.name: index.name
        for archive in manifests(store, "archive", source)
        for warc, index in (process.archive_outputs(archive.outputs),)
    }
    for part in manifests(store, process.NAME, source):
        made = {output.name.partition("/")[0]: output for output in part.outputs}
        documents = tables.read(store, made["documents"], _DOCUMENTS)
        for url, reason in zip(_texts(documents, "url"), _texts(documents, "truncated"), strict=True):
            if reason:
                yield url
        verdicts = tables.read(store, made["verdicts"], _VERDICTS)
        unread = {
            identity
            for identity, reason in zip(_texts(verdicts, "id"), _texts(verdicts, "reason"), strict=True)
            if reason == TRUNCATED
        }
        if unread:
            yield from _record_urls(store, source, part, indexes, unread)


def _record_urls(
    store: Store, source: str, part: Manifest, indexes: dict[str, str], document_ids: set[str]
) -> Iterator[str]:
    """What the index says of records: verdicts name them by where they lie."""
    for span in part.inputs:
        index = indexes[span.name]
        with store.open(index) as file:
            for row in read_cdxj(file, name=index):
                ref = RecordRef(file=row.filename, offset=row.offset, length=row.length, digest=row.digest)
                if document_id(source, ref) in document_ids:
                    yield row.url


def _require_urls(project: Project, source: str) -> Iterator[str]:
    """The URLs, the first of them looked up. `InputError` where there is none."""
    if source not in project.sources(()):
        raise InputError(
            f"refetch {source}: nothing is archived under that name; `thresher status` lists the names"
        )
    process.require_processed(project.store, [source], project.config.filters)
    found = truncated_urls(project.store, source)
    first = next(found, None)
    if first is None:
        raise InputError(
            f"{source}: nothing in it is cut off, as far as it is archived; there is nothing to fetch"
        )
    return chain([first], found)


def _seed(number: int, url: str) -> seed_files.Seed:
    try:
        return canonicalize(url)
    except InvalidUrl as error:
        return seed_files.RefusedLine(line=number, text=url, reason=str(error))


def _texts(table: pa.Table, column: str) -> list[str]:
    return cast("list[str]", table[column].to_pylist())
