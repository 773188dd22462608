"""What tools put into a reference page and around it is told by tags, relations of links, and the place of headings."""

import pytest

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

MANUAL = "<meta name=generator content='Docutils 0.19'><title>open - Filer</title>"
TEXT = "<p>Opens a file of this name, and returns the file, which is to be shut.</p>"


def text_of(body, head=MANUAL, *, markdown=False):
    page = f"<html><head>{head}</head><body>{body}</body></html>"
    return expect(Extraction, extract(page, "https://example.org/open", markdown=markdown)).text


@pytest.mark.parametrize(
    "aside",
    [
        "<aside class=topic><p>Files of <a href=f>other</a> systems are named in another way.</p></aside>",
        "<aside class='admonition tip'><p>A tip of those who have opened many files before.</p></aside>",
        "<aside class='footnote-list'><aside class=footnote><a href='#r'>1</a><p>Not on every system.</p></aside></aside>",
    ],
)
def test_an_aside_within_the_content_of_a_manual_is_a_note_or_footnotes(aside):
    text = text_of(f"<div role=main><h1>open</h1>{TEXT}{aside}</div>")
    assert text.endswith(
        ("named in another way.", "many files before.", "Not on every system.", "1\nNot on every system.")
    )


def test_an_aside_of_links_or_beside_the_content_of_a_manual_is_not_content():
    links = "<aside><p>On this page</p><ul><li><a href='#f'>Flags of open</a><li><a href='#r'>What it returns</a></ul></aside>"
    beside = "<aside><p>The filer is made by people who file for the love of it.</p></aside>"
    assert text_of(f"<main><h1>open</h1>{TEXT}{links}</main>{beside}") == text_of(
        f"<main><h1>open</h1>{TEXT}</main>"
    )


@pytest.mark.parametrize("sidebar", ["sidebar", "docs-sidebar", "left_menu"])
def test_links_in_a_sidebar_are_not_content_of_a_manual_that_marks_none(sidebar):
    links = "".join(f"<li><a href=m{number}>Module {number} of the filer</a>" for number in range(50))
    text = text_of(f"<div class={sidebar}><p>Filer</p><ul>{links}</ul></div><h1>open</h1>{TEXT}")
    assert text.startswith("open\nOpens a file")


def test_links_under_a_heading_at_the_end_of_a_manual_that_marks_no_content_are_content():
    links = "<div><a href=f>Flags</a></div><div><a href=r>Results</a></div>"
    assert text_of(f"<h1>open</h1>{TEXT}<h2>Parts of this chapter</h2>{links}").endswith("Flags\nResults")
    assert not text_of(f"<h1>open</h1>{TEXT}{links}").endswith("Results")


@pytest.mark.parametrize("relation", ["next", "prev", "up", "Previous", "nofollow next"])
def test_lines_of_links_to_the_pages_around_a_page_are_not_content(relation):
    line = f"<p>Next: <a href=s rel='{relation}'>Shutting of files</a>, Up: <a href=i>Contents</a></p>"
    cells = f"<table><tr><td><a href=a>Start</a><td><a href=s rel='{relation}'>Shutting</a></table>"
    body = f"<h2>open</h2><ul><li><a href=f>Flags</a></ul>{TEXT}"
    assert text_of(f"<div>{line}</div>{body}{cells}{TEXT}") == text_of(body + TEXT)


def test_a_link_to_the_next_page_within_a_sentence_is_content():
    text = text_of(
        f"<main><h1>open</h1>{TEXT}<p>How files are shut is told in <a rel=next href=s>shut</a>.</p></main>"
    )
    assert text.endswith("is told in shut.")


def test_a_list_of_links_that_is_named_like_the_content_gives_way_to_the_content():
    links = "".join(f"<li><a href=m{number}>Module {number} of the filer</a>" for number in range(50))
    text = text_of(
        f"<div id=main><h3>open</h3>{TEXT}</div><div class=frame><div class=contents><ul>{links}</ul></div></div>"
    )
    assert text.startswith("open\nOpens a file")
    assert "Module" not in text


def test_a_heading_that_its_tool_names_like_comments_is_no_comment():
    text = text_of(f"<div role=main><h1>open</h1>{TEXT}<h2 id=comments>Comments in files</h2>{TEXT}</div>")
    assert "Comments in files" in text


def test_a_heading_in_the_content_is_the_headline_of_a_manual_before_the_name_of_the_site():
    body = f"<h1>Filer</h1><div role=main><p>Deprecated since 1.2.</p><h1>open</h1>{TEXT}</div>"
    assert text_of(body).startswith("Deprecated since 1.2.\nopen\n")
    assert text_of(f"<nav>Up - Filer - open</nav><h1><code>open</code></h1>{TEXT}").startswith("open\n")


def test_footnotes_beside_the_content_of_a_manual_are_content():
    text = text_of(
        f"<div class=section><h1>open</h1>{TEXT}</div><div class=footnote><p>Not on every system.</p></div>"
    )
    assert text.endswith("Not on every system.")


@pytest.mark.parametrize(
    "term",
    [
        "<strong>name</strong><span class=classifier>string</span>",
        "name <span class=classifier-delimiter>:</span> <span class=classifier>string</span>",
        "name<span class=classifier><code>string</code></span>",
    ],
)
def test_the_type_of_a_term_stands_after_a_colon(term):
    body = f"<main><h1>open</h1><dl><dt>{term}</dt><dd>Its name.</dd></dl></main>"
    assert text_of(body) == "open\nname : string\nIts name."
    marked = text_of(body, markdown=True)
    assert "name : string" in marked.replace("*", "").replace("`", "")


def test_an_empty_separator_is_white_space():
    text = text_of(f"<main><h1><a href=i>Filer</a><span class=sep></span>open</h1>{TEXT}</main>")
    assert text.startswith("Filer open\n")
    kept = f"<main><h1>Filer<span class=sep>::</span>open and<a id=o></a>shut</h1>{TEXT}</main>"
    assert text_of(kept).startswith("Filer::open andshut\n")


INDEX = "<h1>open</h1><ul><li><a href=r>open.read</a><li><a href=w>open.write</a></ul>"


@pytest.mark.parametrize(
    "head",
    [
        "<link rel=Chapter title=Filer href=f.html><title>Filer.open</title>",
        "<link rel='appendix nofollow' title=Signs href=s.html><title>Filer.open</title>",
        "<meta name=generator content='odoc 2.0.2'><title>Filer.open</title>",
        "<meta name=Generator content='texi2any'><title>Filer.open</title>",
        "<title>The Filer (1.2.x) - open</title>",
    ],
)
def test_chapters_of_the_book_a_generator_or_a_version_tell_a_manual(head):
    assert "open.write" in text_of(INDEX, head)


def test_a_site_with_a_glossary_and_a_site_map_is_no_manual():
    head = "<link rel=glossary href=g><link rel=contents href=s><title>Filer.open</title>"
    assert "open.write" not in text_of(INDEX, head)
