"""`replay_body`: the copy of a page as a browser may show it, so that nothing of it runs.

1. The response is in a sandbox of its own origin (CSP `sandbox`): no script, form, popup or navigation of the console.
2. It loads nothing: no image, font, frame or style from anywhere, only what stands in the page itself.
3. `<link>`, `<meta>` and `<base>` become elements without meaning: a browser may open a connection for a
   `<link rel=preconnect>`, which no policy forbids.
4. Only HTML, text and the common formats of raster images are sent, as a type that we name. An SVG is text.
"""

import re
from dataclasses import dataclass

from thresher.extract.charset import decode
from thresher.extract.mime import HTML, PLAIN, XHTML
from thresher.pipeline.console.archived_copy import ArchivedCopy

REPLAY_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
IMAGE_STARTS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
}
"""First bytes of the image types that are shown: what claims to be one of them and is not is not shown."""
TEXT_TYPES = re.compile(r"text/|application/(?:json|xml|[a-z0-9.+-]+\+(?:xml|json))|image/svg\+xml")
_CONNECTING = re.compile(r"<(/?)(link|meta|base)(?=[\s/>])", re.IGNORECASE)
HEADERS = {
    "referrer-policy": "no-referrer",
    "content-security-policy": REPLAY_POLICY,
    "x-frame-options": "SAMEORIGIN",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayBody:
    """The bytes that a browser gets, and their type."""

    media_type: str
    body: bytes


def replay_body(copy: ArchivedCopy) -> ReplayBody | None:
    """Return what a browser may show of an archived copy; None if its type is not shown."""
    content_type = next((value for name, value in copy.headers if name.lower() == "content-type"), "")
    if copy.mime in {HTML, XHTML}:
        text = _CONNECTING.sub(r"<\1x-\2", decode(copy.payload, content_type).text)
        return ReplayBody(media_type="text/html; charset=utf-8", body=text.encode(errors="replace"))
    if copy.mime == PLAIN or TEXT_TYPES.match(copy.mime):
        text = decode(copy.payload, content_type).text
        return ReplayBody(media_type="text/plain; charset=utf-8", body=text.encode(errors="replace"))
    start = IMAGE_STARTS.get(copy.mime)
    if start is not None and copy.payload.startswith(start):
        return ReplayBody(media_type=copy.mime, body=copy.payload)
    return None
