"""Every page of a wiki's dump comes out or is named, whatever the dump is packed with and wherever it is cut."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage import dumps
from tests.storage.dumps import PACKED, head, page, revision, wiki
from thresher.core import InputError
from thresher.storage.inputs.dumps import wikipedia
from thresher.storage.inputs.dumps.elements import parse_head
from thresher.storage.inputs.entry import InputRecord, UnusableRecord

PAGES = [
    page("Harbour light", revision("A '''harbour light''' shows < & > \U0001f6a2."), id_=12),
    page("Template:Box", revision("box"), ns=10),
    page("Light", revision("#REDIRECT [[Harbour light]]"), redirect="Harbour light"),
    page("Tom & Anna's ship/boat: 100 % \u00e4", revision("Two\nlines.")),
    page("Module", revision("return 1", model="Scribunto")),
    page("Gone", revision("", attributes=' deleted="deleted"')),
    page("Blank", revision(" \n")),
]
DUMP = wiki(*PAGES)
REASONS = [None, "other_namespace", "redirect", None, "not_wikitext", "deleted", "no_text"]


def read(data, first=0, name="dumps/enwiki.xml", **options):
    return dumps.read(wikipedia.read, data, name, first, **options)


def reasons(items):
    return [item.reason if isinstance(item, UnusableRecord) else None for item in items]


@pytest.mark.parametrize("packed", PACKED)
def test_every_page_is_an_article_or_has_a_reason(packed):
    found = read(PACKED[packed](DUMP))
    assert reasons(found) == REASONS
    assert [item.place for item in found] == list(range(7))


def test_an_article_is_its_wikitext_with_what_the_dump_says_of_it():
    article = read(DUMP)[0]
    assert article == InputRecord(
        place=0,
        uri="https://en.wikipedia.org/wiki/Harbour_light",
        mime="text/x-wiki; charset=utf-8",
        payload="A '''harbour light''' shows < & > \U0001f6a2.".encode(),
        date_ms=1767323045000,
        facts={
            "id": "12",
            "title": "Harbour light",
            "date": "2026-01-02",
            "language": "en",
            "license": "https://creativecommons.org/licenses/by-sa/4.0",
            "from": "dumps/enwiki.xml",
        },
    )


def test_what_stands_in_a_title_is_written_as_mediawiki_writes_it():
    assert read(DUMP)[3].uri == "https://en.wikipedia.org/wiki/Tom_%26_Anna%27s_ship/boat:_100_%25_%C3%A4"


@pytest.mark.parametrize(
    ("base", "uri", "license_", "language"),
    [
        ("https://de.wikipedia.org/wiki/Wikipedia:Hauptseite", "https://de.wikipedia.org/wiki/A", True, "x"),
        ("https://fr.wikisource.org/wiki/A/B", "https://fr.wikisource.org/wiki/A", True, "x"),
        ("https://commons.wikimedia.org/wiki/Main_Page", "https://commons.wikimedia.org/wiki/A", True, ""),
        ("https://www.wikidata.org/wiki/Main", "https://www.wikidata.org/wiki/A", False, ""),
        ("https://www.example.org/wiki/Main", "https://www.example.org/wiki/A", False, "x"),
        ("https://en.wikinews.org/wiki/Main_Page", "https://en.wikinews.org/wiki/A", False, "x"),
        ("http://wiki.example.org/index.php/Main", "http://wiki.example.org/index.php/A", False, "x"),
        (
            "http://wiki.example.org/w/index.php?title=M",
            "http://wiki.example.org/w/index.php?title=A",
            False,
            "x",
        ),
        ("http://wiki.example.org/Main", "http://wiki.example.org/A", False, "x"),
        (
            "https://en.wikipedia.org.example.com/wiki/M",
            "https://en.wikipedia.org.example.com/wiki/A",
            False,
            "x",
        ),
    ],
)
def test_the_wiki_is_the_one_that_the_head_names(base, uri, license_, language):
    (article,) = read(wiki(page("A", revision("text")), base=base, language="x"))
    assert article.uri == uri
    assert ("license" in article.facts) is license_
    assert article.facts.get("language", "") == language


@pytest.mark.parametrize("version", ["0.3", "0.10", "0.11"])
def test_exports_of_every_version_are_read(version):
    assert reasons(read(wiki(*PAGES, version=version))) == REASONS


def test_the_newest_revision_is_taken():
    both = page("A", revision("old", timestamp="2001-01-01T00:00:00Z"), revision("new"))
    (article,) = read(wiki(both))
    assert (article.payload, article.facts["date"]) == (b"new", "2026-01-02")


def test_other_namespaces_are_taken_where_they_are_asked_for():
    assert reasons(read(DUMP, namespaces={10})).index(None) == 1


@pytest.mark.parametrize("first", range(9))
def test_reading_goes_on_at_any_page(first):
    assert read(DUMP, first) == read(DUMP)[first:]


@pytest.mark.parametrize("packed", PACKED)
def test_what_is_in_front_of_a_cut_is_read_whereever_it_is(packed):
    whole, data = read(DUMP), PACKED[packed](DUMP)
    seen = set()
    for end in range(len(data)):
        try:
            found = read(data[:end])
        except InputError as error:
            assert "dumps/enwiki.xml" in str(error)  # noqa: PT017 - a cut in the head may be told or not
            continue
        in_front = dumps.without_end(found)
        assert in_front == whole[: len(in_front)]
        assert in_front != found or end > len(data) - 20
        seen.add(len(in_front))
    if packed == "plain":
        assert seen == set(range(8))


@pytest.mark.parametrize("first", range(7))
def test_a_cut_dump_is_gone_on_with_at_any_page(first):
    cut = DUMP[: DUMP.index(b"Tom &amp;")]
    assert read(cut, first) == read(cut)[first:]
    assert reasons(read(cut)) == [*REASONS[:3], "broken_xml", "cut_off"]


def test_a_broken_page_costs_itself():
    for harm in ("\0", "<", "&nbsp;", "</page>", "<!DOCTYPE a>", "<a>" * 40 + "</a>" * 40, "\x08"):
        pages = [page("A", revision("a")), page("B", revision("MARK")), page("C", revision("c"))]
        found = read(wiki(*pages).replace(b"MARK", harm.encode()))
        assert reasons(found) == [None, "broken_xml", None], harm
    found = read(wiki(*pages).replace(b"MARK", b"\xff\xfe"))
    assert reasons(found) == [None, "broken_xml", None]


def test_a_page_without_an_end_costs_itself():
    pages = [
        page("A", revision("a")),
        page("B", revision("b")).replace("</page>", ""),
        page("C", revision("c")),
    ]
    assert reasons(read(wiki(*pages))) == [None, "broken_xml", None]


def test_what_no_page_has_is_not_taken_for_a_fact():
    long = "9" * 5000
    assert reasons(read(wiki(page("A", revision("a"), ns=long), page("B" * 600, revision("b"))))) == [
        "other_namespace",
        "no_title",
    ]
    (article,) = read(wiki(page("A", revision("a", timestamp="yesterday"), id_=long), language="x y"))
    assert (article.date_ms, set(article.facts)) == (0, {"title", "license", "from"})


def test_entities_are_not_expanded_and_nothing_is_fetched():
    bomb = (
        '<!DOCTYPE mediawiki [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY x SYSTEM "file:///etc/hostname">]>'
    )
    with pytest.raises(InputError, match="no dump"):
        read(bomb.encode() + DUMP)
    with pytest.raises(InputError, match="DTD"):
        parse_head(bomb.encode() + DUMP, "x", lambda _path, _attributes: None)
    with pytest.raises(InputError, match="undefined entity"):
        read(DUMP.replace(b"enwiki<", b"&x;<"))


def test_a_page_beyond_the_limit_is_passed_over_in_bounded_memory():
    big = page("Big", revision("x" * (24 << 20)))
    data = PACKED["gzip"](wiki(PAGES[0], big, PAGES[3]))
    del big
    tracemalloc.start()
    try:
        found = read(data, limit=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reasons(found) == [None, "too_long", None]
    assert found[2].payload == b"Two\nlines."
    assert peak < 8 << 20


@pytest.mark.parametrize("size", [1, 100, 1000])
@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_pages_come_out_the_same_however_the_bytes_come(monkeypatch: pytest.MonkeyPatch, size, piece):
    monkeypatch.setattr("thresher.storage.inputs.dumps.elements.PIECE", piece)
    pages = [page("A", revision("a")), page("B", revision("b" * size)), page("C", revision("c"))]
    assert reasons(read(wiki(*pages), limit=900)) == [None, "too_long" if size == 1000 else None, None]


def test_bytes_after_the_end_are_reported():
    assert reasons(read(DUMP + b"\n\n")) == REASONS
    assert reasons(read(DUMP + DUMP)) == [*REASONS, "behind_the_end"]


def test_a_dump_packed_in_several_streams_is_one():
    for packed in ("gzip", "bzip2", "zstd"):
        pieces = [DUMP[at : at + 500] for at in range(0, len(DUMP), 500)]
        assert reasons(read(b"".join(map(PACKED[packed], pieces)))) == REASONS


def test_broken_compression_gives_what_is_in_front_of_it():
    for packed in ("gzip", "bzip2", "zstd"):
        data = PACKED[packed](DUMP[:1800]) + PACKED[packed](DUMP[1800:])
        at = len(PACKED[packed](DUMP[:1800])) + 12
        found = read(data[:at] + b"\xff" * 30 + data[at + 30 :])
        assert reasons(found)[0] is None
        assert found[-1].reason == "broken_compression"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "does not begin with <mediawiki>"),
        (b"<html><body>", "does not begin with <mediawiki>"),
        (b"\x89PNG" * 400_000, "in its first MiB"),
        (page("A", revision("a")).encode(), "does not begin with <mediawiki>"),
        (wiki(page("A", revision("a")), base=""), "no <base>"),
        (wiki(page("A", revision("a")), base="file:///etc"), "no <base>"),
        (wiki(page("A", revision("a")), base="https://[x"), "no <base>"),
        ("<mediawiki>".encode("utf-16"), "does not begin with <mediawiki>"),
        (b"<mediawiki><siteinfo>\0</siteinfo><page>", "is no dump: not well-formed"),
    ],
)
def test_what_is_no_dump_is_refused_by_name(data, why):
    with pytest.raises(InputError, match=why) as refused:
        read(data)
    assert "dumps/enwiki.xml" in str(refused.value)


def test_a_dump_without_pages_has_none():
    assert read(wiki()) == []


@given(st.binary(max_size=300), st.integers(0, len(DUMP)), st.integers(0, 40))
def test_nothing_in_a_dump_can_raise_anything_else(noise, at, cut):
    try:
        found = read(DUMP[:at] + noise + DUMP[at + cut :])
    except InputError:
        return
    assert [item.place for item in found] == list(range(len(found)))


def test_a_dump_is_known_by_its_root_element():
    assert wikipedia.is_dump(DUMP[:100])
    assert wikipedia.is_dump(b'\xef\xbb\xbf<?xml version="1.0"?>\n' + head().encode()[:60])
    assert not wikipedia.is_dump(b"<mediawikis>")
