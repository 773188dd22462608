"""Extract the links of a page as written, in the order of the page.

1. Links are what a reader can follow: `a`, `area`, frames, the relations of the head that lead to pages (next,
   canonical, index, alternate...), and the target of a `<meta>` refresh. Only the first `<base href>` counts.
2. One regular expression separates tags from text (`extract.markup.tags`). The place of a link in the tree does not
   matter, and time and memory are proportional to the page.
3. Links that a tree would leave out are found too: links in a `<select>` and after a `<plaintext>`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from thresher.extract.markup.tags import (
    BLANK,
    COMMENT,
    MORE,
    NAME,
    RAW,
    REPLACEMENT,
    REST,
    SPACE,
    VALUE,
    attributes_of,
    base_url,
    decode_value,
    encode_query,
    raw_content,
    without_templates,
)

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

# The most frequent case comes first: tags without a link, recognised by their first letters, with at most one
# attribute.
_HREF = r"[hH][rR][eE][fF]"
_OTHERS = rf"(?:[\t\n\f\r /]*+(?!{_HREF}[\t\n\f\r />=]){NAME}(?>{SPACE}*+={SPACE}*+{VALUE}|)|)*+"
_CAPTURED = r"""(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+))"""
_LINK_TAGS = r"(?i:a|area|base|link|meta|i?frame)[\t\n\f\r /]"
_PLAIN = (
    r"(?:[c-eghjkopqruvwyzC-EGHJKOPQRUVWYZ]|[sS](?![cCtT])|[tT](?![eEiI])|[lL](?![iI][nN])|[bB](?![aA])|[iI](?![fF])"
    rf"|[mM](?![eE])|[nN](?![oO])|[aA](?![rR\t\n\f\r /])|[fF](?![rR])|[xX](?![mM]))[^=>]*+(?:>|=\"[^\"]*+\">|{MORE})"
)
_TAG = re.compile(
    # Skipped
    rf"[^<]*+(?:<(?:/|{_PLAIN}|{COMMENT}|[!?][^>]*+|(?=[sStTxXnNiI])(?:{RAW})|(?!{_LINK_TAGS})[a-zA-Z]{REST}"
    rf"|(?![a-zA-Z!?/]))[^<]*+|)*+"
    # Captured
    rf"(?:<[aA](?>[rR][eE][aA]|)(?=[\t\n\f\r /]){_OTHERS}[\t\n\f\r /]*+{_HREF}{SPACE}*+={SPACE}*+{_CAPTURED}{REST}"
    rf"|<((?i:base|link|meta|frame))(?=[\t\n\f\r /])({REST})"
    rf"|<((?i:iframe))(?=[\t\n\f\r /])({REST})>?+{raw_content('iframe')}"
    rf"|<[a-zA-Z]{REST}|\Z)".encode()
)
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?=[\t\n\f\r ;,])[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+"""
    r"""(?>[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+|)(["']?+)(.*+)""",
    re.DOTALL,
)
_FRAGMENT = re.compile("#[^\0]*+")
_LAST_GROUP_OF_A = 3
"""The last group of `_TAG` that captures the link of an `<a>`; later groups capture name and attributes of others."""


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
    for tag in _TAG.finditer(without_templates(html)):
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
        hrefs = dict.fromkeys(encode_query(href, codec) for href in hrefs)
    return PageLinks(base=base_url(base, url), hrefs=tuple(hrefs), metas=tuple(metas), truncated=truncated)


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


def _decode_hrefs(hrefs: Iterable[bytes]) -> list[str]:
    """Return the values of attributes without fragments and surrounding blanks.

    All of them are decoded in one pass, because every page has many.
    """
    text = _FRAGMENT.sub("", decode_value(b"\0".join(href.replace(b"\0", REPLACEMENT) for href in hrefs)))
    return [href.strip(BLANK) for href in text.split("\0")]


@lru_cache(maxsize=4_096)  # every page of a site has the same head
def _read_element(kind: bytes, rest: bytes) -> _ElementFacts:
    kind, attributes = kind.lower(), attributes_of(rest)
    if kind == b"base":
        return _ElementFacts(b"", attributes.get("href", ""), ())
    is_named = kind == b"meta" and "name" in attributes and "content" in attributes
    return _ElementFacts(
        _target(kind, attributes).replace("&", "&amp;").encode(errors="replace"),
        "",
        (attributes["name"].strip(BLANK).lower(), attributes["content"]) if is_named else (),
    )


def _refresh_target(content: str) -> str:
    """Return the target of a <meta> refresh (HTML standard, shared declarative refresh steps); `""` if it has none."""
    found = _REFRESH.match(content)
    if found is None:
        return ""
    quote, target = found.groups()
    return target.partition(quote)[0] if quote else target


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
