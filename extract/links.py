"""Extract the links of a page as written, in the order of the page.

1. Links are what a reader can follow: `a`, `area`, frames, the relations of the head that lead to pages (next,
   canonical, index, alternate...), and the target of a `<meta>` refresh. Only the first `<base href>` counts.
2. One regular expression without backtracking separates tags from text as the tokenizer of the HTML standard does
   (section 13.2.5): comments, scripts, styles and other raw text, quoted attributes. No tree is built. The place of a
   link in the tree does not matter, and a malicious page could make building the tree cost hours. Time and memory are
   proportional to the page, whatever it contains.
3. The content of a `<template>` is not part of the page, unless it is a shadow root, which browsers show.
4. Links that a tree would leave out are found too: links in a `<select>` and after a `<plaintext>`. Three things are
   not recognised: the escapes of a script within a comment within a script, CDATA, and `<template>` within SVG.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from typing import NamedTuple
from urllib.parse import quote

import ada_url

from thresher.extract.references import unescape

LIMIT = 50_000
"""Links of one page at most; a page with more is a trap or a dump."""
LONGEST = 8_192
"""Bytes of a link as written at most: a longer one is data, and its URL would be refused for its length anyway."""
MAX_META = 256
"""`<meta>` elements of one page that are returned at most."""
ANCHORS = 100
"""`<a` in which `holds_address` looks at most, because a page may have millions without an address."""
_SHORT = 256
"""Bytes up to which the facts of a tag are cached."""
LOOKED_AT = 65_536
"""Bytes of one tag in which attributes are searched; the link of an `<a>` is found anywhere in its tag."""
FOLLOWED_RELS = frozenset(
    {
        # HTML standard, section 4.6.7
        *("alternate", "author", "canonical", "help", "license", "next", "prev"),
        # HTML 4.01, section 6.12, and its successors
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
        *("subsection", "first", "last", "up"),
    }
)

# The tokenizer. Every quantifier is possessive, and every alternative consumes at least its first `<`. The empty last
# alternative of a repeated group keeps old Pythons right (decision 76), and needs no memory as `(?>(?:...)*)` does. The
# most frequent case comes first: tags without a link, recognised by their first letters, with at most one attribute.
_SPACE = r"[\t\n\f\r ]"
_ENDS = r"(?=[\t\n\f\r />])"
_NAME = r"=?+[^\t\n\f\r /=>]++"
_VALUE = r"""(?>"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >"'][^\t\n\f\r >]*+|)"""
_MORE = rf"(?:=(?:\"[^\"]*+\"?+|{_SPACE}*+{_VALUE})[^=>]*+|)*+"
_REST = rf"[^=>]*+{_MORE}"
_HREF = r"[hH][rR][eE][fF]"
_OTHERS = rf"(?:[\t\n\f\r /]*+(?!{_HREF}[\t\n\f\r />=]){_NAME}(?>{_SPACE}*+={_SPACE}*+{_VALUE}|)|)*+"
_CAPTURED = r"""(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+))"""
_COMMENT = r"!--(?:-?+>|[^-]*+(?:-(?!-!?>)[^-]*+|)*+)"


def _raw(name: str) -> str:
    """Return the pattern of the content of an element in which only its own end tag counts."""
    return rf"[^<]*+(?:<(?!/(?i:{name})[\t\n\f\r />])[^<]*+|)*+"


_RAW = (
    "|".join(
        rf"(?i:{name}){_ENDS}{_REST}>?+{_raw(name)}"
        for name in ("script", "style", "textarea", "title", "xmp", "noembed", "noframes")
    )
    + rf"|(?i:iframe)>{_raw('iframe')}"
)
_LINK_TAGS = r"(?i:a|area|base|link|meta|i?frame)[\t\n\f\r /]"
_PLAIN = (
    r"(?:[c-eghjkopqruvwyzC-EGHJKOPQRUVWYZ]|[sS](?![cCtT])|[tT](?![eEiI])|[lL](?![iI][nN])|[bB](?![aA])|[iI](?![fF])"
    rf"|[mM](?![eE])|[nN](?![oO])|[aA](?![rR\t\n\f\r /])|[fF](?![rR])|[xX](?![mM]))[^=>]*+(?:>|=\"[^\"]*+\">|{_MORE})"
)
_TAG = re.compile(
    # Skipped
    rf"[^<]*+(?:<(?:/|{_PLAIN}|{_COMMENT}|[!?][^>]*+|(?=[sStTxXnNiI])(?:{_RAW})|(?!{_LINK_TAGS})[a-zA-Z]{_REST}"
    rf"|(?![a-zA-Z!?/]))[^<]*+|)*+"
    # Captured
    rf"(?:<[aA](?>[rR][eE][aA]|)(?=[\t\n\f\r /]){_OTHERS}[\t\n\f\r /]*+{_HREF}{_SPACE}*+={_SPACE}*+{_CAPTURED}{_REST}"
    rf"|<((?i:base|link|meta|frame))(?=[\t\n\f\r /])({_REST})"
    rf"|<((?i:iframe))(?=[\t\n\f\r /])({_REST})>?+{_raw('iframe')}"
    rf"|<[a-zA-Z]{_REST}|\Z)".encode()
)
_TEMPLATE = re.compile(
    rf"[^<]*+(?:<(?:{_COMMENT}|[!?][^>]*+|(?=[sStTxXnNiI])(?:{_RAW})|(?!/?+(?i:template){_ENDS})(?:/|[a-zA-Z]{_REST}"
    rf"|(?![a-zA-Z!?/])))[^<]*+|)*+"
    rf"(?:<(/?+)(?i:template){_ENDS}({_REST})>?+|\Z)".encode()
)
_SHADOW = frozenset({"open", "closed"})
_ATTRIBUTE = re.compile(
    rf"""({_NAME})(?>{_SPACE}*+={_SPACE}*+(?>"([^"]*+)"?|'([^']*+)'?|([^\t\n\f\r >"'][^\t\n\f\r >]*+)|)|)""".encode()
)
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|([a-zA-Z][a-zA-Z0-9]*)(;|(?!=)))")
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?=[\t\n\f\r ;,])[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+"""
    r"""(?>[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+|)(["']?+)(.*+)""",
    re.DOTALL,
)
_FRAGMENT = re.compile("#[^\0]*+")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_SAFE_IN_QUERY = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"#<>'")
_REPLACEMENT = "\ufffd".encode()
"""Replacement of a NUL (HTML standard, attribute value states)."""
_LAST_GROUP_OF_A = 3
"""The last group of `_TAG` that captures the link of an `<a>`; later groups capture name and attributes of others."""
_BLANK = "".join(map(chr, range(0x21)))
"""Characters that the URL parser strips (URL standard, basic URL parser, step 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """The links of a page."""

    base: str
    """URL that the links are relative to."""
    hrefs: tuple[str, ...]
    """Links as written, without fragment, each once."""
    metas: tuple[tuple[str, str], ...]
    """Name in lower case and content of each `<meta>` that has both."""
    truncated: int
    """Number of links beyond `LIMIT`."""

    @property
    def is_nofollow(self) -> bool:
        """Whether a robots <meta> asks crawlers not to follow the links."""
        return any(
            {word.strip() for word in content.lower().split(",")} & {"nofollow", "none"}
            for name, content in self.metas
            if name == "robots"
        )


class _ElementFacts(NamedTuple):
    """The facts of an element that is not an `<a>`."""

    href: bytes
    """Its link, written as in an `<a>`; empty if it has none."""
    base: str
    meta: tuple[str, str] | tuple[()]


def extract_links(html: bytes, url: str, codec: str = "") -> PageLinks:
    """Return the links of the page at `url`, which is in UTF-8. `codec` is the codec of their queries
    (`charset.to_utf8`).

    Never raise.
    """
    found: dict[bytes, None] = {}
    metas: list[tuple[str, str]] = []
    base, truncated = "", 0
    for tag in _TAG.finditer(_without_templates(html)):
        group = tag.lastindex
        if group is None:
            continue
        if group <= _LAST_GROUP_OF_A:
            href = tag[group]
        else:
            kind, rest = tag[group - 1], tag[group]
            facts = (
                _read_element(kind, rest) if len(rest) <= _SHORT else _read_element.__wrapped__(kind, rest)
            )
            base = base or facts.base
            if facts.meta and len(metas) < MAX_META:
                metas.append(facts.meta)
            href = facts.href
        if not href:
            continue
        if len(found) < LIMIT:
            found[href] = None
        elif href not in found:
            truncated += 1
    hrefs = dict.fromkeys(_decode_hrefs(href for href in found if len(href) <= LONGEST))
    hrefs.pop("", None)
    if codec:
        hrefs = dict.fromkeys(_encode_query(href, codec) for href in hrefs)
    return PageLinks(base=_base_url(base, url), hrefs=tuple(hrefs), metas=tuple(metas), truncated=truncated)


def holds_address(html: bytes) -> bool:
    """Return whether one of the first `ANCHORS` `<a` has an address that is more than a fragment. Comments and scripts
    count as well.

    No expression is matched, so that this function finds links where `extract_links` fails to.
    """
    return any(_hold_address(html.split(opening, ANCHORS)[1:]) for opening in (b"<a ", b"<A "))


def _hold_address(anchors: Iterable[bytes]) -> bool:
    for anchor in anchors:
        _, name, rest = anchor[:_SHORT].lower().partition(b">")[0].partition(b"href")
        value = rest.lstrip(b"=\t\n\f\r \"'")
        if name and value and not value.startswith(b"#"):
            return True
    return False


def _without_templates(html: bytes) -> bytes:
    """Return the page without the content of templates that are not shadow roots (HTML standard, section 4.12.3)."""
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


def _decode_hrefs(hrefs: Iterable[bytes]) -> list[str]:
    """Return the values of attributes without fragments and surrounding blanks.

    All of them are decoded in one pass, because every page has many.
    """
    text = _FRAGMENT.sub("", _decode_value(b"\0".join(href.replace(b"\0", _REPLACEMENT) for href in hrefs)))
    return [href.strip(_BLANK) for href in text.split("\0")]


def _decode_value(value: bytes) -> str:
    """Return the text of an attribute's value that has no NUL (HTML standard, named character reference state)."""
    text = value.decode(errors="replace")
    return _REFERENCE.sub(_replace_reference, text) if "&" in text else text


def _replace_reference(reference: re.Match[str]) -> str:
    name, end = reference.groups()
    return unescape(reference.group()) if name is None else html5.get(name + end, reference.group())


@lru_cache(maxsize=4_096)  # every page of a site has the same head
def _read_element(kind: bytes, rest: bytes) -> _ElementFacts:
    kind, attributes = kind.lower(), _attributes(rest)
    if kind == b"base":
        return _ElementFacts(b"", attributes.get("href", ""), ())
    is_named = kind == b"meta" and "name" in attributes and "content" in attributes
    return _ElementFacts(
        _target(kind, attributes).replace("&", "&amp;").encode(errors="replace"),
        "",
        (attributes["name"].strip(_BLANK).lower(), attributes["content"]) if is_named else (),
    )


def _attributes(rest: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(rest[:LOOKED_AT]):
        value = (double or single or bare).replace(b"\0", _REPLACEMENT)
        found.setdefault(name.decode(errors="replace").lower(), _decode_value(value))
    return found


def _refresh_target(content: str) -> str:
    """Return the target of a <meta> refresh (HTML standard, shared declarative refresh steps); `""` if it has none."""
    found = _REFRESH.match(content)
    if found is None:
        return ""
    quote, target = found.groups()
    return target.partition(quote)[0] if quote else target


def _encode_query(href: str, codec: str) -> str:
    """Return the link with its query in the page's own encoding (URL standard, percent-encode after encoding)."""
    if href.isascii() or "?" not in href:
        return href
    path, _, query = href.partition("?")
    return f"{path}?{_FOREIGN.sub(lambda some: _percent_encode(some[0], codec), query)}"


def _percent_encode(text: str, codec: str) -> str:
    try:
        return quote(text.encode(codec), safe=_SAFE_IN_QUERY)
    except UnicodeEncodeError:
        if len(text) == 1:
            return f"%26%23{ord(text)}%3B"
        return "".join(_percent_encode(character, codec) for character in text)


def _target(kind: bytes, attributes: dict[str, str]) -> str:
    """Return the target of an element of the head, or of a frame; return `""` if it has none."""
    match kind:
        case b"meta":
            is_refresh = attributes.get("http-equiv", "").lower() == "refresh"
            return _refresh_target(attributes.get("content", "")) if is_refresh else ""
        case b"link":
            # A feed or another format is an alternate too; only other languages and views are pages.
            is_page = (attributes.get("type") or "text/html") == "text/html"
            followed = not FOLLOWED_RELS.isdisjoint(attributes.get("rel", "").lower().split())
            return attributes.get("href", "") if is_page and followed else ""
    return attributes.get("src", "")


def _base_url(base: str, url: str) -> str:
    """Return the URL that links are relative to (HTML standard, "set the frozen base URL")."""
    try:
        joined = str(ada_url.join_url(url, base.strip(_BLANK))) if base else url
    except ValueError:
        return url
    return url if joined.startswith(("data:", "javascript:")) else joined
