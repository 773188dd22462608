"""A URL comes back from its entry as it went in, or not at all."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import CorruptData, InputError
from thresher.frontier import Discovery, Scope, canonicalize
from thresher.frontier.codec.entries import decode_entry, encode_entry, entry_number
from thresher.frontier.page_key import discovery_hash
from thresher.frontier.request_state import RequestState
from thresher.frontier.urls.novelty import is_let_through
from thresher.frontier.urls.template import url_template

URLS = st.builds(
    lambda scheme, host, port, path: canonicalize(f"{scheme}://{host}{port}/{path}"),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["example.com", "[::1]", "a.b.co.uk."]),
    st.sampled_from(["", ":8080", ":1"]),
    st.text(alphabet="ab%7e/?é\t", max_size=20),
)
COUNTS = st.integers(0, 1_000_000_000)
STATES = st.builds(
    RequestState,
    kind=st.sampled_from(["page", "sitemap"]),
    etag=st.text(st.characters(codec="utf-8"), max_size=9),
    date_ms=st.integers(0, 1 << 45),
    spider_request=st.binary(max_size=40),
)
DISCOVERIES = st.builds(
    lambda url, anchor, kind, **fields: Discovery(url=url, scope=Scope.of(kind, anchor or url), **fields),
    url=URLS,
    anchor=st.none() | URLS,
    kind=st.sampled_from(["any", "domain", "host", "prefix"]),
    depth=COUNTS,
    priority=st.integers(-1_000_000_000, 1_000_000_000),
    max_depth=st.none() | COUNTS,
    hops=st.integers(0, 20),
    generation=COUNTS,
    interval_s=COUNTS,
    listed=st.booleans(),
    again=st.just(0) | st.integers(0, 1 << 53),
    state=STATES,
    notify=st.booleans(),
)


@given(DISCOVERIES, st.binary(min_size=7, max_size=7))
def test_an_entry_says_all_that_was_discovered(discovery, name):
    assert decode_entry(discovery.url.host, encode_entry(discovery, entry_number(discovery, name))) == (
        discovery,
        0,
    )


def test_only_what_was_listed_has_the_number_zero():
    found = Discovery(url=canonicalize("http://a.example/"), scope=Scope(kind="any", anchor=""))
    assert entry_number(found, b"abcdef\xff") == 255
    assert is_let_through(entry_number(found, bytes(7)))
    assert entry_number(found, bytes(7)) != 0 == entry_number(replace(found, listed=True), b"abcdef\xff")


@given(DISCOVERIES, st.data())
def test_an_entry_that_is_cut_before_its_path_is_corrupt(discovery, data):
    entry = encode_entry(discovery, 0)
    path = entry.rindex(discovery.url.text[len(discovery.url.origin) :].encode().partition(b"\0")[0])
    with pytest.raises(CorruptData, match="cannot be read"):
        decode_entry(discovery.url.host, entry[: data.draw(st.integers(0, min(path, 17)))])


def test_the_form_of_an_entry_is_fixed():
    url = canonicalize("http://a.example:81/%7e")
    discovery = Discovery(url=url, scope=Scope.of("host", url), depth=2, priority=-1, max_depth=300)
    assert encode_entry(discovery, 9) == (
        b"\x80\0\0\3"
        b"\0\0\x09"
        + url_template(url)
        + b"P\0\x51"
        + b"\0\x0a"
        + b"\2\xad\2\0\0\0\1\0"
        + b"/~\0http://a.example:81/%7e"
    )


def test_a_url_is_known_by_its_text_and_generation():
    def found(text, generation=0):
        return discovery_hash(
            Discovery(url=canonicalize(text), scope=Scope(kind="any", anchor=""), generation=generation)
        )

    assert found("http://a.example/%7e") == found("http://a.example/~")
    assert (
        len({found("http://a.example/"), found("http://a.example/", 1), found("http://a.example/", 2)}) == 3
    )
    assert len(found("http://a.example/")) == 7


@pytest.mark.parametrize("fields", [{"priority": 2_000_000_000}, {"depth": -1}])
def test_a_level_that_could_not_be_ordered_is_refused(fields):
    with pytest.raises(InputError, match="within"):
        Discovery(url=canonicalize("http://a/"), scope=Scope(kind="any", anchor=""), **fields)
