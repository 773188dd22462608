"""One page has one text, and that text is a fixed point."""

import csv
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.shared import shared_file
from thresher.frontier import InvalidUrl, canonicalize


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
        ("http://example.com/?a[b]=c|d^`", "http://example.com/?a%5Bb%5D=c%7Cd%5E%60"),
        ("http://example.com/?&", "http://example.com/"),
        ("http://example.com/?a=1&", "http://example.com/?a=1"),
        ("http://example.com/?&a=1&&b=2&&", "http://example.com/?a=1&b=2"),
    ],
)
def test_equivalent_writings_fold_to_one_text(raw, text):
    assert canonicalize(raw).text == text


SESSION = "0123456789abcdef0123456789ABCDEF"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("http://a.test/x;jsessionid=1A530637289A03B07199A44E8D531427.n1?b=1", "http://a.test/x?b=1"),
        ("http://a.test/x;v=1;JSESSIONID=2/y;z", "http://a.test/x;v=1/y;z"),
        ("http://a.test/x?jsessionid=77&b=1", "http://a.test/x?b=1"),
        ("http://a.test/(S(lit3py55t21z5v55vlm25s55))/x.aspx", "http://a.test/x.aspx"),
        ("http://a.test/s/(A(abc)S(def)F(ghi))/x", "http://a.test/s/x"),
        (f"http://a.test/?PHPSESSID={SESSION}&id=7", "http://a.test/?id=7"),
        ("http://a.test/?id=7&ASPSESSIONIDQQBCTRBD=KMJ", "http://a.test/?id=7"),
        ("http://a.test/?cfid=17&cftoken=a-b&x", "http://a.test/?x"),
        (f"http://a.test/viewtopic.php?t=1&sid={SESSION}", "http://a.test/viewtopic.php?t=1"),
        (f"http://a.test/showthread.php?s={SESSION}&t=1", "http://a.test/showthread.php?t=1"),
        ("http://a.test/?osCsid=0123456789abcdef0123456789&p=1", "http://a.test/?p=1"),
        ("http://a.test/?utm_source=x&utm_medium=y&id=1&fbclid=z", "http://a.test/?id=1"),
        ("http://a.test/?%75tm_source=x", "http://a.test/"),
        ("http://a.test/?GCLID=x&mc_eid=y&msclkid=z", "http://a.test/"),
    ],
)
def test_what_recognises_the_visitor_is_folded_away_and_kept_on_the_wire(raw, text):
    url = canonicalize(raw)
    assert url.text == text
    assert url.wire == raw


@pytest.mark.parametrize(
    "raw",
    [
        "http://a.test/?sid=42",
        "http://a.test/?s=search",
        f"http://a.test/?q={SESSION}",
        f"http://a.test/?mysid={SESSION}",
        "http://a.test/?cfid=17",
        "http://a.test/?zenid=7",
        "http://a.test/?utm=1",
        "http://a.test/?about_utm_source=1",
        "http://a.test/;sid=1/x",
        "http://a.test/f(S(x))/y",
        "http://a.test/(S(x))",
        "http://a.test/a/..;jsessionid=1/b",
    ],
)
def test_what_only_looks_like_a_session_stays(raw):
    assert canonicalize(raw).text == raw


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.test/", "https://a.test/"),
        ("http://a.test/", "http://www.a.test/"),
        ("http://a.test/", "http://a.test/index.html"),
        ("http://a.test/x", "http://a.test/x/"),
        ("http://a.test/x", "http://a.test/X"),
        ("http://a.test/x/y", "http://a.test/x//y"),
        ("http://a.test/?a=1&b=2", "http://a.test/?b=2&a=1"),
        ("http://a.test/?a=", "http://a.test/?a"),
        ("http://a.test/?a=1", "http://a.test/?a=1&a=1"),
        ("http://a.test/100%", "http://a.test/100%25"),
    ],
)
def test_what_servers_tell_apart_is_not_folded(one, other):
    assert canonicalize(one).text != canonicalize(other).text


def test_a_relative_link_is_resolved_against_its_base():
    url = canonicalize("../c?d=1#e", "https://example.com:8080/a/b/")
    assert (url.text, url.origin, url.host) == (
        "https://example.com:8080/a/c?d=1",
        "https://example.com:8080",
        "example.com",
    )


def test_the_wire_form_keeps_what_canonicalisation_folds():
    url = canonicalize("http://u:p@Example.com./%7ea?#x")
    assert (url.wire, url.text) == ("http://example.com./%7ea?", "http://example.com/~a")


def test_an_address_of_version_6_keeps_its_brackets_as_host():
    url = canonicalize("http://[::1]:8080/")
    assert (url.host, url.origin) == ("[::1]", "http://[::1]:8080")
    assert canonicalize("http://[::1]/").host == "[::1]"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "not a URL"),
        ("example.com", "not a URL"),
        ("http://", "not a URL"),
        ("http://a b/", "not a URL"),
        ("\ud800", "not a URL"),
        ("http://example.com/" + "[" * 1980, "longer than 2,000 characters"),
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
    with pytest.raises(InvalidUrl, match=reason):
        canonicalize(raw)


@given(st.text(alphabet="abAZ09%3417eEfF./?#&=~é:@ -_;()S[|", max_size=40))
@example("%%37e")
@example("%4%31")
@example("%25%37e")
@example("??")
@example("?")
@example("a??#")
@example("x/..;jsessionid=1/y")
@example("..;jsessionid=1/y")
@example("(S(a))/(S(b))/c;jsessionid=;jsessionid=d")
@example("?utm_a=&&gclid=b&sid=%30123456789abcdef0123456789abcdef&")
def test_the_canonical_form_is_a_fixed_point(tail):
    try:
        url = canonicalize("http://example.com/" + tail)
    except InvalidUrl:
        return
    again = canonicalize(url.text)
    assert again.text == url.text
    assert canonicalize(url.wire).text == url.text


@given(st.text(max_size=60))
def test_anything_is_a_url_or_refused(raw):
    try:
        url = canonicalize(raw, "https://example.com/a/b")
    except InvalidUrl:
        return
    assert url.text.startswith(("http://", "https://"))
    assert url.text.isascii()
    assert url.text.startswith(url.origin + "/")
    assert canonicalize(url.text).text == url.text


FRAGMENTS = st.sampled_from(
    [
        "/",
        "a",
        "..",
        "&",
        "?",
        "=",
        ";jsessionid=",
        "(S(",
        "))",
        "(A(b)F(c))",
        "utm_x",
        "sid=",
        "%5f",
        "%",
        "41",
        "0123456789abcdef0123456789abcdef",
        "PHPSESSID=1",
        "cfid=1",
        "cftoken=2",
        "fbclid",
        "[",
        "#",
    ]
)


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
@example("(A(b)F(c));jsessionid=/")
def test_folding_leaves_nothing_that_folds_again(tail):
    url = canonicalize("http://example.com/" + tail)
    assert canonicalize(url.text).text == url.text
    assert canonicalize(url.wire).text == url.text
    assert canonicalize(url.wire).wire == url.wire


def cases(name):
    """The cases of a file of the web platform tests."""
    path = shared_file(f"urls/{name}")
    if path.suffix == ".zst":
        import zstandard

        with zstandard.open(path, "rt") as file:
            text = file.read()
    else:
        text = path.read_text()
    return [case for case in json.loads(text) if isinstance(case, dict)]


def read(raw, base=None):
    """The URL, or None and why it is none."""
    try:
        return canonicalize(raw, base), ""
    except InvalidUrl as reason:
        return None, str(reason)


STRICTER = {"host name with an empty label", "host name longer than DNS allows"}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("wpt-urltestdata.json.zst", 150),
        ("wpt-ada_extra_urltestdata.json", 4),
        ("wpt-urltestdata-javascript-only.json", 1),
    ],
)
def test_the_wire_form_is_what_the_url_standard_has(name, count):
    agreed = 0
    for case in cases(name):
        base = case.get("base")
        url, reason = read(case["input"], None if base == "about:blank" else base)
        crawlable = not case.get("failure") and case["protocol"] in {"http:", "https:"}
        if url is None:
            assert not crawlable or reason in STRICTER, case
            continue
        assert crawlable, case
        expected = f"{case['protocol']}//{case['host']}{case['pathname']}{case['search']}"
        assert url.wire.removesuffix("?") == expected.removesuffix("?")
        assert canonicalize(url.text).text == url.text
        agreed += 1
    assert agreed >= count


@pytest.mark.shared
@pytest.mark.parametrize(("name", "count"), [("wpt-toascii.json", 20), ("wpt-IdnaTestV2.json.zst", 400)])
def test_international_host_names_are_what_the_url_standard_has(name, count):
    agreed = 0
    for case in cases(name):
        if not case["input"]:
            continue
        host = re.sub(r"[/?#\\:]", lambda match: f"%{ord(match[0]):02X}", case["input"])
        url, reason = read(f"https://{host}/x")
        if url is None:
            assert case["output"] is None or reason in STRICTER, case
            continue
        assert url.wire == f"https://{case['output']}/x", case
        assert url.host == case["output"].removesuffix(".")
        agreed += 1
    assert agreed >= count


@pytest.mark.shared
def test_query_and_path_are_percent_encoded_as_the_url_standard_has_it():
    for case in cases("wpt-percent-encoding.json"):
        url = canonicalize(f"https://a.test/?{case['input']}")
        assert url.wire == f"https://a.test/?{case['output']['utf-8']}".removesuffix("\0")


DIFFERENCES = {
    # Browsers and servers tell them apart, see the module's list of what is not folded.
    "doubled slashes": r"^http://foo\.com/.*//|^http://foo\.com//",
    "the order of parameters": r"b=[12]?&a=1|index\?b&a=1|=1&a=1",
    "`a=` and `a`": r"&b=$",
    "a `%` that stands alone": r"%(?![0-9A-Fa-f]{2})",
    # No crawl has them, or a browser takes them for something else.
    "other schemes": r"^(?:file|ftp):",
    "no host": r"^http:/{4,}$",
    "no scheme": r"^foo\.com",
}


@pytest.mark.shared
def test_crawler_commons_folds_the_same_except_where_servers_tell_apart():
    agreed, differences = 0, dict.fromkeys(DIFFERENCES, 0)
    for line in shared_file("urls/crawler-commons-weirdToNormalizedUrls.csv").read_text().split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        raw, normal = next(csv.reader([line], skipinitialspace=True))
        try:
            text = canonicalize(raw).text
        except InvalidUrl:
            text = ""
        if text == normal.strip():
            agreed += 1
        else:
            (*kinds,) = (kind for kind, pattern in DIFFERENCES.items() if re.search(pattern, raw))
            assert kinds, (raw, normal, text)
            differences[kinds[0]] += 1
    assert agreed >= 80
    assert all(differences.values())
