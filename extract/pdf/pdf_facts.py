"""Read the facts that a PDF states about itself: title, author, day, language, licence. Nothing is guessed.

The information dictionary is read first, then the XMP packet (ISO 16684-1). If a document has several packets, none is
read, because packets of its pictures look like the document's own. A packet is read as text, not as XML, because
packets are small and few programs write them.
"""

import re

from thresher.core.unicode14 import known, original
from thresher.extract.fact_formats import LANGUAGE, creative_commons, day
from thresher.extract.pdf.pdfium import PdfDocument
from thresher.extract.pdf.quality import normal
from thresher.extract.references import unescape

LONGEST = 1_000
"""Characters of a title or of names at most."""
MAX_PACKET_LENGTH = 64 << 10
"""Bytes of an XMP packet at most."""

_FILE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel) - ?)?\S+\.(?:docx?|pdf|pptx?|xlsx?|rtf|indd|qxd|tex|dvi|odt)",
    re.IGNORECASE,
)
"""A file name. Programs set it as the title if the author gave none."""
_NOTHING = frozenset(
    {"untitled", "no title", "unspecified", "(anonymous)", "anonymous", "unknown", "(unspecified)"}
)
_DATE = re.compile(r"\s*(?:D:)?(\d{4})-?(\d{2})-?(\d{2})")
_RIGHTS = re.compile(r"<(cc:license|xmpRights:WebStatement)\b[^<]{0,500}")
_ITEM = re.compile(r"<rdf:li\b[^>]{0,200}>([^<]{1,2000})</rdf:li>")


def packet(payload: bytes) -> str:
    """Return the XMP packet of a document; return `""` if it has none that can be read, or several."""
    begin = payload.find(b"<x:xmpmeta")
    if begin < 0 or payload.find(b"<x:xmpmeta", begin + 1) >= 0:
        return ""
    end = payload.find(b"</x:xmpmeta>", begin, begin + MAX_PACKET_LENGTH)
    return payload[begin:end].decode(errors="replace") if end > 0 else ""


def title(document: PdfDocument, packet: str) -> str:
    """Return `Title`, otherwise `dc:title`; return `""` if both are missing or file names."""
    return next(
        filter(None, map(_clean_value, (document.info("Title"), *_items(packet, "dc:title")[:1]))), ""
    )


def author(document: PdfDocument, packet: str) -> str:
    """Return `Author` as written; otherwise the names of `dc:creator`, separated by `; `."""
    return next(
        filter(None, map(_clean_value, (document.info("Author"), "; ".join(_items(packet, "dc:creator"))))),
        "",
    )


def date(document: PdfDocument, packet: str) -> str:
    """Return the day of `CreationDate` (ISO 32000-1, 7.9.4), otherwise of `xmp:CreateDate`; `""` if neither is one."""
    stated = re.search(r"xmp:CreateDate(?:=\"|>)([^<\"]{4,40})", packet)
    return day(_DATE.match(document.info("CreationDate"))) or day(_DATE.match(stated[1]) if stated else None)


def language(document: PdfDocument, packet: str) -> str:
    """Return `Lang` of the catalog, otherwise the first `dc:language`; return `""` if neither is a language."""
    for stated in (document.language(), *_items(packet, "dc:language")[:1]):
        if found := LANGUAGE.fullmatch(stated.strip()):
            return found[0] if found[0].lower() != "x-default" else ""
    return ""


def license_(packet: str) -> str:
    """Return the URL of the Creative Commons licence in `cc:license` or `xmpRights:WebStatement`, up to its version."""
    for stated in _RIGHTS.finditer(packet):
        if found := creative_commons(stated[0]):
            return found
    return ""


def _items(packet: str, name: str) -> list[str]:
    begin = packet.find(f"<{name}>")
    end = packet.find(f"</{name}>", begin)
    return [unescape(item) for item in _ITEM.findall(packet[begin:end])] if 0 <= begin < end else []


def _clean_value(written: str) -> str:
    found = original(" ".join(normal(known(written)).split()))[:LONGEST]
    return "" if _FILE.fullmatch(found) or found.lower() in _NOTHING else found
