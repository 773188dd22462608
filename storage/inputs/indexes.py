"""Index files: what lies beside archives and leads to them, or describes them, and holds no text of its own."""

import re

from core import InputError

CDX = (".cdx", ".cdxj", ".idx", ".loc")
"""Endings of CDX indexes and of what finds a place in them, before one that says how they are compressed."""
DESCRIPTIONS = ("datapackage.json", "datapackage-digest.json")
"""Of the contents of a WACZ (WACZ 1.1.1, section 5.2)."""
MARKS = (
    (re.compile(rb'\A\s*\{\s*"format"\s*:\s*"json-pages-'), "a list of pages"),
    (re.compile(rb'\A\{\n "counts": \{.*\n "format": "thresher-manifest@', re.DOTALL), "a Manifest"),
)
"""How the bytes begin of a list of pages of a WACZ (section 5.2.2), and of a Manifest of ours."""


class IndexFileError(InputError):
    """The input is an index or a description of archives."""


def index_kind(head: bytes, name: str) -> str:
    """Return what kind of index file has that name and begins so; empty for any other file."""
    lower = name.lower()
    for mark, kind in MARKS:
        if mark.match(head):
            return kind
    if lower.removesuffix(".gz").endswith(CDX):
        return "an index"
    if lower.rpartition("/")[2] in DESCRIPTIONS:
        return "the description of a WACZ"
    return ""
