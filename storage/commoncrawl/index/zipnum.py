"""Look up rows in the CDX index of a crawl by reading ranges of its files; no index server is needed.

`cluster.idx` has one line per block of about 3,000 rows, `surt timestamp TAB file TAB offset TAB length TAB number`,
sorted by key. A block is a gzip member of `cdx-NNNNN.gz`, and its rows are sorted too (ZipNum, as pywb reads it).

1. Bisection finds the first line of a span. It takes about a dozen small reads of a file of 100 MB and more, and only
   few for each further span, because blocks that were read are kept.
2. Blocks are read ahead, adjacent ones together, each once. Memory is bounded by `loop_thread.READ_AHEAD_BYTES`.
3. A line that is not a valid row is an error that names its block: nothing is skipped silently.
"""

import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from thresher.core import CorruptData
from thresher.storage.commoncrawl.file_names import index_path
from thresher.storage.commoncrawl.index.row import CrawlIndexRow, parse
from thresher.storage.commoncrawl.index.span import Span, contains_key
from thresher.storage.commoncrawl.transport.remote_file import RemoteFile
from thresher.storage.commoncrawl.transport.source_client import RangeRequest, SourceClient

CLUSTER = "cluster.idx"
NEAR = 64 << 10
"""Bytes of `cluster.idx` that one read takes. Bisection ends when the rest is no longer than this."""
MAX_CACHED_READS = 512
"""Reads of `NEAR` bytes that are kept in memory."""
TOGETHER = 2 << 20
"""Bytes of adjacent blocks that one read takes at most; one block has about 200 kB."""
LINE_LIMIT = 1 << 20
"""Bytes of a line of `cluster.idx` at most."""
GZIP = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBlock:
    """One block of rows: its first key and its place."""

    key: bytes
    file: str
    offset: int
    length: int


def rows(client: SourceClient, crawl: str, spans: Iterable[Span]) -> Iterator[CrawlIndexRow]:
    """Yield the rows in the spans, in the order of the index. The spans are sorted and do not overlap.

    Raise `InputError` if the crawl has no CDX index, `CorruptData` if the index cannot be read.
    """
    name = index_path(crawl, CLUSTER)
    head = client.head(name)
    cluster = io.BufferedReader(RemoteFile(client, name, head, block=NEAR, keep=MAX_CACHED_READS), NEAR)
    for request, response in client.fetch_ahead(_requests(crawl, _blocks_of(cluster, head.size, spans))):
        data = client.result(request.key, response)
        for block, within in request.context:
            at = block.offset - request.first
            where = f"{request.key} at {block.offset}"
            member = data[at : at + block.length]
            yield from _rows_within(tuple(within), member, where)


BlockSpans = tuple[IndexBlock, list[Span]]
"""A block, and the spans whose keys it may hold."""


def _blocks_of(cluster: BinaryIO, size: int, spans: Iterable[Span]) -> Iterator[BlockSpans]:
    current: BlockSpans | None = None
    for span in spans:
        for block in blocks(cluster, size, span):
            if current is not None and current[0] == block:
                current[1].append(span)
                continue
            if current is not None:
                yield current
            current = block, [span]
    if current is not None:
        yield current


def blocks(cluster: BinaryIO, size: int, span: Span) -> Iterator[IndexBlock]:
    """Yield the blocks that may hold keys of the span; `cluster` is the open `cluster.idx` of `size` bytes."""
    before: bytes | None = None
    cluster.seek(_start(cluster, size, span.first))
    while line := _line(cluster):
        if line >= span.first:
            if before is not None:
                yield _block(before)
            if line >= span.end:
                return
        before = line
    if before is not None:
        yield _block(before)


def _start(cluster: BinaryIO, size: int, key: bytes) -> int:
    """Return the offset of a line at or shortly before the last line whose key is smaller than `key`."""
    low, high = 0, size
    while high - low > NEAR:
        middle = (low + high) // 2
        cluster.seek(middle - 1)  # if a line break precedes `middle`, a line starts at `middle`
        _line(cluster)
        start = cluster.tell()
        line = _line(cluster) if start < high else b""
        if line and line < key:
            low = start
        else:
            high = middle
    return low


def _line(cluster: BinaryIO) -> bytes:
    """Return the next line with its line break; return `b""` at the end."""
    line = cluster.readline(LINE_LIMIT)
    if len(line) == LINE_LIMIT:
        raise CorruptData(
            f"{CLUSTER} has a line of more than {LINE_LIMIT} bytes: it is no index; see to its source"
        )
    return line


def _block(line: bytes) -> IndexBlock:
    try:
        key, file, offset, length, *_ = line.rstrip(b"\r\n").split(b"\t")
        block = IndexBlock(key=key, file=file.decode("ascii"), offset=int(offset), length=int(length))
    except ValueError:
        block = IndexBlock(key=b"", file="", offset=0, length=0)
    if not block.file.startswith("cdx-") or "/" in block.file or block.offset < 0 or block.length <= 0:
        raise CorruptData(f"{CLUSTER} has the line {line[:200]!r}, which names no block; see to its source")
    return block


def _requests(crawl: str, blocks_and_spans: Iterable[BlockSpans]) -> Iterator[RangeRequest]:
    """Yield the requests for blocks; adjacent blocks share one request."""
    adjacent: list[BlockSpans] = []
    for block_and_spans in blocks_and_spans:
        if adjacent:
            (first, _), (last, _), (block, _) = adjacent[0], adjacent[-1], block_and_spans
            size = block.offset + block.length - first.offset
            if (block.file, block.offset) != (last.file, last.offset + last.length) or size > TOGETHER:
                yield _request(crawl, adjacent)
                adjacent = []
        adjacent.append(block_and_spans)
    if adjacent:
        yield _request(crawl, adjacent)


def _request(crawl: str, adjacent: list[BlockSpans]) -> RangeRequest:
    (first, _), (last, _) = adjacent[0], adjacent[-1]
    length = last.offset + last.length - first.offset
    return RangeRequest(index_path(crawl, first.file), first.offset, length, tuple(adjacent))


def _rows_within(spans: tuple[Span, ...], member: bytes, where: str) -> Iterator[CrawlIndexRow]:
    """Yield the rows of a block that lie in the spans."""
    try:
        lines = zlib.decompress(member, GZIP).split(b"\n")
    except zlib.error as error:
        raise CorruptData(f"{where} is no block of an index ({error}); see to its source") from error
    for number, line in enumerate(lines, start=1):
        if contains_key(spans, line):
            try:
                yield parse(line.decode())
            except (ValueError, KeyError, TypeError) as error:
                raise CorruptData(f"{where}, line {number} is no row of an index ({error})") from error
