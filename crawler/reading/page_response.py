"""`PageResponse`: a response, as far as links and outcome need it; from a capture or from a record in the archive."""

import re
from dataclasses import dataclass, replace
from uuid import UUID

from core import Capture
from core.capture import Truncation
from crawler.reading.rendered_page import DOM_CONTENT_TYPE, RenderReport
from crawler.wire import Headers, header_value
from storage.warc.exchange_records import payload_digest, payload_sha256
from storage.warc.payload import decode_content
from storage.warc.records import PAYLOAD_LIMIT, mime_of

HTTP_FORBIDDEN = 403
HTML = frozenset({"text/html", "application/xhtml+xml"})
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_SNIFFED = 1_445  # bytes: the resource header of the MIME Sniffing standard


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponse:
    """What was answered, as far as links and outcome need it."""

    status: int
    headers: Headers
    body: bytes
    """Without transfer and content encoding; may be empty where the answer is no HTML."""
    truncated: Truncation | None
    digest: str
    """Payload digest."""
    sha256: str
    """Of the payload: the page is as it was only where this is."""
    record_id: str
    """Of the response in the archive, `urn:uuid:...`; empty where that is not known."""
    started_ms: int
    received_ms: int
    rendering: RenderReport | None = None
    """How it went when the page was rendered; None where it was not."""

    def header(self, name: str) -> str | None:
        """Value of the first header of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


def page_response(
    capture: Capture,
    record_id: UUID | None = None,
    *,
    decode_any: bool = False,
    with_digests: bool = True,
    max_bytes: int = PAYLOAD_LIMIT,
) -> PageResponse:
    """Return what a capture answers, decoded where that is of use: where it may be HTML, or `decode_any` it is.

    Its digests are empty where it is not to be `with_digests`, for that takes time. Its body ends after `max_bytes`
    bytes.
    """
    body = b""
    html = mime_of(capture.header("content-type")) in {*HTML, ""}
    if may_have_page(capture.status) and (html or decode_any):
        body, _ = decode_content(
            capture.payload, header_value(capture.headers, "content-encoding"), max_bytes
        )
    return PageResponse(
        status=capture.status,
        headers=capture.headers,
        body=body,
        truncated=capture.truncated,
        digest=payload_digest(capture) if with_digests else "",
        sha256=payload_sha256(capture) if with_digests else "",
        record_id="" if record_id is None else record_id.urn,
        started_ms=capture.started_ms,
        received_ms=capture.started_ms + capture.elapsed_ms,
    )


def with_dom(found: PageResponse, html: bytes, rendering: RenderReport) -> PageResponse:
    """Return an answer as the reader saw it whose browser made this DOM of it; as it was, where it made none."""
    if not html:
        return replace(found, rendering=rendering)
    headers = [(name, value) for name, value in found.headers if name.lower() != "content-type"]
    return replace(
        found, headers=(("content-type", DOM_CONTENT_TYPE), *headers), body=html, rendering=rendering
    )


def is_html(found: PageResponse) -> bool:
    """Whether an answer is an HTML page, by what its server calls it, or by its looks where it is not called
    anything.
    """
    mime = mime_of(found.header("content-type"))
    return mime in HTML or (mime == "" and _LOOKS_LIKE_HTML.match(found.body[:_SNIFFED]) is not None)


def may_have_page(status: int) -> bool:
    """Whether what comes with a status may be a page, or say that there is none for us."""
    return 200 <= status < 300 or status == HTTP_FORBIDDEN
