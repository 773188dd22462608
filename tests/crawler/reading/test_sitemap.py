"""Sitemaps and feeds, whole and broken, are read as one stream of entries."""

import gzip
import tarfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import read_tar_file, shared_file
from thresher.crawler.reading import sitemap
from thresher.crawler.reading.sitemap import (
    MAX_ENTRIES,
    MAX_TAGS,
    MAX_TOKEN_CHARS,
    MAX_URL_LENGTH,
    SitemapEntry,
    iterate_entries,
    read_sitemap,
)

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DAY_MS = 1_704_067_200_000  # 2024-01-01


def urls(text):
    body = text if isinstance(text, bytes) else text.encode()
    return [entry.url for entry in read_sitemap(body).entries]


def urlset(*locs, around="urlset"):
    inside = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{around} {NS}>{inside}</{around}>'


def test_a_sitemap_lists_pages_with_their_dates():
    text = urlset("http://a.org/1", " http://a.org/2\n").replace(
        "</loc></url>", "</loc><lastmod>2024-01-01</lastmod></url>", 1
    )
    assert read_sitemap(text.encode()).entries == (
        SitemapEntry(url="http://a.org/1", modified_ms=DAY_MS),
        SitemapEntry(url="http://a.org/2"),
    )


def test_an_index_lists_sitemaps():
    text = f"<sitemapindex {NS}><sitemap><loc>http://a.org/s1.xml.gz</loc></sitemap></sitemapindex>"
    assert read_sitemap(text.encode()).entries == (
        SitemapEntry(url="http://a.org/s1.xml.gz", is_sitemap=True),
    )


def test_what_is_no_page_is_not_listed():
    text = """<urlset xmlns:image="i" xmlns:video="v"><url><loc>http://a.org/</loc>
        <image:image><image:loc>http://a.org/i.png</image:loc></image:image>
        <video:video><video:player_loc>http://a.org/v</video:player_loc></video:video></url>
        <!-- <url><loc>http://a.org/old</loc></url> --></urlset>"""
    assert urls(text) == ["http://a.org/"]


def test_the_languages_of_a_page_are_listed_with_it():
    text = """<urlset><url><loc>http://a.org/en</loc>
        <xhtml:link rel="alternate" hreflang="de" href="http://a.org/de?a=1&amp;b=2"/>
        <xhtml:link rel='alternate' hreflang='en' href='http://a.org/en'/></url></urlset>"""
    assert urls(text) == ["http://a.org/en", "http://a.org/de?a=1&b=2"]


def test_feeds_list_their_entries():
    rss = """<rss><channel><link>http://a.org/home</link><item><title>x</title><link>http://a.org/1</link>
        <pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item></channel></rss>"""
    atom = """<feed><link href="http://a.org/home"/><entry><link rel="edit" href="http://a.org/edit"/>
        <link href="http://a.org/1"/><updated>2024-01-01T01:00:00+01:00</updated></entry></feed>"""
    for text in (rss, atom):
        assert read_sitemap(text.encode()).entries == (
            SitemapEntry(url="http://a.org/1", modified_ms=DAY_MS),
        )


def test_a_text_has_a_url_on_each_line():
    text = "\ufeffhttp://a.org/1\r\nhttps://a.org/2\rno url\n\n  http://a.org/3"
    assert urls(text) == ["http://a.org/1", "https://a.org/2", "http://a.org/3"]
    assert urls("User-agent: *\nSitemap: http://a.org/s") == []


@pytest.mark.parametrize(
    "text",
    [
        urlset("http://a.org/1?x=1&y=2", "http://a.org/2"),
        urlset("http://a.org/1?x=1&amp;y=2", "<![CDATA[http://a.org/2]]>"),
        urlset("http://a.org/1?x=1&#38;y=2", "http://a.org/2").replace("</url>", ""),
        urlset("http://a.org/1?x=1&#x26;y=2", "http://a.org/2").replace(
            "</urlset>", "<url><loc>http://a.org/3"
        ),
        urlset("http://a.org/1?x=1&y=2", "http://a.org/2").replace("url", "s:url").replace("loc", "s:LOC"),
        f"<urlset {NS}><loc>http://a.org/1?x=1&y=2</loc><loc>http://a.org/2</loc>",
        "\n\n" + urlset("http://a.org/1?x=1&y=2", "http://a.org/2"),
        '<!DOCTYPE x [<!ENTITY a "b">]>' + urlset("http://a.org/1?x=1&y=2", "http://a.org/2"),
        b"\xff\xfe" + urlset("http://a.org/1?x=1&y=2", "http://a.org/2").encode("utf-16-le"),
        urlset("http://a.org/1?x=1&y=2", "http://a.org/2").replace("UTF-8", "no-such-thing"),
        urlset("http://a.org/1?x=1&y=2", "http://a.org/2").replace("UTF-8", "UTF-16"),
        gzip.compress(urlset("http://a.org/1?x=1&y=2", "http://a.org/2").encode()),
        gzip.compress(gzip.compress(urlset("http://a.org/1?x=1&y=2", "http://a.org/2").encode())),
    ],
)
def test_of_what_is_broken_the_entries_that_are_whole_are_listed(text):
    assert urls(text) == ["http://a.org/1?x=1&y=2", "http://a.org/2"]


def test_entities_are_not_expanded():
    text = '<!DOCTYPE x [<!ENTITY a "http://a.org/"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    assert urls(text + urlset("&a;1", "&f;")) == ["&a;1", "&f;"]


def test_it_is_the_same_in_whatever_pieces_it_comes():
    body = urlset("http://a.org/é&amp;", "<![CDATA[http://a.org/2]]>", "http://a.org/<!-- x -->3").encode()
    whole = [entry.url for entry in iterate_entries([body])]
    assert whole == ["http://a.org/é&", "http://a.org/2", "http://a.org/3"]
    for size in (1, 2, 3, 7, 64):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        # The first piece must show what it is: octets of a mark, of a declaration.
        head, rest = b"".join(pieces[:64]), pieces[64:]
        assert [entry.url for entry in iterate_entries([head, *rest])] == whole


def test_more_than_the_protocol_allows_is_counted_and_left(monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_ENTRIES", 3)
    found = read_sitemap(urlset(*(f"http://a.org/{number}" for number in range(5))).encode())
    assert (len(found.entries), found.excess_entries, found.is_cut) == (3, 2, False)
    assert MAX_ENTRIES == 50_000


def test_a_bomb_is_unpacked_as_far_as_the_protocol_allows(monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_BYTES", 100_000)
    text = urlset("http://a.org/1") + " " * 10_000_000 + urlset("http://a.org/2")
    found = read_sitemap(gzip.compress(text.encode()))
    assert ([entry.url for entry in found.entries], found.is_cut) == (["http://a.org/1"], True)


def test_a_packed_file_that_breaks_off_is_read_as_far_as_it_goes():
    text = urlset(*(f"http://a.org/{number}" for number in range(20_000)))
    found = read_sitemap(gzip.compress(text.encode())[:-2_000])
    assert found.is_cut
    assert len(found.entries) > 100


def test_a_url_that_is_too_long_is_none():
    assert urls(urlset("http://a.org/" + "x" * MAX_URL_LENGTH, "http://a.org/2")) == ["http://a.org/2"]
    assert urls("http://a.org/" + "x" * MAX_TOKEN_CHARS + "\nhttp://a.org/2") == ["http://a.org/2"]


@pytest.mark.parametrize(
    "piece", [b"<", b"<!--", b"<![CDATA[", b"<a ", b"&", b"<loc>", b"<url a='", b"<?", b"]]>"]
)
def test_megabytes_of_what_never_ends_are_read_once(piece):
    found = read_sitemap(b"<url><loc>http://a.org/1</loc></url>" + piece * (2_000_000 // len(piece)))
    assert [entry.url for entry in found.entries] == ["http://a.org/1"]


def test_a_file_of_more_tags_than_any_sitemap_is_read_so_far(monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_TAGS", 30)
    assert len(urls(urlset(*map(str, range(100))))) == 7
    assert MAX_TAGS > 30 * MAX_ENTRIES


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024", DAY_MS),
        ("2024-01", DAY_MS),
        ("2024-01-01T00:00Z", DAY_MS),
        ("2024-01-01T02:30:00.25+02:30", DAY_MS),
        ("2024-13-01", 0),
        ("1 Jan 2024 00:00:00 +0000", DAY_MS),
        ("yesterday", 0),
        ("", 0),
        ("1887-01-01", 0),
    ],
)
def test_dates_are_those_of_the_w3c_or_of_mail(written, expected):
    text = f"<urlset><url><loc>http://a.org/</loc><lastmod>{written}</lastmod></url></urlset>"
    assert read_sitemap(text.encode()).entries[0].modified_ms == expected


@given(
    st.lists(
        st.sampled_from(
            [b"<url>", b"</url>", b"<loc>", b"http://a", b"</loc>", b"<!--", b"-->", b"<![CDATA["]
        )
        | st.binary(max_size=9)
    )
)
def test_no_bytes_break_it(pieces):
    read_sitemap(b"<" + b"".join(pieces))
    list(iterate_entries(pieces))


EXPECTED = {
    "trafilatura/tests/resources/sitemap.xml": (84, 0),
    "trafilatura/tests/resources/sitemap.xml.gz": (84, 0),
    "trafilatura/tests/resources/feed1.atom": (1, 0),
    "trafilatura/tests/resources/feed2.rss": (1, 0),
    "crawler-commons/sitemaps/sitemap.ns.xml": (2, 0),
    "crawler-commons/sitemaps/sitemap.badns.xml": (2, 0),
    "crawler-commons/sitemaps/sitemap-with-bom.txt": (2, 0),
    "crawler-commons/sitemaps/sitemap.txt.gz": (5, 0),
    "crawler-commons/sitemaps/extension/sitemap-videos.xml": (3, 0),
    "crawler-commons/rss/xmlRss_pubDate.xml": (7, 0),
    "stormcrawler/core/stormcrawler.sitemap.index.xml": (4, 4),
    "stormcrawler/core/stormcrawler.sitemap.xml.gz": (6, 0),
    "stormcrawler/core/stormcrawler.apache.org.html": (0, 0),
}


def test_sitemaps_and_feeds_of_other_crawlers_tests_are_read():
    packed = shared_file("robots/sitemaps-feeds-robots-cases.tar.zst").read_bytes()
    seen = {}
    with tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(packed), mode="r|") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name in EXPECTED:
                found = read_sitemap(read_tar_file(archive, member)).entries
                seen[name] = (len(found), sum(entry.is_sitemap for entry in found))
    assert seen == EXPECTED
