"""URLs of one page generator fall together; those of several do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.frontier import InvalidUrl, canonicalize
from thresher.frontier.urls.template import url_template


def made_by(*raws):
    return {url_template(canonicalize(raw)) for raw in raws}


@pytest.mark.parametrize(
    "raws",
    [
        ("http://a.test/cal/2027/03", "http://a.test/cal/1999/12"),
        ("http://a.test/cal?month=3&year=2027", "http://a.test/cal?month=12&year=2028"),
        ("http://a.test/2026-11-21/x.html", "http://a.test/1/title.html"),
        ("http://a.test/x;sid=1/a", "http://a.test/x;sid=2/a"),
        ("http://a.test/5f0c9/view/1", "http://a.test/77ab1/view/2"),
        (
            "http://a.test/3b9aca00-0000-4000-8000-00805f9b34fb/",
            "http://a.test/00000000-dead-4bee-8000-00805f9b34fb/",
        ),
        ("http://a.test/blog/a-title", "http://a.test/blog/another-title"),
        ("http://a.test/shop?color=red&size=1&brand=x", "http://a.test/shop?color=blue&size=2&price=9&new=1"),
        ("http://a.test/show.php?f[0]=1", "http://a.test/show.php?f[7]=2"),
        ("http://a.test/index.html?com/sun/Foo.html", "http://a.test/index.html?com/sun/Bar.html"),
        ("http://a.test/" + "x/" * 8, "http://a.test/" + "x/" * 12),
        ("http://a.test/wiki/%D0%9C", "http://a.test/wiki/%D0%9F%D1%80"),
    ],
)
def test_what_differs_in_data_is_one_template(raws):
    assert len(made_by(*raws)) == 1


@pytest.mark.parametrize(
    "raws",
    [
        ("http://a.test/news/x", "http://a.test/shop/x"),
        ("http://a.test/en/news/x", "http://a.test/en/shop/x"),
        ("http://a.test/news/x", "http://a.test/news/x/y"),
        ("http://a.test/news/x", "http://a.test/news/"),
        ("http://a.test/news/x.html", "http://a.test/news/x.php"),
        ("http://a.test/news/title", "http://a.test/news/17"),
        ("http://a.test/viewtopic.php?t=1", "http://a.test/posting.php?t=1"),
        ("http://a.test/x?page=1", "http://a.test/x?month=1"),
        ("http://a.test/x?page=1", "http://a.test/x?page=1&sort=up"),
        ("http://a.test/x", "http://a.test/x?page=1"),
    ],
)
def test_what_differs_in_kind_is_two(raws):
    assert len(made_by(*raws)) == 2


def test_a_site_with_a_folder_for_every_user_and_every_combination_of_filters_has_some_hundred_templates():
    names = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}user{'x' * (i % 7)}" for i in range(20_000)]
    pages = [
        f"http://a.test/{name}/{('issues', 'wiki', 'blob')[i % 3]}/{name}" for i, name in enumerate(names)
    ]
    filters = [f"http://a.test/shop?{name}=1&{name[::-1]}=2" for name in names]
    assert len(made_by(*pages, *filters)) < 300


@given(st.text(alphabet="aZ09/.;?&=%[]~-é", max_size=80))
def test_any_url_has_a_template_of_four_bytes(tail):
    try:
        url = canonicalize("http://a.test/" + tail)
    except InvalidUrl:
        return
    assert len(url_template(url)) == 4
    assert url_template(canonicalize(url.text)) == url_template(url)
