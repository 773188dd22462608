"""A page is boxes and blocks: what stands on a line of its own, and what a reader sees of it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.page.boxes import DEEPEST, MAX_ELEMENTS, ParsedPage
from thresher.extract.page.page_reader import read_page

PIECES = (
    "<p>", "</p>", "<div class='comments'>", "</div>", "<ul><li>", "</ul>", "<table><tr><td>", "<td>", "</table>", "<pre>", "</pre>",
    "<a href=x>", "</a>", "<b>", "</b>", "<br>", "<br><br>", "<hr>", "<script>", "</script>", "<math>", "</math>", "<annotation>",
    "</annotation>", "<annotation encoding='TeX'>", "<title>", "</title>", "<svg>", "</svg>", "<img class=tex alt='x^2'>", "<!--",
    "-->", "<p hidden>", "<html lang=de>", "<body>", "</body>", "</html>", "<head>", "<select><option>", "<form><input>", "<h1>",
    "</h1>", "<blockquote>", "<", ">", "&amp;", "&#0;", "&#x110000;", "&nbsp;", "\0", "\v", "\f", "\x85", "word", " ", "\n", "日本語", "ا",
)  # fmt: skip
PAGES = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=60).map("".join)


_FORMULA = re.compile(r"\$.*?\$", re.DOTALL)


def page(html):
    found = read_page(html.encode(errors="replace"))
    assert found is not None
    return found


def texts(html):
    return [block.text for block in page(html).blocks]


def tagged(html):
    return [(block.tag, block.text) for block in page(html).blocks]


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        ("<p>one<p>two", ["one", "two"]),
        ("<div>one<p>two</p>three</div>four", ["one", "two", "three", "four"]),
        ("<p>one <b>two <i>three</i></b><code>four</code></p>", ["one two threefour"]),
        ("<p>one<span> two </span>  three\n four</p>", ["one two three four"]),
        ("<p>one<br>two</p>", ["one\ntwo"]),
        ("<p>one<br/> <br>two</p>", ["one", "two"]),
        ("<p>one<br><br><br><br>two</p>", ["one", "two"]),
        ("<p><br>one<br></p>", ["one"]),
        ("one<hr>two", ["one", "two"]),
        ("<ul><li>one<ul><li>two</ul>three</ul>", ["one", "two", "three"]),
        ("<dl><dt>one<dd>two</dl>", ["one", "two"]),
        ("<table><tr><td>one<td>two<tr><th>three</table>", ["one", "two", "three"]),
        ("<details><summary>one</summary>two</details>", ["one", "two"]),
        ("<unheard-of>one</unheard-of>two", ["one", "two"]),
        ("<p>one&nbsp;two&amp;three&lt;p&gt;</p>", ["one two&three<p>"]),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", ["漢(kan)"]),
        ("<p> \n\t</p><p>&nbsp;</p>", []),
        (
            "<x-a><template shadowrootmode=Open>one<slot></slot><template>no</template></template>two</x-a>",
            ["one", "two"],
        ),
        (
            "<x-a><template shadowrootmode=closed><p>one</p></template></x-a><template shadowrootmode>no</template>",
            ["one"],
        ),
    ],
)
def test_what_stands_on_a_line_of_its_own(html, blocks):
    assert texts(html) == blocks


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<pre>  a\n    b\n\n  c</pre>", "  a\n    b\n\n  c"),
        ("<pre>\n\na\n</pre>", "a"),
        ("<pre><code>a <b>=</b> 1\n</code></pre>", "a = 1"),
        ("<pre>a<br>b</pre>", "a\nb"),
        ("<pre><div>a</div><div>b</div></pre>", "a\nb"),
        ("<pre><div>a</div>\n<div>b</div>c</pre>", "a\nb\nc"),
        ("<pre><div>a\n</div><p>b</pre>", "a\nb"),
        ("<pre>a<pre>b</pre>c</pre>", "a\nbc"),
    ],
)
def test_code_stands_as_it_is(html, text):
    assert texts(html) == text.split("\0")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("10<sup>6</sup> of them", "10^6 of them"),
        ("10<sup>-3</sup>", "10^-3"),
        ("in 2019<sup><a href=x>[3]</a></sup>", "in 2019[3]"),
        ("the 2<sup>nd</sup>", "the 2nd"),
        ("H<sub>2</sub>O, m<sup>2</sup>", "H2O, m^2"),
        ("<i>x</i><sup>n</sup> and 2<sup>n-1</sup>", "x^n and 2^(n-1)"),
        ("5 km<sup>-1</sup>, SO<sub>4</sub><sup>2-</sup>", "5 km^-1, SO4^2-"),
        ("a word<sup>1</sup> or<sup><a href=x>2</a></sup> XIX<sup>e</sup>", "a word1 or2 XIXe"),
        ("3<sup>1</sup>\u2044<sub>2</sub> cups, <sup>1</sup>/<sub>4</sub> cup", "3 1\u20442 cups, 1/4 cup"),
        (
            '<span class="frac">3<span class="sr-only">+</span><span>1</span>&frasl;<span>2</span></span>',
            "3 1\u20442",
        ),
        ("wo\xadrd and wo\u200brd", "word and word"),
    ],
)
def test_numbers_stay_what_they_are_and_words_whole(html, text):
    found = expect(ParsedPage, read_page(f"<p>{html}".encode()))
    assert [block.text for block in found.blocks] == [text]


def test_behind_code_white_space_means_nothing_again():
    assert tagged("<pre>a\n  b</pre>c\n  d") == [("pre", "a\n  b"), ("body", "c d")]


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>var x</script>",
        "<style>p {}</style>",
        "<noscript>x</noscript>",
        "<template><p>x</template>",
        "<svg><title>x</title><text>x</text></svg>",
        "<select><option>x</select>",
        "<textarea>x</textarea>",
        "<button>x</button>",
        "<iframe>x</iframe>",
        "<video>x</video>",
        "<!-- x -->",
        '<p style="color: red; Display : none">x</p>',
        '<span style="visibility:hidden">x<b>x</b></span>',
        "<div hidden><p>x</p></div>",
        '<a aria-hidden="true" href="#x">x</a>',
        "<pre hidden>x</pre>",
    ],
)
def test_what_nobody_sees_is_left_out(unseen):
    assert texts(f"<p>one</p>{unseen}<p>two</p>") == ["one", "two"]


def test_a_body_is_seen_though_it_is_hidden_until_a_script_has_run():
    assert texts('<body style="visibility: hidden" hidden><p>one</p></body>') == ["one"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (r'<math alttext="x^2"><mi>x</mi><mn>2</mn></math>', "$x^2$"),
        (r'<math alttext="{\displaystyle  x^2 }"><mi>x</mi></math>', "$x^2$"),
        (
            '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">\\frac x 2</annotation></semantics></math>',
            r"$\frac x 2$",
        ),
        ("<math><mi> x </mi><mo>+</mo>\n<mn>2</mn></math>", "$x+2$"),
        (
            '<math><semantics><mi>x</mi><annotation-xml encoding="MathML-Content"><ci>y</ci></annotation-xml></semantics></math>',
            "$x$",
        ),
        (
            '<math><mi>x</mi><annotation encoding="StarMath 5.0">y</annotation><annotation encoding="TeX">z</annotation></math>',
            "$z$",
        ),
        ('<script type="math/tex; mode=display">E=mc^2</script>', "$$E=mc^2$$"),
        (r'<img class="mwe-math-fallback-image-inline" alt="{\textstyle y}">', "$y$"),
        ('<img class="latex" alt="$z$">', "$z$"),
        ('<img class="tex" alt="">', ""),
        ('<img class="text-center" alt="A photograph">', ""),
        ('<img alt="A photograph">', ""),
    ],
)
def test_a_formula_is_its_tex_where_the_page_has_that(html, text):
    assert texts(f"<p>one {html} two</p>") == [" ".join(f"one {text} two".split())]


def test_a_formula_that_never_ends_is_looked_at_once():
    html = '<p>x<math alttext="{\\displaystyle ' + " " * 1_000_000 + 'y">'
    assert read_page(html.encode()) is not None


def test_characters_of_links_are_counted_but_in_code():
    one, two, code = page(
        "<p>a <a href=x>bcd</a> e</p><p><a name=x>f</a></p><pre><a href=x>g</a></pre>"
    ).blocks
    assert (one.link, one.length, two.link, code.link) == (3, 7, 0, 0)


def test_commas_are_those_of_all_scripts():
    one, two = page("<p>a, b, c</p><p>一、二，三</p>").blocks
    assert (one.commas, two.commas) == (2, 2)


def test_boxes_know_what_is_in_them():
    found = page("<body><div id=x>one<p>two</p><img><img></div><form><input><p>three</p></form><p>four</p>")
    inside = {
        box.tag: [block.text for block in found.blocks[box.first : box.last]] for box in found.boxes[:-1]
    }
    assert inside["body"] == ["one", "two", "three", "four"]
    assert inside["div"] == ["one", "two"]
    assert inside["form"] == ["three"]
    counted = {box.tag: (box.images, box.controls) for box in found.boxes}
    assert (counted["div"], counted["form"], counted["body"]) == ((2, 0), (0, 1), (0, 0))


def test_what_a_page_says_of_itself_is_put_aside():
    said = page(
        '<html lang="de"><head><title>A</title><meta name=x content=y><link rel=canonical href=z>'
        '<script type="application/ld+json">{}</script></head><body><svg><title>no</title></svg>'
        '<a rel="license" href="w">v</a><time datetime="2020">no</time><time pubdate datetime="2021">u</time>'
    ).metadata
    assert [(each.tag, each.text) for each in said] == [
        ("html", ""), ("title", "A"), ("meta", ""), ("link", ""), ("script", "{}"), ("a", ""), ("time", "no"),
        ("time", "u"),
    ]  # fmt: skip


def test_a_hundred_thousand_nested_elements_are_a_page():
    found = page(
        "<div>" * 100_000 + "the bottom" + "</div>" * 50_000 + "half way" + "</div>" * 49_998 + "the top"
    )
    assert [block.text for block in found.blocks] == ["the bottom", "half way", "the top"]
    assert max(box.depth for box in found.boxes) == DEEPEST
    assert found.blocks[2].box.depth < DEEPEST


def test_code_too_deep_for_a_box_ends_where_it_ends():
    found = page("<div>" * 400 + "<pre>a\n  b</pre>c\n  d" + "</div>" * 400)
    assert [(block.text, block.box.depth) for block in found.blocks] == [
        ("a\n  b", DEEPEST),
        ("c d", DEEPEST),
    ]


def test_more_elements_than_are_read_end_the_reading():
    found = page("<p>x</p>" * (MAX_ELEMENTS + 10))
    assert found.elements == MAX_ELEMENTS + 1


@pytest.mark.parametrize(
    "html", [b"", b" ", b"\0", b"<", b"<!--", b"<p", b"\xff\xfe", b"<![CDATA[", b"<?xml"]
)
def test_what_is_no_page_is_a_page_without_blocks_or_none(html):
    found = read_page(html)
    assert found is None or isinstance(found, ParsedPage)


def test_a_page_clipped_at_any_byte_is_a_page_or_none():
    whole = (
        '<!doctype html><html lang="de"><head><title>Ä</title><meta name="author" content="x"></head><body class="a">'
        '<p style="x">Größe <a href="y">日本</a><br><br>z</p><pre>a\n b</pre><table><tr><td>1<td>2</table>'
        '<math><annotation encoding="TeX">q</annotation></math><!-- c --><script>d()</script></body></html>'
    ).encode()
    for end in range(len(whole) + 1):
        found = read_page(whole[:end])
        assert found is None or _stands(found)


@given(PAGES)
def test_any_page_is_boxes_in_boxes_and_blocks_in_them(html):
    found = read_page(html.encode(errors="replace"))
    assert found is None or _stands(found)


@given(PAGES)
def test_no_block_has_a_character_that_is_not_on_the_page(html):
    found = read_page(html.replace("&", "").encode(errors="replace"))
    known = set(html) | set("$^()\n \ufffd?")
    for block in found.blocks if found else ():
        assert set(_FORMULA.sub("", block.text)) <= known


def _stands(found):
    """Blocks lie in the boxes that claim them, and have text; boxes lie in those around them."""
    number = {id(block): place for place, block in enumerate(found.blocks)}
    for block in found.blocks:
        assert block.text.strip()
        assert 0 <= block.link <= block.length == len(block.text)
        assert block.box.first <= number[id(block)] < block.box.last
    for place, box in enumerate(found.boxes):
        assert box.number == place
        assert 0 <= box.first <= box.last <= len(found.blocks)
        assert box.depth <= DEEPEST
        assert all(child.parent is box for child in box.children)
        if box.parent is not None:
            assert box.parent.number < place
            assert box.parent.first <= box.first <= box.last <= box.parent.last
    return True


def test_an_element_of_the_page_itself_is_a_box_or_a_part_of_a_line():
    found = page(
        "<site-footer><x-card>one</x-card><p>It is <time-ago>now</time-ago> or never.</p></site-footer>"
    )
    assert [(block.tag, block.text) for block in found.blocks] == [
        ("div", "one"),
        ("p", "It is now or never."),
    ]
    assert found.blocks[0].box.parent.is_navigation


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<dialog>Accept all</dialog>", []),
        ("<dialog open>Accept all</dialog>", ["Accept all"]),
        ("<div hidden=until-found>An answer</div>", ["An answer"]),
        ("<div hidden>An answer</div>", []),
        ("<div hidden role=tabpanel>An answer</div>", ["An answer"]),
        ("<div aria-hidden=true role=region aria-labelledby=q>An answer</div>", ["An answer"]),
        ("<div style='display: none' class=faq-accordion__text>An answer</div>", ["An answer"]),
        ("<div aria-hidden=true id=collapse-3>An answer</div>", ["An answer"]),
        ("<div hidden role=region aria-label=Cookies>Accept all</div>", []),
        ("<table hidden class=border-collapse><tr><td>x</table>", []),
        ("<h3>Q<i class=accordion-icon aria-hidden=true>expand_more</i></h3>", ["Q"]),
        ("<p>One <span class=sr-only>opens in a new window</span>two</p>", ["One two"]),
        (
            "<h2 class=screen-reader-text>A list</h2><h3>Sea<span class=sr-only>: </span>ice</h3>",
            ["A list", "Sea: ice"],
        ),
        ("<h3>A title<span class=sr-only> of a section</span></h3>", ["A title"]),
        ("<table><tr><td><i></i><span class=sr-only>Yes</span></table>", ["Yes"]),
        ("<table><tr><td><div><i></i><span class=sr-only>Yes</span></div></table>", ["Yes"]),
        (
            "<p><ins aria-hidden=true>$5</ins><span class=screen-reader-text>It costs $5.</span>",
            ["It costs $5."],
        ),
        (
            "<p><span aria-hidden=true>Once</span><span class=sr-only>Once</span> upon a time",
            ["Once upon a time"],
        ),
        (
            "<h1><span class=sr-only>An ice age</span><b aria-hidden=true>An ice</b> <b aria-hidden=true>age</b></h1>",
            ["An ice age"],
        ),
        ("<p>One <span class=sr-only>Close</span><i aria-hidden=true>expand_more</i>two", ["One two"]),
        ("<p><i aria-hidden=true>star</i><p>One <span class=sr-only>of five </span>two", ["One two"]),
        ("<p><span class='sr-only sm:not-sr-only'>On wide screens</span>", ["On wide screens"]),
        ("<h3><button>A question?</button></h3><p>An answer", ["A question?", "An answer"]),
        ("<h1>A page<button>Share</button></h1>", ["A page"]),
        ("<h3>A list<select><option>b</select></h3>", ["A list"]),
        ("<button>Accept all</button><p>An answer", ["An answer"]),
        ("<button>Menu</button><div hidden><h1>A title</h1></div><p>An answer", ["An answer"]),
        ("<button hidden>Menu<h1>A title</h1></button><p>An answer", ["An answer"]),
        ("<button>Menu<template><article>A card</article></template></button><p>An answer", ["An answer"]),
        ("<button>Menu<div style='display:none'><h1>A dialog</h1></div><main>A page</main>", ["A page"]),
        ("<button>Menu<svg><path></svg><article>A page</article>", ["A page"]),
        ("<button>Menu<footer>The end</footer>", ["The end"]),
        (
            "<button><svg></svg><div>Menu</div><main><h1>A button</h1><p>It is not closed.</p></main>",
            ["A button", "It is not closed."],
        ),
        ("<pre class=MathJax_Preview>x</pre><p>one</p><p>two  words</p>", ["one", "two words"]),
    ],
)
def test_what_a_browser_shows_or_finds_is_read(markup, text):
    assert [block.text for block in page(markup).blocks] == text
