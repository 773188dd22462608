"""Recognise index files: files beside archives that point into them or describe them and hold no text of their own."""

import re

from thresher.core import InputError

CDX = (".cdx", ".cdxj", ".idx", ".loc")
"""Endings of CDX indexes and of the files that locate lines in them, without the ending of a compression."""
DESCRIPTIONS = ("datapackage.json", "datapackage-digest.json")
"""Names of the files that describe the contents of a WACZ (WACZ 1.1.1, section 5.2)."""
MARKS = (
    (re.compile(rb'\A\s*\{\s*"format"\s*:\s*"json-pages-'), "a list of pages"),
    (re.compile(rb'\A\s*\{[^{}\[\]]*"profile"\s*:\s*"multi-wacz-package"'), "a list of WACZ files"),
    (re.compile(rb'\A\{\n "counts": \{.*\n "format": "thresher-manifest@', re.DOTALL), "a Manifest"),
)
"""First bytes of a WACZ's list of pages (section 5.2.2), of the list of an archive in several WACZ files, and of a
Manifest of Thresher.
"""


class IndexFileError(InputError):
    """The input is an index or a description of archives and holds no text."""


def index_kind(head: bytes, name: str) -> str:
    """Return the kind of the index file with this name and these first bytes; return `""` for any other file."""
    lower = name.lower()
    for mark, kind in MARKS:
        if mark.match(head):
            return kind
    if lower.removesuffix(".gz").endswith(CDX):
        return "an index"
    if lower.rpartition("/")[2] in DESCRIPTIONS:
        return "the description of a WACZ"
    return ""
