"""What a process says that a page may have taken over ends the lease of the page only as that page can end it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.leases import lease
from tests.crawler.reading.test_page_reading import capture
from tests.expect import expect
from thresher.core import Url
from thresher.crawler.lease_result import page_settlement
from thresher.crawler.page_process import PageProcess
from thresher.crawler.reading.page_reading import page_response
from thresher.crawler.reading.plausibility import plausible
from thresher.frontier import Discovery, Kind, Outcome, Scope, Settlement, canonicalize
from thresher.isolation.worker_process import WorkerProcess

HERE = lease("http://example.org/folder/", interval_s=60)
LINK = Discovery(
    url=canonicalize("http://example.org/a"),
    scope=HERE.scope,
    depth=1,
    interval_s=60,
    referrer="http://example.org/folder/",
)
SMUGGLED = "http://example.org/a HTTP/1.1\r\nHost: example.org\r\n\r\nGET /secret"


def ended(*found, **changes):
    return Settlement(lease=HERE, outcome=Outcome.FETCHED, discoveries=found, **changes)


def test_links_of_a_page_are_plausible():
    assert plausible(HERE, ended(LINK, replace(LINK, url=canonicalize("http://example.org/b?c=%7e#d"))))


@pytest.mark.parametrize(
    "lie",
    [
        {"url": Url(text=LINK.url.text, wire=SMUGGLED, host="example.org", origin="http://example.org")},
        {"url": replace(canonicalize("http://other.org/"), host="example.org")},
        {"url": canonicalize("http://other.org/")},
        {"scope": Scope(kind="any", anchor="")},
        {"depth": 5},
        {"max_depth": 9},
        {"hops": 9},
        {"priority": 1_000_000},
        {"generation": 7},
        {"interval_s": 1},
        {"listed": True},
        {"again": 99},
        {"notify": True},
        {"referrer": "http://example.org/\x1b[2J"},
    ],
)
def test_links_that_no_page_has_are_not(lie):
    assert not plausible(HERE, ended(LINK, replace(LINK, **lie)))


@pytest.mark.parametrize(
    "lie",
    [
        {"reason": "\x1b[31mRED"},
        {"reason": "a" * 10_000},
        {"retry_after_ms": 1 << 60},
        {"hold_ms": -1},
        {"hold_ms": 1 << 60},
        {"sketch": 1 << 70},
        {"has_sent_request": False},
    ],
)
def test_an_end_that_no_page_comes_to_is_not(lie):
    assert not plausible(HERE, ended(**lie))


@given(
    hrefs=st.lists(
        st.one_of(
            st.text(max_size=30),
            st.from_regex(r"[a-z/?#%.:@&=~;0-9A-F]{1,20}", fullmatch=True),
            st.sampled_from(
                ["?b=2&a=1", "../x/./y", "//example.org:80/p", "/%7Eann", "?utm_source=x", "/\u00e9"]
            ),
        ),
        max_size=6,
    ),
    seed=st.booleans(),
)
def test_whatever_a_page_comes_to_is_plausible(hrefs, seed):
    html = "".join(f'<a href="{href}">x</a>' for href in hrefs).encode("utf-8", "replace")
    found = replace(HERE, listed=seed, token=9, kind=Kind.PAGE)
    assert plausible(found, page_settlement(found, page_response(capture(html, url=HERE.url.wire))))


@pytest.mark.parametrize("location", ["/b", "http://other.org/", "?a=%7e", "", "/folder/", "\x00"])
def test_so_is_whatever_a_redirect_comes_to(location):
    found = replace(HERE, scope=Scope(kind="any", anchor=""), listed=True, priority=3, generation=2)
    said = page_response(capture(b"", ("Location", location), ("Set-Cookie", "a=b"), status=302))
    assert plausible(found, page_settlement(found, said))


def lie():
    """Says what a page that has taken over the process may want."""
    return ended(replace(LINK, scope=Scope(kind="any", anchor="")))


async def test_a_process_that_lies_is_replaced():
    aside = PageProcess()
    try:
        before = await aside.call(int, returns=int)
        process = expect(WorkerProcess, aside._process).pid
        said = await aside.call(lie, returns=Settlement, accepts=lambda said: plausible(HERE, said))
        assert (before, said) == (0, None)
        assert await aside.call(int, returns=int) == 0
        assert expect(WorkerProcess, aside._process).pid != process
    finally:
        aside.close()
