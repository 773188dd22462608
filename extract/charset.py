"""Bytes of a page to characters, as the WHATWG encoding standard has it.

The order: byte order mark, `charset` of the Content-Type header, `<meta>` in the first 1,024 bytes, detection.
A label that names no encoding is passed over. Undecodable bytes become U+FFFD; nothing raises.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from resiliparse.parse.encoding import bytes_to_str, detect_encoding, map_encoding_to_html5

Source = Literal["bom", "header", "meta", "detected"]

PRESCAN = 1024
"""Bytes in which a <meta> is looked for (HTML standard, prescan a byte stream)."""
DETECT = 65536
"""Bytes that detection looks at."""
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
META = re.compile(rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A page's characters, and who said how to read its bytes."""

    text: str
    charset: str
    source: Source


def decode(body: bytes, content_type: str | None) -> Decoded:
    """Decode a page; `content_type` is the header's value."""
    for mark, name in BOMS:
        if body.startswith(mark):
            return Decoded(text=_text(body[len(mark) :], name), charset=name, source="bom")
    declared = HEADER.search(content_type or "")
    if declared and (name := _known(declared[1])):
        return Decoded(text=_text(body, name), charset=name, source="header")
    meta = META.search(body[:PRESCAN])
    if meta and (name := _known(meta[1].decode("latin-1"))):
        # A <meta> that could be read cannot be in UTF-16 (HTML standard, step 4 of the prescan).
        name = "utf-8" if name.startswith("utf-16") else name
        return Decoded(text=_text(body, name), charset=name, source="meta")
    name = _known(detect_encoding(body[:DETECT]) or "") or "utf-8"
    return Decoded(text=_text(body, name), charset=name, source="detected")


def _known(label: str) -> str:
    name = map_encoding_to_html5(label.strip().lower(), fallback_utf8=False)
    return name or ""


def _text(body: bytes, name: str) -> str:
    return str(bytes_to_str(body, name, errors="replace", fallback_encodings=()))
