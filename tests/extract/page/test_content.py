"""The blocks of a page that are its content are told from those around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.page.boxes import ParsedPage
from thresher.extract.page.content import choose_content
from thresher.extract.page.page_reader import read_page

TITLE = "The harbour in winter"
SENTENCES = (
    "The harbour lay under a thin sheet of ice that morning, and nobody had gone out to the nets.",
    "Two of the older boats had been drawn up on the shingle, their paint cracked, their ropes stiff.",
    "Marta counted the crates in the shed twice, wrote the number down, and locked the door behind her.",
    "By noon the wind had turned, the ice broke along the pier, and the first men came down the steps.",
    "They spoke of prices, of diesel, and of the new quay, which nobody believed would ever be built.",
    "In the evening the lamps were lit one after another, as they had been lit for a hundred years.",
)
ARTICLE = "".join(f"<p>{each}</p>" for each in SENTENCES)


def page(body, *, title=TITLE):
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def parsed(html):
    return expect(ParsedPage, read_page(html.encode()))


def chosen(body, *, title=TITLE, kind="page"):
    return [block.text for block in choose_content(parsed(page(body, title=title)), title, kind)]


@pytest.mark.parametrize(
    "around",
    [
        "<nav><a href=a>Home</a> <a href=b>Boats</a> <a href=c>Contact us</a></nav>",
        "<ul class='menu'><li><a href=a>Home</a><li><a href=b>Boats</a></ul>",
        "<div id='header'><a href='/'>The Coast Weekly</a></div>",
        "<footer><p>Copyright 2020 The Coast Weekly, 7 Pier Road. All rights reserved.</p></footer>",
        "<div class='sidebar'><h3>Most read</h3><p>Why herring is dear, a short explanation by our own fishmonger.</p></div>",
        "<form><input name=q><p>Search this site for anything at all, names or places.</p><input type=submit></form>",
        "<div class='related-posts'><ul><li><a href=a>Boats of the north</a><li><a href=b>Nets, and how to mend them</a></ul></div>",
        "<div class='share'><a href=a>Share</a> <a href=b>Tweet</a></div>",
        "<div role='navigation'><p>You are here, in a place that is described at length, in sentences, with commas.</p></div>",
        "<aside><p>Subscribe to our letter, it comes once a week, and it costs you nothing at all.</p></aside>",
    ],
)
def test_what_stands_around_an_article_is_left_out(around):
    assert chosen(f"{around}<article>{ARTICLE}</article>") == list(SENTENCES)
    assert chosen(f"<div id=main>{ARTICLE}</div>{around}") == list(SENTENCES)


COMMENTS = (
    "<div id='comments'><h3>2 comments</h3><div class='comment'><p>I was there too, that winter, and the ice was thicker, "
    "much thicker than you say.</p></div><div class='comment'><p>My father had one of those boats, the blue one, and he "
    "sold it in spring.</p></div></div>"
)


def test_comments_of_readers_are_none_of_an_article():
    assert chosen(f"<article>{ARTICLE}</article>{COMMENTS}") == list(SENTENCES)
    assert chosen(f"<div id=main>{ARTICLE}{COMMENTS}</div>") == list(SENTENCES)


def test_of_a_discussion_they_are_what_it_is_about():
    found = chosen(f"<div id=thread>{ARTICLE}{COMMENTS}</div>", kind="discussion")
    assert "I was there too, that winter, and the ice was thicker, much thicker than you say." in found
    assert set(SENTENCES) <= set(found)


def test_a_page_of_nothing_but_comments_is_those():
    assert chosen(f"<div class='comments'>{ARTICLE}</div>") == list(SENTENCES)


def test_behind_the_line_that_ends_it_nothing_is_content():
    found = chosen(
        f"<div>{ARTICLE}<h4>Related articles</h4><p>{SENTENCES[0]} Once more, elsewhere.</p></div>"
    )
    assert found == list(SENTENCES)


def test_lines_of_the_site_within_an_article_are_left_out():
    inside = "<p>Advertisement</p><p>Photo: A. N. Other / Reuters</p><p>Read also: Boats of the north</p>"
    half = ARTICLE.find("<p>By noon")
    assert chosen(f"<article>{ARTICLE[:half]}{inside}{ARTICLE[half:]}</article>") == list(SENTENCES)


def test_the_headline_and_its_teaser_stand_in_front_wherever_they_are():
    head = (
        f"<div id=top><h1>{TITLE}</h1><p>By A. Writer</p><p>3 January 2020</p>"
        "<p>Ice on the water, nobody at sea: a day on a coast that waits for spring.</p></div>"
    )
    teaser = "Ice on the water, nobody at sea: a day on a coast that waits for spring."
    assert chosen(f"{head}<div id=text>{ARTICLE}</div>") == [TITLE, teaser, *SENTENCES]


def test_what_stands_before_the_headline_is_cut_off():
    assert chosen(f"<div><p>Friday, on page seven</p><h1>{TITLE}</h1>{ARTICLE}</div>") == [TITLE, *SENTENCES]


def test_of_two_columns_the_one_with_the_text_is_content():
    links = "".join(
        f"<p><a href=x{n}>Another place to go, number {n}, on this site</a></p>" for n in range(20)
    )
    body = f"<table><tr><td width=20%>{links}</td><td>{ARTICLE}</td></tr></table>"
    assert chosen(body) == list(SENTENCES)


def test_parts_of_a_text_that_lie_in_boxes_of_their_own_are_all_taken():
    parts = "".join(
        f"<div><div class=part><p>{each}</p><p>{each[::-1]}, or so, as it is.</p></div></div>"
        for each in SENTENCES
    )
    found = chosen(f"<div>{parts}</div>")
    assert all(each in found for each in SENTENCES)


def test_what_lies_beside_the_best_box_and_reads_like_text_is_taken():
    second = "".join(f"<p>Afterwards: {each}</p>" for each in SENTENCES)
    found = chosen(
        f"<div><div id=a><div>{ARTICLE}</div></div><div id=b><div><div>{second}</div></div></div></div>"
    )
    assert len(found) == 2 * len(SENTENCES)


def test_further_sections_like_the_best_one_are_content_with_the_headings_between_them():
    short = f"<p>{' '.join(SENTENCES[:3])}</p>"
    sections = "".join(
        f"<h2>Part {n}</h2><div class=section>{text}</div>"
        for n, text in enumerate((ARTICLE * 8, short, short))
    )
    found = chosen(f"<div class=chapter>{sections}</div>", kind="article")
    assert found.count(" ".join(SENTENCES[:3])) == 2
    assert [each for each in found if each.startswith("Part")][-2:] == ["Part 1", "Part 2"]


PART = "<div class=column><div><img src=a></div><div class=text>{}</div></div>"
"""A part of an article in a grid, beside a picture."""
FURTHER = f"<p>{' '.join(SENTENCES[:3])}</p>"


def test_further_parts_of_an_article_are_content_wherever_they_are():
    article = PART.format(ARTICLE * 3)
    parts = "".join(
        f"<section>{PART.format(FURTHER.replace('harbour', word))}</section>"
        for word in ("pier", "quay", "quay")
    )
    found = chosen(f"<article><h1>{TITLE}</h1>{article}{parts}</article>", kind="article")
    assert [sum(word in each for each in found) for word in ("pier lay", "quay lay")] == [1, 1]


@pytest.mark.parametrize(
    "other",
    [
        f"<section>{PART.format(ARTICLE)}</section>",
        f"</article><article>{PART.format(FURTHER)}",
        f"<aside>{PART.format(FURTHER)}</aside>",
        f"<section>{PART.replace('text', 'note').format(FURTHER)}</section>",
        f"<section><h2><a href=b>Boats of the north</a></h2>{PART.format(FURTHER)}</section>",
        f"<section><h1>Boats of the north</h1>{PART.format(FURTHER)}</section>",
    ],
    ids=[
        "a copy for small screens",
        "another article",
        "an aside",
        "another sort",
        "a linked story",
        "another story",
    ],
)
def test_these_are_no_further_parts_of_an_article(other):
    found = chosen(f"<article><h1>{TITLE}</h1>{PART.format(ARTICLE)}{other}</article>", kind="article")
    assert found == [TITLE, *SENTENCES]


def test_a_heading_within_a_box_of_its_own_is_content():
    body = f"<div>{ARTICLE}<h3 class=title-link><div class=title-name>1.1 Ice</div></h3>{ARTICLE}</div>"
    assert "1.1 Ice" in chosen(body)


def test_code_within_the_text_is_content_whatever_is_beside_it():
    code = "<div class='code-box'><button>Copy</button><pre>x = 1\ny = 2</pre></div>"
    assert "x = 1\ny = 2" in chosen(f"<h1>{TITLE}</h1><article>{ARTICLE}{code}{ARTICLE}</article>")


def test_the_numbers_of_lines_beside_code_are_none_of_it():
    table = "<table><tr><td class=gutter><pre>1\n2\n3</pre></td><td class=code><pre>a\n  b\nc</pre></td></tr></table>"
    found = chosen(f"<h1>{TITLE}</h1><article>{ARTICLE}{table}{ARTICLE}</article>")
    assert "a\n  b\nc" in found
    assert not any(text.startswith("1") for text in found)


def test_articles_one_below_another_are_not_cut_where_the_comments_of_one_are_counted():
    posts = "".join(f"<div class=post><h2>Post {n}</h2>{ARTICLE}<p>3 comments</p></div>" for n in range(5))
    found = chosen(posts)
    assert sum(SENTENCES[-1] in text for text in found) == 5
    assert "3 comments" not in found


COOKIES = "<div><p>We use cookies to give you the best experience, and you agree to our cookie policy by reading on, as you do.</p></div>"


def test_what_a_site_says_of_its_cookies_is_no_content_however_little_else_there_is():
    few = "".join(f"<p>{each}</p>" for each in SENTENCES[:2])
    assert chosen(f"{COOKIES}<h1>{TITLE}</h1><div>{few}</div>") == [TITLE, *SENTENCES[:2]]


def test_of_a_page_about_cookies_it_is():
    assert any("cookie policy" in text for text in chosen(f"<h1>Cookies</h1>{COOKIES}", title="Cookies"))


def test_a_table_of_data_is_content_and_one_of_links_is_not():
    data = "<table><tr><th>Ship</th><th>Crew</th></tr><tr><td>Anna</td><td>three men</td></tr></table>"
    links = "<table><tr><td><a href=a>Boats of all kinds</a></td><td><a href=b>Nets of all kinds</a></td></tr></table>"
    assert chosen(f"<article>{ARTICLE}{data}{links}</article>") == [
        *SENTENCES,
        "Ship",
        "Crew",
        "Anna",
        "three men",
    ]


@pytest.mark.parametrize("kind", ["reference", "product", "discussion"])
def test_these_are_taken_whole(kind):
    entries = "".join(f"<section><h3>open_{n}</h3><div><p>Opens it.</p></div></section>" for n in range(20))
    found = chosen(f"<main><section>{ARTICLE}</section>{entries}</main>", kind=kind)
    assert [each for each in found if each.startswith("open_")] == [f"open_{n}" for n in range(20)]


@pytest.mark.parametrize("body", ["<p>Hello.</p>", "<div class=sidebar>One.</div>", "x"])
def test_a_page_with_next_to_nothing_is_taken_as_it_is(body):
    assert chosen(body) == [block.text for block in parsed(page(body)).blocks]


MENU = "".join(f"<li><a href='/{n}'>Harbour {n} of the western coast</a></li>" for n in range(40))
NAVIGATION = [
    f"<nav><ul>{MENU}</ul></nav>",
    f"<div role=navigation><ul>{MENU}</ul></div>",
    f"<aside><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p></aside>",
    f"<footer><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p></footer>",
    f"<div class=footer><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p></div>",
    f"<ul>{MENU}</ul>",
]


@pytest.mark.parametrize("around", NAVIGATION)
def test_a_page_of_nothing_but_navigation_has_no_content(around):
    assert chosen(around, title="Untitled") == []


@pytest.mark.parametrize("around", NAVIGATION)
@pytest.mark.parametrize(
    "content",
    [
        "<main><p>The ferry does not sail today.</p></main>",
        "<div role=main><p>The ferry does not sail today.</p></div>",
        "<article><p>The ferry does not sail today.</p></article>",
        f"<div><h1>{TITLE}</h1><p>The ferry does not sail today.</p></div>",
    ],
)
def test_a_page_with_little_text_gives_that_and_no_menu(around, content):
    assert [each for each in chosen(f"{around}{content}{around}") if each != TITLE] == [
        "The ferry does not sail today."
    ]


def test_a_first_look_of_a_hundred_characters_is_enough_if_there_is_no_more():
    assert chosen(
        f"<ul>{MENU}</ul><div class=entry><p>{SENTENCES[0]} {SENTENCES[1]}</p></div><ul>{MENU}</ul>"
    ) == [f"{SENTENCES[0]} {SENTENCES[1]}"]


def test_a_menu_that_was_never_closed_does_not_hide_the_main_element():
    assert chosen(f"<nav><ul>{MENU}<main>{ARTICLE}</main>") == list(SENTENCES)


def test_paragraphs_between_the_headline_and_the_best_box_are_content():
    names = "".join(f"<p>{word}, of the harbour, its boats, its nets, its men</p>" for word in "abcdefgh")
    found = chosen(
        f"<article><h1>{TITLE}</h1>{ARTICLE}<table><tr><td><div class='content'>{names * 6}</div></td></tr></table></article>"
    )
    assert set(SENTENCES) <= set(found)


def test_content_that_is_far_from_the_headline_gives_way_to_what_is_around_it():
    terms = "".join(
        f"<p>{each} So say the terms, of the site, for all who use it.</p>" for each in SENTENCES * 2
    )
    found = chosen(
        f"<div><div><h1>{TITLE}</h1><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p><p>{SENTENCES[2]}</p></div></div>"
        f"<div class='entry content'>{terms}</div>"
    )
    assert set(SENTENCES[:3]) <= set(found)


@pytest.mark.parametrize(
    "line",
    [
        "<p>Ice in the harbour (Image: GETTY)</p>",
        "<p>Published: Nov. 19, 2019, 8:41 am UTC</p>",
        "<p>The Coast Weekly, 7 Pier Road, \u00a9 2020 Pier Press</p>",
        "<p>SEE MORE: <a href=/a>Eight hundred boats under the ice of the western harbours</a></p>",
        "<p><a href=/a>Herring is dear this year, and dearer than ever before in these parts</a></p>",
        "<div class='newsletter-box'><p>All the news of the harbour, weekly, in your inbox, for nothing.</p></div>",
        "<div class='swiper-slide'><p>They said the quay was sold, and nobody knew to whom, or why.</p></div>",
        "<div class='author-bio'><p>Marta Lind writes about boats, nets and ice, and lives by the sea.</p></div>",
    ],
)
def test_lines_of_the_site_between_paragraphs_are_left_out(line):
    half = "".join(f"<p>{each}</p>" for each in SENTENCES[:3])
    rest = "".join(f"<p>{each}</p>" for each in SENTENCES[3:])
    assert chosen(f"<article>{half}{line}{rest}</article>", kind="article") == list(SENTENCES)


def test_names_are_not_believed_of_a_part_that_has_the_text():
    assert chosen(f"<div class='sidebar'>{ARTICLE}</div><div class='content'><p>Nothing yet.</p></div>")[
        :6
    ] == list(SENTENCES)


PIECES = (
    ARTICLE, COMMENTS, "<div>", "</div>", "<table><tr><td>", "</table>", "<ul><li>", "</ul>", "<a href=x>link</a>", f"<h1>{TITLE}</h1>",
    "<div class=sidebar>", "<article>", "</article>", "<p>Comments</p>", "<form><input>", "</form>", f"<p>{SENTENCES[0]}</p>", "<body>",
    "<p>Tags: a</p>", "<section id=footer>", "<img>", "<pre>", "</pre>",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=25),
    st.sampled_from(["page", "article", "discussion", "reference", "product"]),
)
def test_content_is_some_of_the_blocks_in_their_order_and_always_the_same(pieces, kind):
    found = parsed(page("".join(pieces)))
    blocks = choose_content(found, TITLE, kind)
    numbers = {id(block): number for number, block in enumerate(found.blocks)}
    places = [numbers[id(block)] for block in blocks]
    assert places == sorted(set(places))
    assert blocks == choose_content(found, TITLE, kind)
