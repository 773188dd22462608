"""Markdown has inline code, emphasis and links, only where a Markdown renderer reads them so."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract
from thresher.extract.notation.inline_markdown import (
    CODE,
    EMPHASIS,
    ENDS,
    LINK,
    STRONG,
    TARGET_END,
    code_span,
    write_inline,
)
from thresher.extract.page.boxes import ParsedPage
from thresher.extract.page.page_reader import read_page
from thresher.extract.wikitext import extract as extract_wikitext
from thresher.extract.writing.layout import markdown, plain


def written(html):
    return markdown(expect(ParsedPage, read_page(f"<body>{html}".encode(), marks=True)).blocks)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("Call <code>f()</code> <tt>now</tt>", "Call `f()` `now`"),
        ("<code>a`b</code> <code>`</code>", "``a`b`` `` ` ``"),
        ("<b>bold</b> <em>and</em> <strong>strong <i>both</i></strong>", "**bold** *and* **strong *both***"),
        ("one<b> two </b>three", "one **two** three"),
        ("<b></b><i> </i>one", "one"),
        ("<b>one</b><b>two</b>", "**onetwo**"),
        ("half<b>word</b>s", "half**word**s"),
        ("日本<b>「語」</b>です", "日本「語」です"),
        ("<b><p>one</p><p>two</p></b>", "one\n\ntwo"),
        ("<h2>The <code>x</code> of <b>y</b></h2>", "## The `x` of y"),
        ("a &lt;tag&gt;, 1 &lt; 2 &lt;/b&gt;", r"a \<tag>, 1 < 2 \</b>"),
        ("<code>&lt;b&gt; <i>x</i></code>", "`<b> x`"),
        ("<b>one<br>two</b>", "**one  \ntwo**"),
        ("<pre><b>a</b> &lt;b&gt;</pre>", "```\na <b>\n```"),
        ("<table><tr><th><b>x</b><th>y<tr><td><code>a|b</code><td>&lt;b&gt;</table>",
         "| **x** | y |\n| --- | --- |\n| `a\\|b` | \\<b> |"),
        ("<ol start=5><li>a<li>b<li value=9>c<li>d</ol>", "5. a\n6. b\n9. c\n10. d"),
        ("<ol start=-2><li>a<li>b</ol><ol start=x><li>c</ol>", "0. a\n0. b\n1. c"),
        ('see <a href="/x">this</a>', "see this"),
    ],
)  # fmt: skip
def test_inline_marks_are_those_of_the_page(html, text):
    assert written(html) == text


def test_links_are_an_option_and_absolute():
    html = (
        '<head><base href="https://example.org/a/"></head><p>One sentence about a <a href="b c(1)"><b>thing</b></a>, '
        'its <a href="#part">part</a>, a <a href="javascript:x()">script</a>, <a href="mailto:a@example.org">mail</a>, '
        "and then some more words so that there is enough of them to be the content of a page at all, as pages go.</p>"
    )
    found = expect(Extraction, extract(html, "https://example.org/", markdown=True, links=True)).text
    assert found.startswith(
        "One sentence about a [**thing**](https://example.org/a/b%20c%281%29), its part, a script, "
        "[mail](mailto:a@example.org), and"
    )
    without = expect(Extraction, extract(html, "https://example.org/", markdown=True)).text
    assert without.startswith("One sentence about a **thing**, its part, a script, mail, and")


def test_the_words_are_those_of_plain_text():
    html = "<p>a <b>b <code>c</code></b> <a href=x>d</a><sup>2</sup><ul><li><em>e</em> f</ul>"
    one, two = (expect(ParsedPage, read_page(html.encode(), marks=marks)).blocks for marks in (False, True))
    assert [block.text for block in one] == [block.text for block in two]
    assert plain(one) == plain(two)


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("'''Bold''', ''italic'' and '''''both'''''", "**Bold**, *italic* and ***both***"),
        ("The '''''lamp''' house''.", "The ***lamp** house*."),
        ("The keeper read l'''Odyssée'' aloud.", "The keeper read l'*Odyssée* aloud."),
        ("== '''Heading''' ==\nwords", "## Heading\n\nwords"),
        ("''never closed\nnext", "*never closed* next"),
        ("<b>a</b> <code>b''c''</code> &lt;d&gt;", "**a** `bc` \\<d>"),
        ("* ''a''\n** '''b'''", "- *a*\n  - **b**"),
    ],
)
def test_wikitext_is_emphasised_alike(wikitext, text):
    assert expect(Extraction, extract_wikitext(wikitext.encode(), markdown=True)).text == text


MARKS = [EMPHASIS, STRONG, CODE, f"{LINK}x{TARGET_END}", *ENDS.values(), "\x19", "\x1a"]


@given(
    st.lists(st.sampled_from([*MARKS, "a", " ", "\n", "<b", "*", "`", "(", "語"]), max_size=30).map("".join)
)
def test_any_marks_give_text_without_marks(marked):
    for found in (
        write_inline(marked),
        write_inline(marked, lambda target: f"http://{target}"),
        write_inline(marked, is_heading=True),
    ):
        assert not {character for character in found if character != "\n" and ord(character) < 32}
        assert "".join(c for c in found if c in "a語(").count("a") == marked.count("a")


@given(st.text(alphabet="a` ", min_size=1))
def test_code_is_between_backticks_that_it_does_not_have(code):
    runs = re.findall("`+", code_span(f"a{code}a"))
    assert runs[0] == runs[-1]
    assert runs[0] not in runs[1:-1]


def test_marks_without_end_cost_no_more_than_others():
    assert write_inline((EMPHASIS + ENDS[EMPHASIS]) * 100_000 + EMPHASIS * 100_000 + "a") == "a"
    assert "a" in write_inline(f"{STRONG}a{ENDS[STRONG]} " * 50_000)
