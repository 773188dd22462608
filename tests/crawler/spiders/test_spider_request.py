"""What a spider's request carries comes back unchanged, or is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.leases import lease
from thresher.core import CorruptData, InputError
from thresher.crawler.reading import redirect_chain
from thresher.crawler.spiders.spider_request import SpiderRequest, decode_request, encode_request
from thresher.crawler.spiders.visit import scrapy_request
from thresher.frontier import request_state

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.text("abcdefgh_", min_size=1, max_size=8).filter(str.isidentifier)
HEADERS = st.lists(st.tuples(st.sampled_from(["X-One", "X-Two"]), st.text("abc ä", min_size=1)), max_size=3)


class Some(scrapy.Spider):
    name = "some"

    def parse(self, response):
        """The default."""

    def parse_item(self, response):
        """Another."""

    def failed(self, failure):
        """An errback."""


SPIDER = Some()


@given(
    cb_kwargs=st.dictionaries(NAMES, JSON, max_size=3),
    meta=st.dictionaries(st.text(), JSON, max_size=3),
    headers=HEADERS,
)
def test_a_carried_request_comes_back_unchanged(cb_kwargs, meta, headers):
    sent = scrapy.Request(
        "http://example.org/",
        SPIDER.parse_item,
        errback=SPIDER.failed,
        cb_kwargs=cb_kwargs,
        meta={key: value for key, value in meta.items() if key not in {"proxy", "bindaddress"}},
        headers=headers,
    )
    state = request_state.RequestState(spider_request=encode_request(sent, SPIDER))
    assert request_state.decode_state(request_state.encode_state(state)) == state
    came = scrapy_request(lease("http://example.org/", state=state, depth=3, priority=5), SPIDER)
    assert came.callback == SPIDER.parse_item
    assert came.errback == SPIDER.failed
    assert came.cb_kwargs == cb_kwargs
    ours = {"depth": 3, "download_slot": "frontier", "verbatim_url": True}
    assert came.meta == {**sent.meta, **ours}
    assert came.headers == sent.headers
    assert came.priority == 5


def test_a_request_with_only_a_url_carries_nothing():
    meta = {"depth": 7, "download_slot": "x", "download_latency": 0.1, "verbatim_url": True}
    assert encode_request(scrapy.Request("http://example.org/", meta=meta), SPIDER) == b""
    assert decode_request(b"") == SpiderRequest()


def test_a_request_state_keeps_the_spider_request_where_there_is_no_room_for_the_rest():
    long = request_state.RequestState(etag="e" * 1000, uri="u" * 1000, spider_request=b"x" * 3000)
    assert request_state.decode_state(request_state.encode_state(long)) == request_state.RequestState(
        spider_request=long.spider_request
    )
    both = request_state.RequestState(etag="e" * 1000, kind="sitemap", spider_request=b"x" * 3000)
    assert request_state.decode_state(request_state.encode_state(both)) == both
    most = request_state.RequestState(
        etag="e",
        spider_request=b"x" * request_state.MAX_SPIDER_REQUEST_BYTES,
        chain=b"c" * redirect_chain.MAX_EXCHANGES * redirect_chain.BYTES,
    )
    assert len(request_state.encode_state(most)) == request_state.MAX_STATE_BYTES
    assert request_state.decode_state(request_state.encode_state(most)) == replace(most, etag="")


@pytest.mark.parametrize("written", [b"{}", b"[]", b"no", json.dumps({"v": 2}).encode(), b"\xff"])
def test_a_spider_request_of_another_version_says_what_to_do(written):
    with pytest.raises(CorruptData, match="crawl it to its end with the release that made it"):
        decode_request(written)


@pytest.mark.parametrize(
    "value", [(1,), {1: 2}, {1}, b"x", float("nan"), object(), SPIDER], ids=lambda value: type(value).__name__
)
def test_values_that_would_come_back_changed_are_refused(value):
    for what in ("cb_kwargs", "meta"):
        options: dict[str, Any] = {what: {"x": value}}
        with pytest.raises(InputError, match=rf"its {what}\['x'\] is {type(value).__name__}"):
            encode_request(scrapy.Request("http://example.org/", **options), SPIDER)


@pytest.mark.parametrize("value", ["a\rX: y", "a\nX: y", "a\0"])
def test_a_header_that_cannot_be_sent_is_refused(value):
    with pytest.raises(InputError, match="no request can have its header 'X'"):
        encode_request(scrapy.Request("http://example.org/", headers={"X": value}), SPIDER)


def test_only_methods_of_the_spider_itself_are_carried():
    for callback in (
        print,
        Some.parse,
        Some().parse,
        lambda response: response,
        scrapy.http.request.NO_CALLBACK,
    ):
        with pytest.raises(InputError, match="give a method of the spider"):
            encode_request(scrapy.Request("http://example.org/", callback), SPIDER)  # type: ignore[arg-type]


def test_a_callback_that_is_no_more_is_an_error_that_names_it():
    state = request_state.RequestState(spider_request=b'{"v":1,"c":"gone"}')
    with pytest.raises(InputError, match="waits for the callback 'gone'"):
        scrapy_request(lease(state=state), SPIDER)
