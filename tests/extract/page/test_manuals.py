"""Of a reference page everything that its template marks as content is kept, and nothing around it."""

import pytest

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

AROUND = (
    "<nav><ul><li><a href=a>Start</a><li><a href=b>Next chapter of the manual</a></ul></nav>",
    "<div class='sphinxsidebar'><h3>Contents</h3><ul><li><a href=#o>open</a></ul><p>Last updated on a Monday.</p></div>",
    "<div class='footer'><p>Copyright 2020 by those who wrote it. Created with a tool, of course.</p></div>",
)
CONTENT = {
    "table of code": "<table><tr><td><code>x + y</code></td><td>Sum</td></tr><tr><td><code>x - y</code></td>"
    "<td>Difference</td></tr></table>",
    "syntax": "<p><code>open(name)</code></p><p><code>shut()</code></p>",
    "definitions": "<dl><dt>open</dt><dd>Opens it.</dd><dt>shut</dt><dd>Shuts it.</dd></dl>",
    "index of links": "<ul><li><a href=o>open</a><li><a href=s>shut</a><li><a href=t>truncate</a></ul>",
    "comments of code": "<section id='comments'><h2>Comments</h2><p>A comment starts with a hash, and ends with the line.</p>"
    "<p>There is no other sort of comment, and comments do not nest.</p></section>",
}
WORDS = {
    "table of code": ["x + y", "Sum", "x - y", "Difference"],
    "syntax": ["open(name)", "shut()"],
    "definitions": ["open", "Opens it.", "shut", "Shuts it."],
    "index of links": ["open", "shut", "truncate"],
    "comments of code": ["A comment starts with a hash", "comments do not nest"],
}
TEMPLATES = {
    "main": "<main>{}</main>",
    "role": "<div class=document><div role=main>{}</div></div>",
    "DocBook": "<div class=refentry>{}</div>",
    "Doxygen": "<div id=doc-content><div class=contents>{}</div></div>",
    "MediaWiki": "<div id=bodyContent><div id=mw-content-text>{}</div></div>",
}
EVIDENCE = {
    "generator": "<meta name=generator content='Docutils 0.19'><title>open</title>",
    "title": "<title>open | The Filer 1.2 documentation</title>",
    "version": "<title>open | Filer 5.15.8</title>",
    "address": "<title>open</title>",
}


def text_of(head, body):
    found = extract(
        f"<html><head>{head}</head><body>{body}</body></html>",
        "https://example.org/docs/open" if "<title>open</title>" in head else "https://example.org/open",
    )
    return expect(Extraction, found).text


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("sort", CONTENT)
def test_a_manual_keeps_what_its_template_marks(sort, template, evidence):
    text = text_of(
        EVIDENCE[evidence],
        f"{AROUND[0]}{TEMPLATES[template].format('<h1>open</h1>' + CONTENT[sort])}{AROUND[1]}{AROUND[2]}",
    )
    assert all(words in text for words in WORDS[sort])
    assert "Next chapter" not in text
    assert "Copyright" not in text
    assert "Last updated" not in text


def test_names_that_tools_give_tell_a_manual():
    body = f"<div class=rst-content><div role=main>{CONTENT['index of links']}</div></div>{AROUND[0]}"
    assert text_of("<title>Contents</title>", body).split() == ["-", "open", "-", "shut", "-", "truncate"]


@pytest.mark.parametrize(
    "sign",
    [
        "<a class=headerlink href='#open' title='Permalink'>\u00b6</a>",
        "<a class=anchor href='#open'>#</a>",
        "<a class='reference' href='_modules/filer.html#open'><span class=pre>[source]</span></a>",
    ],
)
def test_signs_of_a_heading_that_lead_to_itself_or_its_source_are_left_out(sign):
    assert (
        text_of(EVIDENCE["generator"], f"<main><h2>open{sign}</h2><p>Opens it.</p></main>")
        == "open\nOpens it."
    )


def test_a_link_of_words_stays_in_its_heading():
    text = text_of(
        EVIDENCE["generator"], "<main><h2>The <a href='#c'>C#</a> binding</h2><p>Opens it.</p></main>"
    )
    assert text == "The C# binding\nOpens it."


def test_headings_keep_their_levels():
    found = extract(
        "<html><head><meta name=generator content=Sphinx></head><body><main><h1>A</h1><p>one</p><h2>B</h2><p>two</p>"
        "<h3>C</h3><p>three</p></main></body></html>",
        "https://example.org/",
        markdown=True,
    )
    assert expect(Extraction, found).text == "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree"


TOOLS = {
    "Javadoc": "<ul class=navListSearch><li><label>SEARCH:</label></ul><div class=contentContainer>{}</div>",
    "Haddock": "<div id=package-header><p>filer-1.2</p></div><div id=content>{}</div>",
    "Scaladoc": "<div id=definition><h1>open</h1></div><div class=fullcommenttop><div class='comment cmt'>{}</div></div>",
    "Scribble": "<div class=tocset><p>On this page</p></div><div class=maincolumn><div class=main>{}</div></div>",
    "Sandcastle": "<div id=mainSection><div id=mainBody>{}</div></div>",
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("sort", [sort for sort in CONTENT if sort != "comments of code"])
def test_tools_are_known_by_their_names(tool, sort):
    text = text_of("<title>Filer.Open</title>", TOOLS[tool].format(f"<h1>open</h1>{CONTENT[sort]}"))
    assert all(words in text for words in WORDS[sort])


@pytest.mark.parametrize("title", ["r.open - Filer manual", "The Filer (10.1.6) - How to open"])
def test_a_manual_that_marks_no_content_is_the_whole_page_but_the_links_at_its_ends(title):
    links = "<p><a href=a>Start of the manual</a></p>"
    text = text_of(
        f"<title>{title}</title>",
        f"{links}<h2>NAME</h2><div>open</div><h2>FLAGS</h2>{CONTENT['definitions']}{links}",
    )
    assert text.split("\n")[:3] == ["NAME", "open", "FLAGS"]
    assert all(words in text for words in WORDS["definitions"])
    assert "Start of the manual" not in text
