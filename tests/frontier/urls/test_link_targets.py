"""Links lead where `canonical` says, however it was found out."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thresher.frontier import InvalidUrl, canonicalize
from thresher.frontier.urls.canonical import MAX_LENGTH
from thresher.frontier.urls.link_targets import link_target, link_targets
from thresher.frontier.urls.trap import trap_reason

PAGE = "http://example.org/a/b/page.html?q=1"

SEGMENTS = st.sampled_from(
    [
        "a",
        "B.html",
        "~x_y-z",
        "a..b",
        "...",
        ".",
        "..",
        ".hidden",
        "",
        "%7e",
        "%2e",
        "%2E%2e",
        "x%",
        "a b",
        "a:b",
        ";jsessionid=1",
        "x;jsessionid=2",
        "(S(x))",
        "(S(x))y",
        "é",
        "a^b",
        "a\\b",
        "c:",
        "\t",
        "@",
        "1",
    ]
)
PATHS = st.builds("/".join, st.lists(SEGMENTS, min_size=1, max_size=5))
HREFS = (
    st.builds(
        "".join,
        st.tuples(
            st.sampled_from(
                [
                    "",
                    "",
                    "/",
                    "//",
                    "../",
                    "../../",
                    "./",
                    "http://other.example/",
                    "https://127.1:443/",
                    "http://o..x./",
                    "ftp://h/",
                    "mailto:",
                ]
            ),
            PATHS,
            st.sampled_from(["", "", "?", "?a=1&utm_source=x"]),
        ),
    )
    .map(str.strip)
    .filter(bool)
)  # as `extract.markup.links` has them
BASES = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(
            ["http://example.org/", "https://u:p@Example.ORG.:8443/", "http://[::1]/", "http://127.1/"]
        ),
        PATHS,
        st.sampled_from(["", "?", "?a/b", "#a/b"]),
    ),
)


def told(href, base):
    try:
        url = canonicalize(href, base)
    except InvalidUrl:
        return None
    return None if trap_reason(url) else url


@given(st.lists(HREFS, max_size=5), BASES)
@example(["x"], "http://example.org/(S(x))/")
@example(["../x"], "http://example.org/a;jsessionid=1/b/%7e/c")
@example(["x"], "http://example.org/%4")
@example(["1"], "http://example.org/%4/")
def test_every_link_leads_where_canonical_says(hrefs, base):
    found = {
        url.text: url for href in reversed(hrefs) if (url := told(href, canonicalize(base).wire)) is not None
    }
    assert {url.text: url for url in link_targets(hrefs, canonicalize(base).wire)} == found


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("c.html", "http://example.org/a/b/c.html"),
        ("../c/", "http://example.org/a/c/"),
        ("../../../c", "http://example.org/c"),
        ("../", "http://example.org/a/"),
        ("/c/d", "http://example.org/c/d"),
        ("?p=2", "http://example.org/a/b/page.html?p=2"),
    ],
)
def test_paths_are_relative_to_the_page(href, url):
    assert [found.text for found in link_targets([href], PAGE)] == [url]


def test_what_the_server_tells_apart_is_asked_for_as_it_is_written():
    (found,) = link_targets(["c"], "http://example.org/%7ea/")
    assert (found.text, found.wire) == ("http://example.org/~a/c", "http://example.org/%7ea/c")


@pytest.mark.parametrize(
    "page", ["mailto:x", "data:,x", "about:blank", "http://example.org/" + "x" * MAX_LENGTH]
)
def test_below_what_has_no_folder_there_are_only_whole_addresses(page):
    assert [found.text for found in link_targets(["a", "/b", "?c", "http://other.example/"], page)] == [
        "http://other.example/"
    ]


def test_no_address_is_too_long():
    folder = "http://example.org/" + "x" * (MAX_LENGTH - 25) + "/"
    assert link_target("abcde", folder) is not None
    assert link_target("abcdef", folder) is None
