"""The refetch command: give a crawl the URLs of pages that a source holds only in truncated form.

1. Common Crawl truncates payloads (at 1 MiB, later at 5 MiB), among them a quarter of all PDFs. The process step has
   recorded them: documents from truncated records, and truncated records that could not be read at all.
2. Their URLs go into the frontier of a crawl, or into a list for `thresher seed`. Links on them are not followed.
3. URLs that the crawl knows are not requested again, so the command may be killed and typed again, and may be repeated
   after more ingests.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import cast

import pyarrow as pa

from thresher.core import InputError, RecordRef, document_id
from thresher.frontier import InvalidUrl, canonicalize
from thresher.pipeline.crawls import seed, seed_files
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps import process
from thresher.storage import tables
from thresher.storage.archive.open_files import archive_outputs
from thresher.storage.manifest import Manifest, manifests
from thresher.storage.store import Store
from thresher.storage.warc.cdxj import read as read_cdxj

TRUNCATED = "truncated_pdf"
"""Reason of a record that could not be read because its end is missing."""

_DOCUMENTS = tables.columns(tables.DOCUMENTS, "url", "truncated")
_VERDICTS = tables.columns(tables.VERDICTS, "id", "reason")


def refetch_truncated(
    project: OpenProject,
    source: str,
    crawl: str,
    on_refused: Callable[[seed_files.RefusedLine], None] = lambda _: None,
) -> seed.SeedSummary:
    """Add the URLs of the truncated pages of a source to a crawl.

    Raise `InputError` if the source is not fully processed, or holds nothing truncated.
    """
    lines = (_seed(number, url) for number, url in enumerate(_require_urls(project, source), 1))
    return seed.add_seeds(project, lines, seed.SeedPlan(crawl=crawl, max_depth=0), source, on_refused)


def write_urls(project: OpenProject, source: str, out: Path) -> int:
    """Write the URLs of the truncated pages of a source to a file, one per line, and return how many.

    Raise `InputError` as `refetch_truncated` does, and if the file cannot be written.
    """
    count = 0
    urls = _require_urls(project, source)
    unfinished = out.with_name(f"{out.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            for url in urls:
                file.write(f"{url}\n")
                count += 1
        unfinished.replace(out)
    except OSError as error:
        raise InputError(
            f"--out {out}: cannot be written ({error.strerror or error}); give another file"
        ) from None
    return count


def truncated_urls(store: Store, source: str) -> Iterator[str]:
    """Yield the URL of each truncated document and record in the processed parts of a source."""
    indexes = {
        warc.name: index.name
        for archive in manifests(store, "archive", source)
        for warc, index in (archive_outputs(archive.outputs),)
    }
    for part in manifests(store, process.NAME, source):
        outputs = {output.name.partition("/")[0]: output for output in part.outputs}
        documents = tables.read(store, outputs["documents"], _DOCUMENTS)
        for url, reason in zip(_texts(documents, "url"), _texts(documents, "truncated"), strict=True):
            if reason:
                yield url
        verdicts = tables.read(store, outputs["verdicts"], _VERDICTS)
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
    """Yield the URLs of records from the index, because verdicts name records only by their position."""
    for span in part.inputs:
        index = indexes[span.name]
        with store.open(index) as file:
            for row in read_cdxj(file, name=index):
                ref = RecordRef(file=row.filename, offset=row.offset, length=row.length, digest=row.digest)
                if document_id(source, ref) in document_ids:
                    yield row.url


def _require_urls(project: OpenProject, source: str) -> Iterator[str]:
    """Return the URLs. Raise `InputError` if there is none."""
    if source not in project.sources(()):
        raise InputError(
            f"refetch {source}: nothing is archived under that name; `thresher status` lists the names"
        )
    process.require_processed(project.store, [source], project.config.filters)
    urls = truncated_urls(project.store, source)
    first = next(urls, None)
    if first is None:
        raise InputError(f"{source}: nothing archived in it is truncated; there is nothing to fetch")
    return chain([first], urls)


def _seed(number: int, url: str) -> seed_files.Seed:
    try:
        return canonicalize(url)
    except InvalidUrl as error:
        return seed_files.RefusedLine(line=number, text=url, reason=str(error))


def _texts(table: pa.Table, column: str) -> list[str]:
    return cast("list[str]", table[column].to_pylist())
