"""What a page does not show is its content only if what it shows covers little of it."""

import json

import pytest

from tests.expect import expect
from tests.extract.page.test_content import ARTICLE, SENTENCES
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

TEASER = f"<p>{SENTENCES[0]}</p>"
BODY = "\n".join(SENTENCES)


def text_of(body):
    found = extract(
        f"<html><head><title>The harbour in winter</title></head><body>{body}</body></html>",
        "https://example.org/",
    )
    return expect(Extraction, found).text


def stated(body):
    node = {"@type": "NewsArticle", "headline": "The harbour", "articleBody": body}
    return f'<script type="application/ld+json">{json.dumps(node)}</script>'


@pytest.mark.parametrize("body", [BODY, ARTICLE, BODY.replace("\n", "&#10;")])
def test_an_article_in_json_ld_is_read_if_the_page_shows_a_teaser(body):
    assert text_of(f"<article>{TEASER}<p>Subscribe to read on.</p></article>{stated(body)}") == BODY


def test_an_article_in_json_ld_is_not_read_if_the_page_shows_it():
    shown = text_of(f"<article>{ARTICLE}<h2>Afterwards</h2><p>{SENTENCES[0]}</p></article>{stated(BODY)}")
    assert "Afterwards" in shown


@pytest.mark.parametrize(
    "hidden",
    [
        f"<noscript><div>{ARTICLE}</div></noscript>",
        f"<noscript><div>{ARTICLE}</div>",
        f"<div style='display:none'>{ARTICLE}</div>",
        f"<div hidden>{ARTICLE}</div>",
    ],
)
def test_hidden_text_is_read_if_the_page_shows_hardly_any(hidden):
    assert text_of(f"<p>Please switch on scripts.</p>{hidden}").split("\n")[-len(SENTENCES) :] == list(
        SENTENCES
    )


def test_hidden_text_has_its_author_and_its_day():
    byline = "<p>By <span itemprop=author>Marta Holm</span>, <time itemprop=datePublished datetime=2020-03-04>4.3.</time>"
    found = extract(
        f"<p>Please switch on scripts.</p><noscript>{byline}{ARTICLE}</noscript>", "https://example.org/"
    )
    assert (expect(Extraction, found).author, expect(Extraction, found).date) == ("Marta Holm", "2020-03-04")


def test_an_article_behind_a_pay_wall_continues_its_teaser():
    hidden = "".join(f"<p>{each}</p>" for each in SENTENCES[1:])
    assert text_of(f"<article>{TEASER}<div class=rest style='display: none'>{hidden}</div></article>") == BODY


@pytest.mark.parametrize(
    "hidden",
    [
        f"<div style='display:none'>{'<p>Choose your region, your language, and what you pay with.</p>' * 3}</div>",
        "<ul style='display:none'>"
        + "<li><a href=/a>Boats of the north and their nets</a></li>" * 40
        + "</ul>",
        "<noscript><img src=x></noscript>",
    ],
)
def test_hidden_dialogs_and_menus_are_not_read(hidden):
    assert text_of(f"<article>{ARTICLE}</article>{hidden}") == BODY
    assert text_of(f"<article>{TEASER}<p>{SENTENCES[1]}</p></article>{hidden}") == "\n".join(SENTENCES[:2])
