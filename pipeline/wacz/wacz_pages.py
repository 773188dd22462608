"""The pages of a WACZ: which records are pages, their titles, and the one that a player shows first.

Parts of pages, robots.txt and sitemaps are no pages, even if a server answers them in HTML. The crawl log says what a
record was fetched for; an ingested source has none, and its robots.txt files are told by their address.
"""

import json
import logging
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TextIO

from thresher.core import CorruptData, Failure, failure_boundary
from thresher.extract.charset import decode
from thresher.extract.markup.page_requisites import page_icon
from thresher.extract.mime import HTML, XHTML
from thresher.extract.references import unescape
from thresher.storage.crawllog.log_reader import read_in_order
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT_MIME
from thresher.storage.warc.wacz import PAGES_HEAD, PAGES_HEAD_WITH_TEXT, page

LOGGER = logging.getLogger(__name__)
PAGE_MIME_TYPES = frozenset({HTML, XHTML, REVISIT_MIME})
"""Types in an index that may be pages. For a revisit only its head can tell."""
PAGE_RESOURCE_TYPES = frozenset({"", "document"})
"""Values of WARC-Resource-Type for pages. With any other value, a page requested the record while it was rendered."""
HEAD_BYTES, TITLE_SEARCH_BYTES = 32 << 10, 256 << 10
"""Bytes of a page in which its title is searched: most have it in the first few, and no others are read then."""
MAX_TITLE_CHARACTERS = 500
TITLE = re.compile(r"<[tT][iI][tT][lL][eE][^<>]{0,200}+>([^<]{0,5000}+)")
MAX_ICON_CHARACTERS = 2_000
"""Of the address of an icon. A longer one is left out."""
ROBOTS = "/robots.txt"
MAX_SEEDS = 1_000
"""Seeds among which the main page is chosen."""
MAX_ICONS = 100_000
"""Icons that are looked up in the index. The pages of further ones have none in the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPage:
    """A page of the list, and what else is known of it."""

    url: str
    line: str
    icon: str
    """Where its icon may be archived; empty if nothing can be said."""
    has_text: bool
    rank: int
    """Below another's if a player should rather show this one first."""

    def write(self, file: TextIO, icons: dict[str, bool]) -> None:
        """Write the page for `complete_list`, and its icon into `icons` as one that is not archived so far."""
        key, icon = _icon_line(self.icon)
        if key not in icons and len(icons) < MAX_ICONS:
            icons[key] = False
        file.write(f"{icon}\n{self.line}\n")


class ListedPages:
    """The pages of one source: ask for every row of its indexes whether it is a `page`."""

    def __init__(self, store: Store, source: str) -> None:
        self._rank: dict[str, int] = {}
        """The seeds that were fetched first, in the order of time."""
        self._no_pages: set[str] = set()
        """Ids of the records of sitemaps, and of robots.txt files that lie under another address."""
        try:
            for line in read_in_order(store, source):
                if line.kind != "page":
                    if line.status == 200 and line.record and not line.url.endswith(ROBOTS):
                        self._no_pages.add(line.record)
                elif line.is_final and not line.referrer and len(self._rank) < MAX_SEEDS:
                    self._rank.setdefault(line.url, len(self._rank))
        except CorruptData as error:
            LOGGER.warning("the list of pages does without the crawl log: %s", error)

    def page(self, file: BinaryIO, row: cdxj.CdxjRow, text_at: Callable[[int], str]) -> ListedPage | None:
        """Return the page that a row stands for; None if it is no page. `file` is the archive file of the row, and
        `text_at` returns what was extracted of the record at a place in it.
        """
        if row.status != 200 or row.mime not in PAGE_MIME_TYPES or self._is_for_crawlers(row):
            return None
        record = _begin(file, row, HEAD_BYTES)
        if record.mime not in {HTML, XHTML} or record.resource_type.lower() not in PAGE_RESOURCE_TYPES:
            return None
        title, icon = _head(record)
        if not title and len(record.payload) >= HEAD_BYTES:
            title, _ = _head(_begin(file, row, TITLE_SEARCH_BYTES))
        text = text_at(row.offset)
        return ListedPage(
            url=row.url,
            line=page(row.url, iso_moment(row.timestamp), title, text),
            icon=icon,
            has_text=bool(text),
            rank=self._rank.get(row.url, MAX_SEEDS),
        )

    def _is_for_crawlers(self, row: cdxj.CdxjRow) -> bool:
        return row.record_id in self._no_pages or row.surt.endswith(f"){ROBOTS}")

    def __repr__(self) -> str:
        return f"<pages of {len(self._rank)} seeds and more>"


def complete_list(written: Path, archived: Container[str], *, has_text: bool) -> Iterator[str]:
    """Yield the lines of the list of pages, each with its line break, from what `ListedPage.write` wrote. `archived`
    has the keys of the icons that can be looked up.
    """
    yield f"{PAGES_HEAD_WITH_TEXT if has_text else PAGES_HEAD}\n"
    with written.open(encoding="ascii") as file:
        for icon in file:
            key, url = json.loads(icon)
            line = next(file)
            if key in archived:
                line = f'{line[:-2]}, "favIconUrl": {json.dumps(url)}}}\n'
            yield line


def _begin(file: BinaryIO, row: cdxj.CdxjRow, limit: int) -> ArchivedRecord:
    """Return the record of a row with the first bytes of its payload."""
    return next(read_records(file, row.offset, row.offset + 1, name=row.filename, limit=limit))


@lru_cache(1024)
def _icon_line(icon: str) -> tuple[str, str]:
    """Return the key of an icon in the index, and the line that goes before its page. Most pages share theirs."""
    key = cdxj.surt_key(icon) if icon else ""
    return key, json.dumps([key, icon])


def _head(record: ArchivedRecord) -> tuple[str, str]:
    """Return the title of a page and the address of its icon; "" for what it has not, or what cannot be read."""
    try:
        with failure_boundary("title"):
            decoded = decode(record.payload, record.header("content-type"))
            found = TITLE.search(decoded.text)
            title = " ".join(unescape(found[1]).split())[:MAX_TITLE_CHARACTERS] if found else ""
            icon = page_icon(decoded.utf8, record.url) if decoded.text else ""
            return title, icon if len(icon) <= MAX_ICON_CHARACTERS else ""
    except Failure as failure:
        LOGGER.warning("%s at %s has no title: %s", record.ref.file, record.ref.offset, failure)
        return "", ""


def iso_moment(timestamp: str) -> str:
    """Return 14 digits as `2026-01-02T03:04:05Z`; without digits, the start of 1970."""
    digits = timestamp or "19700101000000"
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    return f"{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}Z"
