"""One page has one text, and that text is a fixed point."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from frontier import NotAUrl, canonical
from tests.shared import shared


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("http://user:secret@example.com/a", "http://example.com/a"),
        ("http://us@er:sec@ret@example.com/a@b", "http://example.com/a@b"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://example.com/?#", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com.:8080/a", "http://example.com:8080/a"),
        ("http://example.com/%7euser/%c3%a9/%2f", "http://example.com/~user/%C3%A9/%2F"),
        ("http://example.com/?q=%41%26%3d", "http://example.com/?q=A%26%3D"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://example.com/a??", "http://example.com/a??"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("http://münchen.de/straße", "http://xn--mnchen-3ya.de/stra%C3%9Fe"),
        ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("  http://example.com/a\tb\n ", "http://example.com/ab"),
        ("http://example.com/100%", "http://example.com/100%"),
        ("http://example.com/%%341", "http://example.com/%%341"),
    ],
)
def test_equivalent_writings_fold_to_one_text(raw, text):
    assert canonical(raw).text == text


def test_a_relative_link_is_resolved_against_its_base():
    url = canonical("../c?d=1#e", "https://example.com:8080/a/b/")
    assert (url.text, url.origin, url.host) == (
        "https://example.com:8080/a/c?d=1",
        "https://example.com:8080",
        "example.com",
    )


def test_the_wire_form_keeps_what_canonicalisation_folds():
    url = canonical("http://u:p@Example.com./%7ea?#x")
    assert (url.wire, url.text) == ("http://example.com./%7ea?", "http://example.com/~a")


def test_an_address_of_version_6_keeps_its_brackets_as_host():
    url = canonical("http://[::1]:8080/")
    assert (url.host, url.origin) == ("[::1]", "http://[::1]:8080")
    assert canonical("http://[::1]/").host == "[::1]"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "not a URL"),
        ("example.com", "not a URL"),
        ("http://", "not a URL"),
        ("http://a b/", "not a URL"),
        ("\ud800", "not a URL"),
        ("mailto:a@example.com", "not http or https but mailto"),
        ("ftp://example.com/", "not http or https but ftp"),
        ("http://a..example/", "empty label"),
        ("http://./", "empty label"),
        ("http://example.com../", "empty label"),
        (f"http://{'a' * 64}.example/", "longer than DNS allows"),
        (f"http://{'a.' * 130}example/", "longer than DNS allows"),
        ("http://example.com/" + "a" * 2000, "longer than 2,000 characters"),
    ],
)
def test_what_is_no_url_is_refused_with_its_reason(raw, reason):
    with pytest.raises(NotAUrl, match=reason):
        canonical(raw)


@given(st.text(alphabet="abAZ09%3417eEfF./?#&=~é:@ -_", max_size=40))
@example("%%37e")
@example("%4%31")
@example("%25%37e")
@example("??")
@example("?")
@example("a??#")
def test_the_canonical_form_is_a_fixed_point(tail):
    try:
        url = canonical("http://example.com/" + tail)
    except NotAUrl:
        return
    again = canonical(url.text)
    assert again.text == url.text
    assert canonical(url.wire).text == url.text


@given(st.text(max_size=60))
def test_anything_is_a_url_or_refused(raw):
    try:
        url = canonical(raw, "https://example.com/a/b")
    except NotAUrl:
        return
    assert url.text.startswith(("http://", "https://"))
    assert url.text.isascii()
    assert url.text.startswith(url.origin + "/")
    assert canonical(url.text).text == url.text


@pytest.mark.shared
def test_every_url_of_the_web_platform_tests_is_a_fixed_point_or_refused():
    import zstandard

    with zstandard.open(shared("urls/wpt-urltestdata.json.zst"), "rt") as file:
        cases = [case for case in json.load(file) if isinstance(case, dict)]
    for case in cases:
        try:
            url = canonical(case["input"], case["base"])
        except NotAUrl:
            continue
        assert not case.get("failure"), case
        assert canonical(url.text).text == url.text
