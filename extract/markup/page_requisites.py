"""Requisites: what a page needs besides itself to look as it does, read from its markup. Pure.

1. Style sheets with what they import, scripts, frames, fonts, images with all their candidates (`srcset`, `<picture>`,
   the attributes of lazy images), icons, manifests, media. What a script would load is found only by a browser.
2. Style sheets come first and media last, because a page's time may end before all are fetched.
3. Tags are read as `extract.markup.tags` does: time and memory are proportional to the page, and nothing raises.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, get_args

import ada_url

from thresher.extract.markup.css_references import css_references
from thresher.extract.markup.tags import (
    BLANK,
    COMMENT,
    ENDS,
    REST,
    attributes_of,
    base_url,
    encode_query,
    raw_content,
    without_templates,
)

RequisiteKind = Literal["stylesheet", "script", "frame", "font", "image", "manifest", "media"]
"""What a page needs it for, the most important first."""
LIMIT = 2_000
"""Requisites of one document at most."""
MAX_ELEMENTS = 4 * LIMIT
"""Elements of one document whose attributes are read: each takes as long as three other tags, some 2 µs."""
LONGEST = 8_192
"""Characters of a URL at most; a longer one is data."""
DEFAULT_ICON = "/favicon.ico"
"""The icon that a browser asks for if a page names none (HTML standard, section 4.6.7.8)."""

_KINDS: tuple[RequisiteKind, ...] = get_args(RequisiteKind)
_OTHER_RAW = "|".join(
    rf"(?i:{name}){ENDS}{REST}>?+{raw_content(name)}"
    for name in ("textarea", "title", "xmp", "noembed", "noframes")
)
_TAG = re.compile(
    rf"[^<]*+(?:<(?:/|{COMMENT}|[!?][^>]*+|(?=[tTxXnN])(?:{_OTHER_RAW})|(?![a-zA-Z!?/]))[^<]*+|)*+"
    rf"(?:<((?i:style)){ENDS}{REST}>?+({raw_content('style')})"
    rf"|<((?i:script)){ENDS}({REST})>?+{raw_content('script')}"
    rf"|<((?i:iframe)){ENDS}({REST})>?+{raw_content('iframe')}"
    rf"|<([a-zA-Z][^\t\n\f\r />]*+)({REST})|\Z)".encode()
)
_CANDIDATE = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?+|)*+")
_READ = frozenset(
    {
        *(b"link", b"script", b"iframe", b"frame", b"embed", b"object", b"img", b"image", b"use", b"feimage"),
        *(b"source", b"video", b"audio", b"track", b"input", b"base"),
    }
)
_LAZY = ("data-src", "data-original", "data-lazy-src")
_LAZY_SETS = ("data-srcset", "data-lazy-srcset")
_ICONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"})
_PRELOADS: dict[str, RequisiteKind] = {
    "style": "stylesheet",
    "script": "script",
    "font": "font",
    "image": "image",
}


_Found = tuple[str, RequisiteKind, str]
"""A reference as written, its kind, and `icon` if it is the page's icon."""


class Requisite(NamedTuple):
    """Something that a page needs."""

    url: str
    """Absolute, `http` or `https`, without fragment."""
    kind: RequisiteKind


def page_requisites(html: bytes, url: str, codec: str = "") -> list[Requisite]:
    """Return what the page at `url` needs; `html` is in UTF-8, and `codec` is the codec of its queries
    (`charset.to_utf8`). If it names no icon, the default one of its host is among them.
    """
    base, found = _read(html, codec)
    requisites = _absolute(found, base_url(base, url))
    if not any(note == "icon" for _, _, note in found):
        requisites += _absolute([(DEFAULT_ICON, "image", "icon")], url)
    return _in_order(requisites)


def page_icon(html: bytes, url: str) -> str:
    """Return the address of the icon that the page at `url` names first, or that browsers ask for if it names none
    before its body; empty if it cannot be fetched. `html` is in UTF-8.
    """
    base, icon = "", ""
    for tag in _TAG.finditer(html):
        group = tag.lastindex
        name = b"body" if group is None else tag[group - 1].lower()
        if name == b"body":
            break
        if name == b"base":
            base = base or attributes_of(tag[group or 0]).get("href", "")
        elif name == b"link" and b"icon" in (rest := tag[group or 0]).lower() and (icon := _icon(rest)):
            break
    found = _absolute([(icon or DEFAULT_ICON, "image", "icon")], base_url(base, url) if icon else url)
    return found[0].url if found else ""


@lru_cache(1024)  # every page of a site has the same head
def _icon(link: bytes) -> str:
    """Return the icon that a `<link>` names; empty if it names none."""
    return next((href for href, _, note in _of_link(attributes_of(link[:LONGEST])) if note == "icon"), "")


def css_requisites(css: str, url: str) -> list[Requisite]:
    """Return what the style sheet at `url` needs."""
    return _in_order(_absolute(_from_css(css), url))


def manifest_requisites(manifest: bytes, url: str) -> list[Requisite]:
    """Return the icons of the web app manifest at `url`; none if it cannot be read."""
    try:
        icons = json.loads(manifest)["icons"]
        sources: list[_Found] = [(str(icon["src"]), "image", "icon") for icon in icons[:LIMIT]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return _in_order(_absolute(sources, url))


def _read(html: bytes, codec: str, *, depth: int = 0) -> tuple[str, list[_Found]]:
    """Return the URL in the first `<base>`, and all references, those of an `<iframe srcdoc>` included."""
    base, found, elements = "", [], 0
    for tag in _TAG.finditer(without_templates(html)):
        group = tag.lastindex
        if group is None:
            continue
        name, rest = tag[group - 1].lower(), tag[group]
        if name == b"style":
            found.extend(_from_css(rest.decode(errors="replace")))
        elif name in _READ or b"url(" in rest.lower() or b"background" in rest.lower():
            elements += 1
            attributes = attributes_of(rest)
            if name == b"base":
                base = base or attributes.get("href", "")
            elif depth == 0 and "srcdoc" in attributes:
                found.extend(_read(attributes["srcdoc"].encode(errors="replace"), "", depth=1)[1])
            found.extend(
                (encode_query(reference, codec) if codec else reference, kind, note)
                for reference, kind, note in _of_element(name, attributes)
                if reference and len(reference) <= LONGEST
            )
        if len(found) > LIMIT or elements == MAX_ELEMENTS:
            break
    return base, found


def _of_element(name: bytes, attributes: dict[str, str]) -> Iterator[_Found]:  # noqa: C901 - one case an element
    source = attributes.get("src", "")
    match name:
        case b"link":
            yield from _of_link(attributes)
        case b"script":
            yield source, "script", ""
        case b"iframe" | b"frame" | b"embed":
            yield source, "frame", ""
        case b"object":
            yield attributes.get("data", ""), "frame", ""
        case b"img" | b"source":
            kind: RequisiteKind = "image" if name == b"img" else "media"
            yield from ((attributes.get(each, ""), kind, "") for each in ("src", *_LAZY))
            for each in ("srcset", *_LAZY_SETS):
                yield from ((candidate, "image", "") for candidate in _candidates(attributes.get(each, "")))
        case b"image" | b"use" | b"feimage":
            yield attributes.get("href") or attributes.get("xlink:href", ""), "image", ""
        case b"video" | b"audio" | b"track":
            yield source, "media", ""
            yield attributes.get("poster", ""), "image", ""
        case b"input" if attributes.get("type", "").lower() == "image":
            yield source, "image", ""
        case b"body" | b"table" | b"td" | b"th" | b"tr":
            yield attributes.get("background", ""), "image", ""
    if "url(" in (style := attributes.get("style", "")).lower():
        yield from _from_css(style)


def _of_link(attributes: dict[str, str]) -> Iterator[_Found]:
    href, relations = attributes.get("href", ""), set(attributes.get("rel", "").lower().split())
    preload = _PRELOADS.get(attributes.get("as", "").lower())
    if "stylesheet" in relations:
        yield href, "stylesheet", ""
    elif relations & _ICONS:
        yield href, "image", "icon" if "icon" in relations else ""
    elif "manifest" in relations:
        yield href, "manifest", ""
    elif "modulepreload" in relations:
        yield href, "script", ""
    elif "preload" in relations and preload:
        yield href, preload, ""
        yield from ((each, "image", "") for each in _candidates(attributes.get("imagesrcset", "")))


def _candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a `srcset` (HTML standard, section 4.8.4.2.2)."""
    at = 0
    while at < len(srcset) and (found := _CANDIDATE.match(srcset, at)):
        url, at = found[1], found.end()
        if not url.endswith(","):  # otherwise it has no descriptors: the next candidate follows at once
            descriptors = _DESCRIPTORS.match(srcset, at)
            at = descriptors.end() if descriptors else at
        yield url.rstrip(",")


def _from_css(css: str) -> list[_Found]:
    """Return the first references of a sheet, each once: joined with a long base, all of them could fill the memory."""
    found: dict[_Found, None] = {}
    for reference, kind in islice(css_references(css), MAX_ELEMENTS):
        found[reference, kind, ""] = None
        if len(found) == LIMIT:
            break
    return list(found)


def _absolute(found: Iterable[_Found], base: str) -> list[Requisite]:
    requisites = []
    for reference, kind, _ in found:
        written = reference.strip(BLANK)
        if not written or written.startswith("#") or len(written) > LONGEST:
            continue
        try:
            url = str(ada_url.join_url(base, written)).partition("#")[0]
        except ValueError:
            continue
        if url.startswith(("http://", "https://")) and len(url) <= LONGEST:
            requisites.append(Requisite(url, kind))
    return requisites


def _in_order(requisites: Iterable[Requisite]) -> list[Requisite]:
    """Return each URL once, under its most important kind, the most important first."""
    ordered = sorted(requisites, key=lambda each: _KINDS.index(each.kind))
    return list({each.url: each for each in reversed(ordered)}.values())[::-1][:LIMIT]
