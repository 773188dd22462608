"""Paths lists: which files a crawl is made of, one path a line, gzip."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from core import InputError
from storage.commoncrawl.file_names import is_file, segment
from storage.commoncrawl.transport.source_client import SourceClient

LONGEST = 1 << 10
"""Characters of a path."""
SUFFIXES = (".paths", ".paths.gz")
"""How the name of such a file ends."""


def read_list(client: SourceClient, key: str) -> tuple[str, ...]:
    """The paths of a list of Common Crawl's. Raises `InputError` where there is none."""
    return _parsed(client.read_all(key), f"{client.uri}{key}")


def read_local(path: Path) -> tuple[str, ...]:
    """The paths of a list in a local file. Raises `InputError` where it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"ingest {path}: cannot be read ({error.strerror})") from error
    return archives(_parsed(data, f"ingest {path}"), str(path))


def archives(paths: Iterable[str], name: str) -> tuple[str, ...]:
    """The paths themselves. Raises `InputError` where one is not of an archive file."""
    found = tuple(paths)
    for number, path in enumerate(found, start=1):
        if not is_file(path):
            raise InputError(f"{name}, line {number}: {path[:200]!r} is no path of an archive file")
    return found


def select_paths(paths: Iterable[str], *, segments: frozenset[str], files: int | None) -> Iterator[str]:
    """The first paths, in their order; of some segments where any are named."""
    left = files
    for path in paths:
        if segments and segment(path) not in segments:
            continue
        if left is not None:
            if left == 0:
                return
            left -= 1
        yield path


def _parsed(data: bytes, name: str) -> tuple[str, ...]:
    try:
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("ascii")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{name}: no list of paths ({str(error).splitlines()[0]})") from error
    paths = tuple(line.strip() for line in text.split("\n") if line.strip())
    if not paths:
        raise InputError(f"{name}: no list of paths: there is none in it")
    if any(len(path) > LONGEST for path in paths):
        raise InputError(f"{name}: no list of paths: a line has more than {LONGEST} characters")
    return paths
