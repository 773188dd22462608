"""The key of a URL is the one that the package `surt` makes, which pywb looks up."""

import io
import json
import re
import socket
import tarfile
from html import unescape

import ada_url
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from surt import surt as reference

from tests.shared import read_tar_file, shared_file
from thresher.core.surt import surt
from thresher.storage.warc.exchange_records import target_uri

HREF = re.compile(rb"""(?:href|src)\s*=\s*["']([^"'<>]{1,2000})["']""", re.IGNORECASE)
PAGES = ("extraction/pages.tar.zst", "extraction/pages-nogold.tar.zst", "extraction-modern/pages.tar.zst")
ID = "0123456789abcdefABCDEF0123456789"
PIECES = [
    *("http", "https", "HTTP", "ftp", "dns", "urn", "file", "filedesc", "://", "//", "/", ":", "?", "&", "=", "#", "@"),
    *(":80", ":443", ":8080", ":0", ".", "..", "...", "www", "www.", "www2.", "WWW.", "example", ".org", "ORG"),
    *("%", "%25", "%2525", "%41", "%2F", "%3F", "%23", "%26", "%3D", "%C3%A9", "%c3", "%00", "%zz", "%2", "%E3%80%82"),
    *("%EF%BC%85", "[", "]", "[::1]", "1.2.3.4", "0", "10", "08", "017", "256", "1", "2130706433", "99999999999"),
    *("\\", "|", '"', "(", ")", "a", "B", "~", "!", "$", ";", "+", "-", ".aspx", "(S(abcdefghijklmnopqrstuvwx))/"),
    *("(abcdefghijklmnopqrstuvw0)/", f"jsessionid={ID}", f"PHPSESSID={ID}", f"sid={ID}", "cfid=1", "&cftoken=2"),
    f"ASPSESSIONIDabcdEFGH={'z' * 24}",
]  # fmt: skip
urls = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "http://", "https://"]),
        st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    ),
)


@pytest.fixture(autouse=True, scope="module")
def resolver():
    """The package asks the resolver what address a number is; here it knows addresses and no names."""

    def known(host):
        try:
            return host, [], [socket.inet_ntoa(socket.inet_aton(host.decode()))]
        except OSError:
            raise socket.gaierror(host) from None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "gethostbyname_ex", known)
        yield


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.com/A?b=1", "com,example)/a?b=1"),
        ("https://docs.example.co.uk", "uk,co,example,docs)/"),
        ("http://www2.example.org/", "org,example)/"),
        ("http://user:secret@Example.ORG/#top", "org,example)/"),
        ("https://example.org:443/", "org,example)/"),
        ("http://example.org:443/", "org,example:443)/"),
        ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
        ("http://2130706433/", "1,0,0,127)/"),
        ("http://0177.1/", "1,0,0,127)/"),
        ("http://256.0.0.1/", "1,0,0,256)/"),
        ("http://1.2.3.4.5/", "5,4,3,2,1)/"),
        ("http://[::1]:81/", "::1:81)/"),
        ("http://b%C3%BCcher.example/", "example,xn--bcher-kva)/"),
        ("http://example.org/a/", "org,example)/a"),
        ("http://example.org/a//./b/../c", "org,example)/a/c"),
        ("http://example.org/%2541%20b%C3%A9", "org,example)/a%20b%c3%a9"),
        ("http://example.org/?z=1&A=2&a", "org,example)/?a&a=2&z=1"),
        ("http://example.org/?", "org,example)/"),
        (f"http://example.org/?a=1&PHPSESSID={ID}&b=2", "org,example)/?a=1&b=2"),
        ("http://example.org/(S(abcdefghijklmnopqrstuvwx))/Page.aspx", "org,example)/page.aspx"),
        ("http://https://example.org/", "org,example)/"),
        ("example.org/a", "org,example)/a"),
        ("dns:example.org", "dns:example.org"),
        ("urn:X-y:Z/", "urn:x-y:z"),
        ("file:books/a%20b.txt#line=7", "file:books/a%20b.txt"),
        ("", "-"),
    ],
)
def test_the_rules_by_example(url, key):
    assert surt(url) == key == reference(url)


@pytest.mark.parametrize("url", ["http://example.org:80x/", "http://example.org:65536/"])
def test_a_port_that_is_none_has_no_key(url):
    for made in (surt, reference):
        with pytest.raises(ValueError, match=r"(?i)port"):
            made(url)


@given(urls)
def test_any_url_has_the_reference_s_key(url):
    assert key_or_none(surt, url) == key_or_none(reference, url)


@given(
    st.from_regex(
        r"https?://(www[0-9]?\.)?[a-z0-9-]{1,3}(\.[a-z0-9-]{1,3}){0,2}(/[A-Za-z0-9_.~-]{0,4}){0,3}",
        fullmatch=True,
    )
)
def test_a_plain_url_has_the_key_of_the_rules(url):
    assert key_or_none(surt, url) == key_or_none(surt, f"{url}#fragment")


@given(st.text().map(target_uri))
def test_a_key_can_stand_in_a_line_of_an_index(url):
    key = key_or_none(surt, url)
    assert key is None or re.fullmatch(r"[!-~]+", key)


@pytest.mark.shared
def test_every_real_address_has_the_reference_s_key():
    assert_same(addresses())


@pytest.mark.slow
@pytest.mark.shared
def test_every_link_of_real_pages_has_the_reference_s_key():
    """Of every twentieth page."""
    assert_same(links(every=20))


@pytest.mark.shared
@pytest.mark.slow
def test_every_link_of_all_real_pages_has_the_reference_s_key():
    assert_same(links(every=1))


def assert_same(found):
    assert len(found) > 10_000
    differing = [
        (url, key_or_none(surt, url), key_or_none(reference, url))
        for url in found
        if key_or_none(surt, url) != key_or_none(reference, url)
    ]
    assert differing == []


def key_or_none(made, url):
    try:
        return made(url)
    except (ValueError, AttributeError):  # AttributeError: the reference of a URL that is all blanks
        return None


def addresses():
    """Every URL, host and part of a URL in the lists of `urls/`, as a WARC file would have it."""
    rows = [line.split("\t") for line in unpacked("urls/citizenlab-urls.tsv.zst").split("\n") if line]
    found = [row[2] for row in rows]
    for name in ("top", "random"):
        for line in unpacked(f"urls/opendns-{name}-domains.tsv.zst").split("\n"):
            if line:
                found += [f"http://{line.split()[1]}/", f"https://www.{line.split()[1]}/"]
    for case in json.loads(unpacked("urls/wpt-urltestdata.json.zst")):
        if isinstance(case, dict):
            found += [case["input"], case.get("href") or ""]
    for name in ("urls/wpt-toascii.json", "urls/wpt-IdnaTestV2.json.zst"):
        cases = json.loads(unpacked(name))
        found += [f"http://{case['input']}/x" for case in cases if isinstance(case, dict)]
    for line in unpacked("urls/crawler-commons-weirdToNormalizedUrls.csv").split("\n"):
        found += [] if line.startswith("#") else line.split(", ")
    return sorted(set(map(target_uri, found)))


def links(every):
    """What real pages refer to, as written and as an address."""
    found = set()
    for name in PAGES:
        with shared_file(name).open("rb") as file:
            stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
            with tarfile.open(fileobj=stream, mode="r|") as pages:
                for number, member in enumerate(pages):
                    if member.isfile() and number % every == 0:
                        found.update(HREF.findall(read_tar_file(pages, member)))
    written = {unescape(link.decode(errors="replace")) for link in found}
    whole = (absolute(link) for link in written)
    return sorted(set(map(target_uri, {*written, *filter(None, whole)})))


def absolute(link):
    try:
        return ada_url.join_url("http://www.example.org/dir/page.html", link)
    except ValueError:
        return ""


def unpacked(name):
    data = shared_file(name).read_bytes()
    if name.endswith(".zst"):
        data = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(io.BytesIO(data)).read()
    return data.decode()
