"""Comments, words of the site about itself, authors and captions that no tag sets apart from the content are left out."""

import pytest

from tests.expect import expect
from tests.extract.page.test_content import ARTICLE, SENTENCES, TITLE, chosen
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

REPLIES = "".join(
    f"<div><p>{each} That is what my uncle says, too.</p></div><p>Posted by: Reader {n} at January {n}, 2012 10:1{n} PM</p>"
    for n, each in enumerate(SENTENCES * 3, 1)
)


def test_comments_that_are_longer_than_the_article_end_at_their_heading():
    assert chosen(f"<div class=content><h3>{TITLE}</h3>{ARTICLE}<h2>Comments</h2>{REPLIES}</div>") == [
        TITLE,
        *SENTENCES,
    ]


def test_comments_of_one_block_that_ends_with_its_signature_are_signed_too():
    replies = "".join(
        f"<p>{each} That is so.<br>Posted by Reader on January {n}, 2008 2:0{n} PM<br>Report this comment</p>"
        for n, each in enumerate(SENTENCES * 2, 1)
    )
    assert chosen(f"<div>{ARTICLE}<div>Comments</div>{replies}</div>") == list(SENTENCES)


def test_a_section_of_the_article_about_comments_is_no_start_of_comments():
    found = chosen(
        f"<div><h1>{TITLE}</h1>{ARTICLE}<h2>Comment</h2>{ARTICLE * 3}<h3>Comments</h3>{REPLIES}</div>"
    )
    assert found.count(SENTENCES[0]) == 4
    assert not any("my uncle" in each for each in found)


def test_a_link_to_the_comments_above_the_article_does_not_end_it():
    found = chosen(
        f"<div><h1>{TITLE}</h1><p>{SENTENCES[0]} {SENTENCES[1]}</p><p><a href=#c>Comments</a></p>{ARTICLE}"
        "<p>The quay opened on January 3, 2012 at 10:15 PM.</p><p>It closed on March 4, 2012 at 9:00 AM.</p></div>"
    )
    assert set(SENTENCES) <= set(found)


ABOUT = "".join(f"<p>{each} So we write, and have written, for years.</p>" for each in SENTENCES[:3])


@pytest.mark.parametrize("heading", ["h1", "h2", "h3"])
def test_a_short_entry_is_content_and_not_what_the_site_says_of_itself(heading):
    site = f"<div class=sidebar><h2>About me</h2>{ABOUT}</div>"
    entry = f"<div class=post><{heading}>{TITLE}</{heading}><div class=entry>A picture of the ice, and of nothing else.</div></div>"
    assert chosen(f"{site}{entry}") == [TITLE, "A picture of the ice, and of nothing else."]


def test_what_ends_before_the_headline_is_not_the_content_of_a_short_entry():
    found = chosen(
        f"<div class=profile>{ABOUT}</div><div><h1>{TITLE}</h1><p>One boat, one man, no wind at all.</p></div>"
    )
    assert found == [TITLE, "One boat, one man, no wind at all."]


@pytest.mark.parametrize(
    "line",
    [
        "<p>This entry was posted on Thursday, August 9th, 2012 at 12:04 am and is filed under Boats. You can follow it.</p>",
        "<p>You can follow any responses to this entry through the RSS 2.0 feed.</p>",
        "<p>Both comments and pings are currently closed.</p>",
        "<p>Photo credit: A. N. Other</p>",
        "<p>The harbour, seen from the pier, in ice. (mlind / iStock.com)</p>",
        "<p>Boats below the pier \u00a9 Pier Press | M. Lind</p>",
        "<p>Tiempo de lectura: 8 minutos</p>",
        "<p>Le puede interesar: Barcos del norte</p>",
        "<p>Abonnez-vous \u00e0 la lettre du port</p>",
        "<div class=post-author><h4>Written by Marta Lind</h4><p>Marta writes of boats, of nets, of ice, and lives near.</p></div>",
        "<section class=article-author><p>Marta Lind / Marta is our senior reporter for boats, for nets and for ice.</p></section>",
        "<p class=image-annotation>Two boats, one of them drawn up, and the ice on the water around.</p>",
    ],
)
def test_notes_of_blogs_authors_and_captions_are_left_out(line):
    half = "".join(f"<p>{each}</p>" for each in SENTENCES[:3])
    rest = "".join(f"<p>{each}</p>" for each in SENTENCES[3:])
    assert chosen(f"<article>{half}{line}{rest}</article>", kind="article") == list(SENTENCES)


def test_a_teaser_far_from_the_content_is_content_if_one_part_of_the_page_holds_both():
    teaser = "Ice on the water, nobody at sea, and a quay that nobody believes in: a day on a coast that waits for the spring."
    tools = "".join(f"<li><a href=t{n}>Tool {n}</a></li>" for n in range(20))
    body = f"<article><div class=head><h1>{TITLE}</h1><p>{teaser} So it goes.</p></div><ul>{tools}</ul><div class=text>{ARTICLE * 2}</div></article>"
    assert chosen(body)[:2] == [TITLE, f"{teaser} So it goes."]


def test_a_teaser_that_is_the_caption_of_a_picture_is_left_out():
    body = f"<div><h1>{TITLE}</h1><p>The harbour in winter, seen from the pier, at noon. (Photo: Getty)</p></div><div>{ARTICLE}</div>"
    assert chosen(body) == [TITLE, *SENTENCES]


def test_the_only_headline_counts_if_the_title_is_that_of_the_site():
    blurb = (
        "<div class='page-content'><p>We write of ships, boats, nets, ropes, ice, quays, men, women, fish, herring, cod, eel, oil, coal, "
        "wind, rain, snow, fog, lamps, and more, for the trade, since 1902, in print, and here, for you, and yours, for all.</p></div>"
    )
    body = f"<div class=news><h1>Herring is dear this year</h1><div><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p><p>{SENTENCES[2]}</p></div></div>{blurb}"
    found = chosen(body, title="The Coast Weekly")
    assert set(SENTENCES[:3]) <= set(found)


def test_short_lines_of_the_class_that_the_text_has_stay():
    steps = "".join(
        f"<div class=paragraph><p>{n}. Look</p></div><div class=paragraph><p>{each}</p></div>"
        for n, each in enumerate(SENTENCES, 1)
    )
    found = chosen(f"<article><h1>{TITLE}</h1><div>{steps}</div></article>")
    assert [each for each in found if each.endswith("Look")] == [f"{n}. Look" for n in range(1, 7)]


@pytest.mark.parametrize("title", ["<title>The harbour", "<TITLE lang=en>The harbour", "<title>"])
def test_a_page_whose_title_is_not_closed_has_its_text(title):
    found = extract(
        f"<html><head>{title}<meta name=x><body><article>{ARTICLE}</article>", "https://example.org/"
    )
    assert expect(Extraction, found).text.split("\n")[-len(SENTENCES) :] == list(SENTENCES)


def test_a_line_that_can_be_a_heading_does_not_end_running_text():
    more = "".join(f"<p>{each} {each}</p>" for each in SENTENCES)
    found = chosen(f"<div><h1>{TITLE}</h1>{ARTICLE}<p>See also:</p>{more}</div>")
    assert found[-1] == f"{SENTENCES[-1]} {SENTENCES[-1]}"


@pytest.mark.parametrize(
    "rest",
    [
        "".join(f"<p><a href=/{n}>{each}</a></p>" for n, each in enumerate(SENTENCES)),
        "".join(f"<p>{each}</p><p>By Reader on 3 January 2012</p>" for each in SENTENCES),
    ],
)
def test_such_a_line_ends_the_content_before_links_and_dated_texts(rest):
    assert chosen(f"<div><h1>{TITLE}</h1>{ARTICLE * 2}<h3>See also</h3>{rest}</div>") == [
        TITLE,
        *SENTENCES,
        *SENTENCES,
    ]


@pytest.mark.parametrize("line", ["Comment", "Response"])
def test_a_single_comment_without_a_number_introduces_none(line):
    assert chosen(f"<div><h1>{TITLE}</h1>{ARTICLE}<p>{line}</p>{ARTICLE}</div>").count(SENTENCES[0]) == 2


@pytest.mark.parametrize(
    "name", ["nav", "navbar", "navigation", "top-nav", "main-navigation", "navigationbar", "nav-links"]
)
def test_what_is_named_navigation_is_none_of_the_content(name):
    around = (
        f"<div class={name}><p>You are here, in a place that is described at length, with commas.</p></div>"
    )
    for kind in ("page", "reference"):
        assert chosen(f"{around}<div class=content><h1>{TITLE}</h1>{ARTICLE}</div>", kind=kind) == [
            TITLE,
            *SENTENCES,
        ]


@pytest.mark.parametrize(
    "state", ["comments-open", "sidebar-closed", "site-header-fixed", "mobile-menu-open"]
)
def test_the_state_of_a_part_does_not_name_the_box_that_has_the_state(state):
    body = f"<div><div class='{state}'><h1>{TITLE}</h1>{ARTICLE}</div><p>The Coast</p></div>"
    assert chosen(body)[:7] == [TITLE, *SENTENCES]


def test_paragraphs_that_a_page_marks_as_paid_are_content_and_the_notice_is_none():
    free, *paid = SENTENCES
    body = "".join(f"<p class=paywall>{sentence}</p>" for sentence in paid * 3)
    notice = "<div class=paywall-prompt><p>Subscribers read on, and they pay one penny for a month of news.</p></div>"
    assert chosen(f"<div class=content><h1>{TITLE}</h1><p>{free * 3}</p>{body}{notice}</div>") == [
        TITLE,
        free * 3,
        *paid * 3,
    ]
