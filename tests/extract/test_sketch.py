"""A sketch is the same for pages that say the same in another dress, and another for pages that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.traps import page, word
from tests.shared import read_tar_file, shared_file
from thresher.extract.sketch import MAX_MARKUP, sketch

URL = "http://a.test/red/green?x=blue"
MENU = " ".join(f"entry{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400))


def body(text):
    return sketch(page("Title", text), URL)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>Page 1 of 20, in 3 ms</p>", "<p>Page 17 of 300, in 4 ms</p>"),
        ("<p>session 0a1b2c3d4e5f</p>", "<p>session 99f0e1d2c3b4</p>"),
        ("<p>Monday, 3 March 2027: nothing</p>", "<p>Friday, 11 September 2031: nothing</p>"),
        ("<p>Montag, 3. März: nichts</p>", "<p>Freitag, 11. Oktober: nichts</p>"),
        ("<p>марта 2027: ничего</p>", "<p>сентября 2031: ничего</p>"),
        ("<p>2027年3月の予定はありません</p>", "<p>2031年11月の予定はありません</p>"),
        ("<p>no results for “red”</p>", "<p>no results for “blue”</p>"),
        ("<p>no results for RED</p>", "<p>no results for green</p>"),
        ("<a href='/one' class=x>next</a>", "<a href='/two?t=77'>Next</a>"),
        ("<script>var token = 'abc<b>'</script>text", "<SCRIPT>var other;</SCRIPT>text"),
        ("<style>p { x }</style><!-- made <b>here --> text", "<!-- made there -->text"),
        ("<li>alpha<li>beta<li>gamma", "<li>gamma<li>alpha<li>beta<li>beta"),
    ],
)
def test_the_same_in_another_dress_has_one_sketch(one, other):
    assert body(one) == body(other) != 0


def test_short_pages_within_a_large_menu_are_told_apart():
    texts = [f"<nav>{MENU}</nav><p>{' '.join(map(word, range(at, at + 5)))}</p>" for at in range(0, 1_000, 5)]
    assert len({body(text) for text in texts}) >= 0.9 * len(texts)


def test_text_and_bytes_have_one_sketch():
    html = page("Über uns", "<p>日本語 – “straße”</p>")
    assert sketch(html, URL) == sketch(html.encode(), URL)


@pytest.mark.parametrize(
    "html", ["", "<html><body><div id=app></div><script src=x></script>", "<img src=a>", "<p>1 2 3"]
)
def test_pages_without_words_are_one_kind(html):
    assert sketch(html, URL) == 0


def test_what_is_beyond_the_limit_says_nothing():
    start = "<p>start</p>" + " " * MAX_MARKUP
    assert sketch(start + "<p>one", URL) == sketch(start + "<p>two", URL)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>" * 100_000,
        "<!--" * 100_000,
        "<" * 500_000,
        ">" * 500_000,
        "<!---->" * 100_000,
        "a" * 500_000,
        "0a" * 300_000,
        "\ud800<p>",
        "<p>\0x",
        "&#" * 100_000,
    ],
)
def test_a_hostile_page_has_a_sketch_as_well(hostile):
    assert 0 <= sketch(hostile, URL) < 1 << 32


@given(st.text(max_size=200), st.text(max_size=40), st.binary(max_size=200))
def test_anything_has_a_sketch_of_32_bits(html, tail, raw):
    assert 0 <= sketch(html, "http://a.test/" + tail.encode(errors="replace").decode()) < 1 << 32
    assert 0 <= sketch(raw, URL) < 1 << 32


@pytest.mark.shared
def test_real_pages_are_told_apart():
    import tarfile

    import zstandard

    window = zstandard.ZstdDecompressor(max_window_size=2**27)
    sketches, bodies = set(), set()
    with (
        shared_file("extraction/pages-nogold.tar.zst").open("rb") as packed,
        window.stream_reader(packed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in filter(tarfile.TarInfo.isfile, tar):
            html = read_tar_file(tar, member)
            bodies.add(html)
            sketches.add(sketch(html, f"http://a.test/{member.name}"))
    assert len(bodies) > 200
    assert len(sketches) > 0.93 * len(bodies)  # some are one text under several markups
