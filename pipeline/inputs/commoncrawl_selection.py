"""What a user wants of Common Crawl, in the words of the command: which files, or which records.

What cannot be meant is an InputError that says what to write, before anything is brought in.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core import InputError
from frontier import InvalidUrl, canonicalize
from storage.commoncrawl import paths
from storage.commoncrawl.file_names import SCHEME, address, paths_list
from storage.commoncrawl.index.selection import DEFAULT_STATUSES, Selection
from storage.commoncrawl.transport.source_client import SourceClient

IndexName = Literal["cdx", "columnar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonCrawlSelection:
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


def is_commoncrawl(argument: str) -> bool:
    """Whether an argument of the command names something of Common Crawl's."""
    return argument.startswith(SCHEME) or argument.endswith(paths.SUFFIXES)


def selected_paths(client: SourceClient, argument: str, selection: CommonCrawlSelection) -> tuple[str, ...]:
    """The paths of the files that are wanted, in their order. Raises `InputError` for what names none."""
    if argument.startswith(SCHEME):
        listed = paths_list(*address(argument))
        named = paths.archives(paths.read_list(client, listed), f"{client.uri}{listed}")
    elif is_commoncrawl(argument):
        named = paths.read_local(Path(argument))
    else:
        raise InputError(f"ingest {argument}: not of Common Crawl, as the others are; ingest it by itself")
    found = tuple(paths.select_paths(named, segments=selection.segments, files=selection.files))
    if not found:
        of = (
            f" is in the segments {', '.join(sorted(selection.segments))}"
            if selection.segments
            else " is named"
        )
        raise InputError(f"ingest {argument}: no file{of}; see which there are in the list of its paths")
    return found


def index_selection(argument: str, selection: CommonCrawlSelection) -> Selection:
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
    if selection.files is not None or selection.segments:
        raise InputError(
            "--files and --segment choose whole files; leave them out where records are looked up"
        )
    made = Selection(
        crawl=crawl,
        domains=frozenset(map(_host, selection.domains)),
        prefixes=tuple(sorted(set(selection.prefixes))),
        mimes=frozenset(mime.lower() for mime in selection.mimes),
        statuses=frozenset(selection.statuses or DEFAULT_STATUSES),
        languages=frozenset(selection.languages),
        limit=selection.limit,
    )
    made.spans()  # what is wrong with it is said before anything is asked
    return made


def _host(domain: str) -> str:
    """The domain as URLs have it: lower case, ASCII."""
    if "/" in domain or ":" in domain or "." not in domain.strip("."):
        raise InputError(f"--domain {domain}: no domain; write one such as example.org")
    try:
        return canonicalize(f"http://{domain.strip().rstrip('.')}/").host
    except InvalidUrl as error:
        raise InputError(f"--domain {domain}: {error}; write one such as example.org") from error
