"""What a user wants of Common Crawl, in the words of the command: which files, or which records.

What cannot be meant is an InputError that says what to write, before anything is brought in.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core import InputError
from frontier import NotAUrl, canonical
from storage.commoncrawl import paths
from storage.commoncrawl.file_names import SCHEME, address, paths_list
from storage.commoncrawl.index.selection import FETCHED, Selection
from storage.commoncrawl.transport.source_client import Client

IndexName = Literal["cdx", "columnar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of a crawl is to come in, as a user says it: whole files, or, where any but the first two is given, single records."""

    files: int | None = None
    """The first so many."""
    segments: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    mimes: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    limit: int | None = None
    index: IndexName = "cdx"

    @property
    def is_selective(self) -> bool:
        """Whether single records are wanted."""
        narrowed = self.mimes or self.statuses or self.languages or self.limit
        return bool(self.domains or self.prefixes or narrowed)


def is_meant(argument: str) -> bool:
    """Whether an argument of the command names something of Common Crawl's."""
    return argument.startswith(SCHEME) or argument.endswith(paths.SUFFIXES)


def files_of(client: Client, argument: str, wanted: Wanted) -> tuple[str, ...]:
    """The paths of the files that are wanted, in their order. Raises `InputError` for what names none."""
    if argument.startswith(SCHEME):
        listed = paths_list(*address(argument))
        named = paths.archives(paths.read_list(client, listed), f"{client.uri}{listed}")
    elif is_meant(argument):
        named = paths.read_local(Path(argument))
    else:
        raise InputError(f"ingest {argument}: not of Common Crawl, as the others are; ingest it by itself")
    found = tuple(paths.chosen(named, segments=wanted.segments, files=wanted.files))
    if not found:
        of = f" is in the segments {', '.join(sorted(wanted.segments))}" if wanted.segments else " is named"
        raise InputError(f"ingest {argument}: no file{of}; see which there are in the list of its paths")
    return found


def selection_of(argument: str, wanted: Wanted) -> Selection:
    """What is to be looked up. Raises `InputError` for what can be in no index."""
    if not argument.startswith(SCHEME):
        raise InputError(
            f"ingest {argument}: single records are looked up in a crawl: give commoncrawl:CC-MAIN-..."
        )
    crawl, kind = address(argument)
    if kind != "warc":
        raise InputError(
            f"ingest {argument}: the indexes list pages alone; give {SCHEME}{crawl}, without /{kind}"
        )
    if wanted.files is not None or wanted.segments:
        raise InputError(
            "--files and --segment choose whole files; leave them out where records are looked up"
        )
    made = Selection(
        crawl=crawl,
        domains=frozenset(map(_host, wanted.domains)),
        prefixes=tuple(sorted(set(wanted.prefixes))),
        mimes=frozenset(mime.lower() for mime in wanted.mimes),
        statuses=frozenset(wanted.statuses or FETCHED),
        languages=frozenset(wanted.languages),
        limit=wanted.limit,
    )
    made.spans()  # what is wrong with it is said before anything is asked
    return made


def _host(domain: str) -> str:
    """The domain as URLs have it: lower case, ASCII."""
    if "/" in domain or ":" in domain or "." not in domain.strip("."):
        raise InputError(f"--domain {domain}: no domain; write one such as example.org")
    try:
        return canonical(f"http://{domain.strip().rstrip('.')}/").host
    except NotAUrl as error:
        raise InputError(f"--domain {domain}: {error}; write one such as example.org") from error
