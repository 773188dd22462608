"""The rights that pages state, in headers and in <meta> elements, are read."""

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Document, RecordRef
from thresher.extract.record_document import extract_document, rights_of
from thresher.extract.rights import OBEYABLE, Rights, rights

JUNE_2010_MS = 1_277_000_000_000


def tag(*values, at_ms=JUNE_2010_MS * 2):
    return rights([("X-Robots-Tag", value) for value in values], at_ms=at_ms).robots


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("noindex", ("noindex",)),
        ("NoIndex, NOFOLLOW", ("nofollow", "noindex")),
        ("noindex nofollow", ("nofollow", "noindex")),
        ("none", ("nofollow", "noindex")),
        ("nocache", ("noarchive",)),
        ("noai, noimageai", ("noai", "noimageai")),
        ("all, index, max-snippet: 20", ()),
        ("otherbot: noindex", ()),
        ("otherbot: noindex, nofollow", ()),
        ("Thresher: noai, nofollow", ("noai", "nofollow")),
        ("otherbot: noindex, thresher: noai", ("noai",)),
        ("noarchive, otherbot: noindex", ("noarchive",)),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", ("unavailable_after",)),
        ("unavailable_after: Friday, 25 Jun 2010 15:00:00 GMT, noindex", ("noindex", "unavailable_after")),
        ("unavailable_after: 2010-06-25", ("unavailable_after",)),
        ("unavailable_after: some day", ()),
        ("thresher: unavailable_after: 2010-06-25", ("unavailable_after",)),
        ("max-image-preview: large, noindex", ("noindex",)),
        ("", ()),
    ],
)
def test_directives_said_to_all_or_to_us_by_name(value, expected):
    assert tag(value) == expected


def test_what_is_to_go_later_is_still_there():
    assert tag("unavailable_after: 25 Jun 2010", at_ms=JUNE_2010_MS) == ()


def test_several_headers_and_metas_say_one_list():
    found = rights(
        [("X-Robots-Tag", "noindex"), ("x-robots-tag", "noai"), ("X-Other", "noarchive")],
        [("robots", "nofollow"), ("thresher", "nosnippet"), ("otherbot", "noarchive")],
    )
    assert found.robots == ("noai", "nofollow", "noindex", "nosnippet")


@pytest.mark.parametrize(
    ("headers", "metas", "expected"),
    [
        ([("TDM-Reservation", "1"), ("tdm-policy", "/p.json")], [], ("1", "/p.json")),
        ([("tdm-reservation", "0")], [], ("0", "")),
        ([("tdm-reservation", "0")], [("tdm-reservation", " 1 ")], ("1", "")),
        ([("tdm-reservation", "1")], [("tdm-reservation", "0")], ("1", "")),
        ([], [("tdm-reservation", "yes"), ("tdm-policy", "/p")], ("", "/p")),
        ([], [], ("", "")),
    ],
)
def test_a_reservation_of_text_and_data_mining(headers, metas, expected):
    found = rights(headers, metas)
    assert (found.tdm_reservation, found.tdm_policy) == expected


def test_the_first_of_what_is_obeyed_is_the_reason():
    said = Rights(robots=("noai", "noindex"), tdm_reservation="1")
    assert said.refusal(("noindex", "noai")) == "noindex"
    assert said.refusal(("noarchive", "tdm-reservation")) == "tdm_reservation"
    assert said.refusal(()) is None
    assert Rights(tdm_reservation="0").refusal(OBEYABLE) is None


class Answered:
    type, truncated, facts = "response", None, MappingProxyType({})
    url, date_ms, status, mime = "http://example.org/", JUNE_2010_MS, 200, "text/html"
    headers = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("X-Robots-Tag", "noarchive"),
        ("x-robots-tag", "noai"),
    )
    payload = (
        b'<html><head><META Name=" Robots " content="noindex"><meta name="tdm-reservation" content="1">'
        b'<meta name="tdm-policy" content="https://example.org/policy"></head><body><p>'
        + b"Words that make up a page with something to say. "
        * 20
    )
    ref = RecordRef(file="f", offset=0, length=1, digest="")

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name), None)


def test_a_document_says_what_its_page_said():
    made = extract_document(Answered(), "main")
    assert isinstance(made, Document)
    assert (made.robots, made.tdm_reservation) == ("noai,noarchive,noindex", "1")
    assert made.tdm_policy == "https://example.org/policy"
    assert rights_of(made).robots == ("noai", "noarchive", "noindex")


@given(st.lists(st.tuples(st.sampled_from(["robots", "tdm-policy", "tdm-reservation"]), st.text())))
def test_nothing_that_is_said_breaks_it(said):
    rights([("X-Robots-Tag", value) for _, value in said], said)
