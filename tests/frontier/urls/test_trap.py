"""URLs that no honest page needs are refused by their form; URLs of honest pages are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared_file
from thresher.frontier import InvalidUrl, canonicalize
from thresher.frontier.urls.trap import trap_reason


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("http://a.test/a/b/a/b/a/b/", "repeated_segments"),
        ("http://a.test/x/a/y/b/a/z/b/a/b/page", "repeated_segments"),
        ("http://a.test/" + "a/" * 8, "repeated_segments"),
        ("http://a.test/" + "/".join(f"d{number}" for number in range(21)), "long_path"),
        ("http://a.test/?a=1&b=2&a=1&b=2&a=1&b=2", "repeated_parameters"),
        ("http://a.test/?" + "sort=up&" * 8, "repeated_parameters"),
        ("http://a.test/share/http://b.test/share/http://c.test/share/https%3A//d.test/", "nested_url"),
        ("http://a.test/login?back=%2Flogin%3Fback%3D%252Flogin%253Fback%253D%25252525", "nested_url"),
        ("http://a.test/calendar?year=9999", "calendar"),
        ("http://a.test/x?view=1&month=2871-03", "calendar"),
        ("http://a.test/events/12871/3/", "calendar"),
        ("http://a.test/calendar/month/0099-12", "calendar"),
    ],
)
def test_what_only_a_trap_has_is_refused_with_its_reason(raw, reason):
    assert trap_reason(canonicalize(raw)) == reason


@pytest.mark.parametrize(
    "raw",
    [
        "http://a.test/",
        "http://a.test/2012/12/12/12/12/12/",
        "https://code.test/scipy/scipy/blob/v1.10.1/scipy/stats.py",
        "http://a.test/post/all/all/all/all/1.html",
        "http://a.test/-/539444/660918/-/item/1/-/f3cdeb/-/index.html",
        "http://a.test/" + "/".join(f"d{number}" for number in range(20)),
        "http://a.test/search?c=1&c=2&c=3&c=4",
        "http://a.test/web/20131110121040/http://b.test/shot/http://c.test/",
        "http://a.test/login?back=%252Fx%253Fa",
        "http://a.test/calendar?year=1999&month=12",
        "http://a.test/events/2026/11/21/",
        "http://a.test/event.php?id=79504",
        "http://a.test/index.php?date=20080111",
        "http://a.test/history/year=1492",
    ],
)
def test_what_honest_sites_have_is_not(raw):
    assert trap_reason(canonicalize(raw)) is None


@given(
    st.lists(st.sampled_from(["a", "b", "/", "?", "&", "=", "1", "http:", "%25", "year=", "."]), max_size=60)
)
def test_any_url_has_a_verdict(parts):
    try:
        url = canonicalize("http://a.test/" + "".join(parts))
    except InvalidUrl:
        return
    assert trap_reason(url) is None or canonicalize(url.text) == url


@pytest.mark.shared
def test_of_real_addresses_none_is_refused():
    import zstandard

    with zstandard.open(shared_file("urls/citizenlab-urls.tsv.zst"), "rt") as file:
        raws = [line.split("\t")[2].strip() for line in file]
    refused = []
    for raw in raws:
        try:
            url = canonicalize(raw)
        except InvalidUrl:
            continue
        if trap_reason(url):
            refused.append(raw)
    assert refused == []
    assert len(raws) > 20_000
