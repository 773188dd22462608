"""Links of a page, as written, in the order in which they stand.

1. Links are what a reader can follow: `a`, `area`, frames, and the relations of the head that lead to pages (next,
   canonical, index, alternate...); and where a `<meta>` sends him. `<base href>` counts once, the first.
2. Tags are told from text as the HTML standard's tokenizer tells them (section 13.2.5), by one regular expression
   that never looks back: comments, scripts, styles and other raw text, quoted attributes. No tree is built: where a
   link stands in it does not matter, and building it is what a page can make cost hours. Time and memory are
   proportional to the page whatever is on it.
3. What is in a `<template>` is no part of the page, unless it is a shadow root, which is shown.
4. What a tree would have left out is found: links in a `<select>` and behind a `<plaintext>`.
   Not told apart are the escapes of a script within a comment within a script, CDATA and `<template>` within SVG.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from typing import NamedTuple
from urllib.parse import quote

import ada_url

from extract.references import unescape

LIMIT = 50_000
"""Links taken of one page; a page with more is a trap or a dump."""
LONGEST = 8_192
"""Bytes of a link as written: beyond that it is data. Its address would be refused for its length in any case."""
MOST_META = 256
"""`<meta>` of a page that are told."""
_SHORT = 256
"""Bytes of a tag of the head that is remembered."""
LOOKED_AT = 65_536
"""Bytes of one tag in which attributes are looked for; those of `<a>` are found wherever they are."""
FOLLOWED_RELS = frozenset(
    {
        *(
            "alternate",
            "author",
            "canonical",
            "help",
            "license",
            "next",
            "prev",
        ),  # HTML standard, section 4.6.7
        *(
            "appendix",
            "bookmark",
            "chapter",
            "contents",
            "copyright",
            "glossary",
            "index",
            "section",
            "start",
        ),
        *("subsection", "first", "last", "up"),  # HTML 4.01, section 6.12, and what came of it
    }
)

# The tokenizer. Every quantifier is possessive, and every alternative takes at least the `<` it begins with. What pages are
# full of comes first: tags that tell nothing, by their first letters, with no attribute or one.
_SPACE = r"[\t\n\f\r ]"
_ENDS = r"(?=[\t\n\f\r />])"
_NAME = r"=?+[^\t\n\f\r /=>]++"
_VALUE = r"""(?:"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >"'][^\t\n\f\r >]*+)"""
_MORE = rf"(?:=(?:\"[^\"]*+\"?+|{_SPACE}*+{_VALUE}?+)[^=>]*+)*+"
_REST = rf"[^=>]*+{_MORE}"
_HREF = r"[hH][rR][eE][fF]"
_OTHERS = rf"(?:[\t\n\f\r /]*+(?!{_HREF}[\t\n\f\r />=]){_NAME}(?:{_SPACE}*+={_SPACE}*+{_VALUE}?+)?+)*+"
_CAUGHT = r"""(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+))"""
_COMMENT = r"!--(?:-?+>|[^-]*+(?:-(?!-!?>)[^-]*+)*+)"


def _raw(name: str) -> str:
    """What an element holds that knows no tags but its own end."""
    return rf"[^<]*+(?:<(?!/(?i:{name})[\t\n\f\r />])[^<]*+)*+"


_RAW = (
    "|".join(
        rf"(?i:{name}){_ENDS}{_REST}>?+{_raw(name)}"
        for name in ("script", "style", "textarea", "title", "xmp", "noembed", "noframes")
    )
    + rf"|(?i:iframe)>{_raw('iframe')}"
)
_TOLD = r"(?i:a|area|base|link|meta|i?frame)[\t\n\f\r /]"
_PLAIN = (
    r"(?:[c-eghjkopqruvwyzC-EGHJKOPQRUVWYZ]|[sS](?![cCtT])|[tT](?![eEiI])|[lL](?![iI][nN])|[bB](?![aA])|[iI](?![fF])"
    rf"|[mM](?![eE])|[nN](?![oO])|[aA](?![rR\t\n\f\r /])|[fF](?![rR])|[xX](?![mM]))[^=>]*+(?:>|=\"[^\"]*+\">|{_MORE})"
)
_TAG = re.compile(
    # What is passed over
    rf"[^<]*+(?:<(?:/|{_PLAIN}|{_COMMENT}|[!?][^>]*+|(?=[sStTxXnNiI])(?:{_RAW})|(?!{_TOLD})[a-zA-Z]{_REST}|(?![a-zA-Z!?/]))[^<]*+)*+"
    # What is told
    rf"(?:<[aA](?:[rR][eE][aA])?+(?=[\t\n\f\r /]){_OTHERS}[\t\n\f\r /]*+{_HREF}{_SPACE}*+={_SPACE}*+{_CAUGHT}{_REST}"
    rf"|<((?i:base|link|meta|frame))(?=[\t\n\f\r /])({_REST})"
    rf"|<((?i:iframe))(?=[\t\n\f\r /])({_REST})>?+{_raw('iframe')}"
    rf"|<[a-zA-Z]{_REST}|\Z)".encode()
)
_TEMPLATE = re.compile(
    rf"[^<]*+(?:<(?:{_COMMENT}|[!?][^>]*+|(?=[sStTxXnNiI])(?:{_RAW})|(?!/?+(?i:template){_ENDS})(?:/|[a-zA-Z]{_REST}|(?![a-zA-Z!?/])))[^<]*+)*+"
    rf"(?:<(/?+)(?i:template){_ENDS}({_REST})>?+|\Z)".encode()
)
_SHADOW = frozenset({"open", "closed"})
_ATTRIBUTE = re.compile(
    rf"""({_NAME})(?:{_SPACE}*+={_SPACE}*+(?:"([^"]*+)"?|'([^']*+)'?|([^\t\n\f\r >"'][^\t\n\f\r >]*+)?+))?+""".encode()
)
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|([a-zA-Z][a-zA-Z0-9]*)(;|(?!=)))")
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?=[\t\n\f\r ;,])[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+"""
    r"""(?:[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(["']?+)(.*+)""",
    re.DOTALL,
)
_FRAGMENT = re.compile("#[^\0]*+")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_SAFE_IN_QUERY = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"#<>'")
_REPLACEMENT = "\ufffd".encode()
"""What a NUL is read as (HTML standard, attribute value states)."""
_OF_A = 3
"""The last group of `_TAG` that is the link of an `<a>`; behind it come name and attributes of other elements."""
_BLANK = "".join(map(chr, range(0x21)))
"""What the URL parser strips (URL standard, basic URL parser, step 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """What a page links to."""

    base: str
    """Address that its links are relative to."""
    hrefs: tuple[str, ...]
    """As written, without fragment, each once."""
    metas: tuple[tuple[str, str], ...]
    """Name in lower case and content of each `<meta>` that has both."""
    truncated: int
    """Links beyond the limit."""

    @property
    def is_nofollow(self) -> bool:
        """Whether a robots <meta> asks that its links not be followed."""
        return any(
            {word.strip() for word in content.lower().split(",")} & {"nofollow", "none"}
            for name, content in self.metas
            if name == "robots"
        )


class _ElementFacts(NamedTuple):
    """What an element says that is no `<a>`."""

    href: bytes
    """Where it leads, written as an `<a>` would have it; empty where nowhere."""
    base: str
    meta: tuple[str, str] | tuple[()]


def extract_links(html: bytes, url: str, codec: str = "") -> PageLinks:
    """The links of a page in UTF-8 that was found at `url`; `codec` is that of their queries (`extract.charset.utf8`).

    Never raises.
    """
    found: dict[bytes, None] = {}
    metas: list[tuple[str, str]] = []
    base, left = "", 0
    for tag in _TAG.finditer(_shown(html)):
        which = tag.lastindex
        if which is None:
            continue
        if which <= _OF_A:
            href = tag[which]
        else:
            kind, rest = tag[which - 1], tag[which]
            told = _read_element(kind, rest) if len(rest) <= _SHORT else _read_element.__wrapped__(kind, rest)
            base = base or told.base
            if told.meta and len(metas) < MOST_META:
                metas.append(told.meta)
            href = told.href
        if not href:
            continue
        if len(found) < LIMIT:
            found[href] = None
        elif href not in found:
            left += 1
    hrefs = dict.fromkeys(_written(href for href in found if len(href) <= LONGEST))
    hrefs.pop("", None)
    if codec:
        hrefs = dict.fromkeys(_queried(href, codec) for href in hrefs)
    return PageLinks(base=_joined(base, url), hrefs=tuple(hrefs), metas=tuple(metas), truncated=left)


def _shown(html: bytes) -> bytes:
    """The page without what is in a template that is no shadow root (HTML standard, section 4.12.3)."""
    if b"<template" not in html.lower():
        return html
    pieces: list[bytes] = []
    roots: list[bool] = []
    begin, hidden = 0, 0
    for tag in _TEMPLATE.finditer(html):
        end, rest = tag.groups()
        if end is None:
            break
        if not end:
            roots.append(_attributes(rest).get("shadowrootmode", "").lower() in _SHADOW)
            if not roots[-1]:
                if not hidden:
                    pieces.append(html[begin : tag.end()])
                hidden += 1
        elif roots and not roots.pop():
            hidden -= 1
            begin = tag.end()
    if not hidden:
        pieces.append(html[begin:])
    return b"".join(pieces)


def _written(hrefs: Iterable[bytes]) -> list[str]:
    """What attributes say, without fragment and what is blank around it: all at once, for there are many on every page."""
    text = _FRAGMENT.sub("", _read(b"\0".join(href.replace(b"\0", _REPLACEMENT) for href in hrefs)))
    return [one.strip(_BLANK) for one in text.split("\0")]


def _read(value: bytes) -> str:
    """What an attribute's value without NUL says (HTML standard, named character reference state, in an attribute)."""
    text = value.decode(errors="replace")
    return _REFERENCE.sub(_replace_reference, text) if "&" in text else text


def _replace_reference(reference: re.Match[str]) -> str:
    name, end = reference.groups()
    return unescape(reference.group()) if name is None else html5.get(name + end, reference.group())


@lru_cache(maxsize=4_096)  # the same head stands on every page of a site
def _read_element(kind: bytes, rest: bytes) -> _ElementFacts:
    kind, told = kind.lower(), _attributes(rest)
    if kind == b"base":
        return _ElementFacts(b"", told.get("href", ""), ())
    is_named = kind == b"meta" and "name" in told and "content" in told
    return _ElementFacts(
        _leads_to(kind, told).replace("&", "&amp;").encode(errors="replace"),
        "",
        (told["name"].strip(_BLANK).lower(), told["content"]) if is_named else (),
    )


def _attributes(rest: bytes) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(rest[:LOOKED_AT]):
        value = (double or single or bare).replace(b"\0", _REPLACEMENT)
        told.setdefault(name.decode(errors="replace").lower(), _read(value))
    return told


def _refreshed(content: str) -> str:
    """Where a <meta> sends a reader (HTML standard, shared declarative refresh steps); empty where it stays."""
    found = _REFRESH.match(content)
    if found is None:
        return ""
    quote, target = found.groups()
    return target.partition(quote)[0] if quote else target


def _queried(href: str, codec: str) -> str:
    """The link with its query in the page's own encoding (URL standard, percent-encode after encoding)."""
    if href.isascii() or "?" not in href:
        return href
    path, _, query = href.partition("?")
    return f"{path}?{_FOREIGN.sub(lambda some: _quoted(some[0], codec), query)}"


def _quoted(text: str, codec: str) -> str:
    try:
        return quote(text.encode(codec), safe=_SAFE_IN_QUERY)
    except UnicodeEncodeError:
        if len(text) == 1:
            return f"%26%23{ord(text)}%3B"
        return "".join(_quoted(character, codec) for character in text)


def _leads_to(kind: bytes, told: dict[str, str]) -> str:
    """Where an element of the head, or a frame, leads; empty where nowhere."""
    match kind:
        case b"meta":
            return (
                _refreshed(told.get("content", "")) if told.get("http-equiv", "").lower() == "refresh" else ""
            )
        case b"link":
            # A feed or another format is an alternate as well; only other languages and views are pages.
            is_page = (told.get("type") or "text/html") == "text/html"
            followed = not FOLLOWED_RELS.isdisjoint(told.get("rel", "").lower().split())
            return told.get("href", "") if is_page and followed else ""
    return told.get("src", "")


def _joined(base: str, url: str) -> str:
    """The address that links are relative to (HTML standard, "set the frozen base URL")."""
    try:
        joined = str(ada_url.join_url(url, base.strip(_BLANK))) if base else url
    except ValueError:
        return url
    return url if joined.startswith(("data:", "javascript:")) else joined
