"""Seeds from a file: a list or a table of URLs (`pipeline.crawls.seed_lines`), a sitemap or a feed
(`crawler.reading.sitemap`), or a WAT file (`pipeline.crawls.wat`). Files may be plain or compressed with gzip, bzip2 or
Zstandard; their content decides, not their name.

A file is read as a stream. A line that is not a URL is refused with its line number and its reason, and reading goes
on. An empty file, or one without text, raises `InputError` before anything is added. A file that breaks off raises
`InputError` after its last whole line.
"""

import codecs
import csv
import io
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, TextIO, cast

from thresher.core import InputError, Url
from thresher.crawler.reading.sitemap import iterate_entries
from thresher.frontier import InvalidUrl
from thresher.frontier.urls.canonical import canonicalize
from thresher.pipeline.crawls import seed_lines, wat
from thresher.storage.inputs.decompression import DecompressedStream, decompress
from thresher.storage.warc.members import PLAIN

PEEK = 4096
CHUNK_BYTES = 64 << 10
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEXT = re.compile(
    rb"[^\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]*"
)  # text has none of these; WHATWG, MIME Sniffing, section 5
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HTML = re.compile(
    r"\s*+(?:<!--.*?-->\s*+|)*+<(?:!doctype\s+html|html|head|body)(?![A-Za-z0-9_])", re.IGNORECASE | re.DOTALL
)
_PROBLEMS = {
    "cut_off": "its compression ends before its end",
    "broken_compression": "its compression is broken",
}
_REMEDY = "give a text file with one URL per line, plain or compressed with gzip, bzip2 or Zstandard"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedLine:
    """A line that is not a URL."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text[:80]!r} is no URL to crawl ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapSeed:
    """A sitemap that an index lists. The URLs that it lists are the seeds."""

    url: Url


Seed = Url | SitemapSeed | RefusedLine


def read_seeds(seeds: str, *, links: bool = False) -> Iterator[Seed]:
    """Return every seed of a file, of `-` (standard input), or the one URL that `seeds` is.

    With `links`, the links of the pages in a WAT file are seeds too. Raise `InputError` before the first item if the
    file is missing, empty, binary or unreadable, and after the last whole line if it breaks off.
    """
    if seeds.lower().startswith(("http://", "https://")):
        return iter([_parse_seed(1, seeds)])
    if seeds == "-":
        return _read_file("standard input", sys.stdin.buffer, links)
    try:
        return _read_file(seeds, Path(seeds).open("rb"), links)
    except FileNotFoundError:
        raise InputError(f"seeds {seeds}: no such file; give a list of URLs, one per line") from None
    except OSError as error:
        raise InputError(f"seeds {seeds}: cannot be read ({error.strerror or error})") from None


def of_urls(urls: Iterable[str]) -> Iterator[Seed]:
    """Return the seed of each URL. A text that is not a URL gives a `RefusedLine`, numbered from 1."""
    return (_parse_seed(number, url.strip()) for number, url in enumerate(urls, 1))


def _read_file(name: str, file: BinaryIO, links: bool) -> Iterator[Seed]:
    file = file if file.seekable() else _as_seekable(cast("io.BufferedReader", file))
    unpacked = decompress(file, name=f"seeds {name}") if file.seekable() else None
    stream = (
        io.BufferedReader(_CompleteStream(unpacked), PEEK) if unpacked else cast("io.BufferedReader", file)
    )
    try:
        head = stream.peek(PEEK)
    except OSError as error:
        raise InputError(f"seeds {name}: cannot be read ({error}); {_REMEDY}") from None
    if head.startswith(PLAIN):
        return _require_complete(name, file, _wat_seeds(file, name, links))
    if links:
        raise InputError(f"seeds {name}: only a WAT file lists the links of its pages; leave out --links")
    if not head.strip():
        raise InputError(f"seeds {name}: the file is empty; give one URL per line")
    text = _check_text(name, head)
    if not text.lstrip().startswith("<"):
        wide = head.startswith(_UTF16)
        codec, errors = ("utf-16", "replace") if wide else ("utf-8-sig", "surrogateescape")
        decoded = io.TextIOWrapper(stream, encoding=codec, errors=errors, newline=None)
        return _require_complete(name, decoded, _lines(name, decoded, text))
    if _HTML.match(text):
        raise InputError(f"seeds {name}: an HTML page, not a list; {_REMEDY}")
    return _require_complete(name, stream, _sitemap_seeds(stream))


def _as_seekable(stream: io.BufferedReader) -> BinaryIO:
    """Return compressed data and archives as a temporary file, and plain text as the stream itself."""
    head = stream.peek(PEEK)
    if not head.startswith(PLAIN) and decompress(io.BytesIO(head), name="standard input") is None:
        return stream
    file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - it must live as long as its seeds are read
    shutil.copyfileobj(stream, file)
    return file


class _CompleteStream(io.RawIOBase):
    """The content of a compressed file. Raises `OSError` if it breaks off, because half a line is no seed."""

    def __init__(self, unpacked: DecompressedStream) -> None:
        super().__init__()
        self._unpacked = unpacked

    def readable(self) -> bool:
        """Required by `io.RawIOBase`; always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of `buffer`, and return the number of bytes; 0 at the end."""
        count = self._unpacked.readinto(buffer)
        if not count and self._unpacked.problem:
            raise OSError(_PROBLEMS[self._unpacked.problem])
        return count


def _check_text(name: str, head: bytes) -> str:
    """Return the start of a text. Raise `InputError` if the file is not text."""
    if head.startswith(_UTF16):
        text = head.decode("utf-16", "ignore")
        readable = "://" in text or "<" in text
    else:
        text = head.decode("utf-8-sig", "surrogateescape")
        readable = _TEXT.fullmatch(head) is not None
    if not readable:
        raise InputError(f"seeds {name}: a binary file; {_REMEDY}")
    return text


def _wat_seeds(file: BinaryIO, name: str, links: bool) -> Iterator[Seed]:
    file.seek(0)
    for number, url in wat.wat_urls(file, name, links=links):
        yield _parse_seed(number, url)


def _lines(name: str, text: TextIO, head: str) -> Iterator[Seed]:
    return (
        _parse_seed(number, candidate) for number, candidate in seed_lines.url_candidates(name, text, head)
    )


def _sitemap_seeds(stream: BinaryIO) -> Iterator[Seed]:
    for number, entry in enumerate(iterate_entries(iter(lambda: stream.read(CHUNK_BYTES), b"")), 1):
        seed = _parse_seed(number, entry.url)
        yield SitemapSeed(url=seed) if entry.is_sitemap and isinstance(seed, Url) else seed


def _require_complete(name: str, file: IO[Any], seeds: Iterator[Seed]) -> Iterator[Seed]:
    """Yield the same seeds, and close the file that they are read from. Raise `InputError` if the file breaks off or
    breaks its own format.
    """
    try:
        with file:
            yield from seeds
    except (OSError, UnicodeError, csv.Error) as error:
        detail = " ".join(str(error).split())
        raise InputError(f"seeds {name}: breaks off ({detail})") from None


def _parse_seed(line: int, written: str) -> Url | RefusedLine:
    if _CONTROL.search(written):
        return RefusedLine(line=line, text=written, reason="a control character in it")
    try:
        return canonicalize(written)
    except InvalidUrl as error:
        return RefusedLine(line=line, text=written, reason=str(error))
