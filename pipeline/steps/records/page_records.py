"""Which records hold a page of their own, what a browser made of a page (its DOM and its screenshots), and whether
extraction changed a text of an input.
"""

import dataclasses
from collections import Counter
from uuid import UUID

from thresher.core import Document, RecordRef
from thresher.crawler.reading.rendered_page import (
    DOM_CONTENT_TYPE,
    ScreenshotKind,
    dom_id,
    pictured_page,
    screenshot_id,
)
from thresher.extract.mime import PLAIN
from thresher.pipeline.funnel import NORMALISED
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
        *("preflight", "fedcm", "other", "frame"),
    )
)
"""Values of WARC-Resource-Type for parts of a page: the resource types of the Chrome DevTools Protocol
(Network.ResourceType) in lower case, except `document`, which browsertrix-crawler writes on pages; and `frame`, which
we write on documents in frames."""

WHOLE: tuple[ScreenshotKind, ...] = ("fullPage", "view")
"""Pictures that may show all of a page, the better one first."""


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
    identity = _uuid(page.record_id)
    if dom is None or identity is None or page.type not in {"response", REVISIT}:
        return page
    if dom.record_id != dom_id(identity).urn:
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


@dataclasses.dataclass(slots=True)
class RecordsBefore:
    """Records that lie before another one and may be about it."""

    dom: ArchivedRecord | None = None
    facts_record: ArchivedRecord | None = None
    pictures: dict[str, RecordRef] = dataclasses.field(default_factory=dict)
    """Screenshots since the last page, by the ids of their records."""

    def pass_record(self, record: ArchivedRecord) -> None:
        """Keep what may be about the next page."""
        if record.type == "conversion":
            self.dom = record
        elif record.type == "resource" and pictured_page(record.url):
            self.pictures[record.record_id] = record.ref
        else:
            self.pictures.clear()

    def screenshot_of(self, page: str) -> RecordRef | None:
        """Return the picture of all of the page whose record has this id; None if there is none."""
        identity = _uuid(page)
        if identity is None or not self.pictures:
            return None
        full, view = (self.pictures.get(screenshot_id(identity, kind).urn) for kind in WHOLE)
        return full or view


def with_screenshot(document: Document, picture: RecordRef | None) -> Document:
    """Return the document of a page with the place of its picture."""
    if picture is None:
        return document
    return dataclasses.replace(document, screenshot_offset=picture.offset, screenshot_length=picture.length)


def _uuid(record_id: str) -> UUID | None:
    try:
        return UUID(record_id)
    except ValueError:
        return None  # the id comes from another crawler


def count_normalised(counts: Counter[str], record: ArchivedRecord, found: Document) -> None:
    """Count a text of an input that extraction changed. Texts of the web and of other encodings do not count."""
    is_text = record.type == "resource" and (found.route, found.charset) == ("plain", "utf-8")
    if is_text and found.text.encode(errors="surrogatepass") != record.payload:
        counts[NORMALISED] += 1
