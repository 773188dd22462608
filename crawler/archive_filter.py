"""The screen: what is decided of a page before anything of it is stored.

A worker may be given a function that looks at each page and names the reason for which it is not worth archiving.
Of such a page a metadata record is archived in place of its request and response (`storage.warc.dropped`), under the
record id of its lease: durable before the lease ends, and enough to end it after a crash just the same. The same becomes of
a page that asks not to be archived, where that is obeyed.
Redirects, robots.txt and sitemaps are never screened: they say where the crawl went, and why.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from uuid import UUID

from core import Capture
from core.capture import Truncation
from crawler.reading.conditional import revisit_of
from crawler.reading.outcome import REDIRECT_STATUSES
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_reading import PageReading, read_page, rights_of
from crawler.reading.page_response import PageResponse, with_dom
from crawler.reading.rendered_page import RenderedPage
from crawler.reading.request_state import decode_state
from crawler.reading.seedlist import is_seed_list, leased_response
from crawler.reading.sitemap_discoveries import is_sitemap
from crawler.settler import LeaseResult
from crawler.wire import Headers, header_value
from extract.rights import Rights
from extract.soft_error import SOFT_ERRORS
from frontier import Lease, Settlement
from storage.warc.capture_metadata import LINK, REDIRECT, CaptureMetadata
from storage.warc.dropped import DroppedPage
from storage.warc.exchange_records import payload_digest
from storage.warc.payload import decode_content
from storage.warc.records import PAYLOAD_LIMIT, mime_of
from storage.warc.revisit import Revisit

MOST_OUTLINKS = 32 << 20
"""Bytes of a page's links: one that has more is archived whole. So the record stays within what a reader takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePage:
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


ArchiveFilter = Callable[[CandidatePage], str | None]
"""The reason code for which a page is dropped, or None to keep it. Pure; can be pickled."""


def lease_result(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    *,
    archive_filter: ArchiveFilter | None,
    known_urls: Container[str],
    options: PageOptions = DEFAULT_OPTIONS,
    response: PageResponse | None = None,
    rendered: RenderedPage | None = None,
) -> LeaseResult:
    """How the lease of a page that was answered ends; `found` is the capture's answer, where it was made already.

    URLs whose text is in `known` are not told again.
    """
    response = response or leased_response(lease, capture, record_id)
    listing = is_sitemap(lease) or is_seed_list(lease, response)
    if rendered is not None:
        response = with_dom(response, rendered.html, rendered.report)
    records = ((capture, record_id),)
    private = "noarchive" in options.obey and "noarchive" in rights_of(response, lease.url.wire).robots
    # A page of which its browser did not see all is not judged by what it saw.
    is_unsure = rendered is not None and rendered.report.problem
    if (
        ((archive_filter is None or is_unsure) and not private)
        or listing
        or capture.status in REDIRECT_STATUSES
    ):
        reading = read_page(lease, response, known_urls, options)
        return LeaseResult(
            lease=lease,
            records=records,
            metadata=_capture_metadata(lease, capture, reading),
            revisit=revisit_of(decode_state(lease.note), capture),
            rendered=rendered,
            robots=reading.rights.robots,
            decision=reading.settlement,
        )
    body = (
        response.body
        or decode_content(capture.payload, header_value(capture.headers, "content-encoding"), PAYLOAD_LIMIT)[
            0
        ]
    )
    page = CandidatePage(
        url=capture.url.text,
        status=capture.status,
        headers=capture.headers,
        mime=mime_of(header_value(capture.headers, "content-type")),
        body=body,
        truncated=capture.truncated,
    )
    # The record says all links that are followed, whoever was told of them before.
    reading = read_page(lease, response, options=options)
    whole = reading.settlement
    reason = "noarchive" if private else archive_filter(page) if archive_filter is not None else None
    # What was judged to be no page can be judged so again from its record alone.
    dropped = None if whole.reason in SOFT_ERRORS else _dropped(capture, page, whole, reason)
    if dropped is not None:  # there is no record that a next visit could refer to
        whole = replace(whole, note=b"")
        return LeaseResult(
            lease=lease,
            records=records,
            dropped=dropped,
            robots=reading.rights.robots,
            decision=without_known(whole, known_urls),
        )
    return LeaseResult(
        lease=lease,
        records=records,
        metadata=_capture_metadata(lease, capture, reading),
        revisit=revisit_of(decode_state(lease.note), capture),
        rendered=rendered,
        robots=reading.rights.robots,
        decision=without_known(whole, known_urls),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """How the lease of a page ends, without what whoever asked has already: the lease's worker, and the records."""

    settlement: Settlement
    dropped: DroppedPage | None
    metadata: CaptureMetadata | None
    revisit: Revisit | None
    robots: tuple[str, ...]

    def to_lease_result(
        self,
        lease: Lease,
        records: tuple[tuple[Capture, UUID], ...],
        known_urls: Container[str],
        rendered: RenderedPage | None = None,
    ) -> LeaseResult:
        """Return the end of that lease; URLs whose text is in `known` are not told again."""
        return LeaseResult(
            lease=lease,
            records=records,
            dropped=self.dropped,
            metadata=self.metadata,
            revisit=self.revisit,
            rendered=None if self.dropped else rendered,
            robots=self.robots,
            decision=without_known(replace(self.settlement, lease=lease), known_urls),
        )


def page_result(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    screen: ArchiveFilter | None,
    options: PageOptions,
    rendered: RenderedPage | None = None,
) -> PageResult:
    """Return what `to_lease_result` says of the answer to a page, with all links."""
    made = lease_result(
        lease,
        capture,
        record_id,
        archive_filter=screen,
        known_urls=frozenset(),
        options=options,
        rendered=rendered,
    )
    assert isinstance(made.decision, Settlement)
    return PageResult(
        settlement=made.decision,
        dropped=made.dropped,
        metadata=made.metadata,
        revisit=made.revisit,
        robots=made.robots,
    )


def without_known(whole: Settlement, known: Container[str]) -> Settlement:
    """The settlement without what the frontier was told before."""
    return replace(whole, discoveries=tuple(link for link in whole.discoveries if link.url.text not in known))


def _capture_metadata(lease: Lease, capture: Capture, reading: PageReading) -> CaptureMetadata:
    return CaptureMetadata(
        via=lease.referrer,
        depth=lease.depth,
        redirects=lease.hops,
        outlinks=reading.outlinks,
        hop=REDIRECT if capture.status in REDIRECT_STATUSES else LINK,
        facts=_rights_facts(reading.rights),
    )


def _rights_facts(said: Rights) -> tuple[tuple[str, str], ...]:
    """What a page says of its use, in the words in which it is recorded."""
    facts = (
        ("robots", ",".join(said.robots)),
        ("tdmReservation", said.tdm_reservation),
        ("tdmPolicy", said.tdm_policy),
    )
    return tuple((name, value) for name, value in facts if value)


def _dropped(
    capture: Capture, page: CandidatePage, whole: Settlement, reason: str | None
) -> DroppedPage | None:
    outlinks = tuple(found.url.wire for found in whole.discoveries)
    if reason is None or sum(map(len, outlinks)) > MOST_OUTLINKS:
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
