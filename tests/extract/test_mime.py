"""Types are recognised from bytes: the cases of the WHATWG standard, and each deviation with its reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract.mime import BINARY, HTML, PDF, PLAIN, RESOURCE_HEADER, XHTML, ZIP, sniff_type

BITS = bytes(range(256))


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        (b"%PDF-1.7", PDF),
        (b"%!PS-Adobe-3.0", "application/postscript"),
        (b"\x89PNG\r\n\x1a\n" + BITS, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a\x01\x00", "image/gif"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"BM\x00\x00", "image/bmp"),
        (b"\x00\x00\x01\x00", "image/x-icon"),
        (b"RIFF\x01\x02\x03\x04WEBPVP", "image/webp"),
        (b"RIFF\x01\x02\x03\x04WAVE", "audio/wave"),
        (b"RIFF\x01\x02\x03\x04AVI ", "video/avi"),
        (b"OggS\x00", "application/ogg"),
        (b"ID3\x03\x00", "audio/mpeg"),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"\x1f\x8b\x08", "application/gzip"),
        (b"PK\x03\x04", ZIP),
        (b"Rar!\x1a\x07\x00", "application/x-rar-compressed"),
        (b"wOFF\x00\x01", "font/woff"),
    ],
)
@pytest.mark.parametrize("declared", ["", "text/html", "text/plain", "image/svg+xml"])
def test_a_signature_decides_whatever_was_declared(payload, declared, found):
    assert sniff_type(payload, declared) == found


@pytest.mark.parametrize(
    "text",
    [b"BMW builds cars", b"ID3 tags are", b"GIF89a is a format", b"wOFF", b"fLaC, said he", b"The ftyp box"],
)
def test_letters_of_a_signature_that_are_a_word_are_text(text):
    assert sniff_type(text, "text/plain") == PLAIN
    assert sniff_type(text, "") == PLAIN


TAGS = ("!DOCTYPE HTML", "HTML", "HEAD", "SCRIPT", "IFRAME", "H1", "DIV", "FONT", "TABLE", "A", "STYLE", "TITLE", "B", "BODY", "BR", "P")  # fmt: skip


@pytest.mark.parametrize("tag", TAGS)
def test_what_begins_as_markup_is_html_where_nothing_was_declared(tag):
    for written in (tag, tag.lower()):
        for end in (" ", ">"):
            for space in ("", "\t\n\x0c\r "):
                assert sniff_type(f"{space}<{written}{end}".encode(), "") == HTML
        assert sniff_type(f"<{written}x".encode(), "") == PLAIN
        assert sniff_type(f"<{written}".encode(), "") == PLAIN


@pytest.mark.parametrize(
    ("payload", "declared", "found"),
    [
        (b"<!-- a comment", "", HTML),
        (b"<!--", "application/octet-stream", HTML),
        (b"\xef\xbb\xbf<!doctype html>", "", HTML),
        (b"<html>", "image/png", HTML),
        (b"<html>", "text/plain", PLAIN),
        (b"<html>", "text/html", HTML),
        (b"words <html>", "", PLAIN),
        (b"words", "unknown/unknown", PLAIN),
        (b"words", "application/unknown", PLAIN),
        (b"words", "*/*", PLAIN),
        (b"words \x00", "", BINARY),
        (b"words \x00", "text/plain", BINARY),
        (b"words \x0c\x1b", "text/plain", PLAIN),
        (b"\xff\xfew\x00", "text/plain", PLAIN),
        (b"\xfe\xff\x00w", "text/plain", PLAIN),
        (b"\xef\xbb\xbf\x00", "text/plain", PLAIN),
        (b"words \x00", "text/html", HTML),
        (b"{}", "application/json", "application/json"),
        (b"a,b", "text/csv", "text/csv"),
        (b"<svg>", "image/svg+xml", "image/svg+xml"),
        (b"<p>", "application/xhtml+xml", XHTML),
        (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', "text/xml", XHTML),
        (b'<?xml version="1.0"?><!DOCTYPE html>', "application/xml", XHTML),
        (b'<?xml version="1.0"?><rss>', "text/xml", "text/xml"),
        (b"PK\x03\x04", "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
        (b"PK\x03\x04", "application/octet-stream", ZIP),
        (b"", "", PLAIN),
        (b"", "text/html", HTML),
    ],
)
def test_what_was_declared_counts_as_far_as_the_bytes_can_be_it(payload, declared, found):
    assert sniff_type(payload, declared) == found


@pytest.mark.parametrize("byte", [*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
def test_bytes_that_no_text_has(byte):
    assert sniff_type(b"words" + bytes([byte]), "") == BINARY


def test_only_the_beginning_is_looked_at():
    assert sniff_type(b"x" * RESOURCE_HEADER + b"\x00", "") == PLAIN
    assert sniff_type(b" " * RESOURCE_HEADER + b"<html>", "") == PLAIN


@given(
    st.binary(max_size=50),
    st.sampled_from(["", HTML, PLAIN, PDF, "image/png", "text/xml", "*/*", "nonsense"]),
)
def test_any_bytes_are_of_some_type(payload, declared):
    found = sniff_type(payload, declared)
    assert found
    assert found == sniff_type(payload, declared)
