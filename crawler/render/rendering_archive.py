"""`archive_rendering`: write the records of a rendering into the archive, before the page itself.

The exchanges of its subresources come first, then screenshots, the report, and the DOM; the page's own request and
response follow them, in the same file. So if a response is in the archive, the records that decided its lease are there
too, whenever the writer was killed. Records without their response belong to a page that is fetched again.
"""

from uuid import UUID

from thresher.core import Capture
from thresher.crawler.reading.rendered_page import (
    DOM_CONTENT_TYPE,
    SCREENSHOT_URIS,
    RenderedPage,
    dom_id,
    encode_report,
    report_id,
    screenshot_id,
)
from thresher.crawler.subresources.parts_archive import HEAD_BYTES, append_subresources, exchange_bytes
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.warc.exchange_records import Attachment

WARC_FIELDS = "application/warc-fields"
RENDERING_TYPES = frozenset({"metadata", "conversion"})
"""Types of the records that hold the report and the DOM."""
DOM_URI_PREFIX = "urn:dom:"
"""Begins the URI of a DOM. Under the page's own URI a replay would show the DOM in place of the server's response."""


def archive_rendering(archive: ArchiveWriter, rendered: RenderedPage, page: Capture, page_id: UUID) -> None:
    """Append all records of the rendering but those of the page, whose id is `page_id`."""
    block = encode_report(rendered)
    exchanges = (page, *(subresource.capture for subresource in rendered.subresources))
    archive.reserve(
        exchange_bytes(exchanges)
        + len(block)
        + len(rendered.html)
        + sum(len(each.data) + HEAD_BYTES for each in rendered.screenshots)
        + 2 * HEAD_BYTES,
        max(rendered.started_ms, *(one.started_ms for one in exchanges)),
    )
    append_subresources(archive, rendered.subresources, page_id)
    for each in rendered.screenshots:
        picture = Attachment(
            kind="resource",
            block=each.data,
            uri=SCREENSHOT_URIS[each.kind] + rendered.url,
            mime=each.mime,
            date_ms=page.started_ms,  # that of the page, by which players and `thresher qa` find it
        )
        archive.attach(picture, record_id=screenshot_id(page_id, each.kind), response_id=page_id)
    report = Attachment(
        kind="metadata", block=block, uri=rendered.url, mime=WARC_FIELDS, date_ms=rendered.started_ms
    )
    archive.attach(report, record_id=report_id(page_id), response_id=page_id)
    if rendered.html:
        dom = Attachment(
            kind="conversion",
            block=rendered.html,
            uri=DOM_URI_PREFIX + rendered.url,
            mime=DOM_CONTENT_TYPE,
            date_ms=rendered.started_ms,
        )
        archive.attach(dom, record_id=dom_id(page_id), response_id=page_id)
