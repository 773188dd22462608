"""What a page needs besides itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract.markup.page_requisites import (
    LIMIT,
    LONGEST,
    Requisite,
    css_requisites,
    manifest_requisites,
    page_icon,
    page_requisites,
)

PAGE = "http://example.org/a/page.html"
ICON = ("http://example.org/favicon.ico", "image")
PIECES = [
    b"<img src=a ",
    b"srcset='",
    b"'",
    b">",
    b"<style>",
    b"</style>",
    b"url(",
    b"<!--",
    b"<iframe srcdoc=",
    b"<base href=/b/>",
]


def found(html, codec=""):
    """Without the default icon, and without the beginning that all have."""
    return [
        (each.url.removeprefix("http://example.org/a/"), each.kind)
        for each in page_requisites(html.encode(), PAGE, codec)
        if each != ICON
    ]


@pytest.mark.parametrize(
    ("html", "needed"),
    [
        ("<link rel=stylesheet href=a.css>", [("a.css", "stylesheet")]),
        ("<link rel='alternate stylesheet' href=a.css>", [("a.css", "stylesheet")]),
        ("<link rel=preload as=font href=a.woff2 crossorigin>", [("a.woff2", "font")]),
        ("<link rel=preload as=fetch href=a.json>", []),
        ("<link rel=preload as=image imagesrcset='a.png 1x, b.png 2x'>", [("a.png", "image"), ("b.png", "image")]),
        ("<link rel=modulepreload href=a.js>", [("a.js", "script")]),
        ("<link rel=manifest href=a.json>", [("a.json", "manifest")]),
        ("<link rel='apple-touch-icon' href=a.png>", [("a.png", "image")]),
        ("<link rel=next href=b.html><a href=c.html>c</a>", []),
        ("<script src=a.js>'<img src=b.png>'</script>", [("a.js", "script")]),
        ("<style>a { background: url(a.png) }</style>", [("a.png", "image")]),
        ("<p style='background: url(&quot;a.png&quot;)'>", [("a.png", "image")]),
        ("<img src=a.png srcset='b.png, c.png 2x,d.png 3x'>", [("a.png", "image"), ("b.png", "image"), ("c.png", "image"), ("d.png", "image")]),
        ("<img src='data:image/gif;base64,AA' data-src=a.png>", [("a.png", "image")]),
        ("<img srcset='a.png?x=1,2 480w, b.png 800w'>", [("a.png?x=1,2", "image"), ("b.png", "image")]),
        ("<picture><source srcset=a.webp type=image/webp><img src=b.png></picture>", [("a.webp", "image"), ("b.png", "image")]),
        ("<video src=a.mp4 poster=b.png><source src=c.webm><track src=d.vtt></video>", [("b.png", "image"), ("a.mp4", "media"), ("c.webm", "media"), ("d.vtt", "media")]),
        ("<iframe src=a.html></iframe><frame src=b.html>", [("a.html", "frame"), ("b.html", "frame")]),
        ("<object data=a.svg></object><embed src=b.pdf>", [("a.svg", "frame"), ("b.pdf", "frame")]),
        ("<iframe srcdoc='&lt;img src=a.png>'></iframe>", [("a.png", "image")]),
        ("<iframe src='about:blank'></iframe><iframe src='javascript:void 0'></iframe>", []),
        ("<svg><use xlink:href='a.svg#b'/><image href=c.png /><use href='#d'/></svg>", [("a.svg", "image"), ("c.png", "image")]),
        ("<input type=image src=a.png><input type=text src=b.png>", [("a.png", "image")]),
        ("<body background=a.png>", [("a.png", "image")]),
        ("<noscript><img src=a.png></noscript>", [("a.png", "image")]),
        ("<!-- <img src=a.png> --><template><img src=b.png></template><textarea><img src=c.png></textarea>", []),
        ("<base href=/b/><img src=a.png>", [("http://example.org/b/a.png", "image")]),
        ("<img src=//example.net/a.png><img src=a.png#b>", [("http://example.net/a.png", "image"), ("a.png", "image")]),
        ("<img src=a.js><script src=a.js></script>", [("a.js", "script")]),
    ],
)  # fmt: skip
def test_markup_names_what_the_page_needs(html, needed):
    assert found(html) == needed


def test_the_default_icon_is_needed_if_no_other_is_named():
    assert page_requisites(b"", PAGE) == [ICON]
    assert page_requisites(b"<link rel='shortcut icon' href=/own.png>", PAGE) == [
        ("http://example.org/own.png", "image")
    ]


@pytest.mark.parametrize(
    ("html", "icon"),
    [
        (b"", "http://example.org/favicon.ico"),
        (b"<link rel=icon href=a.png><link rel=icon href=b.png>", "http://example.org/a/a.png"),
        (b"<base href=/b/><link rel='shortcut ICON' href=a.png>", "http://example.org/b/a.png"),
        (b"<base href=//example.net/><body><link rel=icon href=a.png>", "http://example.org/favicon.ico"),
        (b"<link rel=icon href='data:image/png,x'>", ""),
    ],
)
def test_a_page_has_the_icon_that_it_names_first_in_its_head(html, icon):
    assert page_icon(html, PAGE) == icon


def test_a_query_is_in_the_pages_own_encoding():
    assert found("<img src='a?\u00e4'>", "iso-8859-1") == [("a?%E4", "image")]


def test_what_is_needed_most_comes_first():
    html = (
        "<video src=a.mp4></video><img src=b.png><script src=c.js></script><link rel=stylesheet href=d.css>"
    )
    assert [name for name, _ in found(html)] == ["d.css", "c.js", "b.png", "a.mp4"]


def test_a_page_has_a_limited_number_and_no_endless_url():
    assert len(page_requisites(b"".join(b"<img src=%d>" % n for n in range(2 * LIMIT)), PAGE)) == LIMIT
    assert found(f"<img src={'a' * LONGEST}>") == []


def test_a_long_base_does_not_multiply():
    base = "http://example.org/" + "a" * 8_000 + "/x.css"
    css = "".join(f"url({number})" for number in range(100_000))
    assert len(css_requisites(css, base)) == LIMIT


def test_a_style_sheet_is_relative_to_itself():
    assert css_requisites(
        "@import 'b.css'; a { background: url(../c.png) }", "http://example.org/css/a.css"
    ) == [
        ("http://example.org/css/b.css", "stylesheet"),
        ("http://example.org/c.png", "image"),
    ]


def test_a_manifest_names_icons():
    manifest = b'{"icons": [{"src": "a.png"}, {"src": "/b.png", "sizes": "48x48"}]}'
    assert manifest_requisites(manifest, PAGE) == [
        Requisite("http://example.org/a/a.png", "image"),
        Requisite("http://example.org/b.png", "image"),
    ]


@pytest.mark.parametrize("manifest", [b"", b"[]", b"{}", b'{"icons": 1}', b'{"icons": [1]}', b"[" * 100_000])
def test_a_manifest_that_names_none_is_read(manifest):
    assert manifest_requisites(manifest, PAGE) == []


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))
def test_any_page_is_read(html):
    assert all(each.url.startswith("http://example.org/") for each in page_requisites(html, PAGE))
