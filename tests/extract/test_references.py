"""Character references, numbers of any length among them: Python's `int` takes 4,300 digits and no more."""

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract import html as main_text
from thresher.extract import wikitext
from thresher.extract.extraction import Extraction
from thresher.extract.markup.links import extract_links
from thresher.extract.pdf.pdf_facts import _items
from thresher.extract.raw_text import page_windows
from thresher.extract.references import unescape
from thresher.extract.soft_error import detect_soft_error

LONG = "&#" + "9" * 4_301 + ";"
WORDS = "Rivers run to the sea, and all of them are long and wide. " * 40


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a&amp;b", "a&b"),
        ("&#65;&#x41;", "AA"),
        (LONG, "\ufffd"),
        (LONG.removesuffix(";"), "\ufffd"),
        ("&#x" + "f" * 100_000 + ";", "\ufffd"),
        ("&#" + "0" * 10_000 + "65;", "A"),
        ("&#" + "0" * 10_000 + ";", "\ufffd"),
        (
            "&#1114111;&#1114112;&#00000000128;",
            html.unescape("&#1114111;") + "\ufffd\u20ac",
        ),
    ],
    ids=lambda text: text[:20],
)
def test_every_reference_has_its_character(text, read):
    assert unescape(text) == read


@given(st.text("&#x0123456789;aAmp<", max_size=30))
def test_others_are_as_python_reads_them(text):
    assert unescape(text) == html.unescape(text)


def text_of(page):
    return expect(Extraction, main_text.extract(page, "http://a.test/", markdown=False)).text


def test_a_long_number_costs_no_reader_more_than_a_character():
    page = f'<html><head><title>x{LONG}</title></head><body><a href="/{LONG}">y</a><p>{WORDS}{LONG}</p></body></html>'
    found = extract_links(page.encode(), "http://a.test/")
    assert found.hrefs == ("/\ufffd",)
    assert detect_soft_error(lambda _: None, page.encode()) is None
    assert any("Rivers" in window for window in page_windows(page))
    assert "Rivers" in text_of(page)
    assert _items(f"<dc:title><rdf:li>x{LONG[:1_900]}</rdf:li></dc:title>", "dc:title")


@pytest.mark.parametrize(
    "wikitext_", [WORDS + LONG, f"<pre>{LONG}</pre>{WORDS}", f"<math>{LONG}</math>{WORDS}"]
)
def test_a_long_number_in_wikitext(wikitext_):
    assert "Rivers" in expect(Extraction, wikitext.extract(wikitext_.encode(), markdown=False)).text


def test_a_gutter_of_numbers_without_end_is_no_numbering_of_lines():
    digits = "9" * 4_301
    page = f"<html><body><p>{WORDS}</p><table><tr><td><pre>{digits} {digits} {digits}</pre></td><td><pre>x = 1</pre></td></tr></table></body></html>"
    assert "Rivers" in text_of(page)


def test_json_and_its_long_numbers():
    page = f'<html><head><script type="application/ld+json">{{"author": {"9" * 5_000}}}</script></head><body><p>{WORDS}</p></body></html>'
    with pytest.raises(ValueError, match="4300 digits"):
        json.loads("9" * 5_000)
    assert "Rivers" in text_of(page)
