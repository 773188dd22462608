"""Pages made to cost an extractor hours, and pages made of pieces at random, end as a text or as a skip; the same each
time.

No time is asserted: a step that is quadratic in what these pages have many of does not end within a test's bound.
"""

import multiprocessing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.extract.extraction import Extraction
from thresher.extract.html import extract
from thresher.extract.skip import Skip

URL = "http://example.org/"
TITLE = "The title of this page"
SENTENCE = "A sentence of several words, with commas, that is long enough to be counted as text. "
MANY = 50_000


def page(body):
    return f"<html><head><title>{TITLE}</title></head><body>{body}</body></html>"


@pytest.mark.parametrize(
    "body",
    [
        "<a>" * MANY,
        "<a href=x>" * MANY,
        "<a href=x>word</a> " * MANY,
        "<p " + " ".join(f"a{n}=1" for n in range(MANY)) + ">word",
        "<ul>" + "<li>word" * MANY,
        pytest.param("<ol>" + "<li><a href=x>word</a>" * MANY, marks=pytest.mark.slow),
        pytest.param("<table><tr>" + "<td>word" * MANY, marks=pytest.mark.slow),
        "<table>" + "<tr><td>word<td>word" * (MANY // 4),
        "x" * 1_000_000,
        "word " * 200_000,
        "<table><tr><td>word" * 300,
        "<table><tr><td>word" * 300 + f"<p>{SENTENCE}" * 5_000,
        f"<h1>{TITLE}</h1>" * MANY,
        f"<h1>{TITLE}</h1><p>{SENTENCE}" * (MANY // 4),
        pytest.param("<div class=sidebar>" * 240 + f"<p>{SENTENCE}</p>" * 20_000, marks=pytest.mark.slow),
        ("<div class=sidebar>" * 240 + SENTENCE + "</div>" * 240) * 200,
        f"<div><p>{SENTENCE}</p></div>" * 20_000,
        "x<br><br>" * MANY,
        "<p>2 comments</p>" * 20_000,
        "<p>" + ("1," * 95 + "</p><p>") * 2_000,
        "<p>" + ("by " * 38 + "</p><p>") * 5_000,
        "<p>" + ("_" * 119 + "</p><p>") * 5_000,
        '<p>x<math alttext="{\\displaystyle ' + " " * 500_000 + 'x">',
        f'<p class="{"comment-" * MANY}">x',
        '<p style="display' + " " * MANY * 10 + '">x',
        '<script type="application/ld+json">' + "[" * MANY + "</script>" + SENTENCE,
        '<script type="application/ld+json">['
        + ",".join(['{"@type":"Question","author":{"@id":"x"}}'] * 20_000)
        + "]</script>",
        "<p><a class=sr-only>x</a><i aria-hidden=true>x</i>" * (MANY // 4),
        "<link rel=canonical href='http://['>" * 20_000 + SENTENCE,
        "<pre>" + "`" * MANY,
        "<pre><div>x</div></pre>" * (MANY // 4),
        "<title>x</title>" * MANY,
        '<div hidden id="S:0">' * (MANY // 4),
        "".join(
            f'<template id="B:{n:x}"></template><div hidden id="S:{n:x}">x</div>' for n in range(MANY // 4)
        ),
        "".join(
            f'<div hidden id="S:{n:x}"><template id="P:{n + 1:x}"></template></div>' for n in range(MANY // 4)
        )
        + '<template id="P:0"></template>',
        "<div>"
        + "<b>" * MANY
        + '<template id="B:0"></template></div><div hidden id="S:0">'
        + "</i>" * MANY
        + "x</div>",
        "<!--$?-->" * MANY + '<template id="B:0"></template><div hidden id="S:0">x</div>',
        "<div itemprop=author>" * MANY,
        ("<div class=a><div class=text>" + f"<p>{SENTENCE * 4}</p>" + "</div></div>") * 5_000,
    ],
    ids=lambda body: body[:30],
)
def test_a_page_with_too_many_of_anything_ends(body):
    # As Markdown, which takes all that plain text takes, and more.
    assert isinstance(extract(page(body), URL, markdown=True), Extraction | Skip)


PIECES = (
    "<p>", "</p>", "<div>", "</div>", "<div class='sidebar'>", "<div id=comments>", "<article>", "</article>", "<ul><li>", "<ol>", "</ul>",
    "<table>", "<tr>", "<td>", "<th>", "</table>", "<pre>", "</pre>", "<h1>", "</h1>", "<blockquote>", "<a href='x'>", "</a>", "<b>", "<br>",
    "<form><input>", "</form>", "<script>", "</script>", "<!--", "-->", "<math>", "</math>", "<svg>", "<title>", "</title>", "<p hidden>",
    "<body>", "</html>", "<meta name=author content=x>", "<meta property=og:type content=product>", "<html lang=de>", "&amp;", "&#0;", "\0",
    "\ud800", "\ufeff", SENTENCE, SENTENCE * 5, "Related articles", "Tags: a, b", TITLE, "日本語の文章です。", "مرحبا", " | ", "```", "- ",
)  # fmt: skip
PAGES = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=80).map("".join)
URLS = st.sampled_from(
    [URL, "", "http://[", "https://example.org/forum/1", "https://example.org/docs/a"]
) | st.text(max_size=10)


@given(PAGES, URLS, st.booleans())
@settings(max_examples=200)
def test_any_page_is_a_text_or_a_skip_and_the_same_whatever_came_before(html, url, markdown):
    first = extract(html, url, markdown=markdown)
    assert isinstance(first, Extraction | Skip)
    if isinstance(first, Extraction):
        assert first.text.strip()
        first.text.encode()
        assert "\0" not in first.text
    extract(page(html[::-1]), URL)
    assert extract(html, url, markdown=markdown) == first


@given(PAGES)
def test_of_a_page_both_forms_or_neither_have_a_text(html):
    plain, marked = extract(html, URL), extract(html, URL, markdown=True)
    assert isinstance(plain, Extraction) is isinstance(marked, Extraction)
    if isinstance(plain, Extraction):
        assert isinstance(marked, Extraction)
        assert (plain.title, plain.route, plain.extractor) == (marked.title, marked.route, marked.extractor)


def test_another_process_that_hashes_otherwise_makes_the_same():
    pages = [
        page(f"<article><p>{SENTENCE}</p>" * n + f"<div class='c{n} sidebar'>{SENTENCE}</div>")
        for n in range(1, 30)
    ]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_text, pages) == [extract(each, URL) for each in pages]


def _text(html):
    return extract(html, URL)
