"""A page of cards and short sections is taken as a whole: none of its parts has most of the text."""

import pytest

from tests.expect import expect
from tests.extract.page.test_content import ARTICLE, SENTENCES, TITLE, chosen, page
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

NAVIGATION = "<nav><a href=a>Home</a> <a href=b>Boats</a></nav>"
FOOTER = (
    "<footer><p>We are the harbour office, and this is the footer of the page of the office.</p></footer>"
)


def cards(count, tag="section"):
    return "".join(
        f"<{tag} class=card><h3><a href=/b{number}>Boat number {number}</a></h3><p>Sails {number} times a day.</p>"
        f"<a href=/b{number}>Read more of it</a></{tag}>"
        for number in range(count)
    )


def whole(body, *, kind="page"):
    found = chosen(f"{NAVIGATION}{body}{FOOTER}", kind=kind)
    assert "Home Boats" not in found
    assert not any("footer of the page" in each for each in found)
    return found


def test_the_main_element_of_a_page_of_cards_is_content():
    found = whole(
        f"<main><h1>{TITLE}</h1><p>{SENTENCES[0]} {SENTENCES[1]} {SENTENCES[2]}</p>{cards(12)}</main>"
    )
    assert found[0] == TITLE
    assert found[1].startswith(SENTENCES[0])
    assert [f"Sails {number} times a day." for number in range(12)] == [
        each for each in found if each.startswith("Sails")
    ]
    assert "Boat number 11" in found


def sections(sentences, name="promo"):
    return "".join(
        f"<div class={name}-{number}><h3>Part {number}</h3><div>{each}</div></div>"
        for number, each in enumerate(sentences)
    )


def lead(count):
    """Return a headline and a box of as many sentences."""
    return f"<h1>{TITLE}</h1><div><p>{' '.join((SENTENCES * 4)[:count])}</p></div>"


@pytest.mark.parametrize("kind", ["page", "article", "product"])
def test_sections_of_running_text_count_whatever_the_page_states(kind):
    found = whole(f"<main>{lead(3)}<div class=related>{sections(SENTENCES)}</div></main>", kind=kind)
    assert [f"Part {number}" for number in range(6)] == [each for each in found if each.startswith("Part")]


@pytest.mark.parametrize(
    ("kind", "sentences", "is_part"),
    [
        ("page", 8, True),
        ("page", 10, False),
        ("product", 5, True),
        ("product", 7, False),
        ("article", 5, True),
    ],
)
def test_the_content_is_a_part_below_a_share_of_the_running_text(kind, sentences, is_part):
    found = whole(f"<main>{lead(sentences)}<div class=related>{sections(SENTENCES)}</div></main>", kind=kind)
    assert ("Part 5" in found) == is_part


def test_an_article_of_some_length_is_the_article_however_much_of_others_is_below_it():
    others = f"<div class=related>{sections(SENTENCES * 4)}</div>"
    assert "Part 5" in whole(f"<main>{lead(8)}{others}</main>", kind="article")
    assert "Part 5" not in whole(f"<main>{lead(12)}{others}</main>", kind="article")
    assert "Part 5" in whole(f"<main>{lead(12)}{others}</main>", kind="product")


@pytest.mark.parametrize("kind", ["page", "article"])
def test_an_article_with_a_few_cards_below_it_stays_the_article(kind):
    article = f"<main><article><h1>{TITLE}</h1>{ARTICLE * 2}</article><div class=more>{cards(4)}</div></main>"
    assert whole(article, kind=kind) == [TITLE, *SENTENCES * 2]


@pytest.mark.parametrize(
    ("kind", "tag", "count", "is_listing"),
    [
        ("article", "article", 10, True),
        ("article", "article", 9, False),
        ("article", "div", 40, False),
        ("product", "article", 10, True),
    ],
)
def test_ten_articles_are_a_listing_even_if_the_page_states_that_it_is_an_article(
    kind, tag, count, is_listing
):
    link = (
        "<h3><a href=/b>Boat number {0} of the harbour</a></h3>" + "<a href=/k>Ferries of the coast</a> " * 6
    )
    teasers = "".join(
        f"<div><{tag} class=teaser>{link.format(number)}</{tag}></div>" for number in range(count)
    )
    found = whole(f"<main><div>{lead(3)}</div><div class=river>{teasers}</div></main>", kind=kind)
    assert (f"Boat number {count - 1} of the harbour" in found) == is_listing


def test_a_product_with_ten_small_articles_beside_it_is_the_product():
    teasers = "<div><article class=teaser><h3><a href=/b>Boat of the harbour</a></h3></article></div>" * 12
    found = whole(f"<main><div>{lead(5)}</div><div class=river>{teasers}</div></main>", kind="product")
    assert "Boat of the harbour" not in found


@pytest.mark.parametrize(
    ("kind", "headings", "is_listing"), [("page", 30, True), ("page", 28, False), ("article", 40, False)]
)
def test_thirty_headings_are_a_listing_even_if_no_main_element_is_marked(kind, headings, is_listing):
    entries = "".join(
        f"<section class=card><h3><a href=/b{number}>Boat number {number}</a></h3>"
        f"{f'<a href=/k{number}>Ferries of the coast</a> ' * 6}</section>"
        for number in range(headings - 1)
    )
    found = chosen(f"<div>{lead(3)}{entries}</div>", kind=kind)
    assert (f"Boat number {headings - 2}" in found) == is_listing


def test_a_page_with_many_headings_that_marks_no_main_element_is_no_listing_if_it_has_an_article():
    entries = "".join(f"<div class=promo><h3>Boat number {number}</h3></div>" for number in range(40))
    assert "Boat number 39" not in chosen(f"<div>{lead(9)}</div><div class=related>{entries}</div>")


@pytest.mark.parametrize(
    "main",
    [
        "<ul>" + "<li><a href=x>A link of the long list</a></li>" * 200 + "</ul>",
        "<div><h3>A card</h3><span>only 5 euro</span></div>" * 200,
        "<nav><a href=x>A menu</a></nav>",
    ],
)
def test_an_article_beside_the_main_element_is_the_content(main):
    assert chosen(f"<main>{main}</main><div class=text>{ARTICLE * 2}</div>") == list(SENTENCES * 2)


def test_a_main_element_without_text_marks_nothing():
    others = "<div class=more><p>Boats and nets</p></div>" * 90
    body = (
        f"<main><nav><a href=x>A menu</a></nav></main><div><div class=text>{ARTICLE * 2}</div>{others}</div>"
    )
    assert chosen(body) == list(SENTENCES * 2)


def extracted(body):
    return expect(Extraction, extract(page(body), "https://example.org/")).text.split("\n")


def test_a_page_of_nothing_but_comments_is_a_discussion():
    comments = "".join(f"<div class=comment><p>{each}</p></div>" for each in SENTENCES)
    assert extracted(f"<div class=comments>{comments}</div>") == list(SENTENCES)
    hidden = extracted(f"<div hidden>{ARTICLE * 2}</div><div class=comments>{comments}</div>")
    assert hidden == list(SENTENCES * 2)
