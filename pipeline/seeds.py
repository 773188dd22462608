"""Seeds: URLs out of a plain list, a CSV with a `url` column, a sitemap or a feed (`crawler.sitemap`), or a WAT file
(`pipeline.wat`); plain, .gz or .zst.

A file is read as a stream. A line that is no URL is refused with its line number and its reason, and the
others go on; a file that holds no text, or nothing at all, is an InputError before anything is added.
"""

import codecs
import csv
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from core import InputError, Url
from crawler.sitemap import entries
from frontier import NotAUrl
from frontier.canonical import canonical
from frontier.trap import pitfall
from pipeline import wat
from storage.inputs.inflated import inflated
from storage.members import PLAIN

PEEK = 4096
COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd"}
LONGEST_FIELD = 128 << 10
"""Characters of a field of a table: the csv module's own default."""
PIECE = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A line that is no seed: no URL, or one that only a trap would make."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text[:80]!r} is no URL to crawl ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """A sitemap that an index lists: what it lists are the seeds."""

    url: Url


Seed = Url | Sitemap | Refused


def read(seeds: str, *, links: bool = False) -> Iterator[Seed]:
    """Every seed of a FILE, of `-` (standard input), or the one URL that was given instead; with `links`, also those that
    the pages of a WAT file lead to.

    Raises InputError, before the first item, for a file that is missing, empty, binary or unreadable.
    """
    if seeds.lower().startswith(("http://", "https://")):
        return iter([_seed(1, seeds)])
    if seeds == "-":
        return _lines("standard input", sys.stdin.buffer)
    path = Path(seeds)
    try:
        if _is_archive(path):
            return _whole(seeds, _archive(path, seeds, links))
        if links:
            raise InputError(
                f"seeds {seeds}: links are known of the pages of a WAT file alone; leave out --links"
            )
        return _lines(seeds, pa.input_stream(path, compression=cast("Any", COMPRESSIONS.get(path.suffix))))
    except FileNotFoundError:
        raise InputError(f"seeds {seeds}: no such file; give a list of URLs, one a line") from None
    except OSError as error:
        raise InputError(f"seeds {seeds}: cannot be read ({error})") from None


def _is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        unpacked = inflated(file, name=str(path))
        head = (io.BufferedReader(unpacked, PEEK) if unpacked else file).read(len(PLAIN))
    return head == PLAIN


def _archive(path: Path, name: str, links: bool) -> Iterator[Seed]:
    with path.open("rb") as file:
        for number, url in wat.urls(file, name, links=links):
            yield _seed(number, url)


def _lines(name: str, stream: Any) -> Iterator[Seed]:
    try:
        buffered = io.BufferedReader(stream, PEEK)
        head = buffered.peek(PEEK)
    except OSError as error:
        raise InputError(f"seeds {name}: cannot be read ({error})") from None
    if not head.strip():
        raise InputError(f"seeds {name}: the file is empty; give one URL a line")
    if b"\0" in head or not _is_text(head):
        raise InputError(
            f"seeds {name}: a binary file; give a text file with one URL a line (or .gz, .zst of one)"
        )
    return _whole(name, _read(buffered, head))


def _read(buffered: io.BufferedReader, head: bytes) -> Iterator[Seed]:
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _sitemap(cast("BinaryIO", buffered))
    text = io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="replace", newline=None)
    first = head.decode("utf-8-sig", "replace").splitlines()[0]
    columns = [column.strip().lower() for column in next(csv.reader([first]), [])]
    if "url" in columns:
        return _table(text)
    return _list(text)


def _whole(name: str, seeds: Iterator[Seed]) -> Iterator[Seed]:
    """The same seeds; InputError where the file breaks off or breaks its own format on the way."""
    count = 0
    try:
        for seed in seeds:
            count += 1
            yield seed
    except (OSError, LookupError, csv.Error) as error:
        detail = " ".join(str(error).split())
        raise InputError(
            f"seeds {name}: cannot be read behind {count} URLs ({detail}); those are added"
        ) from None


def _is_text(head: bytes) -> bool:
    try:
        # Incrementally: the last character may be cut by the end of what was looked at.
        codecs.getincrementaldecoder("utf-8")().decode(head, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _list(text: io.TextIOWrapper) -> Iterator[Seed]:
    for number, line in enumerate(text, 1):
        written = line.strip()
        if written and not written.startswith("#"):
            yield _seed(number, written)


def _table(text: io.TextIOWrapper) -> Iterator[Seed]:
    csv.field_size_limit(LONGEST_FIELD)  # of the whole process: there is no other
    rows = csv.reader(text)
    header = [column.strip().lower() for column in next(rows)]
    place = header.index("url")
    for row in rows:
        if len(row) > place and row[place].strip():
            yield _seed(rows.line_num, row[place].strip())


def _sitemap(stream: BinaryIO) -> Iterator[Seed]:
    for number, entry in enumerate(entries(iter(lambda: stream.read(PIECE), b"")), 1):
        seed = _seed(number, entry.url)
        yield Sitemap(url=seed) if entry.sitemap and isinstance(seed, Url) else seed


def _seed(line: int, written: str) -> Url | Refused:
    try:
        url = canonical(written)
    except NotAUrl as error:
        return Refused(line=line, text=written, reason=str(error))
    trap = pitfall(url)
    return url if trap is None else Refused(line=line, text=written, reason=f"a trap: {trap}")
