"""Bytes become characters in the order in which a browser decides."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract.charset import decode, to_utf8

GERMAN = "Grüße aus Köln, wo die Brücke über den Fluss führt, schön und groß"
RUSSIAN = "Привет из города на реке, где мост ведёт на другой берег и обратно"


@pytest.mark.parametrize(
    ("body", "content_type", "charset", "source"),
    [
        (b"\xef\xbb\xbf" + GERMAN.encode(), "text/html; charset=iso-8859-1", "utf-8", "bom"),
        (b"\xff\xfe" + GERMAN.encode("utf-16le"), None, "utf-16le", "bom"),
        (GERMAN.encode("cp1252"), "text/html; charset=ISO-8859-1", "windows-1252", "header"),
        (GERMAN.encode(), 'text/html;charset="utf-8"', "utf-8", "header"),
        (b'<meta charset="windows-1251">' + RUSSIAN.encode("cp1251"), "text/html", "windows-1251", "meta"),
        (
            b"<meta http-equiv=Content-Type content='text/html; charset=utf-8'>" + GERMAN.encode(),
            None,
            "utf-8",
            "meta",
        ),
        (GERMAN.encode(), None, "utf-8", "detected"),
    ],
)
def test_who_says_how_to_read(body, content_type, charset, source):
    decoded = decode(body, content_type)
    assert (decoded.charset, decoded.source) == (charset, source)
    assert GERMAN in decoded.text or RUSSIAN in decoded.text


def test_a_label_that_names_no_encoding_is_passed_over():
    decoded = decode(b'<meta charset="utf-8">' + GERMAN.encode(), "text/html; charset=klingon")
    assert (decoded.charset, decoded.source) == ("utf-8", "meta")


def test_a_meta_that_lies_of_utf_16_is_read_as_utf_8():
    assert decode(b"<meta charset=utf-16>" + GERMAN.encode(), None).text.endswith(GERMAN)


@given(st.binary(max_size=500), st.none() | st.text(max_size=40))
def test_nothing_raises(body, content_type):
    assert isinstance(decode(body, content_type).text, str)


@pytest.mark.parametrize(
    ("text", "codec", "label", "charset"),
    [
        ("①㈱髙", "cp932", "Shift_JIS", "shift_jis"),
        ("똠방각하", "cp949", "EUC-KR", "euc-kr"),
        ("€ 𠀀中", "gb18030", "gb2312", "gbk"),
        ("嘅 香港", "big5hkscs", "big5", "big5"),
        ("“quoted” – text", "cp1252", "iso-8859-1", "windows-1252"),
        ("ภาษาไทย", "cp874", "tis-620", "windows-874"),
    ],
)
def test_labels_mean_what_browsers_make_of_them(text, codec, label, charset):
    decoded = decode(text.encode(codec), f"text/html; charset={label}")
    assert (decoded.text, decoded.charset, decoded.source) == (text, charset, "header")


@pytest.mark.parametrize(
    ("body", "label", "charset"),
    [
        (GERMAN.encode("cp1252"), "utf-8", "windows-1252"),
        (GERMAN.encode(), "iso-8859-1", "utf-8"),
        (GERMAN.encode()[:-1], "iso-8859-1", "utf-8"),
        (b"<p>plain</p>", "utf-16", "utf-8"),
    ],
)
def test_a_declaration_that_the_bytes_disprove_is_passed_over(body, label, charset):
    decoded = decode(body, f"text/html; charset={label}")
    assert (decoded.charset, decoded.source) == (charset, "detected")


def test_a_page_in_utf_8_may_hold_some_bytes_that_are_none():
    decoded = decode(GERMAN.encode() + b" \xff", "text/html; charset=utf-8")
    assert (decoded.text, decoded.charset, decoded.source) == (GERMAN + " \ufffd", "utf-8", "header")


def test_a_meta_in_a_comment_declares_nothing():
    decoded = decode(b'<!-- <meta charset="koi8-r"> --><meta charset="utf-8">' + GERMAN.encode(), None)
    assert (decoded.charset, decoded.source) == ("utf-8", "meta")


def test_iso_2022_jp_is_ascii_that_is_not():
    assert decode("日本語の文章です".encode("iso2022_jp"), None).text == "日本語の文章です"


def test_a_long_header_costs_no_more_than_its_length():
    begun = time.process_time()
    decode(b"text", "charset=" + " " * 100_000)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("utf-8", ""),
        ("windows-1251", "cp1251"),
        ("iso-8859-1", "cp1252"),
        ("gb18030", "gb18030"),
        ("utf-16le", ""),
    ],
)
def test_queries_are_written_in_the_encoding_of_their_page(charset, codec):
    body = "<p>größe".encode(charset, errors="ignore") if codec != "cp1251" else "<p>Привет".encode(charset)
    assert to_utf8(body, f"text/html; charset={charset}")[1] == codec


@pytest.mark.parametrize(
    ("body", "is_the_page"),
    [
        (b"<p>plain", True),
        ("<p>\u00e9t\u00e9".encode(), True),
        ("<p>\u00e9t\u00e9".encode("latin-1"), False),
        ("<p>\u00e9t\u00e9".encode()[:-1], False),
        (b"\xef\xbb\xbf<p>marked", False),
    ],
)
def test_the_characters_in_utf8_are_the_page_itself_if_it_is_that(body, is_the_page):
    decoded = decode(body, None)
    assert decoded.utf8 == decoded.text.encode()
    assert (decoded.utf8 is body) is is_the_page
