"""Whatever a writer does wrong is refused by name, before a byte of it is written."""

import gzip

import pytest
from hypothesis import given

from core import CorruptData
from storage.compression import compressor
from storage.validator import EVERY, validator
from storage.warc import capture_records, notes_record, warcinfo
from tests.storage.captures import RECORD_ID, SPOKEN, capture, captures
from tests.storage.test_records_made import NOTES, SAME

KINDS = ["gzip", "zstd"]


def made(one=None, *, revisit=None, notes=True):
    one = one or capture(**SPOKEN)
    request, response = capture_records(one, record_id=RECORD_ID, revisit=revisit)
    return [request, *([notes_record(one, NOTES, record_id=RECORD_ID)] if notes else []), response]


def refusal(records, kind="gzip", check=None):
    with pytest.raises(CorruptData) as refused:
        (check or validator(kind))(list(map(compressor(kind), records)))
    assert "\n" not in str(refused.value)
    return str(refused.value).split("'")[1]


@given(captures)
def test_every_exchange_passes_whatever_the_server_sent(one):
    for kind in KINDS:
        compress, check = compressor(kind), validator(kind)
        check(list(map(compress, made(one))))
        check([compress(warcinfo("x", date_ms=0, fields={"a": "b"}))])


@pytest.mark.parametrize("kind", KINDS)
def test_a_revisit_passes(kind):
    validator(kind)(list(map(compressor(kind), made(revisit=SAME))))


def edited(records, number, old, new):
    assert old in records[number]
    return [each.replace(old, new, 1) if at == number else each for at, each in enumerate(records)]


@pytest.mark.parametrize(
    ("number", "old", "new", "rule"),
    [
        (2, b"WARC/1.1", b"WARC/1.0", "head"),
        (2, b"WARC-Type: response", b"WARC-Type: answer", "head"),
        (2, b"WARC-Type: ", b"WARC-Type:", "head"),
        (2, b"WARC-Type: response\r\n", b"", "head"),
        (2, b"WARC-Date: 2026-01-02T", b"WARC-Date: 2026-01-02 ", "head"),
        (2, b"<urn:uuid:1", b"<urn:uuid:x", "head"),
        (2, b"WARC-IP-Address", b"WARC-Date", "head"),
        (2, b"page\r\n", b"page\n", "head"),
        (2, b"page\r\n", b"pag\xc3\xa9\r\n", "head"),
        (2, b"Content-Length: 119", b"Content-Length: 0119", "head"),
        (2, b"Content-Length: 119", b"Content-Length: 118", "length"),
        (2, b"</html>\r\n\r\n", b"</html>\r\n", "length"),
        (2, b"</html>\r\n\r\n", b"</html>\r\n\r\nWARC/1.1\r\n", "length"),
        (2, b"Text of", b"Test of", "block digest"),
        (0, b"GET /", b"PUT /", "block digest"),
        (1, b"fetchTimeMs: 1", b"fetchTimeMs: 2", "block digest"),
        (2, b"WARC-Payload-Digest: sha1:", b"WARC-Payload-Digest: sha1:A", "payload digest"),
        (0, b"WARC-Concurrent-To: <urn:uuid:1", b"WARC-Concurrent-To: <urn:uuid:2", "pair"),
        (2, b"WARC-Concurrent-To: <urn:uuid:6", b"WARC-Concurrent-To: <urn:uuid:7", "pair"),
        (1, b"WARC-Concurrent-To: <urn:uuid:1", b"WARC-Concurrent-To: <urn:uuid:2", "pair"),
        (0, b"https://example.org/page", b"https://example.org/pages", "pair"),
        (2, b"WARC-Date: 2026", b"WARC-Date: 2027", "pair"),
    ],
)
def test_each_rule_is_held(number, old, new, rule):
    records = edited(
        made(capture(b"<html><p>Text of the page.</html>" + b" " * 20 + b"</html>")), number, old, new
    )
    assert refusal(records) == rule


def test_a_response_comes_after_its_request():
    request, metadata, response = made()
    assert refusal([response, metadata, request]) == "pair"
    assert refusal([response]) == "pair"


def test_a_revisit_says_of_what():
    records = made(revisit=SAME)
    line = b"WARC-Refers-To-Date: 2026-01-02T03:04:04.678Z\r\n"
    assert refusal(edited(records, 2, line, b"")) == "pair"


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_is_one_and_whole(kind):
    compress, check = compressor(kind), validator(kind)
    whole = compress(warcinfo("x", date_ms=0, fields={"a": "b"}))
    for broken in (whole[:-1], whole + b"x", whole + whole, b"", b"x" * 20, gzip.compress(b"")[:5] + whole):
        with pytest.raises(CorruptData):
            check([broken])


def test_large_blocks_are_hashed_by_turns():
    records = edited(made(capture(b"x" * 10_000), notes=False), 1, b"xxx", b"xyx")
    check, compress = validator("gzip"), compressor("gzip")
    members = list(map(compress, records))
    refused = 0
    for _ in range(EVERY * 3):
        try:
            check(members)
        except CorruptData:
            refused += 1
    assert refused == 3
