"""Blocklists of addresses are read in the forms in which they are published."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.url_blocklist import parse_blocklist

LIST = parse_blocklist(
    """# a comment
! another
[Adblock Plus 2.0]
bad.example
||ads.example^
||third.example^$third-party
||no.example/banner^
@@||good.example^
0.0.0.0 hosts.example
127.0.0.1 localhost
https://whole.example/
mixed.example/forum/
mixed.example/page.html  # with a comment
""".splitlines()
)


@pytest.mark.parametrize(
    "url",
    [
        "http://bad.example/",
        "https://www.bad.example/deep/page?q",
        "http://BAD.example:8080/",
        "http://bad.example./",
        "http://a.b.ads.example/x",
        "http://third.example/",
        "http://hosts.example/",
        "http://whole.example/any",
        "http://mixed.example/forum/thread/1",
        "http://mixed.example/forum/?page=2",
        "HTTP://Mixed.Example/Forum/Thread/1",
        "http://mixed.example/page.html?x=1",
    ],
)
def test_what_is_on_the_list_is_refused(url):
    assert LIST.blocks(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://notbad.example/",
        "http://example/",
        "http://good.example/",
        "http://no.example/",
        "http://mixed.example/",
        "http://mixed.example/forums/",
        "http://mixed.example/page.html/more",
        "file:corpus.jsonl#line=3",
        "http://[broken",
        "",
    ],
)
def test_what_is_not_is_not(url):
    assert not LIST.blocks(url)


def test_a_line_that_is_nothing_is_named():
    with pytest.raises(ValueError, match="line 2: 'what is this'"):
        parse_blocklist(["a.example", "what is this"])


@given(st.text(max_size=80))
def test_no_address_raises(url):
    assert LIST.blocks(url) in {True, False}
