"""The screen: what is decided of a page before anything of it is stored.

A worker may be given a function that looks at each page and names the reason for which it is not worth archiving.
Of such a page a metadata record is archived in place of its request and response (`storage.dropped`), under the
record id of its lease: durable before the lease ends, and enough to end it after a crash just the same.
Redirects, robots.txt and sitemaps are never screened: they say where the crawl went, and why.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from uuid import UUID

from core import Capture
from core.capture import Truncation
from crawler.answer import answer, seen
from crawler.conditional import revisit
from crawler.listed import is_sitemap
from crawler.note import decode
from crawler.outcome import REDIRECTS
from crawler.page import Reading, read
from crawler.render.rendered import Rendered
from crawler.settle import Finished
from crawler.wire import Headers, field
from frontier import Lease, Settlement
from storage.dropped import Dropped
from storage.notes import LINK, REDIRECT, Notes
from storage.payload import content_decoded
from storage.records import PAYLOAD_LIMIT, mime_of
from storage.warc import payload_digest

MOST_OUTLINKS = 32 << 20
"""Bytes of a page's links: one that has more is archived whole. So the record stays within what a reader takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a screen sees of an answer."""

    url: str
    status: int
    headers: Headers
    mime: str
    """Of the Content-Type, without parameters, in lower case; empty where there is none."""
    body: bytes
    """Without transfer and content encoding."""
    truncated: Truncation | None

    def header(self, name: str) -> str | None:
        """Value of the first header of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


Screen = Callable[[Page], str | None]
"""The reason code for which a page is dropped, or None to keep it. Pure; can be pickled."""


def finished(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    *,
    screen: Screen | None,
    known: Container[str],
    rendered: Rendered | None = None,
) -> Finished:
    """How the lease of a page that was answered ends. URLs whose text is in `known` are not told again."""
    listing = is_sitemap(lease)
    found = answer(capture, record_id, whatever=listing)
    if rendered is not None:
        found = seen(found, rendered.html, rendered.note)
    records = ((capture, record_id),)
    # A page of which its browser did not see all is not judged by what it saw.
    is_unsure = rendered is not None and rendered.note.problem
    if screen is None or listing or is_unsure or capture.status in REDIRECTS:
        reading = read(lease, found, known)
        return Finished(
            lease=lease,
            records=records,
            notes=_notes(lease, capture, reading),
            revisit=revisit(decode(lease.note), capture),
            rendered=rendered,
            answer=reading.settlement,
        )
    body = (
        found.body
        or content_decoded(capture.payload, field(capture.headers, "content-encoding"), PAYLOAD_LIMIT)[0]
    )
    page = Page(
        url=capture.url.text,
        status=capture.status,
        headers=capture.headers,
        mime=mime_of(field(capture.headers, "content-type")),
        body=body,
        truncated=capture.truncated,
    )
    # The record says all links that are followed, whoever was told of them before.
    reading = read(lease, found)
    whole = reading.settlement
    dropped = _dropped(capture, page, whole, screen(page))
    told = tuple(link for link in whole.discoveries if link.url.text not in known)
    if dropped is not None:  # there is no record that a next visit could refer to
        return Finished(
            lease=lease, records=records, dropped=dropped, answer=replace(whole, discoveries=told, note=b"")
        )
    return Finished(
        lease=lease,
        records=records,
        notes=_notes(lease, capture, reading),
        revisit=revisit(decode(lease.note), capture),
        rendered=rendered,
        answer=replace(whole, discoveries=told),
    )


def _notes(lease: Lease, capture: Capture, reading: Reading) -> Notes:
    return Notes(
        depth=lease.depth,
        redirects=lease.hops,
        outlinks=reading.outlinks,
        hop=REDIRECT if capture.status in REDIRECTS else LINK,
    )


def _dropped(capture: Capture, page: Page, whole: Settlement, reason: str | None) -> Dropped | None:
    outlinks = tuple(found.url.wire for found in whole.discoveries)
    if reason is None or sum(map(len, outlinks)) > MOST_OUTLINKS:
        return None
    return Dropped(
        reason=reason,
        status=page.status,
        mime=page.mime,
        length=len(page.body),
        digest=payload_digest(capture),
        truncated=page.truncated,
        retry_after=page.header("retry-after"),
        outlinks=outlinks,
    )
