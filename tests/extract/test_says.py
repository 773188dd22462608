"""What a page says of itself, and nothing that it does not say."""

import pytest
from lxml.html import document_fromstring

from extract import says


def head(markup):
    return document_fromstring(f"<html><head>{markup}</head><body><p>text</p></body></html>")


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> A &amp; B\n C </title>", "A & B C"),
        ('<meta property="og:title" content="Open">', "Open"),
        ('<title></title><meta property="og:title" content="Open">', "Open"),
        ("", ""),
    ],
)
def test_titles(markup, title):
    assert says.title(head(markup)) == title


def test_the_title_of_a_drawing_is_not_the_page_s():
    page = document_fromstring("<html><body><svg><title>icon</title></svg><h1>The page</h1></body></html>")
    assert says.title(page) == "The page"


@pytest.mark.parametrize(
    ("markup", "date"),
    [
        ('<meta property="article:published_time" content="2020-01-02T03:04:05Z">', "2020-01-02"),
        ('<meta name="DC.date.issued" content="1999/12/31">', "1999-12-31"),
        ('<meta name="date" content="2001-05-06"><meta name="date" content="2002-05-06">', "2001-05-06"),
        ('<script type="application/ld+json">{"datePublished": "2021-02-03T00:00"}</script>', "2021-02-03"),
        ('<meta name="date" content="2020-13-40">', ""),
        ('<meta name="date" content="yesterday">', ""),
        ('<meta property="article:modified_time" content="2020-01-02">', ""),
    ],
)
def test_dates(markup, date):
    assert says.date(head(markup)) == date


def test_a_date_on_a_time_element_marked_as_publication():
    page = document_fromstring(
        '<p><time>2001-01-01</time><time pubdate datetime="2002-02-02T10:00">x</time></p>'
    )
    assert says.date(page) == "2002-02-02"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<html lang="en-GB">', "en-GB"),
        ('<html xml:lang="de">', "de"),
        ('<html><meta http-equiv="Content-Language" content="fr">', "fr"),
        ('<html lang="<%= lang %>">', ""),
        ("<html>", ""),
    ],
)
def test_languages(html, language):
    assert says.language(document_fromstring(f"{html}<p>text")) == language


@pytest.mark.parametrize(
    ("html", "license_"),
    [
        ('<a rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/">x</a>', "by-sa/4.0"),
        ('<link rel="License" href="//creativecommons.org/licenses/by/3.0/de/">', "by/3.0"),
        ('<meta name="DC.rights" content="See http://creativecommons.org/licenses/by-nc/2.0/">', "by-nc/2.0"),
        ('<a href="https://creativecommons.org/licenses/by/4.0/">about licences</a>', ""),
        ('<a rel="license" href="https://example.org/terms">x</a>', ""),
    ],
)
def test_licenses(html, license_):
    whole = f"https://creativecommons.org/licenses/{license_}" if license_ else ""
    assert says.license_(document_fromstring(f"<html><body>{html}</body></html>")) == whole
