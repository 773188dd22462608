"""Decode the bytes of a page to characters, as the WHATWG encoding standard specifies.

1. The order is: byte order mark, `charset` of the Content-Type header, `<meta>` in the first 1,024 bytes, detection.
2. A label that names no encoding is ignored; so is a label of an encoding that the standard replaces.
3. A declaration that the bytes disprove is ignored too. Browsers follow it, because the author of a page sees and mends
   a wrong one; but an archive holds pages that nobody has looked at. UTF-8 is disproved if most of the characters
   beyond ASCII are not UTF-8. UTF-16 is disproved if there is no NUL byte, because markup would contain some. Any other
   encoding is disproved if all bytes beyond ASCII are valid UTF-8, which does not happen by chance.
4. Bytes that cannot be decoded become U+FFFD; nothing raises.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

Source = Literal["bom", "header", "meta", "detected"]

PRESCAN = 1024
"""Bytes in which a <meta> is searched (HTML standard, prescan a byte stream)."""
DETECT = 65536
"""Bytes that detection reads."""
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
HEADER = re.compile(r"charset\s*+=\s*+[\"']?\s*+([^\s\"';,]+)", re.IGNORECASE)
META = re.compile(rb"<meta\b[^>]{0,500}?charset\s*+=\s*+[\"']?\s*+([^\s\"'/>;]+)", re.IGNORECASE)
ESCAPE = b"\x1b"
"""First byte of the shift sequences of ISO-2022-JP, which otherwise consists of ASCII bytes."""
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
"""For the detector's names: the standard's name, and the Python codec that decodes as browsers do.

The entries for iso8859-N and cpN (windows-N) follow from their names. Python's shift_jis, euc_kr, big5 and gbk lack
characters that the standard's tables have and that pages use.
"""
NATIONAL = re.compile(r"(iso8859-|cp)(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedText:
    """The characters of a page, its encoding, and where the encoding was found."""

    text: str
    charset: str
    """The encoding's name in the WHATWG standard, in lower case."""
    source: Source
    utf8: bytes
    """The same characters in UTF-8; the bytes of the page themselves if they are that."""


def decode(body: bytes, content_type: str | None) -> DecodedText:
    """Return the decoded page; `content_type` is the value of the Content-Type header. Never raise."""
    for mark, name in BOMS:
        if body.startswith(mark):
            return _decoded(_text(body[len(mark) :], name), name, "bom")
    whole = _whole_utf8(body)
    utf8 = whole is not None or _is_utf8(body)
    for label, source in _declared(body, content_type):
        name, codec = _known(label)
        # A <meta> that could be read cannot be in UTF-16 (HTML standard, step 4 of the prescan).
        if source == "meta" and name.startswith("utf-16"):
            name = codec = "utf-8"
        if name and not _disproved(name, body, utf8=utf8):
            if name == "utf-8" and whole is not None:
                return DecodedText(text=whole, charset=name, source=source, utf8=body)
            return _decoded(_text(body, codec), name, source)
    name, codec = "utf-8", "utf-8"
    if not utf8 or ESCAPE in body:
        name, codec = _known(detect_encoding(body[:DETECT]) or "")
    if not name or (name == "utf-8" and not utf8):
        # The web's default (HTML standard, determining the character encoding, last step).
        name, codec = "windows-1252", "cp1252"
    if name == "utf-8" and whole is not None:
        return DecodedText(text=whole, charset=name, source="detected", utf8=body)
    return _decoded(_text(body, codec), name, "detected")


def to_utf8(body: bytes, content_type: str | None) -> tuple[bytes, str]:
    """Return the page in UTF-8, decoded as `decode` does, and the codec for the queries of its links.

    If the page is UTF-8 already, its own bytes are returned. Browsers write the queries of links in the page's encoding
    (HTML standard, encoding-parse a URL); the codec is `""` for UTF-8.
    """
    if b"\0" not in body and ESCAPE not in body and _is_utf8(body):
        # A declaration of another encoding is disproved, or the page is ASCII in either encoding.
        return body.removeprefix(codecs.BOM_UTF8), ""
    decoded = decode(body, content_type)
    unicode = decoded.charset.startswith("utf-")
    return decoded.utf8, "" if unicode else _known(decoded.charset)[1]


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
    """Return the standard's name of an encoding and its codec; return two empty texts for an unknown label."""
    mapped = map_encoding_to_html5(label.strip().lower(), fallback_utf8=False) or ""
    if mapped in ENCODINGS:
        return ENCODINGS[mapped]
    if national := NATIONAL.fullmatch(mapped):
        return {"iso8859-": "iso-8859-", "cp": "windows-"}[national[1]] + national[2], mapped
    return mapped, mapped


def _decoded(text: str, charset: str, source: Source) -> DecodedText:
    return DecodedText(text=text, charset=charset, source=source, utf8=text.encode(errors="replace"))


def _whole_utf8(body: bytes) -> str | None:
    """Return the characters of a page that is valid UTF-8 to its end; return None for any other page."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _is_utf8(body: bytes) -> bool:
    """Return whether all bytes are valid UTF-8; a last character that is cut off is tolerated."""
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
