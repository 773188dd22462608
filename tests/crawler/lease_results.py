"""The result of a lease of a page, from a capture of the response: what a worker does with it in its own process."""

from collections.abc import Container
from uuid import UUID

from thresher.core import Capture
from thresher.crawler.archive_filter import ArchiveFilter
from thresher.crawler.lease_result import LeaseResult, PageResult, decide_page
from thresher.crawler.reading.outcome import judge_capture
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_reading import leased_response, read_page
from thresher.frontier import Lease


def lease_result(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    *,
    archive_filter: ArchiveFilter | None,
    known_urls: Container[str],
    options: PageOptions = DEFAULT_OPTIONS,
) -> LeaseResult:
    page = page_result(
        lease, capture, record_id, archive_filter=archive_filter, known_urls=known_urls, options=options
    )
    return page.to_lease_result(lease, ((capture, record_id),), known_urls)


def page_result(
    lease: Lease,
    capture: Capture,
    record_id: UUID,
    *,
    archive_filter: ArchiveFilter | None,
    known_urls: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> PageResult:
    response = leased_response(lease, capture, record_id)
    reading = read_page(lease, response, judge_capture(capture, lease.attempt), options)
    return decide_page(
        lease, capture, reading, archive_filter=archive_filter, known_urls=known_urls, options=options
    )
