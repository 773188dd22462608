"""The pages of a WACZ: which records are pages, their titles, and the one that a player shows first.

Parts of pages, robots.txt and sitemaps are no pages, even if a server answers them in HTML. The crawl log says what a
record was fetched for; an ingested source has none, and its robots.txt files are told by their address.
"""

import logging
import re
from typing import BinaryIO

from thresher.core import CorruptData, Failure, failure_boundary
from thresher.extract.charset import decode
from thresher.extract.mime import HTML, XHTML
from thresher.extract.references import unescape
from thresher.storage.crawllog.log_reader import read_in_order
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT_MIME
from thresher.storage.warc.wacz import page

LOGGER = logging.getLogger(__name__)
PAGE_MIME_TYPES = frozenset({HTML, XHTML, REVISIT_MIME})
"""Types in an index that may be pages. For a revisit only its head can tell."""
PAGE_RESOURCE_TYPES = frozenset({"", "document"})
"""Values of WARC-Resource-Type for pages. With any other value, a page requested the record while it was rendered."""
TITLE_SEARCH_BYTES = 256 << 10
"""Bytes of a page in which its title is searched."""
MAX_TITLE_CHARACTERS = 500
TITLE = re.compile(r"<title[^<>]{0,200}+>([^<]{0,5000}+)", re.IGNORECASE)
ROBOTS = "/robots.txt"
MAX_SEEDS = 1_000
"""Seeds among which the main page is chosen."""


class ListedPages:
    """The pages of one source. Ask for the `line` of every row of its indexes, and then for the `main_page`."""

    def __init__(self, store: Store, source: str) -> None:
        self._rank: dict[str, int] = {}
        """The seeds that were fetched first, in the order of time."""
        self._no_pages: set[str] = set()
        """Ids of the records of sitemaps, and of robots.txt files that lie under another address."""
        self._best = MAX_SEEDS + 1
        self.main_page = ""
        """The URL of the page that a player shows first; empty if there is no page."""
        try:
            for line in read_in_order(store, source):
                if line.kind != "page":
                    if line.status == 200 and line.record and not line.url.endswith(ROBOTS):
                        self._no_pages.add(line.record)
                elif line.is_final and not line.referrer and len(self._rank) < MAX_SEEDS:
                    self._rank.setdefault(line.url, len(self._rank))
        except CorruptData as error:
            LOGGER.warning("the list of pages does without the crawl log: %s", error)

    def line(self, file: BinaryIO, row: cdxj.CdxjRow) -> str:
        """Return the line of a row in the list, or "" if it is no page. `file` is the archive file of the row."""
        if row.status != 200 or row.mime not in PAGE_MIME_TYPES or self._is_for_crawlers(row):
            return ""
        record = next(
            read_records(file, row.offset, row.offset + 1, name=row.filename, limit=TITLE_SEARCH_BYTES)
        )
        if record.mime not in {HTML, XHTML} or record.resource_type.lower() not in PAGE_RESOURCE_TYPES:
            return ""
        rank = self._rank.get(row.url, MAX_SEEDS)
        if rank < self._best:
            self._best, self.main_page = rank, row.url
        return page(row.url, iso_moment(row.timestamp), _title(record))

    def _is_for_crawlers(self, row: cdxj.CdxjRow) -> bool:
        return row.record_id in self._no_pages or row.surt.endswith(f"){ROBOTS}")

    def __repr__(self) -> str:
        return f"<pages from {self.main_page or 'nowhere'}>"


def _title(record: ArchivedRecord) -> str:
    """Return the title of a page, or "" if it has none, or none that can be read."""
    try:
        with failure_boundary("title"):
            found = TITLE.search(decode(record.payload, record.header("content-type")).text)
            return " ".join(unescape(found[1]).split())[:MAX_TITLE_CHARACTERS] if found else ""
    except Failure as failure:
        LOGGER.warning("%s at %s has no title: %s", record.ref.file, record.ref.offset, failure)
        return ""


def iso_moment(timestamp: str) -> str:
    """Return 14 digits as `2026-01-02T03:04:05Z`; without digits, the start of 1970."""
    digits = timestamp or "19700101000000"
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    return f"{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}Z"
