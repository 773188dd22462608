"""Which records hold a page of their own, and the DOM that a browser made of a page."""

import dataclasses
from uuid import UUID

from thresher.crawler.reading.rendered_page import DOM_CONTENT_TYPE, dom_id
from thresher.extract.mime import PLAIN
from thresher.storage.warc.records import ArchivedRecord
from thresher.storage.warc.revisit import REVISIT

PAGE_SCHEMES = frozenset({"http", "https", "ftp", "file"})
"""Schemes of resources that may be pages. Others are notes of a crawler (`urn:pageinfo:`, `metadata:`)."""
CRAWLER_NOTE_REASON = "crawler_note"
"""Reason of a resource with another scheme."""
PAGE_PART_REASON = "page_part"
"""Reason of a record that a browser fetched for a page. The page's own text is in its DOM."""
PAGE_PART_TYPES = frozenset(
    (
        *("stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "prefetch"),
        *("eventsource", "websocket", "manifest", "signedexchange", "ping", "cspviolationreport"),
        *("preflight", "fedcm", "other"),
    )
)
"""Values of WARC-Resource-Type for parts of a page: the resource types of the Chrome DevTools Protocol
(Network.ResourceType) in lower case, except `document`, which browsertrix-crawler writes on pages."""


def pageless_reason(record: ArchivedRecord) -> str | None:
    """Return the reason code of a record that holds no page of its own; None for one that may."""
    if record.type == "conversion":
        return None if record.mime == PLAIN else record.type
    if record.resource_type.lower() in PAGE_PART_TYPES:
        return PAGE_PART_REASON
    scheme = record.url.partition(":")[0].lower()
    return CRAWLER_NOTE_REASON if record.type == "resource" and scheme not in PAGE_SCHEMES else None


def with_dom(page: ArchivedRecord, dom: ArchivedRecord | None) -> ArchivedRecord:
    """Return a page with the DOM that was archived before it, if it is the DOM of this page."""
    if dom is None or page.type not in {"response", REVISIT} or dom.record_id != _dom_of(page.record_id):
        return page
    headers = tuple((name, value) for name, value in page.headers if name.lower() != "content-type")
    # A page whose HTML was archived before is a revisit, but its DOM may have changed.
    return dataclasses.replace(
        page,
        type="response",
        payload=dom.payload,
        mime=dom.mime,
        headers=(("content-type", DOM_CONTENT_TYPE), *headers),
    )


def _dom_of(page: str) -> str | None:
    try:
        return dom_id(UUID(page)).urn
    except ValueError:
        return None  # the id comes from another crawler
