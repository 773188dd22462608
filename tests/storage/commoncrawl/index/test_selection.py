"""A selection is looked up in spans that contain all of it, and rows outside of it are left out."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.commoncrawl import CRAWL
from tests.storage.commoncrawl.samples import ROW
from thresher.core import InputError
from thresher.core.surt import surt
from thresher.storage.commoncrawl.file_names import address
from thresher.storage.commoncrawl.index.selection import DOTS, Selection
from thresher.storage.commoncrawl.index.span import Span, contains_key, domain_spans, merge_spans, prefix_span
from thresher.storage.commoncrawl.paths import select_paths

labels = st.sampled_from(
    ["example", "example-site", "www", "www2", "docs", "a", "organic", "net", "example2"]
)
hosts = st.builds(
    lambda names, top: ".".join([*names, top]), st.lists(labels, max_size=3), st.sampled_from(["org", "net"])
)
paths = st.text(st.sampled_from("aBz/-_.%2C?&=;()~"), max_size=12).map(lambda text: f"/{text}")
urls = st.builds(
    lambda scheme, host, port, path: f"{scheme}://{host}{port}{path}",
    st.sampled_from(["http", "https"]),
    hosts,
    st.sampled_from(["", ":8080"]),
    paths,
)


def at(url, **more):
    return replace(ROW, url=url, **more)


def of(**more):
    return Selection(crawl=CRAWL, **{"domains": frozenset({"example.org"}), **more})


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "http://EXAMPLE.org/a",
        "https://www.example.org/",
        "http://a.b.example.org:81/x",
    ],
)
def test_a_domain_is_its_host_and_all_below_it(url):
    assert of().admits(at(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://example-site.org/",
        "https://example.organic/",
        "https://org/",
        "https://notexample.org/",
        "https://x.net/?example.org",
    ],
)
def test_a_neighbour_in_the_index_is_not_taken(url):
    assert not of().admits(at(url))


@given(urls, hosts)
def test_whatever_is_admitted_of_a_domain_lies_in_its_spans(url, domain):
    selection = of(domains=frozenset({domain}))
    if selection.admits(at(url)):
        assert contains_key(selection.spans(), surt(url).encode())


@given(urls, urls, st.integers(8, 60))
def test_whatever_begins_with_a_prefix_lies_in_its_span(url, other, cut):
    assume(not DOTS.search(url))  # a crawler has resolved them
    for prefix in (url, other[:cut]):
        try:
            selection = of(domains=frozenset(), prefixes=(prefix,))
            spans = selection.spans()
        except InputError:
            continue
        if selection.admits(at(url)):
            assert contains_key(spans, surt(url).encode())


@pytest.mark.parametrize(
    "prefix", ["https://example.org/a/../b", "https://example.org/a/..", "https://example.org/./a"]
)
def test_a_prefix_with_dots_is_refused_for_no_index_has_them(prefix):
    with pytest.raises(InputError, match=r"an index has no \. or \.\. in paths; write where they lead to"):
        of(domains=frozenset(), prefixes=(prefix,))


@given(st.lists(st.tuples(st.binary(max_size=3), st.binary(max_size=3))), st.binary(max_size=4))
def test_joined_spans_hold_what_the_single_ones_hold_and_do_not_touch(pairs, key):
    spans = [Span(*sorted(pair)) for pair in pairs]
    whole = merge_spans(spans)
    assert contains_key(whole, key) == any(span.first <= key < span.end for span in spans)
    assert all(one.end < other.first for one, other in pairwise(whole))


def test_an_address_is_looked_up_as_common_crawl_writes_it_backwards():
    assert contains_key(merge_spans(domain_spans("165.22.100.0")), b"0,100,22,165)/ 20240722120756")
    assert of(domains=frozenset({"165.22.100.0"})).admits(at("http://165.22.100.0/"))


def test_a_prefix_ends_at_no_host_that_goes_on():
    prefix = of(domains=frozenset({"example.organic"}), prefixes=("https://example.org",))
    assert prefix.admits(at("http://example.org/x"))
    assert not of(domains=frozenset({"x.y"}), prefixes=("https://example.org",)).admits(
        at("https://example.organic/")
    )


def test_each_measure_narrows():
    row = at("https://example.org/a")
    assert of(languages=frozenset({"spa"})).admits(row)
    assert not of(languages=frozenset({"eng"})).admits(row)  # there is some, but most is another
    assert not of(mimes=frozenset({"application/pdf"})).admits(row)
    assert of(mimes=frozenset({"application/pdf"})).admits(replace(row, mime_detected="application/pdf"))
    assert of(mimes=frozenset({"text/html"})).admits(replace(row, mime_detected=""))
    assert not of().admits(replace(row, status=301))
    moved = replace(row, status=301, filename=row.filename.replace("/warc/", "/crawldiagnostics/"))
    assert of(statuses=frozenset({301})).admits(moved)
    assert not of().admits(replace(row, filename=row.filename.replace("/warc/", "/robotstxt/")))


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"domains": frozenset()}, "give --domain or --url-prefix"),
        ({"languages": frozenset({"en"})}, "--language en: Common Crawl's indexes have three letters"),
        ({"mimes": frozenset({"html"})}, "--mime html"),
        ({"statuses": frozenset({2})}, "--status 2"),
    ],
)
def test_what_is_in_no_index_is_refused_in_one_line(more, line):
    with pytest.raises(InputError, match=line):
        of(**more)


@pytest.mark.parametrize(
    "prefix",
    [
        "example.org/",
        "ftp://example.org/",
        "https://",
        "https://a b/",
        "https://u:p@example.org/",
        "https://[::1",
    ],
)
def test_what_begins_no_url_is_refused(prefix):
    with pytest.raises(InputError, match="no beginning of a URL"):
        prefix_span(prefix)


@pytest.mark.parametrize(
    "domain", ["", "exa mple.org", "https://example.org", ".org", "example.org/x", "münchen.de"]
)
def test_what_is_no_host_name_is_refused(domain):
    with pytest.raises(InputError, match="is no domain"):
        domain_spans(domain)


def test_an_address_names_crawl_and_kind():
    assert address("commoncrawl:CC-MAIN-2024-22") == ("CC-MAIN-2024-22", "warc")
    assert address("commoncrawl:CC-MAIN-2024-22/wet") == ("CC-MAIN-2024-22", "wet")
    assert address("commoncrawl:CC-MAIN-2009-2010/wat") == ("CC-MAIN-2009-2010", "wat")


@pytest.mark.parametrize(
    "text",
    [
        "commoncrawl:",
        "commoncrawl:2024-22",
        "commoncrawl:CC-MAIN-2024-22/wets",
        "commoncrawl:CC-MAIN-2024-22/",
        "commoncrawl:../x",
    ],
)
def test_other_addresses_are_refused_in_one_line(text):
    with pytest.raises(InputError, match="commoncrawl:CC-MAIN-2024-22"):
        address(text)


def test_files_are_chosen_in_their_order():
    paths = [
        f"crawl-data/C/segments/{segment}/warc/{number}.warc.gz" for segment in "ab" for number in range(3)
    ]
    assert list(select_paths(paths, segments=frozenset(), files=4)) == paths[:4]
    assert list(select_paths(paths, segments=frozenset({"b"}), files=2)) == paths[3:5]
    assert list(select_paths(paths, segments=frozenset({"c"}), files=None)) == []
