"""`keep`: what rendering a page brought goes into the archive, before the page itself.

The exchanges of its parts come first, then the note, then the DOM; the page's own request and response follow them, in the
same file. So a response that is in the archive, whenever its writer was killed, is never without what its lease was
ended by; what lies there without its response belongs to a page that is fetched again.
"""

from uuid import UUID

from core import Capture
from crawler.reading.rendered_page import (
    DOM_CONTENT_TYPE,
    RenderedPage,
    dom_id,
    encode_report,
    report_id,
    subresource_id,
)
from storage.archive.archive_writer import ArchiveWriter

WARC_FIELDS = "application/warc-fields"
RENDERING_TYPES = frozenset({"metadata", "conversion"})
"""Types of the records that hold the note and the DOM."""
DOM_URI_PREFIX = "urn:dom:"
"""Begins the URI of a DOM: under the page's own a replay would show it in place of what the server sent."""
HEAD_BYTES = 1 << 10
"""Room for the head of one record."""


def archive_rendering(archive: ArchiveWriter, rendered: RenderedPage, page: Capture, page_id: UUID) -> None:
    """Append all of it but the page, whose id is `page_id`."""
    block = encode_report(rendered)
    exchanges = (page, *(part.capture for part in rendered.subresources))
    archive.reserve(
        sum(len(one.request) + len(one.response) + 2 * HEAD_BYTES for one in exchanges)
        + len(block)
        + len(rendered.html)
        + 2 * HEAD_BYTES,
        max(rendered.started_ms, *(one.started_ms for one in exchanges)),
    )
    for number, part in enumerate(rendered.subresources):
        archive.append(part.capture, subresource_id(page_id, number), resource_type=part.kind)
    archive.attach(
        "metadata",
        block,
        uri=rendered.url,
        mime=WARC_FIELDS,
        date_ms=rendered.started_ms,
        record_id=report_id(page_id),
        response_id=page_id,
    )
    if rendered.html:
        archive.attach(
            "conversion",
            rendered.html,
            uri=DOM_URI_PREFIX + rendered.url,
            mime=DOM_CONTENT_TYPE,
            date_ms=rendered.started_ms,
            record_id=dom_id(page_id),
            response_id=page_id,
        )
