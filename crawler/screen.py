"""The screen: what is decided of a page before anything of it is stored.

A worker may be given a function that looks at each page and names the reason for which it is not worth archiving.
Of such a page a metadata record is archived in place of its request and response (`storage.dropped`), under the
record id of its lease: durable before the lease ends, and enough to end it after a crash just the same. The same becomes of
a page that asks not to be archived, where that is obeyed.
Redirects, robots.txt and sitemaps are never screened: they say where the crawl went, and why.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from uuid import UUID

from core import Capture
from core.capture import Truncation
from crawler.answer import Answer, seen
from crawler.conditional import revisit
from crawler.listed import is_sitemap
from crawler.note import decode
from crawler.options import USUAL, PageOptions
from crawler.outcome import REDIRECTS
from crawler.page import Reading, read, rights_of
from crawler.rendered import Rendered
from crawler.seedlist import answer_of, is_list
from crawler.settle import Finished
from crawler.wire import Headers, field
from extract.rights import Rights
from extract.suspicion import SUSPICIONS
from frontier import Lease, Settlement
from storage.dropped import Dropped
from storage.notes import LINK, REDIRECT, Notes
from storage.payload import content_decoded
from storage.records import PAYLOAD_LIMIT, mime_of
from storage.revisit import Revisit
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
    options: PageOptions = USUAL,
    found: Answer | None = None,
    rendered: Rendered | None = None,
) -> Finished:
    """How the lease of a page that was answered ends; `found` is the capture's answer, where it was made already.

    URLs whose text is in `known` are not told again.
    """
    found = found or answer_of(lease, capture, record_id)
    listing = is_sitemap(lease) or is_list(lease, found)
    if rendered is not None:
        found = seen(found, rendered.html, rendered.note)
    records = ((capture, record_id),)
    private = "noarchive" in options.obey and "noarchive" in rights_of(found, lease.url.wire).robots
    # A page of which its browser did not see all is not judged by what it saw.
    is_unsure = rendered is not None and rendered.note.problem
    if ((screen is None or is_unsure) and not private) or listing or capture.status in REDIRECTS:
        reading = read(lease, found, known, options)
        return Finished(
            lease=lease,
            records=records,
            notes=_notes(lease, capture, reading),
            revisit=revisit(decode(lease.note), capture),
            rendered=rendered,
            robots=reading.rights.robots,
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
    reading = read(lease, found, options=options)
    whole = reading.settlement
    reason = "noarchive" if private else screen(page) if screen is not None else None
    # What was judged to be no page can be judged so again from its record alone.
    dropped = None if whole.reason in SUSPICIONS else _dropped(capture, page, whole, reason)
    if dropped is not None:  # there is no record that a next visit could refer to
        whole = replace(whole, note=b"")
        return Finished(
            lease=lease,
            records=records,
            dropped=dropped,
            robots=reading.rights.robots,
            answer=untold(whole, known),
        )
    return Finished(
        lease=lease,
        records=records,
        notes=_notes(lease, capture, reading),
        revisit=revisit(decode(lease.note), capture),
        rendered=rendered,
        robots=reading.rights.robots,
        answer=untold(whole, known),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How the lease of a page ends, without what whoever asked has already: the lease's worker, and the records."""

    answer: Settlement
    dropped: Dropped | None
    notes: Notes | None
    revisit: Revisit | None
    robots: tuple[str, ...]

    def finished(
        self,
        lease: Lease,
        records: tuple[tuple[Capture, UUID], ...],
        known: Container[str],
        rendered: Rendered | None = None,
    ) -> Finished:
        """Return the end of that lease; URLs whose text is in `known` are not told again."""
        return Finished(
            lease=lease,
            records=records,
            dropped=self.dropped,
            notes=self.notes,
            revisit=self.revisit,
            rendered=None if self.dropped else rendered,
            robots=self.robots,
            answer=untold(replace(self.answer, lease=lease), known),
        )


def end(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    screen: Screen | None,
    options: PageOptions,
    rendered: Rendered | None = None,
) -> End:
    """Return what `finished` says of the answer to a page, with all links."""
    made = finished(
        lease, capture, record_id, screen=screen, known=frozenset(), options=options, rendered=rendered
    )
    assert isinstance(made.answer, Settlement)
    return End(
        answer=made.answer,
        dropped=made.dropped,
        notes=made.notes,
        revisit=made.revisit,
        robots=made.robots,
    )


def untold(whole: Settlement, known: Container[str]) -> Settlement:
    """The settlement without what the frontier was told before."""
    return replace(whole, discoveries=tuple(link for link in whole.discoveries if link.url.text not in known))


def _notes(lease: Lease, capture: Capture, reading: Reading) -> Notes:
    return Notes(
        via=lease.referrer,
        depth=lease.depth,
        redirects=lease.hops,
        outlinks=reading.outlinks,
        hop=REDIRECT if capture.status in REDIRECTS else LINK,
        facts=_facts(reading.rights),
    )


def _facts(said: Rights) -> tuple[tuple[str, str], ...]:
    """What a page says of its use, in the words in which it is recorded."""
    facts = (
        ("robots", ",".join(said.robots)),
        ("tdmReservation", said.tdm_reservation),
        ("tdmPolicy", said.tdm_policy),
    )
    return tuple((name, value) for name, value in facts if value)


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
