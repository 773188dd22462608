"""Name and recognise the files of Common Crawl; their names are the same over HTTPS and in its bucket. Pure."""

import re
from typing import Literal, get_args

from thresher.core import InputError

FileKind = Literal["warc", "wat", "wet"]
"""Kinds of a crawl's files: the pages, their metadata, their texts."""
SCHEME = "commoncrawl:"
CRAWL = re.compile(r"CC-MAIN-\d{4}(?:-\d{2,4})?", re.ASCII)
FILE = re.compile(r"crawl-data/[A-Za-z0-9._/=-]+\.gz")
SEGMENT = re.compile(r"/segments/([A-Za-z0-9._-]+)/")


def address(text: str) -> tuple[str, FileKind]:
    """Return the crawl and the kind of an address such as `commoncrawl:CC-MAIN-2024-22/wet`; the default kind is
    `warc`.

    Raise `InputError` if the crawl or the kind is not valid.
    """
    crawl, slash, kind = text.removeprefix(SCHEME).partition("/")
    if not CRAWL.fullmatch(crawl):
        raise InputError(f"{text}: no name of a crawl; write one such as {SCHEME}CC-MAIN-2024-22")
    for known in get_args(FileKind):
        if kind == known or not slash:
            return crawl, known
    raise InputError(f"{text}: there is no {kind!r} of a crawl; write {SCHEME}{crawl}/ with warc, wat or wet")


def paths_list(crawl: str, kind: FileKind) -> str:
    """Return the name of the list of a kind's files (one a line, gzip)."""
    return f"crawl-data/{crawl}/{kind}.paths.gz"


def table_list(crawl: str) -> str:
    """Return the name of the list of the columnar index's files."""
    return f"crawl-data/{crawl}/cc-index-table.paths.gz"


def index_path(crawl: str, name: str) -> str:
    """Return the path of a file of the CDX index: `cluster.idx`, `cdx-00000.gz`."""
    return f"cc-index/collections/{crawl}/indexes/{name}"


def is_file(path: str) -> bool:
    """Return whether `path` is the path of an archive file and cannot lead anywhere else."""
    return FILE.fullmatch(path) is not None and ".." not in path


def subset(path: str) -> str:
    """Return the directory of an archive file: `warc`, `crawldiagnostics` (redirects, errors) or `robotstxt`."""
    return path.rpartition("/")[0].rpartition("/")[2]


def segment(path: str) -> str:
    """Return the segment of an archive file; return `""` if its path names none."""
    found = SEGMENT.search(path)
    return found[1] if found else ""
