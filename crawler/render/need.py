"""`need`: whether a page as it came says little because a script would say the rest. Pure.

Rules. Looked at are the first 256 KB of an HTML page that was answered whole with 200:

1. A page without a script is what it is.
2. A page with enough text of its own is never rendered, whatever else is in it. Text is what stands between tags,
   outside of scripts, styles, templates, comments, `noscript` and `svg`; white space does not count.
3. Of the others those are rendered that give evidence, the first of these:
   `empty_root`: an element that frameworks fill (`<div id="root">`, `<app-root>`) is empty, or next to it;
   `noscript`: the page asks in a `noscript` that scripts be switched on;
   `little_text`: next to no text, no frame and no redirect by `meta`, and a script of some size, or from elsewhere.

So a page of text with a widget is not rendered, and neither is a short page ("it works") without scripts. Measured on the
pages of docs/guides/rendering.md.

Cost: what `in` and `count` take on ordinary pages, which have many paragraphs; they are not looked at any further.
"""

import re
from typing import Literal

Need = Literal["empty_root", "noscript", "little_text"]

MOST_BYTES = 256 << 10
ENOUGH = 1_000
"""Characters of text with which a page speaks for itself even if a part of it is empty."""
LITTLE = 160
"""Characters of text that are next to nothing: a title and a "Loading...", a short notice."""
MUCH_SCRIPT = 2_000
"""Bytes of scripts on the page itself that can build one."""
MANY_BLOCKS = 24
"""Paragraphs, items, cells and headings with which a page is an ordinary one."""

_BLOCKS = (b"</p>", b"<p>", b"</li>", b"</td>", b"<br", b"</h2>", b"</h3>", b"</dd>", b"</pre>")
_UNSEEN = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style|noscript|template|svg|title|select)\b.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(rb"<[^>]*>")
_SPACE = re.compile(rb"\s+|&nbsp;")
_BODY = re.compile(rb"<body\b", re.IGNORECASE)
_ROOT = re.compile(
    rb"<(?:(div|main|section|body)\b[^>]*\bid\s*=\s*[\"']?"
    rb"(?:root|app|__next|__nuxt|___gatsby|svelte|q-app|react-root|reactroot|main-app|app-root|application|mount|ember-app)"
    rb"[\"']?(?=[\s>])[^>]*|((?:app|my-app|ng)-(?:root|app)|app-root|router-outlet|ember-app)\b[^>]*)>",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript\b[^>]*>(.*?)</noscript", re.IGNORECASE | re.DOTALL)
_ASKS = re.compile(
    rb"(?:enable|requires?|need|activate|turn(?:ed)? on|without|aktivier|activ|habilit|\xe5\x90\xaf\xe7\x94\xa8"
    rb"|\xe6\x9c\x89\xe5\x8a\xb9|\xd0\xb2\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87)[^.<]{0,60}java ?script"
    rb"|java ?script[^.<]{0,60}(?:enable|required?|disabled|aktivier|activ|habilit|needed|turned off"
    rb"|\xe5\x90\xaf\xe7\x94\xa8|\xe6\x9c\x89\xe5\x8a\xb9|\xd0\xb2\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87)",
    re.IGNORECASE,
)
_SCRIPT = re.compile(rb"<script\b([^>]*)>(.*?)(?:</script|\Z)", re.IGNORECASE | re.DOTALL)
_REFRESH = re.compile(rb"<meta\b[^>]*http-equiv\s*=\s*[\"']?refresh", re.IGNORECASE)
_NO_SCRIPT_TYPES = re.compile(
    rb"\btype\s*=\s*[\"']?(?!module|text/javascript|application/javascript)", re.IGNORECASE
)


def need(body: bytes) -> Need | None:
    """Why a page wants a browser; None where it does not. `body` is HTML without content encoding. Never raises."""
    html = body[:MOST_BYTES]
    if b"<script" not in html and b"<SCRIPT" not in html:
        return None
    if sum(map(html.count, _BLOCKS)) >= MANY_BLOCKS:
        return None
    text = _text(html)
    return _evidence(html, text) if text < ENOUGH else None


def _evidence(html: bytes, text: int) -> Need | None:
    if _has_empty_root(html):
        return "empty_root"
    if any(_ASKS.search(said[1]) for said in _NOSCRIPT.finditer(html)):
        return "noscript"
    leads_on = b"<iframe" in html or b"<frame" in html or _REFRESH.search(html)
    return "little_text" if text < LITTLE and not leads_on and _can_build(html) else None


def _text(html: bytes) -> int:
    """Characters of text of the body, ASCII ones counted as such and others by some two bytes."""
    begin = _BODY.search(html)
    seen = _UNSEEN.sub(b" ", html[begin.start() if begin else 0 :])
    words = _SPACE.sub(b"", _TAG.sub(b"", seen))
    beyond = sum(map(words.count, (b"\xe2", b"\xe3", b"\xe4", b"\xe5", b"\xe6", b"\xe7", b"\xe8", b"\xe9")))
    return len(words) - 2 * beyond


def _has_empty_root(html: bytes) -> bool:
    for root in _ROOT.finditer(html):
        tag = root[1] or root[2]
        end = html.lower().find(b"</" + tag.lower(), root.end())
        inside = html[root.end() : end if end >= 0 else None]
        if len(_SPACE.sub(b"", _TAG.sub(b"", _UNSEEN.sub(b"", inside)))) < LITTLE // 4:
            return True
    return False


def _can_build(html: bytes) -> bool:
    size = 0
    for script in _SCRIPT.finditer(html):
        attributes = script[1].lower()
        if _NO_SCRIPT_TYPES.search(attributes):
            continue
        if b"src" in attributes:
            return True
        size += len(script[2])
        if size >= MUCH_SCRIPT or b"document.write" in script[2] or b"innerHTML" in script[2]:
            return True
    return False
