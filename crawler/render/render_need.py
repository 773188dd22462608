"""`render_need`: whether a page has little text because a script would add the rest. Pure.

The rules are for a complete HTML page with status 200. They look at its body, the first 256 KiB of it:

1. A page without a script is never rendered.
2. A page with enough text is never rendered, whatever else it contains. Text is what stands between tags, outside of
   scripts, styles, templates, comments, `noscript`, `svg` and `select`; white space around it does not count.
3. Of the other pages those are rendered that give evidence, the first of these:
   - `empty_root`: an element that frameworks fill (`<div id="root">`, `<app-root>`) is empty or nearly so;
   - `noscript`: the page asks in a `noscript` to switch scripts on, and has little text of its own;
   - `template`: markup that a script multiplies or fetches (`x-for`, `v-for`, `ng-repeat`, `hx-trigger="load"`);
   - `empty_part`: a part is empty, a script may fill it, and either the part is named like the main one (`content`,
     `list`, `posts`) or the page has little text of its own;
   - `script`: a script in the page itself fetches or holds data and writes it into the page, which has little text;
   - `little_text`: almost no text, no frame and no redirect whose target is known, and a script that can write some.

A page's *own* text is what remains without links, menus, headers, footers and cookie notices, which shells have too.
So a page of text with a widget is not rendered, and neither is a short page ("it works") without scripts. A script that
only counts visits, or loads one that does, writes nothing.

Cost: on ordinary pages the time to read the first thousand characters of text, some tens of microseconds.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from thresher.crawler.reading.script_redirects import DATA_TYPE, script_redirects

RenderNeed = Literal["empty_root", "noscript", "template", "empty_part", "script", "little_text"]

MAX_BYTES = 256 << 10
FIRST_BYTES = 32 << 10
"""Bytes of the body in which most pages have enough text; more is looked at only in other pages."""
ENOUGH_TEXT_BYTES = 1_000
"""Bytes of text with which a page needs no scripts, even if a part of it is empty."""
SOME_TEXT_BYTES = 400
"""Bytes of its own text that a page has if more than its frame was written by the server."""
LITTLE_TEXT_BYTES = 160
"""Bytes of text that are almost none: a title and a "Loading...", a short notice."""
MAX_ELEMENTS = 8
"""Elements of one kind that are searched, `MAX_ELEMENT_BYTES` bytes of each, so that no page makes this slow."""
MAX_ELEMENT_BYTES = 4 << 10

_UNREAD = "script|style|noscript|template|svg|select"
_OPENS = re.compile(rf"<(?:{_UNREAD}|!--)".encode())
_FRAME = re.compile(
    rf"<(?:{_UNREAD}|!--|(?:nav|header|footer|aside|button|a)(?=[\s>])"
    r"|(?:div|section|p)(?=\s[^<>]{0,200}(?:cookie|consent|gdpr|footer|copyright)))".encode()
)
"""Begins what is no text of the page's own."""
_TEXT = re.compile(rb">([^<]+)")
_UNSEEN = re.compile(rb"<!--.*?(?:-->|\Z)|<[^>]*+(?:>|\Z)|&nbsp;|\s++", re.DOTALL)
_ROOT = re.compile(
    rb"<(?:(div|main|section|body)\b[^<>]{0,256}?\bid\s*=\s*[\"']?"
    rb"(?:root|app|__next|__nuxt|___gatsby|svelte|q-app|react-root|reactroot|main-app|app-root|application|mount|ember-app)"
    rb"[\"']?(?=[\s>])[^<>]*+|((?:app|my-app|ng)-(?:root|app)|app-root|router-outlet|ember-app)\b[^<>]*+)>",
)
_EMPTY = re.compile(
    rb"<(?:(main|article|div|section|ul|ol|tbody|table)\b([^<>]{0,512})|([a-z]{1,32}-[a-z-]{1,64})(?:\s[^<>]{0,512})?)>"
    rb"\s{0,64}(?:<!--[^<>]{0,128}-->\s{0,64})?</(?:\1|\3)"
)
_MAIN = re.compile(
    rb"(?:id|class)\s*=\s*[\"']?[^\"'<>]{0,64}(?:content|main|root|app\b|page|posts|list|feed|results|products|articles"
    rb"|items|entries|view|container|wrapper|body)"
)
_SIDE = re.compile(
    rb"search|menu|nav|toc|comment|modal|popup|cookie|toast|tooltip|overlay|sidebar|toolbar|header|footer|clear"
)
"""Names of parts that scripts fill beside the text of a page."""
_TEMPLATE = re.compile(
    rb"[\s\"'](?:x-for|v-for|ng-repeat|ng-view|ui-view|data-ng-repeat|\*ngfor)\s{0,4}=|<ng-view|<turbo-frame[^<>]{0,256}\bsrc="
    rb"|\bhx-trigger\s{0,4}=\s{0,4}[\"'][^\"'<>]{0,128}(?:load|revealed|intersect)"
    rb"|\bdata-bind\s{0,4}=\s{0,4}[\"'][^\"'<>]{0,128}foreach|<!-- ko foreach"
)
_NOSCRIPT = re.compile(rb"<noscript\b[^>]{0,256}>")
_ASKS = re.compile(
    rb"(?:enable|requires?|need|activate|turn(?:ed)? on|without|aktivier|activ|habilit|\xe5\x90\xaf\xe7\x94\xa8"
    rb"|\xe6\x9c\x89\xe5\x8a\xb9|\xd0\xb2\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87)[^.<]{0,60}java ?script"
    rb"|java ?script[^.<]{0,60}(?:enable|required?|aktivier|activ|habilit|needed|turned off"
    rb"|\xe5\x90\xaf\xe7\x94\xa8|\xe6\x9c\x89\xe5\x8a\xb9|\xd0\xb2\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87)",
)
_SCRIPT = re.compile(rb"<script\b([^>]{0,1024}+)>(.*?)(?:</script|\Z)", re.DOTALL)
_REFRESH = re.compile(rb"<meta\b[^>]{0,256}?http-equiv\s*=\s*[\"']?refresh")
_COUNTS = re.compile(
    rb"analytics|gtag|googletagmanager|doubleclick|adsbygoogle|matomo|piwik|plausible|cloudflareinsights|hotjar|recaptcha"
)
"""In the URL of a script that writes nothing a reader would read."""
_WRITES = re.compile(
    rb"document\.write|innerhtml|outerhtml|insertadjacent|replacechildren|replacewith|appendchild|\.(?:ap|pre)pend\("
    rb"|\.html\(|\.load\(|\.mount\(|createroot|hydrate|\bimport\b"
)
_LOADS = re.compile(rb"\.async\b|\.src\b|[\"']script[\"']")
_HAS_DATA = re.compile(
    rb"\bfetch\(|xmlhttprequest|getjson|\.ajax\(|axios|json\.parse|document\.write|innerhtml|[\[{,]\s{0,4}[\"']"
)
_LEAVES = re.compile(rb"\blocation\b\s{0,4}(?:\.\s{0,4}(?:href|replace|assign)|=)")


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
    if text >= ENOUGH_TEXT_BYTES:
        return None
    need = _evidence(html, head.lower(), text)
    return None if need == "little_text" and script_redirects(body[: FIRST_BYTES + MAX_BYTES]) else need


def may_say_more(body: bytes) -> bool:
    """Return whether a page that is not rendered may say more with its scripts: it needs a browser, or it has almost no
    text, no frame, no redirect, and a script.
    """
    begin = max(body.find(b"<body"), body.find(b"<BODY"), 0)
    if _text(body[begin : begin + FIRST_BYTES].lower()) >= ENOUGH_TEXT_BYTES:
        return False
    if render_need(body) is not None:
        return True
    html = body[: begin + MAX_BYTES].lower()
    if (
        _text(html[begin:]) >= LITTLE_TEXT_BYTES
        or _leads_on(html[begin:], html[:begin])
        or script_redirects(body)
    ):
        return False
    return any(not DATA_TYPE.search(script[1]) for script in islice(_SCRIPT.finditer(html), MAX_ELEMENTS))


def _evidence(html: bytes, head: bytes, text: int) -> RenderNeed | None:
    if _has_empty_root(html):
        return "empty_root"
    own = _text(html, _FRAME)
    asks = (_ASKS.search(_inside(html, opens, b"noscript")) for opens in _first(_NOSCRIPT, html))
    if own < SOME_TEXT_BYTES and any(asks):
        return "noscript"
    if _TEMPLATE.search(html):
        return "template"
    has_file, writes, has_data = _scripts(head + html)
    if (has_file or writes) and _has_empty_part(html, own):
        return "empty_part"
    if writes and has_data and own < SOME_TEXT_BYTES:
        return "script"
    is_shell = text < LITTLE_TEXT_BYTES and (has_file or writes) and not _leads_on(html, head)
    return "little_text" if is_shell else None


def _leads_on(html: bytes, head: bytes) -> bool:
    return b"<iframe" in html or b"<frame" in html or _REFRESH.search(head) is not None


def _text(html: bytes, opens_unread: re.Pattern[bytes] = _OPENS) -> int:
    """Return the bytes of text, counted no further than `ENOUGH_TEXT_BYTES`. An unclosed element swallows the rest, as
    in a browser.
    """
    at = size = 0
    while True:
        opens = opens_unread.search(html, at)
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


def _has_empty_part(html: bytes, own: int) -> bool:
    for part in _first(_EMPTY, html):
        name = part[2] or part[3] or b""
        if part[1] == b"main" or _MAIN.search(name) or (part[3] and own < SOME_TEXT_BYTES):
            if not _SIDE.search(name):
                return True
        elif own < LITTLE_TEXT_BYTES and not _SIDE.search(name):
            return True
    return False


def _first(pattern: re.Pattern[bytes], html: bytes) -> Iterator[re.Match[bytes]]:
    return islice(pattern.finditer(html), MAX_ELEMENTS)


def _inside(html: bytes, opens: re.Match[bytes], tag: bytes) -> bytes:
    """Return what stands between a tag and the next closing tag of its kind."""
    return html[opens.end() : opens.end() + MAX_ELEMENT_BYTES].partition(b"</" + tag)[0]


def _scripts(html: bytes) -> tuple[bool, bool, bool]:
    """Return whether the page has a script from another URL, and whether one of its own writes text and has data."""
    has_file = writes = has_data = False
    for script in _SCRIPT.finditer(html):
        if DATA_TYPE.search(script[1]):
            continue
        if b"src" in script[1]:
            has_file = has_file or not _COUNTS.search(script[1])
        elif (_WRITES.search(script[2]) and not _LOADS.search(script[2])) or _LEAVES.search(script[2]):
            writes = True
            has_data = has_data or _HAS_DATA.search(script[2]) is not None
    return has_file, writes, has_data
