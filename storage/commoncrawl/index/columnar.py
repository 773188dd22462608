"""Look up rows in the columnar index of a crawl: read only the footers and the matching row groups of its Parquet
files.

1. A row group is read unless the statistics of `url_surtkey` rule it out. A row group without statistics is read.
2. The keys of a row group are read first. Its other columns are read only if a key lies in a span, and they are
   streamed.
3. Schemas differ between crawls: columns were added, integers became wider, texts became dictionaries. Each wanted
   column is cast to the type given here. A missing column is empty if it is in `OPTIONAL` and an error if it is in
   `NEEDED`.
"""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.core import CorruptData
from thresher.storage.commoncrawl.file_names import table_list
from thresher.storage.commoncrawl.index.row import OLD_BUCKET_PREFIX, CrawlIndexRow, require_valid
from thresher.storage.commoncrawl.index.span import Span, contains_key
from thresher.storage.commoncrawl.paths import read_list
from thresher.storage.commoncrawl.transport.remote_file import RemoteFile
from thresher.storage.commoncrawl.transport.source import Head
from thresher.storage.commoncrawl.transport.source_client import SourceClient

TAIL = 64 << 10
"""Bytes at the end of a file that the first read for its footer takes; a longer footer takes a second read."""
MAGIC = b"PAR1"
BLOCK = 1 << 20
BLOCKS = 32
"""Blocks of one file that are kept in memory; there are 14 columns to read."""
BATCH = 4096
KEY = "url_surtkey"
NEEDED: dict[str, Any] = {
    KEY: pa.string(),
    "url": pa.string(),
    "fetch_time": pa.timestamp("ms"),
    "fetch_status": pa.int32(),
    "warc_filename": pa.string(),
    "warc_record_offset": pa.int64(),
    "warc_record_length": pa.int64(),
}
"""Columns that every crawl has."""
OPTIONAL: dict[str, Any] = {
    "content_digest": pa.string(),
    "content_mime_type": pa.string(),
    "content_mime_detected": pa.string(),
    "content_charset": pa.string(),
    "content_languages": pa.string(),
    "content_truncated": pa.string(),
    "fetch_redirect": pa.string(),
}
"""Columns that were added later: charset and languages with CC-MAIN-2018-39, redirects and truncation with
CC-MAIN-2019-47 (cc-index-schema-flat.json of Common Crawl's cc-index-table).
"""
SUBSET = re.compile(r"/subset=([a-z]+)/")


def rows(
    client: SourceClient, crawl: str, spans: Iterable[Span], subsets: frozenset[str]
) -> Iterator[CrawlIndexRow]:
    """Yield the rows in the spans, file by file.

    Raise `InputError` if the crawl has no columnar index, `CorruptData` if the index cannot be read or lacks a column.
    """
    spans = tuple(spans)
    keys = (key for key in read_list(client, table_list(crawl)) if _is_in_subsets(key, subsets))
    for key, data, head in client.tails(keys, TAIL):
        yield from _read_file(client, key, footer(client, key, data, head), head, spans)


def footer(client: SourceClient, key: str, data: bytes, head: Head) -> Any:
    """Return the metadata of a Parquet file whose last bytes are `data`. Raise `CorruptData` if it is not a Parquet
    file.
    """
    length = int.from_bytes(data[-8:-4], "little") + 8
    if data[-4:] != MAGIC or length > head.size:
        raise CorruptData(f"{client.uri}{key} is no Parquet file; see to its source")
    if length > len(data):
        data = client.read(key, head.size - length, length, head.etag)
    try:
        return pq.read_metadata(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise CorruptData(f"{client.uri}{key}: its footer cannot be read ({_first_line(error)})") from error


def groups(metadata: Any, spans: Iterable[Span]) -> Iterator[int]:
    """Yield the numbers of the row groups that may hold keys of the spans."""
    column = metadata.schema.names.index(KEY)
    spans = tuple(spans)
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics is None or not statistics.has_min_max:
            yield group
            continue
        least, most = _bytes(statistics.min), _bytes(statistics.max)
        if any(span.first <= most and least < span.end for span in spans):
            yield group


def _is_in_subsets(key: str, subsets: frozenset[str]) -> bool:
    found = SUBSET.search(key)
    return found is None or found[1] in subsets


def _read_file(
    client: SourceClient, key: str, metadata: Any, head: Head, spans: tuple[Span, ...]
) -> Iterator[CrawlIndexRow]:
    names = set(metadata.schema.names)
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise CorruptData(f"{client.uri}{key} has no column {missing[0]}: it is no index of Common Crawl's")
    columns = [*NEEDED, *(name for name in OPTIONAL if name in names)]
    chosen = list(groups(metadata, spans))
    if not chosen:
        return
    remote = io.BufferedReader(RemoteFile(client, key, head, block=BLOCK, keep=BLOCKS), TAIL)
    file = pq.ParquetFile(remote, metadata=metadata, pre_buffer=False, buffer_size=TAIL)
    try:
        for group in chosen:
            matching = _matching_rows(file, group, spans)
            if matching is not None:
                yield from _read_group(file, group, columns, matching, spans)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptData(f"{client.uri}{key} cannot be read ({_first_line(error)})") from error


def _matching_rows(file: Any, group: int, spans: tuple[Span, ...]) -> range | None:
    """Return the range from the first to the last row of a group whose key lies in a span; return None if there is
    none.
    """
    first = last = None
    at = 0
    for batch in file.iter_batches(batch_size=BATCH, row_groups=[group], columns=[KEY], use_threads=False):
        for number, key in enumerate(batch.column(0).to_pylist(), start=at):
            if contains_key(spans, _bytes(key)):
                first = number if first is None else first
                last = number
        at += batch.num_rows
    return None if first is None or last is None else range(first, last + 1)


def _read_group(
    file: Any, group: int, columns: list[str], matching: range, spans: tuple[Span, ...]
) -> Iterator[CrawlIndexRow]:
    at = 0
    for batch in file.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns, use_threads=False):
        if at >= matching.stop:
            return
        if at + batch.num_rows > matching.start:
            table = _cast(batch)
            yield from (_row(row) for row in table.to_pylist() if contains_key(spans, _bytes(row[KEY])))
        at += batch.num_rows


def _cast(batch: Any) -> Any:
    """Return the batch with exactly the columns of `NEEDED` and `OPTIONAL`, in their types."""
    arrays = {}
    for name, type_ in {**NEEDED, **OPTIONAL}.items():
        if name not in batch.schema.names:
            arrays[name] = pa.nulls(batch.num_rows, type_)
            continue
        array = batch.column(name)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        arrays[name] = array.cast(type_, safe=not pa.types.is_timestamp(array.type))
    return pa.table(arrays)


def _row(row: dict[str, Any]) -> CrawlIndexRow:
    return require_valid(
        CrawlIndexRow(
            surt=row[KEY],
            timestamp=f"{row['fetch_time']:%Y%m%d%H%M%S}",
            url=row["url"],
            filename=row["warc_filename"].removeprefix(OLD_BUCKET_PREFIX),
            offset=row["warc_record_offset"],
            length=row["warc_record_length"],
            status=max(0, row["fetch_status"] or 0),
            mime=row["content_mime_type"] or "",
            mime_detected=row["content_mime_detected"] or "",
            digest=(row["content_digest"] or "").removeprefix("sha1:"),
            charset=row["content_charset"] or "",
            languages=row["content_languages"] or "",
            truncated=row["content_truncated"] or "",
            redirect=row["fetch_redirect"] or "",
        )
    )


def _bytes(key: Any) -> bytes:
    return key if isinstance(key, bytes) else str(key or "").encode()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
