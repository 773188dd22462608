"""Rows of Common Crawl's index are read, of whatever year, and other lines are refused."""

import json

import pytest

from tests.shared import shared_file
from tests.storage.commoncrawl.samples import LINE
from thresher.storage.commoncrawl.index.row import parse, row_from_fields
from thresher.storage.commoncrawl.index_facts import decode, encode, of_row


def test_a_line_of_the_cdx_index_is_a_row():
    row = parse(LINE)
    assert (row.surt, row.timestamp, row.url) == ("org,example)/a", "20240518015810", "https://example.org/a")
    assert (row.offset, row.length, row.status) == (80610731, 17423, 200)
    assert (row.charset, row.languages, row.truncated) == ("UTF-8", "spa,eng", "length")
    assert (row.digest, row.redirect) == ("RY7PLBUFQNI2FFV5FTUQK72W6SNPXLQU", "")


def test_what_older_and_newer_crawls_write_otherwise_is_read_alike():
    row = parse(LINE)
    assert parse(LINE.replace("crawl-data/CC", "common-crawl/crawl-data/CC")) == row
    assert parse(LINE.replace('"truncated"', '"warc-truncated"')) == row
    assert parse(LINE.replace('"charset"', '"encoding"')) == row
    assert parse(LINE.replace('"200"', '"-"')).status == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"offset": "80610731"', '"offset": "-1"'),
        ('"length": "17423"', '"length": "0"'),
        ('"length": "17423"', '"length": "99999999999"'),
        ("crawl-data/CC", "../crawl-data/CC"),
        ("segments/1", "segments/../.."),
        ("20240518015810", "2024"),
        ('"url": "https://example.org/a", ', ""),
        ('"offset": "80610731"', '"offset": "x"'),
        (LINE[40:], ""),
    ],
)
def test_what_names_no_record_is_refused(old, new):
    with pytest.raises((ValueError, KeyError, TypeError)):
        parse(LINE.replace(old, new))


@pytest.mark.shared
def test_real_rows_of_the_index_server_are_read():
    lines = shared_file("archives/cc-index/index-server-rows.jsonl").read_text().strip().split("\n")
    found = [row_from_fields(row["urlkey"], row["timestamp"], row) for row in map(json.loads, lines)]
    assert len(found) == 25
    assert {row.status for row in found} == {200, 301}
    assert found[0].charset == "UTF-8"
    assert found[0].languages == "eng"
    assert all(len(row.digest) == 32 for row in found)
    assert any(row.redirect == "https://commoncrawl.org/" for row in found)


@pytest.mark.shared
def test_real_lines_of_the_cdx_index_are_read():
    lines = shared_file("archives/cc-index/cdx-sample.cdxj").read_text().strip().split("\n")
    found = [parse(line) for line in lines]
    assert [row.status for row in found] == [301, 301, 200, 200, 301]
    assert found[2].languages == "ind,eng"


def test_what_the_index_says_of_a_record_is_read_back_from_its_metadata_record():
    facts = of_row(parse(LINE))
    assert decode(encode(facts)) == facts
    assert encode(facts).startswith(
        b"from: crawl-data/CC-MAIN-2024-22/segments/1/warc/x.warc.gz\r\noffset: 80610731\r\n"
    )


@pytest.mark.parametrize(
    "block", [b"", b"fetchTimeMs: 258\r\n", b"from: x\r\noffset: a\r\nlength: 1\r\n", b"\xff\0:"]
)
def test_other_metadata_holds_no_such_facts(block):
    assert decode(block) is None
