"""Bytes of a page to characters, as the WHATWG encoding standard has it.

1. The order: byte order mark, `charset` of the Content-Type header, `<meta>` in the first 1,024 bytes, detection.
2. A label that names no encoding is passed over; so is one of the encodings that the standard replaces.
3. A declaration that the bytes disprove is passed over as well. Browsers believe it and show what the page's author
   must have seen and fixed; an archive has the pages that nobody looked at. Disproved is UTF-8 where most of what
   is not ASCII is no UTF-8; UTF-16 where there is no NUL, for there is markup; and every other encoding where what
   is not ASCII is UTF-8 throughout, which text in another encoding is not by chance.
4. Undecodable bytes become U+FFFD; nothing raises.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

Source = Literal["bom", "header", "meta", "detected"]

PRESCAN = 1024
"""Bytes in which a <meta> is looked for (HTML standard, prescan a byte stream)."""
DETECT = 65536
"""Bytes that detection looks at."""
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
HEADER = re.compile(r"charset\s*+=\s*+[\"']?\s*+([^\s\"';,]+)", re.IGNORECASE)
META = re.compile(rb"<meta\b[^>]{0,500}?charset\s*+=\s*+[\"']?\s*+([^\s\"'/>;]+)", re.IGNORECASE)
ESCAPE = b"\x1b"
"""Begins the shifts of ISO-2022-JP, which is ASCII otherwise."""
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)

ENCODINGS = {
    "big5": ("big5", "big5hkscs"),
    "cp866": ("ibm866", "cp866"),
    "euc_jp": ("euc-jp", "euc_jp"),
    "euc_kr": ("euc-kr", "cp949"),
    "gb18030": ("gb18030", "gb18030"),
    "gbk": ("gbk", "gb18030"),
    "iso2022_jp": ("iso-2022-jp", "iso2022_jp"),
    "iso8859-11": ("windows-874", "cp874"),
    "mac-roman": ("macintosh", "mac_roman"),
    "shift_jis": ("shift_jis", "cp932"),
    "utf-16-be": ("utf-16be", "utf_16_be"),
    "utf-16-le": ("utf-16le", "utf_16_le"),
}
"""The detector's names: the standard's name, and Python's codec that decodes what browsers decode under it.

Those of iso8859-N and cpN (windows-N) follow from the name. Python's shift_jis, euc_kr, big5 and gbk lack
characters that the standard's tables have and that pages use.
"""
NATIONAL = re.compile(r"(iso8859-|cp)(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedText:
    """A page's characters, and who said how to read its bytes."""

    text: str
    charset: str
    """The encoding's name in the WHATWG standard, in lower case."""
    source: Source


def decode(body: bytes, content_type: str | None) -> DecodedText:
    """Decode a page; `content_type` is the header's value."""
    for mark, name in BOMS:
        if body.startswith(mark):
            return DecodedText(text=_text(body[len(mark) :], name), charset=name, source="bom")
    utf8 = _is_utf8(body)
    for label, source in _declared(body, content_type):
        name, codec = _known(label)
        # A <meta> that could be read cannot be in UTF-16 (HTML standard, step 4 of the prescan).
        if source == "meta" and name.startswith("utf-16"):
            name = codec = "utf-8"
        if name and not _disproved(name, body, utf8=utf8):
            return DecodedText(text=_text(body, codec), charset=name, source=source)
    name, codec = "utf-8", "utf-8"
    if not utf8 or ESCAPE in body:
        name, codec = _known(detect_encoding(body[:DETECT]) or "")
    if not name or (name == "utf-8" and not utf8):
        # The web's default (HTML standard, determining the character encoding, last step).
        name, codec = "windows-1252", "cp1252"
    return DecodedText(text=_text(body, codec), charset=name, source="detected")


def to_utf8(body: bytes, content_type: str | None) -> tuple[bytes, str]:
    """The page that `decode` reads, in UTF-8, its own bytes where they are that already; and the codec in which browsers
    write the queries of its links (HTML standard, encoding-parse a URL), empty for UTF-8.
    """
    if b"\0" not in body and ESCAPE not in body and _is_utf8(body):
        # Whoever declares another encoding is disproved, or means ASCII in either.
        return body.removeprefix(codecs.BOM_UTF8), ""
    decoded = decode(body, content_type)
    unicode = decoded.charset.startswith("utf-")
    return decoded.text.encode(errors="replace"), "" if unicode else _known(decoded.charset)[1]


def _disproved(name: str, body: bytes, *, utf8: bool) -> bool:
    if name == "utf-8":
        return not utf8 and not _mostly_right(_text(body, name))
    if name.startswith("utf-16"):
        return b"\0" not in body
    return utf8 and not body.isascii()


def _declared(body: bytes, content_type: str | None) -> list[tuple[str, Source]]:
    found: list[tuple[str, Source]] = []
    if header := HEADER.search(content_type or ""):
        found.append((header[1], "header"))
    if meta := META.search(COMMENT.sub(b"", body[:PRESCAN])):
        found.append((meta[1].decode("latin-1"), "meta"))
    return found


def _known(label: str) -> tuple[str, str]:
    """The standard's name and the codec, or two empty texts."""
    mapped = map_encoding_to_html5(label.strip().lower(), fallback_utf8=False) or ""
    if mapped in ENCODINGS:
        return ENCODINGS[mapped]
    if national := NATIONAL.fullmatch(mapped):
        return {"iso8859-": "iso-8859-", "cp": "windows-"}[national[1]] + national[2], mapped
    return mapped, mapped


def _is_utf8(body: bytes) -> bool:
    """Valid from end to end; a last character that was cut off does not count."""
    if body.isascii():
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True


def _mostly_right(text: str) -> bool:
    others = sum(not character.isascii() for character in text)
    return 2 * text.count("\ufffd") < others


def _text(body: bytes, codec: str) -> str:
    return body.decode(codec, errors="replace")
