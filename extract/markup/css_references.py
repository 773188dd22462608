"""The URLs that a style sheet refers to: imports, fonts and images. Pure.

The text is split into the tokens that matter here as CSS Syntax (level 3, section 4) splits it: comments, strings,
`url()`, at-rules. Time and memory are proportional to the text, whatever it contains, and nothing raises. What only a
script could complete (`attr()`, custom properties that hold half a URL) is not found.
"""

import re
from collections.abc import Iterator
from typing import Literal

CssKind = Literal["stylesheet", "font", "image"]

_STRING = r"""(?:"(?:[^"\\\n\r\f]++|\\(?s:.)|)*+"?+|'(?:[^'\\\n\r\f]++|\\(?s:.)|)*+'?+)"""
_COMMENT = r"/\*[^*]*+(?:\*(?!/)[^*]*+|)*+(?>\*/|)"
_SPACE = rf"(?:[ \t\n\r\f]++|{_COMMENT}|)*+"
_PLAIN = r"(?:[^ \t\n\r\f\"'()\\]++|\\(?:[0-9a-fA-F]{1,6}[ \t\n\r\f]?+|(?s:.))|)*+"
_NO_NAME = r"(?<![-\w\\])"


def _url(group: str) -> str:
    return rf"{_NO_NAME}(?i:url)\([ \t\n\r\f]*+(?P<{group}>{_STRING}|{_PLAIN})"


_SHEET = re.compile(
    rf"{_COMMENT}|@(?i:import){_SPACE}(?:{_url('import_url')}|(?P<import>{_STRING}))|@(?i:namespace)[^;{{}}]*+"
    rf"|@(?i:font-face){_SPACE}\{{(?P<font>(?:[^}}\"'/]++|{_STRING}|{_COMMENT}|/|)*+)"
    rf"|{_NO_NAME}(?i:(?:-webkit-)?image-set)\((?P<set>(?:[^()\"']++|{_STRING}|\((?:{_STRING}|[^()\"']++|)*+\)?+|)*+)"
    rf"|{_url('image')}|{_STRING}"
)
_URLS = re.compile(rf"{_COMMENT}|{_url('url')}|{_STRING}")
_SET = re.compile(rf"{_url('url')}|(?P<string>{_STRING})|\([^)]*+")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\r\f]?|\r\n|[\n\r\f]|((?s:.)))")
_LAST_CHARACTER = 0x10FFFF


def css_references(css: str) -> Iterator[tuple[str, CssKind]]:
    """Yield the references of a style sheet as written, without escapes, in its order, and what each is."""
    for token in _SHEET.finditer(css):
        kind, found = token.lastgroup, token[token.lastgroup or 0]
        match kind:
            case "import" | "import_url":
                yield _text(found), "stylesheet"
            case "font":
                yield from ((_text(each["url"]), "font") for each in _URLS.finditer(found) if each["url"])
            case "set":
                yield from (
                    (_text(each[each.lastgroup]), "image") for each in _SET.finditer(found) if each.lastgroup
                )
            case "image":
                yield _text(found), "image"


def _text(written: str) -> str:
    """Return what a string or an unquoted URL means."""
    if written[:1] in {'"', "'"}:
        written = written[1:].removesuffix(written[0])
    return _ESCAPE.sub(_character, written) if "\\" in written else written


def _character(escape: re.Match[str]) -> str:
    digits, character = escape.groups()
    if digits is None:
        return character or ""
    code = int(digits, 16)
    return chr(code) if 0 < code <= _LAST_CHARACTER and not 0xD800 <= code <= 0xDFFF else "\ufffd"
