"""What a PDF plainly says of itself: title, author, day, language, licence. Nothing is guessed.

The information dictionary is asked first, then the XMP packet (ISO 16684-1): where there is one alone, for packets of its
pictures are written like the document's own. What it says is taken as text, not as XML: packets are small, and written by
few programs.
"""

import re

from extract.fact_formats import LANGUAGE, creative_commons, day
from extract.pdf.pdfium import PdfDocument
from extract.pdf.quality import normal
from extract.references import unescape

LONGEST = 1_000
"""Characters of a title, or of names."""
LONGEST_PACKET = 64 << 10
"""Bytes."""

_FILE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel) - ?)?\S+\.(?:docx?|pdf|pptx?|xlsx?|rtf|indd|qxd|tex|dvi|odt)",
    re.IGNORECASE,
)
"""A name of a file is what programs put where nobody said a title."""
_NOTHING = frozenset(
    {"untitled", "no title", "unspecified", "(anonymous)", "anonymous", "unknown", "(unspecified)"}
)
_DATE = re.compile(r"\s*(?:D:)?(\d{4})-?(\d{2})-?(\d{2})")
_RIGHTS = re.compile(r"<(cc:license|xmpRights:WebStatement)\b[^<]{0,500}")
_ITEM = re.compile(r"<rdf:li\b[^>]{0,200}>([^<]{1,2000})</rdf:li>")


def packet(payload: bytes) -> str:
    """The XMP packet of a document; empty where it has none that can be read, or several."""
    begin = payload.find(b"<x:xmpmeta")
    if begin < 0 or payload.find(b"<x:xmpmeta", begin + 1) >= 0:
        return ""
    end = payload.find(b"</x:xmpmeta>", begin, begin + LONGEST_PACKET)
    return payload[begin:end].decode(errors="replace") if end > 0 else ""


def title(book: PdfDocument, packet: str) -> str:
    """`Title`, else `dc:title`; empty where that is the name of a file."""
    return next(filter(None, map(_clean_value, (book.info("Title"), *_items(packet, "dc:title")[:1]))), "")


def author(book: PdfDocument, packet: str) -> str:
    """`Author`, as written; else the names of `dc:creator` with `; ` between them."""
    return next(
        filter(None, map(_clean_value, (book.info("Author"), "; ".join(_items(packet, "dc:creator"))))), ""
    )


def date(book: PdfDocument, packet: str) -> str:
    """Day of `CreationDate` (ISO 32000-1, 7.9.4), else of `xmp:CreateDate`; empty where that is no day."""
    stated = re.search(r"xmp:CreateDate(?:=\"|>)([^<\"]{4,40})", packet)
    return day(_DATE.match(book.info("CreationDate"))) or day(_DATE.match(stated[1]) if stated else None)


def language(book: PdfDocument, packet: str) -> str:
    """`Lang` of the catalog, else the first `dc:language`."""
    for stated in (book.language(), *_items(packet, "dc:language")[:1]):
        if found := LANGUAGE.fullmatch(stated.strip()):
            return found[0] if found[0].lower() != "x-default" else ""
    return ""


def license_(packet: str) -> str:
    """Address of the Creative Commons licence that `cc:license` or `xmpRights:WebStatement` names, up to its version."""
    for stated in _RIGHTS.finditer(packet):
        if found := creative_commons(stated[0]):
            return found
    return ""


def _items(packet: str, name: str) -> list[str]:
    begin = packet.find(f"<{name}>")
    end = packet.find(f"</{name}>", begin)
    return [unescape(item) for item in _ITEM.findall(packet[begin:end])] if 0 <= begin < end else []


def _clean_value(written: str) -> str:
    found = " ".join(normal(written).split())[:LONGEST]
    return "" if _FILE.fullmatch(found) or found.lower() in _NOTHING else found
