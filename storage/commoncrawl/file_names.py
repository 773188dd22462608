"""How Common Crawl names its files: below one base, the same over HTTPS and in its bucket. Pure."""

import re
from typing import Literal, get_args

from core import InputError

FileKind = Literal["warc", "wat", "wet"]
"""What there is of a crawl: the pages, their metadata, their texts."""
SCHEME = "commoncrawl:"
CRAWL = re.compile(r"CC-MAIN-\d{4}(?:-\d{2,4})?")
FILE = re.compile(r"crawl-data/[A-Za-z0-9._/=-]+\.gz")
SEGMENT = re.compile(r"/segments/([A-Za-z0-9._-]+)/")


def address(text: str) -> tuple[str, FileKind]:
    """Crawl and kind of `commoncrawl:CC-MAIN-2024-22/wet`; the WARC files where no kind is named. Raises `InputError`."""
    crawl, slash, kind = text.removeprefix(SCHEME).partition("/")
    if not CRAWL.fullmatch(crawl):
        raise InputError(f"{text}: no name of a crawl; write one such as {SCHEME}CC-MAIN-2024-22")
    for known in get_args(FileKind):
        if kind == known or not slash:
            return crawl, known
    raise InputError(f"{text}: there is no {kind!r} of a crawl; write {SCHEME}{crawl}/ with warc, wat or wet")


def paths_list(crawl: str, kind: FileKind) -> str:
    """The list of the files of a kind, one a line, gzip."""
    return f"crawl-data/{crawl}/{kind}.paths.gz"


def table_list(crawl: str) -> str:
    """The list of the files of the columnar index."""
    return f"crawl-data/{crawl}/cc-index-table.paths.gz"


def index_path(crawl: str, name: str) -> str:
    """A file of the CDX index: `cluster.idx`, `cdx-00000.gz`."""
    return f"cc-index/collections/{crawl}/indexes/{name}"


def is_file(path: str) -> bool:
    """Whether the path is one of an archive file, and of no other place."""
    return FILE.fullmatch(path) is not None and ".." not in path


def subset(path: str) -> str:
    """`warc`, `crawldiagnostics` (redirects, errors) or `robotstxt`: the directory of an archive file."""
    return path.rpartition("/")[0].rpartition("/")[2]


def segment(path: str) -> str:
    """The segment of an archive file; empty where its path names none."""
    found = SEGMENT.search(path)
    return found[1] if found else ""
