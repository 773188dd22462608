"""`EndSigns`: the signs that a login has ended. Pure.

1. The server says so: status 401, or a redirect to an address of the profile's login page, whatever its query.
2. The page says so: it is a login page (`extract.soft_error`), or it has what the user says only such pages have: a
   text, or an element that a CSS selector finds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from resiliparse.parse.html import HTMLTree

from thresher.core import Capture, InputError
from thresher.crawler.reading.outcome import REDIRECT_STATUSES, decode_location
from thresher.crawler.reading.page_response import HTML, PAGE_STATUSES
from thresher.crawler.wire.login_address import page_of
from thresher.extract.charset import to_utf8
from thresher.extract.references import unescape
from thresher.extract.soft_error import detect_soft_error
from thresher.frontier import InvalidUrl, canonicalize
from thresher.storage.warc.payload import decode_content
from thresher.storage.warc.records import mime_of

LOOKED_AT = 512 << 10
"""Bytes of a decoded page that are searched."""
UNAUTHORIZED = 401
"""RFC 9110, section 15.5.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSigns:
    """What shows that a login of one profile has ended."""

    login_pages: frozenset[str]
    """Addresses of the login page, as `page_of` returns them."""
    text: str = ""
    selector: str = ""

    def in_head(self, capture: Capture) -> str:
        """Return the sign in the head of a response, in words; empty if there is none."""
        if capture.status == UNAUTHORIZED:
            return "status 401"
        if capture.status in REDIRECT_STATUSES:
            return self.among([decode_location(capture.header("location") or "")], capture.url.wire)
        return ""

    def in_page(self, html: bytes) -> str:
        """Return the sign in a page in UTF-8, in words; empty if there is none."""
        if detect_soft_error(lambda _: None, html) == "login_page":
            return "a login page in place of the page"
        if self.text and self.text in unescape(html.decode(errors="replace")):
            return "the text of ended_text"
        return "the element of ended_selector" if self.selector and _selects(self.selector, html) else ""

    def among(self, targets: Iterable[str], base: str) -> str:
        """Return the sign in the addresses that a page leads its browser to; empty if there is none."""
        for target in targets:
            try:
                page = page_of(canonicalize(target, base))
            except InvalidUrl:
                continue
            if page in self.login_pages:
                return "a redirect to the login page"
        return ""


def end_signs(login_urls: Iterable[str], *, text: str, selector: str) -> EndSigns:
    """Return the signs of a profile. Raise `InputError` if the selector is none."""
    if selector:
        try:
            _selects(selector, b"<p>")
        except ValueError:
            raise InputError(f"crawler.sessions: ended_selector = {selector!r} is no CSS selector") from None
    pages = (page_of(canonicalize(url)) for url in login_urls)
    # The first page of a host is more than its login page: dead links lead there, and members have one too.
    login_pages = frozenset(page for page in pages if "/" in page)
    return EndSigns(login_pages=login_pages, text=text, selector=selector)


def page_html(capture: Capture) -> bytes:
    """Return the beginning of an HTML page in UTF-8; empty for any other response."""
    kind = capture.header("content-type")
    if capture.status not in PAGE_STATUSES or mime_of(kind) not in {*HTML, ""}:
        return b""
    body, _ = decode_content(capture.payload, capture.content_encoding, LOOKED_AT)
    return to_utf8(body, kind)[0]


def _selects(selector: str, html: bytes) -> bool:
    document = HTMLTree.parse_from_bytes(html, "utf-8").document
    return document is not None and document.query_selector(selector) is not None
