"""The CDX index of a crawl, looked up where it lies: no server answers, only ranges of files are read.

`cluster.idx` has a line for each block of some 3,000 rows, `surt timestamp TAB file TAB offset TAB length TAB number`, in the order of
its keys; the block is a gzip member of `cdx-NNNNN.gz`, and its rows are in the same order (ZipNum, as pywb reads it).

1. The line to begin with is found by halving: some fifteen small reads of a file of 100 MB and more.
2. Blocks are read some at a time, neighbours together; memory is bounded by `client.ROOM`.
3. A line that is no row is an error that names its block: nothing is passed over in silence.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core import CorruptData
from storage.commoncrawl.client import Ask, Client
from storage.commoncrawl.layout import index
from storage.commoncrawl.row import Row, parse
from storage.commoncrawl.source import Head
from storage.commoncrawl.span import Span

CLUSTER = "cluster.idx"
PROBE = 4 << 10
"""Bytes of a read that looks for a line."""
NEAR = 64 << 10
"""Bytes that are read on from, rather than halved again."""
TOGETHER = 2 << 20
"""Bytes of blocks that are read at once; one has some 200 kB."""
LINE_LIMIT = 1 << 20
"""Bytes of a line at most."""
GZIP = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of rows: its first key, and where it lies."""

    key: bytes
    file: str
    offset: int
    length: int


def rows(client: Client, crawl: str, spans: Iterable[Span]) -> Iterator[Row]:
    """The rows in the spans, in the order of the index. Raises `InputError` where the crawl has no such index, `CorruptData` where it
    cannot be read.
    """
    cluster = index(crawl, CLUSTER)
    told = client.head(cluster)
    for span in spans:
        found = blocks(client, cluster, told, span)
        asks = _asks(crawl, found)
        for ask, came in client.arriving(asks):
            data = client.result(ask.key, came)
            for block in ask.about:
                at = block.offset - ask.first
                yield from _within(span, data[at : at + block.length], f"{ask.key} at {block.offset}")


def blocks(client: Client, cluster: str, told: Head, span: Span) -> Iterator[Block]:
    """The blocks that may hold keys of the span."""
    before: bytes | None = None
    for line in _lines(client, cluster, told, _start(client, cluster, told, span.first)):
        if line >= span.first:
            if before is not None:
                yield _block(before, cluster)
            if line >= span.end:
                return
        before = line
    if before is not None:
        yield _block(before, cluster)


def _start(client: Client, cluster: str, told: Head, key: bytes) -> int:
    """Offset of a line that is not behind the last one before `key`, and near it."""
    low, high = 0, told.size
    while high - low > NEAR:
        middle = (low + high) // 2
        start, line = _line_behind(client, cluster, told, middle)
        if line is not None and start < high and line < key:
            low = start
        else:
            high = middle
    return low


def _line_behind(client: Client, cluster: str, told: Head, at: int) -> tuple[int, bytes | None]:
    """The first line that begins at `at` or behind, and its offset; None at the end of the file."""
    data, wanted = b"", PROBE
    while wanted <= LINE_LIMIT:
        # From the byte before: a line break there makes `at` itself a beginning.
        data = client.read(cluster, at - 1, min(wanted, told.size - at + 1), told.etag)
        first = data.find(b"\n") + 1
        end = data.find(b"\n", first)
        if first and end > 0:
            return at - 1 + first, data[first:end]
        if at - 1 + len(data) >= told.size:
            return told.size, None
        wanted *= 4
    raise CorruptData(f"{client.uri}{cluster} has no line break behind byte {at}: it is no index")


def _lines(client: Client, cluster: str, told: Head, start: int) -> Iterator[bytes]:
    """The lines from an offset on, without their breaks."""
    rest = b""
    while start < told.size:
        data = client.read(cluster, start, min(NEAR, told.size - start), told.etag)
        start += len(data)
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > LINE_LIMIT:
            raise CorruptData(f"{client.uri}{cluster} has no line break before byte {start}: it is no index")
        yield from lines
    if rest:
        yield rest


def _block(line: bytes, cluster: str) -> Block:
    try:
        key, file, offset, length, *_ = line.rstrip(b"\r").split(b"\t")
        block = Block(key=key, file=file.decode("ascii"), offset=int(offset), length=int(length))
    except ValueError:
        block = Block(key=b"", file="", offset=0, length=0)
    if not block.file.startswith("cdx-") or "/" in block.file or block.offset < 0 or block.length <= 0:
        raise CorruptData(f"{cluster} has the line {line[:200]!r}, which names no block; see to its source")
    return block


def _asks(crawl: str, found: Iterable[Block]) -> Iterator[Ask]:
    """Reads for blocks, those that lie behind one another together."""
    together: list[Block] = []
    for block in found:
        if together:
            first, last = together[0], together[-1]
            size = block.offset + block.length - first.offset
            if (block.file, block.offset) != (last.file, last.offset + last.length) or size > TOGETHER:
                yield _ask(crawl, together)
                together = []
        together.append(block)
    if together:
        yield _ask(crawl, together)


def _ask(crawl: str, together: list[Block]) -> Ask:
    first, last = together[0], together[-1]
    return Ask(
        index(crawl, first.file), first.offset, last.offset + last.length - first.offset, tuple(together)
    )


def _within(span: Span, member: bytes, where: str) -> Iterator[Row]:
    """The rows of a block that lie in the span."""
    try:
        lines = zlib.decompress(member, GZIP).split(b"\n")
    except zlib.error as error:
        raise CorruptData(f"{where} is no block of an index ({error}); see to its source") from error
    for number, line in enumerate(lines, start=1):
        if span.first <= line < span.end:
            try:
                yield parse(line.decode())
            except (ValueError, KeyError, TypeError) as error:
                raise CorruptData(f"{where}, line {number} is no row of an index ({error})") from error
