"""A user's selection from Common Crawl, in the words of the command: whole files, or single records.

An impossible selection raises an `InputError` that says what to write, before anything is ingested.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from thresher.core import InputError
from thresher.frontier import InvalidUrl, canonicalize
from thresher.storage.commoncrawl import paths
from thresher.storage.commoncrawl.file_names import SCHEME, address, paths_list
from thresher.storage.commoncrawl.index.selection import DEFAULT_STATUSES, Selection

if TYPE_CHECKING:
    from thresher.storage.commoncrawl.transport.source_client import SourceClient

IndexName = Literal["cdx", "columnar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonCrawlSelection:
    """Which files of a crawl to ingest, or, if a field after the first two is set, which single records."""

    files: int | None = None
    """Maximum number of files, from the start of the list."""
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
        """Whether the selection is of single records."""
        narrowed = self.mimes or self.statuses or self.languages or self.limit
        return bool(self.domains or self.prefixes or narrowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSummary:
    """The result of a selection of single records."""

    found: int = 0
    """Records in the index."""
    known: int = 0
    """Found records that an earlier command has looked at, with any result."""
    added: int = 0
    """Found records that this command has added."""
    files: int = 0
    """Archive files that this command has sealed."""
    unusable: dict[str, int] = field(default_factory=dict)
    """Records that disagree with the index, by reason."""

    def __add__(self, other: "SelectionSummary") -> "SelectionSummary":
        return SelectionSummary(
            found=self.found + other.found,
            known=self.known + other.known,
            added=self.added + other.added,
            files=self.files + other.files,
            unusable=dict(Counter(self.unusable) + Counter(other.unusable)),
        )


def is_commoncrawl(argument: str) -> bool:
    """Return whether an argument of the command names data of Common Crawl."""
    return argument.startswith(SCHEME) or argument.endswith(paths.SUFFIXES)


def selected_paths(client: "SourceClient", argument: str, selection: CommonCrawlSelection) -> tuple[str, ...]:
    """Return the paths of the selected files, in their order. Raise `InputError` if there is none."""
    if argument.startswith(SCHEME):
        list_path = paths_list(*address(argument))
        archives = paths.archives(paths.read_list(client, list_path), f"{client.uri}{list_path}")
    elif is_commoncrawl(argument):
        archives = paths.read_local(Path(argument))
    else:
        raise InputError(
            f"ingest {argument}: is not from Common Crawl as the others are; ingest it by itself"
        )
    selected = tuple(paths.select_paths(archives, segments=selection.segments, files=selection.files))
    if not selected:
        excluded = (
            f" is in the segments {', '.join(sorted(selection.segments))}"
            if selection.segments
            else " is named"
        )
        raise InputError(f"ingest {argument}: no file{excluded}; look into the list of its paths")
    return selected


def index_selection(argument: str, selection: CommonCrawlSelection) -> Selection:
    """Return the selection for the index. Raise `InputError` if no index can answer it."""
    if not argument.startswith(SCHEME):
        raise InputError(
            f"ingest {argument}: single records need the index of a crawl: give commoncrawl:CC-MAIN-..."
        )
    crawl, kind = address(argument)
    if kind != "warc":
        raise InputError(
            f"ingest {argument}: the indexes list only pages; give {SCHEME}{crawl}, without /{kind}"
        )
    if selection.files is not None or selection.segments:
        raise InputError("--files and --segment select whole files; leave them out to select single records")
    answerable = Selection(
        crawl=crawl,
        domains=frozenset(map(_host, selection.domains)),
        prefixes=tuple(sorted(set(selection.prefixes))),
        mimes=frozenset(mime.lower() for mime in selection.mimes),
        statuses=frozenset(selection.statuses or DEFAULT_STATUSES),
        languages=frozenset(selection.languages),
        limit=selection.limit,
    )
    answerable.spans()  # raises for an invalid selection, before any request
    return answerable


def _host(domain: str) -> str:
    """Return a domain as URLs have it: lower case, ASCII."""
    if "/" in domain or ":" in domain or "." not in domain.strip("."):
        raise InputError(f"--domain {domain}: is not a domain; write it as example.org")
    try:
        return canonicalize(f"http://{domain.strip().rstrip('.')}/").host
    except InvalidUrl as error:
        raise InputError(f"--domain {domain}: {error}; write it as example.org") from error
