"""The URLs that a style sheet refers to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract.markup.css_references import css_references

PIECES = [
    "url(",
    ")",
    '"',
    "'",
    "/*",
    "*/",
    "@import ",
    "@font-face{",
    "}",
    "image-set(",
    "a.png",
    "\\",
    "\n",
    ";",
    " ",
]


@pytest.mark.parametrize(
    ("css", "found"),
    [
        ('@import "a.css";', [("a.css", "stylesheet")]),
        ("@import/* it */url( a.css ) screen;", [("a.css", "stylesheet")]),
        ('@IMPORT url("a.css") layer(x) supports(display: grid);', [("a.css", "stylesheet")]),
        ("@font-face { font-family: x; src: local('x'), url(a.woff2) format('woff2') }", [("a.woff2", "font")]),
        ("@font-face { src: url('a}b.woff') } b { background: url(c.png) }", [("a}b.woff", "font"), ("c.png", "image")]),
        (".a { background: URL( 'a b.png' ), url(c\\)d.png) }", [("a b.png", "image"), ("c)d.png", "image")]),
        (".a { cursor: url(\\61 .png) }", [("a.png", "image")]),
        (
            "a { background: image-set('a.avif' type('image/avif') 1x, url(b.png) 2x) }",
            [("a.avif", "image"), ("b.png", "image")],
        ),
        ("@media print { a { background: url(a.png) } }", [("a.png", "image")]),
        ("@namespace svg url(http://www.w3.org/2000/svg); a { mask: url(a.svg#b) }", [("a.svg#b", "image")]),
        ("/* url(a.png) */ a { content: 'url(b.png)'; x: my-url(c.png); y: myurl(d.png) }", []),
        ("a { background: url(a.png", [("a.png", "image")]),  # the end of a sheet closes everything
        ('a { background: url() } b { content: "\\\n" }', [("", "image")]),
    ],
)  # fmt: skip
def test_references_are_found_with_their_kinds(css, found):
    assert list(css_references(css)) == found


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_is_read(css):
    assert {kind for _, kind in css_references(css)} <= {"stylesheet", "font", "image"}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_string_that_is_escaped_is_read_as_it_was(url):
    escaped = "".join(f"\\{ord(character):06x}" for character in url if character != "\0")
    assert list(css_references(f'@import "{escaped}";')) == [(url.replace("\0", ""), "stylesheet")]
