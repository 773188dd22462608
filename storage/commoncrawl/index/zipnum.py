"""The CDX index of a crawl, looked up where it lies: no server answers, only ranges of files are read.

`cluster.idx` has a line for each block of some 3,000 rows, `surt timestamp TAB file TAB offset TAB length TAB number`, in the order of
its keys; the block is a gzip member of `cdx-NNNNN.gz`, and its rows are in the same order (ZipNum, as pywb reads it).

1. The line to begin with is found by halving: a dozen small reads of a file of 100 MB and more, and few more for the next span, for
   what was read is kept.
2. Blocks are read ahead, neighbours together, each once; memory is bounded by `client.ROOM`.
3. A line that is no row is an error that names its block: nothing is passed over in silence.
"""

import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from core import CorruptData
from storage.commoncrawl.file_names import index_path
from storage.commoncrawl.index.row import CrawlIndexRow, parse
from storage.commoncrawl.index.span import Span, contains_key
from storage.commoncrawl.transport.remote_file import RemoteFile
from storage.commoncrawl.transport.source_client import RangeRequest, SourceClient

CLUSTER = "cluster.idx"
NEAR = 64 << 10
"""Bytes that are read of `cluster.idx` at a time, and read on from rather than halved again."""
MAX_CACHED_READS = 512
"""Such reads that are kept."""
TOGETHER = 2 << 20
"""Bytes of blocks that are read at once; one has some 200 kB."""
LINE_LIMIT = 1 << 20
"""Bytes of a line at most."""
GZIP = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBlock:
    """One block of rows: its first key, and where it lies."""

    key: bytes
    file: str
    offset: int
    length: int


def rows(client: SourceClient, crawl: str, spans: Iterable[Span]) -> Iterator[CrawlIndexRow]:
    """The rows in the spans, which are in order and do not overlap, in the order of the index. Raises `InputError` where the crawl has
    no such index, `CorruptData` where it cannot be read.
    """
    name = index_path(crawl, CLUSTER)
    told = client.head(name)
    cluster = io.BufferedReader(RemoteFile(client, name, told, block=NEAR, keep=MAX_CACHED_READS), NEAR)
    for ask, came in client.fetch_ahead(_asks(crawl, _wanted(cluster, told.size, spans))):
        data = client.result(ask.key, came)
        for block, within in ask.context:
            at = block.offset - ask.first
            yield from _within(tuple(within), data[at : at + block.length], f"{ask.key} at {block.offset}")


BlockSpans = tuple[IndexBlock, list[Span]]
"""A block, and the spans of which it may hold keys."""


def _wanted(cluster: BinaryIO, size: int, spans: Iterable[Span]) -> Iterator[BlockSpans]:
    held: BlockSpans | None = None
    for span in spans:
        for block in blocks(cluster, size, span):
            if held is not None and held[0] == block:
                held[1].append(span)
                continue
            if held is not None:
                yield held
            held = block, [span]
    if held is not None:
        yield held


def blocks(cluster: BinaryIO, size: int, span: Span) -> Iterator[IndexBlock]:
    """The blocks that may hold keys of the span; `cluster` is the open `cluster.idx`, `size` its bytes."""
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
    """Offset of a line that is not behind the last one before `key`, and near it."""
    low, high = 0, size
    while high - low > NEAR:
        middle = (low + high) // 2
        cluster.seek(middle - 1)  # a line break there makes the middle itself a beginning
        _line(cluster)
        start = cluster.tell()
        line = _line(cluster) if start < high else b""
        if line and line < key:
            low = start
        else:
            high = middle
    return low


def _line(cluster: BinaryIO) -> bytes:
    """The next line, with its break; empty at the end."""
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


def _asks(crawl: str, found: Iterable[BlockSpans]) -> Iterator[RangeRequest]:
    """Reads for blocks, those that lie behind one another together."""
    together: list[BlockSpans] = []
    for one in found:
        if together:
            (first, _), (last, _), (block, _) = together[0], together[-1], one
            size = block.offset + block.length - first.offset
            if (block.file, block.offset) != (last.file, last.offset + last.length) or size > TOGETHER:
                yield _ask(crawl, together)
                together = []
        together.append(one)
    if together:
        yield _ask(crawl, together)


def _ask(crawl: str, together: list[BlockSpans]) -> RangeRequest:
    (first, _), (last, _) = together[0], together[-1]
    length = last.offset + last.length - first.offset
    return RangeRequest(index_path(crawl, first.file), first.offset, length, tuple(together))


def _within(spans: tuple[Span, ...], member: bytes, where: str) -> Iterator[CrawlIndexRow]:
    """The rows of a block that lie in the spans."""
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
