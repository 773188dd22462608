"""Provenance: what an archive file was made from, in its first record, so that its seal can be made again from the file
alone.

The record is written before the rest of the file is known, and written over when the file is full. A recipe of the same
length gives a record of the same length.
"""

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from thresher.storage.manifest import JSON
from thresher.storage.warc.compression import Compression, stored_member
from thresher.storage.warc.dropped import WARC_FIELDS
from thresher.storage.warc.exchange_records import warcinfo
from thresher.storage.warc.records import read_records

FIELD = "thresher-recipe"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


def warcinfo_member(
    name: str, *, source: str, date_ms: int, recipe: Mapping[str, JSON], compression: Compression = "gzip"
) -> bytes:
    """Return the warcinfo record of the archive file of that name, as a member."""
    recipe_text = json.dumps(recipe, sort_keys=True, separators=(",", ":")).replace(" ", r"\u0020")
    fields = {
        "software": "thresher",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "isPartOf": source,
        FIELD: recipe_text,
    }
    return stored_member(warcinfo(name, date_ms=date_ms, fields=fields), compression)


def read_recipe(file: BinaryIO, source: str) -> Mapping[str, Any] | None:
    """Return the recipe in the first record of a file of that source; None if it has none, or another program or source
    wrote it.
    """
    first = next(read_records(file, name=source), None)
    if first is None or first.mime != WARC_FIELDS:
        return None
    lines = (line.partition(": ") for line in first.payload.decode(errors="replace").split("\r\n"))
    fields = {name: value for name, _, value in lines}
    if fields.get("isPartOf") != source or FIELD not in fields:
        return None
    try:
        recipe = json.loads(fields[FIELD])
    except (ValueError, RecursionError):
        return None
    return recipe if isinstance(recipe, dict) else None
