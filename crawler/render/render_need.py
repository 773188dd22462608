"""`render_need`: whether a page has little text because a script would add the rest. Pure.

The rules are for a complete HTML page with status 200. They look at its body, the first 256 KiB of it:

1. A page without a script is never rendered.
2. A page with enough text of its own is never rendered, whatever else it contains. Text is what stands between tags,
   outside of scripts, styles, templates, comments, `noscript`, `svg` and `select`; white space around it does not
   count.
3. Of the other pages those are rendered that give evidence, the first of these: `empty_root`: an element that
   frameworks fill (`<div id="root">`, `<app-root>`) is empty or nearly so; `noscript`: the page asks in a `noscript` to
   switch scripts on; `little_text`: almost no text, no frame and no redirect by `meta`, and a script of some size, or
   from another URL.

So a page of text with a widget is not rendered, and neither is a short page ("it works") without scripts.
docs/guides/rendering.md has the measurements.

Cost: on ordinary pages the time to read the first thousand characters of text, some tens of microseconds.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal

RenderNeed = Literal["empty_root", "noscript", "little_text"]

MAX_BYTES = 256 << 10
FIRST_BYTES = 32 << 10
"""Bytes of the body in which most pages have enough text; more is looked at only in other pages."""
ENOUGH_TEXT_BYTES = 1_000
"""Bytes of text with which a page needs no scripts, even if a part of it is empty."""
LITTLE_TEXT_BYTES = 160
"""Bytes of text that are almost none: a title and a "Loading...", a short notice."""
MAX_ELEMENTS = 8
"""Elements of one kind that are searched, `MAX_ELEMENT_BYTES` bytes of each, so that no page makes this slow."""
MAX_ELEMENT_BYTES = 4 << 10
MIN_SCRIPT_BYTES = 2_000
"""Bytes of scripts in the page itself that can build a page."""

_OPENS = re.compile(rb"<(?:script|style|noscript|template|svg|select|!--)")
_TEXT = re.compile(rb">([^<]+)")
_UNSEEN = re.compile(rb"<!--.*?(?:-->|\Z)|<[^>]*+(?:>|\Z)|&nbsp;|\s++", re.DOTALL)
_ROOT = re.compile(
    rb"<(?:(div|main|section|body)\b[^>]{0,256}?\bid\s*=\s*[\"']?"
    rb"(?:root|app|__next|__nuxt|___gatsby|svelte|q-app|react-root|reactroot|main-app|app-root|application|mount|ember-app)"
    rb"[\"']?(?=[\s>])[^<>]*+|((?:app|my-app|ng)-(?:root|app)|app-root|router-outlet|ember-app)\b[^<>]*+)>",
)
_NOSCRIPT = re.compile(rb"<noscript\b[^>]{0,256}>")
_ASKS = re.compile(
    rb"(?:enable|requires?|need|activate|turn(?:ed)? on|without|aktivier|activ|habilit|\xe5\x90\xaf\xe7\x94\xa8"
    rb"|\xe6\x9c\x89\xe5\x8a\xb9|\xd0\xb2\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87)[^.<]{0,60}java ?script"
    rb"|java ?script[^.<]{0,60}(?:enable|required?|disabled|aktivier|activ|habilit|needed|turned off"
    rb"|\xe5\x90\xaf\xe7\x94\xa8|\xe6\x9c\x89\xe5\x8a\xb9|\xd0\xb2\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87)",
)
_SCRIPT = re.compile(rb"<script\b([^>]{0,1024}+)>(.*?)(?:</script|\Z)", re.DOTALL)
_REFRESH = re.compile(rb"<meta\b[^>]{0,256}?http-equiv\s*=\s*[\"']?refresh")
_NO_SCRIPT_TYPES = re.compile(
    rb"\btype\s*=\s*[\"']?(?!module|text/javascript|application/javascript)", re.IGNORECASE
)


def render_need(body: bytes) -> RenderNeed | None:
    """Return why a page needs a browser; None if it does not. `body` is HTML without content encoding. Never raises."""
    begin = max(body.find(b"<body"), body.find(b"<BODY"), 0)
    head = body[: min(begin, FIRST_BYTES)]
    if _text(body[begin : begin + FIRST_BYTES].lower()) >= ENOUGH_TEXT_BYTES:
        return None
    html = body[begin : begin + MAX_BYTES].lower()
    if b"<script" not in html and b"<script" not in head.lower():
        return None
    text = _text(html)
    return _evidence(html, head.lower(), text) if text < ENOUGH_TEXT_BYTES else None


def _evidence(html: bytes, head: bytes, text: int) -> RenderNeed | None:
    if _has_empty_root(html):
        return "empty_root"
    asks = (_ASKS.search(_inside(html, opens, b"noscript")) for opens in _first(_NOSCRIPT, html))
    if any(asks):
        return "noscript"
    leads_on = b"<iframe" in html or b"<frame" in html or _REFRESH.search(head)
    return "little_text" if text < LITTLE_TEXT_BYTES and not leads_on and _can_build(head + html) else None


def _text(html: bytes) -> int:
    """Return the bytes of text, counted no further than `ENOUGH_TEXT_BYTES`. An unclosed element swallows the rest, as
    in a browser.
    """
    at = size = 0
    while True:
        opens = _OPENS.search(html, at)
        for run in _TEXT.finditer(html, at, opens.start() if opens else len(html)):
            size += len(run[1].strip())
            if size >= ENOUGH_TEXT_BYTES:
                return size
        if opens is None:
            return size
        closes = b"-->" if opens.group() == b"<!--" else b"</" + opens.group()[1:]
        end = html.find(closes, opens.end())
        if end < 0:
            return size
        at = end + len(closes) - 1


def _has_empty_root(html: bytes) -> bool:
    for root in _first(_ROOT, html):
        inside = _inside(html, root, root[1] or root[2])
        if b"<script" not in inside and len(_UNSEEN.sub(b"", inside)) < LITTLE_TEXT_BYTES // 4:
            return True
    return False


def _first(pattern: re.Pattern[bytes], html: bytes) -> Iterator[re.Match[bytes]]:
    return islice(pattern.finditer(html), MAX_ELEMENTS)


def _inside(html: bytes, opens: re.Match[bytes], tag: bytes) -> bytes:
    """Return what stands between a tag and the next closing tag of its kind."""
    return html[opens.end() : opens.end() + MAX_ELEMENT_BYTES].partition(b"</" + tag)[0]


def _can_build(html: bytes) -> bool:
    size = 0
    for script in _SCRIPT.finditer(html):
        if _NO_SCRIPT_TYPES.search(script[1]):
            continue
        if b"src" in script[1]:
            return True
        size += len(script[2])
        if size >= MIN_SCRIPT_BYTES or b"document.write" in script[2] or b"innerhtml" in script[2]:
            return True
    return False
