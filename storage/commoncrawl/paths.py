"""Read the lists of a crawl's files: one path a line, gzip."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.core import InputError
from thresher.storage.commoncrawl.file_names import is_file, segment

if TYPE_CHECKING:
    from thresher.storage.commoncrawl.transport.source_client import SourceClient

MAX_PATH_CHARACTERS = 1 << 10
"""Characters of a path at most."""
SUFFIXES = (".paths", ".paths.gz")
"""Endings of the names of such lists."""


def read_list(client: "SourceClient", key: str) -> tuple[str, ...]:
    """Return the paths of a list at Common Crawl. Raise `InputError` if it does not exist or is not a list of paths."""
    return _parsed(client.read_all(key), f"{client.uri}{key}")


def read_local(path: Path) -> tuple[str, ...]:
    """Return the paths of a list in a local file. Raise `InputError` if it cannot be read or is not a list of paths."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"ingest {path}: cannot be read ({error.strerror})") from error
    return archives(_parsed(data, f"ingest {path}"), str(path))


def archives(paths: Iterable[str], name: str) -> tuple[str, ...]:
    """Return `paths` unchanged. Raise `InputError` if one of them is not the path of an archive file."""
    found = tuple(paths)
    for number, path in enumerate(found, start=1):
        if not is_file(path):
            raise InputError(f"{name}, line {number}: {path[:200]!r} is no path of an archive file")
    return found


def select_paths(paths: Iterable[str], *, segments: frozenset[str], files: int | None) -> Iterator[str]:
    """Yield the first `files` paths in their order, all if it is None; only of `segments` if any are given."""
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
    if any(len(path) > MAX_PATH_CHARACTERS for path in paths):
        raise InputError(f"{name}: no list of paths: a line has more than {MAX_PATH_CHARACTERS} characters")
    return paths
