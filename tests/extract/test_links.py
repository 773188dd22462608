"""Links as a reader finds them, absolute and each once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.links import LIMIT, links

BASE = "http://example.org/dir/page.html"


def hrefs(html):
    return list(links(html, BASE).hrefs)


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
        ('<a href="http://[broken">x</a><a href="ok">y</a>', ["http://example.org/dir/ok"]),
    ],
)
def test_what_is_a_link(html, found):
    assert hrefs(html) == found


def test_the_first_base_counts():
    page = links('<base href="/deep/er/"><base href="/no/"><a href="x">x</a>', BASE)
    assert page.base == "http://example.org/deep/er/"
    assert page.hrefs == ("http://example.org/deep/er/x",)


@pytest.mark.parametrize(
    ("content", "nofollow"),
    [("nofollow", True), ("NOINDEX, NoFollow", True), ("none", True), ("index,follow", False)],
)
def test_meta_robots(content, nofollow):
    assert links(f'<meta name="Robots" content="{content}">', BASE).nofollow is nofollow


def test_links_beyond_the_limit_are_counted_and_left():
    page = links("".join(f"<a href={n}>" for n in range(LIMIT + 7)), BASE)
    assert (len(page.hrefs), page.truncated) == (LIMIT, 7)


@given(st.text(max_size=300))
def test_nothing_raises(html):
    links(html, BASE)
