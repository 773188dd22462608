"""The links that a reader finds on a page, each once."""

from html import escape

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from thresher.extract.markup.links import LIMIT, LONGEST, MAX_META, extract_links, holds_address

BASE = "http://example.org/dir/page.html"


def hrefs(html):
    page = extract_links(html if isinstance(html, bytes) else html.encode(errors="replace"), BASE)
    found = {}
    for written in page.hrefs:
        try:
            found[str(ada_url.join_url(page.base, written))] = None
        except ValueError:
            continue
    return [each for each in found if each.startswith("http")]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="other.html#top">x</a>', ["http://example.org/dir/other.html"]),
        ('<a href="/root">x</a><a href="/root">y</a>', ["http://example.org/root"]),
        ('<a href="//cdn.example.net/a">x</a>', ["http://cdn.example.net/a"]),
        (
            '<area href="map"><iframe src="frame"></iframe>',
            ["http://example.org/dir/map", "http://example.org/dir/frame"],
        ),
        ('<a href="#here">x</a><a href="">y</a><a>z</a>', []),
        ('<a href="mailto:a@b.org">m</a><a href="javascript:x()">j</a><a href="ftp://h/">f</a>', []),
        ('<a href="  /spaced  ">x</a>', ["http://example.org/spaced"]),
        ('<link rel="next" href="2"><link rel="stylesheet" href="s.css">', ["http://example.org/dir/2"]),
        (
            '<link rel="alternate" hreflang="de" href="/de"><link rel="alternate" type="application/rss+xml" href="/f">',
            ["http://example.org/de"],
        ),
        ('<link rel="next" href="?a=1&amp;amp;b">', ["http://example.org/dir/page.html?a=1&amp;b"]),
        ('<a href="http://[broken">x</a><a href="ok">y</a>', ["http://example.org/dir/ok"]),
    ],
)
def test_what_is_a_link(html, found):
    assert hrefs(html) == found


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<A HREF=/x>", "/x"),
        ("<a href='/x'>", "/x"),
        ("<a\n\thref\n=\n'/x'>", "/x"),
        ("<a class=big href=/x/>", "/x/"),
        ('<a title="<a href=/no>" href="/x">', "/x"),
        ('<p title="<a href=/no>">', None),
        ("<p title='>'><a href=/x>", "/x"),
        ("<p don't><a href=/x>it's", "/x"),
        ('<a href="/x" href="/no">', "/x"),
        ("<a hreflang=de href=/x>", "/x"),
        ("<a data-href=/no>", None),
        ("<abbr href=/no><aside href=/no>", None),
        ("<a/href=/x>", "/x"),
        ("</a href=/no>", None),
        ("< a href=/no>", None),
        ("1 < 2<a href=/x>", "/x"),
        ("<!-- <a href=/no> --><a href=/x>", "/x"),
        ("<!--><a href=/x>-->", "/x"),
        ("<!-- --!><a href=/x>", "/x"),
        ("<!-- -- > <a href=/no>", None),
        ("<!doctype html><?php echo 1 ?><a href=/x>", "/x"),
        ("<script>'<a href=/no>'</script><a href=/x>", "/x"),
        ("<SCRIPT>'</scripts><a href=/no>'</Script ><a href=/x>", "/x"),
        ("<style><a href=/no></style ><a href=/x>", "/x"),
        ("<title><a href=/no></title><a href=/x>", "/x"),
        ("<textarea><a href=/no></textarea><a href=/x>", "/x"),
        ("<noscript><a href=/x></noscript>", "/x"),
        ("<iframe><a href=/no></iframe><a href=/x>", "/x"),
        ("<template><a href=/no></template><a href=/x>", "/x"),
        ("<Template class=x><p><TEMPLATE></template><a href=/no></p></template ><a href=/x>", "/x"),
        (
            "<template><!--</template>--><script>'</template>'</script><a href=/no></template><a href=/x>",
            "/x",
        ),
        ("<template><p title='</template>'><a href=/no></template><a href=/x>", "/x"),
        ("</template><a href=/x><template><a href=/no></body></html><a href=/no>", "/x"),
        ("<!-- <template> --><title><template></title><templates><a href=/x>", "/x"),
        ("<script>never closed<a href=/no>", None),
        ("<!-- never closed<a href=/no>", None),
        ('<p title="never closed<a href=/no>', None),
        ('<a href="/x?a=1&amp;b=2">', "/x?a=1&b=2"),
        ('<a href="/x?a=1&copy=2&para">', "/x?a=1&copy=2%C2%B6"),
        ('<a href="/x?a&#61;1&#x26;b">', "/x?a=1&b"),
        ('<a href="/x&nosuch;">', "/x&nosuch;"),
        ("<a href=/\0x>", "/%EF%BF%BDx"),
    ],
)
def test_tags_are_told_from_text_as_browsers_do(html, found):
    expected = [] if found is None else [f"http://example.org{found}"]
    assert hrefs(html) == expected == by_a_tree(html)


def by_a_tree(html):
    """The same by other means: a whole parser."""
    found = {}
    for node in LexborHTMLParser(html).css("a[href], area[href]"):
        written = (node.attributes["href"] or "").partition("#")[0].strip()
        try:
            absolute = str(ada_url.join_url(BASE, written)) if written else ""
        except ValueError:
            continue
        if absolute.startswith("http"):
            found[absolute] = None
    return list(found)


PIECES = st.lists(
    st.sampled_from(
        [
            "<a href=x>",
            '<a title="',
            '"',
            "'",
            "<a href='y'>",
            ">",
            "<!--",
            "-->",
            "<b c=d>",
            "</b>",
            "<p",
            " ",
            "<script>",
            "</script>",
            "<style>",
            "</style>",
            "=",
            "/",
            "text",
            "<area href=z>",
            "<br/>",
            "<!",
            "<?",
        ]
    ),
    max_size=12,
).map("".join)


@given(PIECES)
@example("<p =\"'><a href=x>")
def test_any_sequence_of_tags_is_read_as_a_parser_reads_it(html):
    if "=" not in html.replace("href=", "").replace("title=", "").replace("c=", ""):
        assert hrefs(html) == by_a_tree(html)


@pytest.mark.parametrize("base", ["data:text/html,x", "javascript:x", "http://["])
def test_a_base_that_is_none_does_not_count(base):
    assert hrefs(f'<base href="{base}"><a href="x">') == ["http://example.org/dir/x"]


def test_the_first_base_counts():
    page = extract_links(b'<base href="/deep/er/"><base href="/no/"><a href="x">x</a>', BASE)
    assert (page.base, page.hrefs) == ("http://example.org/deep/er/", ("x",))


@pytest.mark.parametrize(
    ("content", "nofollow"),
    [("nofollow", True), ("NOINDEX, NoFollow", True), ("none", True), ("index,follow", False)],
)
def test_meta_robots(content, nofollow):
    page = extract_links(f'<meta name="Robots" content="{content}">'.encode(), BASE)
    assert page.is_nofollow is nofollow
    assert page.metas == (("robots", content),)


def test_links_beyond_the_limit_are_counted_and_left():
    page = extract_links(b"".join(b"<a href=%d>" % n for n in range(LIMIT + 7)), BASE)
    assert (len(page.hrefs), page.truncated) == (LIMIT, 7)


def test_what_is_too_long_for_a_link_is_none():
    assert hrefs("<a href=" + "x" * (LONGEST + 1) + "><a href=y>") == ["http://example.org/dir/y"]


SIZE = 100_000
ENDLESS = {
    "one line": b"x" * 40 * SIZE,
    "open tags": b"<div>" * SIZE,
    "options": b"<select>" + b"<option>" * SIZE,
    "attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(SIZE)),
    "attributes of a link": b"<a " + b" ".join(b"a%d=1" % n for n in range(SIZE)),
    "attributes of a meta": b"<meta " + b" ".join(b"a%d=1" % n for n in range(SIZE)),
    "a long attribute": b'<a title="' + b"x" * 10 * SIZE,
    "less-than signs": b"<" * 10 * SIZE,
    "open comments": b"<!--" * SIZE,
    "dashes": b"<!--" + b"-" * 3 * SIZE,
    "open scripts": b"<script>" * SIZE,
    "open styles and links": b"<style></styl" * SIZE,
    "quotes": b"<a href='\"" * SIZE,
    "equals": b"<a " + b"=" * 3 * SIZE,
    "spaces": b"<a " + b" " * 10 * SIZE,
    "unfinished": b"<a/href" * SIZE,
    "x=<x=": b"<x=<x=" * SIZE,
    "entities": b"<a href='" + b"&amp;" * SIZE + b"'>",
    "zeros": b"\0" * 10 * SIZE,
    "metas": b"<meta name=a content=b>" * SIZE,
    "nothing": b"",
}


@pytest.mark.parametrize("html", ENDLESS.values(), ids=ENDLESS)
def test_no_page_takes_more_than_time_in_proportion(html):
    """A quadratic step would be 10^11 of them, and the test would never end."""
    page = extract_links(html, BASE)
    assert len(page.metas) <= MAX_META


@given(st.binary(max_size=300))
def test_nothing_raises(html):
    extract_links(html, BASE)


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;URL='/ring'", "/ring"),
        ("3 ; url = /onwards", "/onwards"),
        ("0;/there", "/there"),
        (".5, URL=/there", "/there"),
        ('0; url="/quoted"and more', "/quoted"),
        ("5", None),
        ("url=/no-time", None),
        ("soon; url=/no-time", None),
    ],
)
def test_where_a_meta_sends_a_reader_is_a_link(content, target):
    page = f"<meta http-equiv=Refresh content='{escape(content)}'>".encode()
    assert extract_links(page, "http://e/").hrefs == (() if target is None else (target,))


@pytest.mark.parametrize(
    ("codec", "query"),
    [("", "größe€"), ("cp1252", "gr%F6%DFe%80"), ("cp1251", "gr%26%23246%3B%26%23223%3Be%88")],
)
def test_the_query_of_a_link_is_written_as_its_page_is(codec, query):
    page = '<a href="/größe?q=größe€">'.encode()
    assert extract_links(page, "http://e/", codec).hrefs == (f"/größe?q={query}",)


def test_what_is_in_a_shadow_root_is_shown():
    html = "<div><template shadowrootmode=Open><a href=/x><template><a href=/no></template><a href=/y></template></div><a href=/z>"
    assert hrefs(html) == [f"http://example.org/{name}" for name in "xyz"]


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        (b'<a href="/x">x</a>', True),
        (b"<p><A class=b HREF = /x>x", True),
        (b"<a href='javascript:void(0)'>x</a>", True),
        (b"<script>document.write('<a href=\"/x\">')</script>", True),
        (b"<a href='#top'>x</a><a href='/x'>x</a>", True),
        (b'<a href="#top">x</a>', False),
        (b'<a href="">x</a><a href>x</a>', False),
        (b'<a name="top">x</a> href="/x"', False),
        (b"<abbr href=/x>x</abbr>", False),
        (b"<a " * 1_000_000, False),
        (b"", False),
    ],
)
def test_an_address_in_a_page_is_seen_without_expressions(html, holds):
    assert holds_address(html) is holds
