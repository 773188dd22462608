"""A redirect that leads back is followed where something has changed since: a cookie, or how the URL is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.reading.redirect_chain import (
    BYTES,
    MAX_EXCHANGES,
    MAX_REDIRECTS,
    MAX_REQUESTS_PER_PAGE,
    append,
    decide,
)
from thresher.frontier import canonicalize


def chain(*exchanges):
    """`!` behind a URL: its answer set a cookie."""
    made = b""
    for text in exchanges:
        made = append(made, canonicalize("http://a.test" + text.removesuffix("!")), cookie=text.endswith("!"))
    return made


@pytest.mark.parametrize(
    ("exchanges", "target", "without", "with_cookies"),
    [
        (["/"], "/other", "follow", "follow"),
        (["/"], "/", "loop", "loop"),
        (["/!"], "/", "needs_cookie", "ask_again"),
        (["/", "/gate!"], "/", "needs_cookie", "ask_again"),
        (["/!", "/gate"], "/", "needs_cookie", "ask_again"),
        (["/x!", "/", "/gate"], "/", "loop", "loop"),  # the cookie was there when `/` was asked for
        (["/!", "/!"], "/", "needs_cookie", "ask_again"),
        (["/!", "/!", "/!"], "/", "needs_cookie", "loop"),
        (["/%7Eann"], "/~ann", "ask_again", "ask_again"),
        (["/%7Eann", "/~ann"], "/%7Eann", "loop", "loop"),
        (["/?b&a"], "/?a&b", "ask_again", "ask_again"),
        (["/?utm_source=x", "/welcome"], "/", "ask_again", "ask_again"),
    ],
)
def test_where_a_redirect_leads(exchanges, target, without, with_cookies):
    url = canonicalize("http://a.test" + target)
    assert decide(chain(*exchanges), url, cookies=False) == without
    assert decide(chain(*exchanges), url, cookies=True) == with_cookies


@given(
    st.lists(
        st.tuples(st.sampled_from(["/", "/%7e", "/~", "/?a&b", "/?b&a", "/c"]), st.booleans()), max_size=60
    )
)
def test_every_chain_comes_to_an_end(moves):
    """Whatever a server does, each page is asked for so often at most."""
    before, asked = b"", {}
    for path, cookie in moves:
        url = canonicalize("http://a.test" + path)
        if before and decide(before, url, cookies=True) not in {"follow", "ask_again"}:
            continue
        page = path.replace("%7e", "~").replace("b&a", "a&b")
        asked[page] = asked.get(page, 0) + 1
        before = append(before, url, cookie=cookie)
    assert max(asked.values(), default=0) <= MAX_REQUESTS_PER_PAGE


def test_the_longest_chain_is_remembered_whole():
    assert MAX_EXCHANGES >= (MAX_REDIRECTS + 1) * MAX_REQUESTS_PER_PAGE
    assert len(chain(*["/"] * 99)) == MAX_EXCHANGES * BYTES
