"""Blocks are written as plain text, and as Markdown that other programs render as the page was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.page.boxes import Block, Box, ParsedPage
from thresher.extract.page.page_reader import read_page
from thresher.extract.writing.layout import markdown, plain
from thresher.extract.writing.page_tables import MAX_CELL_CHARACTERS


def blocks(html):
    return expect(ParsedPage, read_page(html.encode())).blocks


def lines(*each):
    return "\n".join(each)


LISTS = (
    "<p>in front<ul><li>one<ul><li>one one<li>one two</ul>rest of one<li>two<p>more<p>and more</ul><p>behind"
)
TABLE = "<table><thead><tr><th>ship<th>mast<th>crew</thead><tr><td>Anna<td>a|b<td>3<tr><td>Ida<td><td>12</table><p>behind"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>head</h1><p>one<br>two<p>three", lines("head", "one", "two", "three")),
        (
            LISTS,
            lines(
                "in front",
                "- one",
                "- one one",
                "- one two",
                "rest of one",
                "- two",
                "more",
                "and more",
                "behind",
            ),
        ),
        ("<ol><li>one<li>two</ol>", lines("- one", "- two")),
        (TABLE, lines("ship | mast | crew", "Anna | a|b | 3", "Ida |  | 12", "behind")),
        ("<table><tr><td>a<br>b<td>c</table>", "a b | c"),
        ("<table><tr><td>alone</table>", "alone"),
        ("<table><tr><td><p>a<p>b<td>c</table>", lines("a", "b", "c")),
        (
            f"<table><tr><td>{'x' * (MAX_CELL_CHARACTERS + 1)}<td>c</table>",
            lines("x" * (MAX_CELL_CHARACTERS + 1), "c"),
        ),
        ("<pre>a\n  b</pre>", lines("a", "  b")),
        ("<blockquote>one</blockquote>", "one"),
        ("", ""),
    ],
)
def test_plain_text_has_a_line_for_each_block_and_each_row(html, text):
    assert plain(blocks(html) if html else []) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>a</h1><p>b<h3>c<br>d</h3>", lines("# a", "", "b", "", "### c d")),
        ("<p>one<br>two", lines("one  ", "two")),
        (
            LISTS,
            lines(
                "in front", "",
                "- one",
                "  - one one",
                "  - one two", "",
                "  rest of one", "",
                "- two", "",
                "  more", "",
                "  and more", "",
                "behind",
            ),
        ),
        (
            "<ol><li>one<ol><li>one one<li>one two</ol><li>two</ol><ol><li>one</ol>",
            lines("1. one", "   1. one one", "   2. one two", "2. two", "1. one"),
        ),
        ("<ol>" + "<li>x" * 11 + "<ul><li>y</ol>", lines(*(f"{n}. x" for n in range(1, 12)), "    - y")),
        ("<ul><li><ul><li><ul><li>deep</ul></ul>late</ul>", lines("- deep", "- late")),
        (
            TABLE,
            lines(
                "| ship | mast | crew |", "| --- | --- | --- |", "| Anna | a\\|b | 3 |", "| Ida |  | 12 |", "", "behind"
            ),
        ),
        (
            "<table><tr><td>a<td>b</table><table><tr><td>c<td>d</table>",
            lines("| a | b |", "| --- | --- |", "", "| c | d |", "| --- | --- |"),
        ),
        ("<pre>a\n  b</pre>", lines("```", "a", "  b", "```")),
        ("<pre>a ``` b</pre>", lines("````", "a ``` b", "````")),
        ("<pre>```\n~~~~\n`````</pre>", lines("``````", "```", "~~~~", "`````", "``````")),
        ("<ul><li>one<pre>a\n b</pre></ul>", lines("- one", "", "  ```", "  a", "   b", "  ```")),
        ("<blockquote><p>one<br>two<p>three</blockquote>", lines("> one  ", "> two", "", "> three")),
        ("<blockquote><pre>a\nb</pre></blockquote>", lines("> ```", "> a", "> b", "> ```")),
        ("<blockquote><ul><li>one</ul></blockquote>", "> - one"),
        ("<ul><li><blockquote>one</blockquote></ul>", "- > one"),
        ("", ""),
    ],
)  # fmt: skip
def test_markdown_keeps_what_a_block_is(html, text):
    assert markdown(blocks(html) if html else []) == text


def test_an_item_of_which_nothing_was_chosen_has_no_line():
    chosen = [block for block in blocks("<ul><li>one<li>two<li>three</ul>") if block.text != "two"]
    assert (plain(chosen), markdown(chosen)) == ("- one\n- three", "- one\n- three")


WORDS = st.text(alphabet="abcäß日`|#->1.", min_size=1, max_size=8)
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join) | st.lists(WORDS, min_size=1, max_size=3).map(
    "\n".join
)
TAGS = st.sampled_from(
    [
        "div",
        "p",
        "h2",
        "pre",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "th",
        "blockquote",
        "dl",
        "dd",
        "section",
    ]
)


@st.composite
def any_blocks(draw):
    boxes = [Box(0, "", None, 0)]
    found = []
    for tag, up, text in draw(st.lists(st.tuples(TAGS, st.integers(0, 4), st.none() | TEXTS), max_size=25)):
        around = boxes[-1]
        for _ in range(up):
            around = around.parent or around
        box = Box(len(boxes), tag, around, len(found))
        around.children = [*around.children, box]
        boxes.append(box)
        if text is not None:
            found.append(Block(box, text, 0))
    return found


@given(any_blocks())
def test_the_words_of_the_text_are_those_of_its_blocks_in_their_order(chosen):
    bare = "".join("".join(block.text.split()) for block in chosen)
    for written in (plain(chosen), markdown(chosen)):
        assert _is_within(bare, written)
    marks = re.sub(r"[\s`|#>\\.\-\d]", "", markdown(chosen))
    assert marks == re.sub(r"[\s`|#>\\.\-\d]", "", bare)
    assert plain(chosen) == plain(chosen)


@given(any_blocks())
def test_no_line_of_a_text_is_empty_and_no_two_of_markdown_are(chosen):
    assert "" not in plain(chosen).split("\n") or not chosen
    assert "\n\n\n" not in markdown(chosen)


def _is_within(short, long):
    """Whether all characters of one stand in the other, in their order."""
    rest = iter(long)
    return all(each in rest for each in short)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 240 + "<p>word</p>" * 25_000,
        "<ul><li>" * 120 + "<li>word" * 25_000,
        "<table><tr>" + "<td>word" * 50_000,
        "<table><tr><td>" * 80 + "<p>word" * 25_000,
        "<ol>" + "<li>word<p>word" * 25_000,
        "<pre>" + "`" * 50_000,
    ],
)
def test_each_block_costs_the_same_wherever_it_lies(html):
    found = blocks(html)
    assert plain(found)
    assert markdown(found)
