"""`url_template`: which URLs of a host look made by one page generator. Pure.

The template is made of these parts of a URL:

1. The number of folders of the path; all paths with eight or more folders have the same number.
2. The name of the first folder, and of the second if the first is short (`/en/news/`, `/u/name/`). Names with a digit
   (dates, numbers, tokens) are all one name. Other names fall into 64 kinds, so that a site with a folder for every
   user has tens of templates and not a million.
3. The extension of the last segment, and whether its name has digits. The name itself is kept only for a script
   (`viewtopic.php`).
4. The name of the first parameter of the query, in one of 32 kinds, and the number of parameters: none, one, two, more.
   A faceted search multiplies the combinations of the others.

Parameters of a segment (`;...`) are dropped. Time is linear in the length of the URL. The same text gives the same
template on every machine and in every version of Python.
"""

import re
from functools import lru_cache
from urllib.parse import unquote
from zlib import crc32

from thresher.core import Url

DEEPEST = 8
"""Depths of folders that are told apart. Deeper pages are few on honest sites, and endless relative links end here."""
FOLDERS = 64
"""Kinds of folder names."""
PARAMETERS = 32
"""Kinds of parameter names."""
SHORT = 3
"""Letters of a folder name that is likely a language, or `usr`, `doc`, `wp`: the next folder says more."""
MAX_PARAMETERS = 3
_MAX_EXTENSION_LENGTH = 5  # letters: .xhtml, .shtml
_SCRIPTS = frozenset(
    {"asp", "aspx", "cfm", "cgi", "do", "dll", "exe", "jsp", "php", "php3", "php5", "pl", "py"}
)
_digit = re.compile(r"[0-9]").search


def url_template(url: Url) -> bytes:
    """Return four bytes that URLs of one host share if one page generator seems to make them."""
    path, _, query = url.text[len(url.origin) + 1 :].partition("?")
    *folders, last = path.split("/")
    kept = _folder(folders[0]) if folders else ""
    if len(folders) > 1 and len(folders[0]) <= SHORT:
        kept = f"{kept}/{_folder(folders[1])}"
    name, extension = _name(last.partition(";")[0])
    shape = f"{min(len(folders), DEEPEST)}/{kept}/{name}.{extension}"
    if query:
        count = min(query.count("&") + 1, MAX_PARAMETERS)
        shape = f"{shape}?{count}{_parameter(query)}"
    return crc32(shape.encode()).to_bytes(4, "big")


@lru_cache(maxsize=8_192)
def _folder(segment: str) -> str:
    name = _unquoted(segment.partition(";")[0])
    return "0" if _digit(name) else f"a{_kind(name, FOLDERS)}"


def _name(segment: str) -> tuple[str, str]:
    """Return the kept part of the last segment: the kind of its name, and its extension in lower case."""
    stem, dot, extension = segment.rpartition(".")
    extension = extension.lower()
    if not dot or len(extension) > _MAX_EXTENSION_LENGTH or not extension.isalnum() or extension.isdigit():
        stem, extension = segment, ""
    if extension in _SCRIPTS:
        return f"={_folder(stem)}", extension
    if not stem:
        return "", extension
    return "0" if _digit(_unquoted(stem)) else "a", extension


def _parameter(query: str) -> str:
    name, equals, _ = query.partition("&")[0].partition("=")
    if not equals:  # a value without a name, as of a frameset: `index.html?some/page.html`
        return ""
    name = _unquoted(name).partition("[")[0]
    return "0" if _digit(name) else str(_kind(name, PARAMETERS))


def _unquoted(text: str) -> str:
    """Return the text without percent-encoding, whose digits are not part of the name."""
    return unquote(text) if "%" in text else text


def _kind(name: str, kinds: int) -> int:
    return crc32(name.encode(errors="replace")) % kinds
