"""The archive filter: whether a page is archived, decided before anything of it is stored. Pure.

A worker may have a function that looks at each page and names the reason for which it is not worth archiving. A
metadata record then takes the place of the page's request and response (`storage.warc.dropped`), under the record id
of its lease. The record is durable before the lease ends, and a recovery can settle the lease from it. The same
happens to a page that asks not to be archived, if the crawl obeys that. Redirects, robots.txt files and sitemaps are
never dropped, because they say where the crawl went, and why.
"""

from collections.abc import Callable
from dataclasses import dataclass

from thresher.core import Capture
from thresher.core.capture import Truncation
from thresher.crawler.reading.page_reading import PageReading
from thresher.crawler.wire import Headers
from thresher.extract.soft_error import SOFT_ERRORS
from thresher.frontier import Settlement
from thresher.storage.warc.dropped import DroppedPage
from thresher.storage.warc.exchange_records import payload_digest
from thresher.storage.warc.payload import decode_content
from thresher.storage.warc.records import PAYLOAD_LIMIT, mime_of

MAX_OUTLINKS = 32 << 20
"""Bytes of a page's links. A page with more is archived whole, so that the record stays within a reader's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePage:
    """What an archive filter sees of a response."""

    url: str
    status: int
    headers: Headers
    mime: str
    """MIME type of the Content-Type, in lower case and without parameters; empty if there is none."""
    body: bytes
    """The body without transfer and content encoding."""
    truncated: Truncation | None

    def header(self, name: str) -> str | None:
        """Return the value of the first header of that name, in any case."""
        lower = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower), None)


ArchiveFilter = Callable[[CandidatePage], str | None]
"""Returns the reason code for which a page is dropped, or None to keep it. Pure; can be pickled."""


def dropped_page(
    capture: Capture, reading: PageReading, settlement: Settlement, archive_filter: ArchiveFilter | None
) -> DroppedPage | None:
    """Return what is archived in place of a page, if the page asks not to be archived or the filter drops it; None if
    the page is archived.
    """
    page = _candidate(capture, reading)
    reason = "noarchive" if reading.forbids_archive or archive_filter is None else archive_filter(page)
    outlinks = tuple(found.url.wire for found in settlement.discoveries)
    # The archive must hold an error page whole: a reader judges it again from its record alone.
    is_soft_error = settlement.reason in SOFT_ERRORS
    if reason is None or is_soft_error or sum(map(len, outlinks)) > MAX_OUTLINKS:
        return None
    return DroppedPage(
        reason=reason,
        status=page.status,
        mime=page.mime,
        length=len(page.body),
        digest=payload_digest(capture),
        truncated=page.truncated,
        retry_after=page.header("retry-after"),
        outlinks=outlinks,
    )


def _candidate(capture: Capture, reading: PageReading) -> CandidatePage:
    return CandidatePage(
        url=capture.url.text,
        status=capture.status,
        headers=capture.headers,
        mime=mime_of(capture.header("content-type")),
        body=reading.response.body
        or decode_content(capture.payload, capture.content_encoding, PAYLOAD_LIMIT)[0],
        truncated=capture.truncated,
    )
