"""Detect the media type of a payload from its bytes and its declared type (WHATWG MIME Sniffing, sections 5 to 8).

1. A known signature at the beginning decides: PDF, pictures, sound, archives, and HTML if no other type was declared.
2. Otherwise the declared type counts if the bytes can be of that type: a declared text with bytes that no text has is
   `BINARY`.
3. If no type was declared, or only a type for any bytes, a payload that begins with markup is HTML. Without markup it
   is text, or `BINARY` if it has bytes that no text has.
"""

import re

HTML = "text/html"
XHTML = "application/xhtml+xml"
PDF = "application/pdf"
PLAIN = "text/plain"
BINARY = "application/octet-stream"
ZIP = "application/zip"

RESOURCE_HEADER = 1445
"""Bytes that detection reads (section 5.2)."""
UNKNOWN = frozenset(
    (
        "",
        "unknown/unknown",
        "application/unknown",
        "*/*",
        BINARY,
        "binary/octet-stream",
        "application/force-download",
    )
)
BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")

_SIGNATURES = (
    (b"%PDF-", PDF),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", ZIP),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-executable"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}
_TEXTUAL = re.compile(
    r"text/|application/(?:xhtml\+xml|xml|json|javascript|x-javascript|ecmascript)|.*\+(?:xml|json)$"
)
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*(?:<\?xml|(?:<!doctype html|<html|<head|<script|<iframe|<h1|<div|<font|<table"
    rb"|<a|<style|<title|<b|<body|<br|<p)[ >]|<!--)",
    re.IGNORECASE,
)
_XHTML = re.compile(rb"<html\b[^>]{0,1000}http://www\.w3\.org/1999/xhtml|<!doctype html", re.IGNORECASE)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def sniff_type(payload: bytes, declared: str) -> str:
    """Return the media type of a payload.

    `declared` is its declared type in lower case without parameters; empty if none was declared.
    """
    start = payload[:RESOURCE_HEADER]
    signature_type = _type_by_signature(start)
    if signature_type == ZIP and declared not in UNKNOWN and not _TEXTUAL.match(declared):
        return declared  # many formats are ZIP archives: office documents, books
    if signature_type:
        return signature_type
    if declared in UNKNOWN:
        return HTML if _MARKUP.match(start) else PLAIN if _is_text(start) else BINARY
    if declared in {"text/xml", "application/xml"}:
        return XHTML if _XHTML.search(start) else declared
    if declared == PLAIN and not _is_text(start):
        return BINARY
    is_medium = declared.startswith(("image/", "audio/", "video/", "font/")) and declared != "image/svg+xml"
    return HTML if is_medium and _MARKUP.match(start) else declared


def _type_by_signature(start: bytes) -> str:
    """Return the type whose signature begins the payload; return `""` if there is none."""
    for signature, type_ in _SIGNATURES:
        if start.startswith(signature) and not (signature.isalnum() and _is_text(start)):
            return type_  # a signature of letters alone may be a word of a text
    if start.startswith(b"RIFF"):
        return _RIFF.get(start[8:12], "")
    return "video/mp4" if start[4:8] == b"ftyp" and not _is_text(start) else ""


def _is_text(start: bytes) -> bool:
    return start.startswith(BOMS) or _NO_TEXT.search(start) is None
