"""Which URLs are one page to the frontier: those that Scrapy's fingerprint folds as well, and not all of these."""

import re
from collections import defaultdict
from dataclasses import replace

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from tests.shared import shared_file
from thresher.frontier import Discovery, HostSwitch, InvalidUrl, Scope, canonicalize
from thresher.frontier.page_key import discovery_hash, page_key


def key(text, **order):
    url = canonicalize(text)
    return page_key(url.text, url.host, **order)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.test/?b=2&a=1", "http://a.test/?a=1&b=2"),
        ("http://a.test/?b&a=1", "http://a.test/?a=1&b"),
        ("http://a.test/?b=%7e&a=%2f", "http://a.test/?a=%2F&b=~"),
        ("http://a.test/%7euser?b=1&%61=2", "http://a.test/~user?a=2&b=1"),
        ("http://a.test/?b=2&utm_source=x&a=1", "http://a.test/?a=1&b=2"),
        ("http://a.test/?t[]=x&a=1&t[]=y", "http://a.test/?a=1&t%5B%5D=x&t%5b%5d=y"),
    ],
)
def test_are_one_page(one, other):
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.test/?page=1&page=2", "http://a.test/?page=2&page=1"),  # PHP reads the last
        ("http://a.test/?t[]=x&t[]=y", "http://a.test/?t[]=y&t[]=x"),
        ("http://a.test/?a=1", "http://a.test/?a=1&a=1"),
        ("http://a.test/?a", "http://a.test/?a="),
        ("http://a.test/?a=b+c", "http://a.test/?a=b%20c"),
        ("http://a.test/?a=b%26c=d", "http://a.test/?a=b&c=d"),
        ("http://a.test/?a=%2F", "http://a.test/?a=/"),
        ("http://a.test/a%2Fb", "http://a.test/a/b"),
        ("http://a.test/b&a", "http://a.test/a&b"),
        ("http://a.test/?a=1;b=2", "http://a.test/?b=2;a=1"),
        ("http://a.test/?a&b", "https://a.test/?a&b"),
    ],
)
def test_are_two_pages(one, other):
    assert key(one) != key(other)


def test_the_order_tells_pages_apart_where_it_matters_and_under_that_name():
    matters = HostSwitch(on=False, hosts={"a.test": True, "not.a.test": False})
    for host, apart in (("a.test", True), ("www.a.test", True), ("x.not.a.test", False), ("ba.test", False)):
        one, other = (key(f"http://{host}/?{query}", query_order=matters) for query in ("b&a", "a&b"))
        assert (one != other) == apart


names = st.sampled_from(["a", "b", "ab", "a[]", "%61", "é", ""])
values = st.sampled_from(["", "=", "=1", "=2", "=%7e", "=%2F", "=a+b", "=x=y"])
queries = st.lists(st.builds("{}{}".format, names, values), min_size=1, max_size=6)


@given(queries, st.randoms())
def test_what_is_one_page_is_one_to_scrapy_too(parameters, draw):
    shuffled = list(parameters)
    draw.shuffle(shuffled)
    one, other = (f"http://a.test/p?{'&'.join(each)}" for each in (parameters, shuffled))
    if key(one) == key(other):
        assert canonicalize_url(canonicalize(one).text) == canonicalize_url(canonicalize(other).text)
    if len({canonicalize(f"http://a.test/?{each}").text.partition("=")[0] for each in parameters}) == len(
        parameters
    ):
        assert key(one) == key(other)


def test_a_key_is_a_fixed_point_and_says_what_the_text_says():
    text = key("http://a.test/x?c=3&b=2&a=1&b=1")
    assert text == "http://a.test/x?a=1&b=2&b=1&c=3"
    assert page_key(text) == text


def test_a_page_is_known_by_generation_and_by_the_lease_that_led_back():
    url = canonicalize("http://a.example/?b&a")
    found = Discovery(url=url, scope=Scope(kind="any", anchor=""))
    each = [replace(found, generation=g, again=a) for g in (0, 1, 2) for a in (0, 1, 2)]
    assert len({discovery_hash(one) for one in each}) == len(each)
    assert discovery_hash(found) == discovery_hash(
        replace(found, url=canonicalize("http://a.example/?a&b"), depth=3)
    )


@pytest.mark.shared
@pytest.mark.parametrize("name", ["urls/citizenlab-urls.tsv.zst", "urls/wpt-urltestdata.json.zst"])
def test_of_real_addresses_no_two_differ_in_the_order_of_parameters_alone(name):
    data = zstandard.ZstdDecompressor().stream_reader(shared_file(name).read_bytes()).read()
    pages = defaultdict(set)
    for written in re.findall(rb"https?://[^\s\"'<>\\]+", data):
        try:
            url = canonicalize(written.decode(errors="replace"))
        except InvalidUrl:
            continue
        pages[page_key(url.text)].add(url.text)
    assert len(pages) > 100
    assert [texts for texts in pages.values() if len(texts) > 1] == []
