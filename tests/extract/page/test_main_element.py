"""A page of cards and short sections is taken as a whole: none of its parts has most of the text."""

import pytest

from tests.extract.page.test_content import ARTICLE, SENTENCES, TITLE, chosen

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


@pytest.mark.parametrize("kind", ["page", "article", "product"])
def test_sections_of_running_text_count_whatever_the_page_states(kind):
    sections = "".join(
        f"<div class=promo-{number}><h3>Part {number}</h3><div>{each}</div></div>"
        for number, each in enumerate(SENTENCES)
    )
    lead = f"<h1>{TITLE}</h1><div><p>{SENTENCES[0]} {SENTENCES[1]} {SENTENCES[2]}</p></div>"
    found = whole(f"<main>{lead}<div class=related>{sections}</div></main>", kind=kind)
    assert [f"Part {number}" for number in range(6)] == [each for each in found if each.startswith("Part")]


@pytest.mark.parametrize("kind", ["page", "article"])
def test_an_article_with_a_few_cards_below_it_stays_the_article(kind):
    article = f"<main><article><h1>{TITLE}</h1>{ARTICLE * 2}</article><div class=more>{cards(4)}</div></main>"
    assert whole(article, kind=kind) == [TITLE, *SENTENCES * 2]


def test_many_articles_are_a_listing_even_if_the_page_states_that_it_is_an_article():
    links = "<h3><a href=/b>Boat number {0} of the harbour</a></h3><a href=/k>Ferries of the coast</a>"
    lead = f"<h1>{TITLE}</h1><p>{' '.join(SENTENCES[:4])}</p>"

    def listing(tag):
        cards = "".join(
            f"<div><{tag} class=teaser>{links.format(number)}</{tag}></div>" for number in range(40)
        )
        return f"<main><div>{lead}</div><div class=river>{cards}</div></main>"

    assert "Boat number 39 of the harbour" in whole(listing("article"), kind="article")
    assert "Boat number 39 of the harbour" not in whole(listing("div"), kind="article")


def test_many_headings_are_a_listing_even_if_no_main_element_is_marked():
    entry = f"<h1>{TITLE}</h1><div><p>{SENTENCES[0]} {SENTENCES[1]} {SENTENCES[2]}</p></div>"
    assert "Sails 79 times a day." in chosen(f"<div>{entry}{cards(80)}</div>")
    assert "Sails 8 times a day." not in chosen(f"<div>{entry}{cards(9)}</div>")


def test_a_page_of_nothing_but_comments_is_a_discussion():
    comments = "".join(f"<div class=comment><p>{each}</p></div>" for each in SENTENCES)
    assert chosen(f"<div class=comments>{comments}</div>", title="") == list(SENTENCES)
    assert chosen(f"<div><h1>{TITLE}</h1>{ARTICLE}</div><div class=comments><p>It is so.</p></div>") == [
        TITLE,
        *SENTENCES,
    ]
