"""The tags of a page, by regular expressions: what `links` and `page_requisites` are made of.

1. One expression without backtracking separates tags from text as the tokenizer of the HTML standard does (section
   13.2.5): comments, scripts, styles and other raw text, quoted attributes. No tree is built. A malicious page could
   make building the tree cost hours. Time and memory are proportional to the page, whatever it contains.
2. The content of a `<template>` is not part of the page, unless it is a shadow root, which browsers show.
3. Three things are not recognised: the escapes of a script within a comment within a script, CDATA, and `<template>`
   within SVG.
"""

import re
from html.entities import html5
from urllib.parse import quote

import ada_url

from thresher.extract.references import unescape

LOOKED_AT = 65_536
"""Bytes of one tag in which attributes are searched."""
BLANK = "".join(map(chr, range(0x21)))
"""Characters that the URL parser strips (URL standard, basic URL parser, step 1)."""
REPLACEMENT = "\ufffd".encode()
"""Replacement of a NUL (HTML standard, attribute value states)."""

# Pieces of a tokenizer. Every quantifier is possessive, and every alternative consumes at least its first `<`. The
# empty last alternative of a repeated group keeps old Pythons right (decision 76), and needs no memory as
# `(?>(?:...)*)` does.
SPACE = r"[\t\n\f\r ]"
ENDS = r"(?=[\t\n\f\r />])"
NAME = r"=?+[^\t\n\f\r /=>]++"
VALUE = r"""(?>"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >"'][^\t\n\f\r >]*+|)"""
MORE = rf"(?:=(?:\"[^\"]*+\"?+|{SPACE}*+{VALUE})[^=>]*+|)*+"
REST = rf"[^=>]*+{MORE}"
COMMENT = r"!--(?:-?+>|[^-]*+(?:-(?!-!?>)[^-]*+|)*+)"


def raw_content(name: str) -> str:
    """Return the pattern of the content of an element in which only its own end tag counts."""
    return rf"[^<]*+(?:<(?!/(?i:{name})[\t\n\f\r />])[^<]*+|)*+"


RAW = (
    "|".join(
        rf"(?i:{name}){ENDS}{REST}>?+{raw_content(name)}"
        for name in ("script", "style", "textarea", "title", "xmp", "noembed", "noframes")
    )
    + rf"|(?i:iframe)>{raw_content('iframe')}"
)
_TEMPLATE = re.compile(
    rf"[^<]*+(?:<(?:{COMMENT}|[!?][^>]*+|(?=[sStTxXnNiI])(?:{RAW})|(?!/?+(?i:template){ENDS})(?:/|[a-zA-Z]{REST}"
    rf"|(?![a-zA-Z!?/])))[^<]*+|)*+"
    rf"(?:<(/?+)(?i:template){ENDS}({REST})>?+|\Z)".encode()
)
_SHADOW = frozenset({"open", "closed"})
_ATTRIBUTE = re.compile(
    rf"""({NAME})(?>{SPACE}*+={SPACE}*+(?>"([^"]*+)"?|'([^']*+)'?|([^\t\n\f\r >"'][^\t\n\f\r >]*+)|)|)""".encode()
)
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|([a-zA-Z][a-zA-Z0-9]*)(;|(?!=)))")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_SAFE_IN_QUERY = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"#<>'")


def without_templates(html: bytes) -> bytes:
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
            roots.append(attributes_of(rest).get("shadowrootmode", "").lower() in _SHADOW)
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


def decode_value(value: bytes) -> str:
    """Return the text of an attribute's value that has no NUL (HTML standard, named character reference state)."""
    text = value.decode(errors="replace")
    return _REFERENCE.sub(_replace_reference, text) if "&" in text else text


def _replace_reference(reference: re.Match[str]) -> str:
    name, end = reference.groups()
    return unescape(reference.group()) if name is None else html5.get(name + end, reference.group())


def attributes_of(rest: bytes) -> dict[str, str]:
    """Return the attributes in what `REST` matched, by name in lower case; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(rest[:LOOKED_AT]):
        value = (double or single or bare).replace(b"\0", REPLACEMENT)
        found.setdefault(name.decode(errors="replace").lower(), decode_value(value))
    return found


def encode_query(href: str, codec: str) -> str:
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


def base_url(base: str, url: str) -> str:
    """Return the URL that links are relative to (HTML standard, "set the frozen base URL")."""
    try:
        joined = str(ada_url.join_url(url, base.strip(BLANK))) if base else url
    except ValueError:
        return url
    return url if joined.startswith(("data:", "javascript:")) else joined
