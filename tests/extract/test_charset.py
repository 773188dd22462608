"""Bytes become characters in the order in which a browser decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.charset import decode

GERMAN = "Grüße aus Köln, wo die Brücke über den Fluss führt, schön und groß"
RUSSIAN = "Привет из города на реке, где мост ведёт на другой берег и обратно"


@pytest.mark.parametrize(
    ("body", "content_type", "charset", "source"),
    [
        (b"\xef\xbb\xbf" + GERMAN.encode(), "text/html; charset=iso-8859-1", "utf-8", "bom"),
        (b"\xff\xfe" + GERMAN.encode("utf-16le"), None, "utf-16le", "bom"),
        (GERMAN.encode("cp1252"), "text/html; charset=ISO-8859-1", "cp1252", "header"),
        (GERMAN.encode(), 'text/html;charset="utf-8"', "utf-8", "header"),
        (b'<meta charset="windows-1251">' + RUSSIAN.encode("cp1251"), "text/html", "cp1251", "meta"),
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
