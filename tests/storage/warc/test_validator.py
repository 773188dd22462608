"""The validator refuses every mistake of a writer by name, before a byte is written."""

import gzip
import random
from typing import Literal

import pytest
from hypothesis import given

from tests.storage.captures import RECORD_ID, SPOKEN, capture, captures, malformed_capture, wild_captures
from tests.storage.warc.test_records_made import NOTES, SAME
from thresher.core import CorruptData
from thresher.storage.warc.compression import compressor
from thresher.storage.warc.exchange_records import capture_records, metadata_record, warcinfo
from thresher.storage.warc.validator import EVERY, make_validator

KINDS: list[Literal["gzip", "zstd"]] = ["gzip", "zstd"]


def made(one=None, *, revisit=None, notes=True):
    one = one or capture(**SPOKEN)
    request, response = capture_records(one, record_id=RECORD_ID, revisit=revisit)
    return [request, *([metadata_record(one, NOTES, record_id=RECORD_ID)] if notes else []), response]


def refusal(records, kind="gzip", check=None):
    with pytest.raises(CorruptData) as refused:
        (check or make_validator(kind))(list(map(compressor(kind), records)))
    assert "\n" not in str(refused.value)
    return str(refused.value).split("'")[1]


@given(captures)
def test_every_exchange_passes_whatever_the_server_sent(one):
    for kind in KINDS:
        compress, check = compressor(kind), make_validator(kind)
        check(list(map(compress, made(one))))
        check([compress(warcinfo("x", date_ms=0, fields={"a": "b"}))])


def verdict(one):
    try:
        make_validator("gzip")(list(map(compressor("gzip"), made(one))))
    except CorruptData as error:
        return str(error).split("'")[1]
    return None


@given(wild_captures)
def test_no_server_can_send_what_is_refused_but_by_a_payload_that_is_not_there(one):
    """Where its framing is beyond doubt, the payload must be what follows the head; nothing else is judged."""
    head, _, body = one.response.partition(b"\r\n\r\n")
    doubtless = one.response.startswith(b"HTTP/1.") and b"\n" not in head.replace(b"\r\n", b"")
    assert verdict(one) in ({None, "payload digest"} if doubtless and one.payload != body else {None})


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\na: b\n\nbody\r\n\r\nmore",
        b"HTTP/1.1 200 OK\r\n folded\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 2\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nbody",
        b"HTTP/1.1 204 No\r\n\r\nbody",
        b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody",
    ],
)
def test_where_the_payload_begins_is_not_guessed(response):
    assert verdict(malformed_capture(response, 10, b"bo")) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_revisit_passes(kind):
    make_validator(kind)(list(map(compressor(kind), made(revisit=SAME))))


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
    compress, check = compressor(kind), make_validator(kind)
    whole = compress(warcinfo("x", date_ms=0, fields={"a": "b"}))
    for broken in (whole[:-1], whole + b"x", whole + whole, b"", b"x" * 20, gzip.compress(b"")[:5] + whole):
        with pytest.raises(CorruptData):
            check([broken])


@pytest.mark.parametrize("kind", KINDS)
def test_large_members_are_looked_at_as_a_whole_by_turns(kind):
    body = random.Random(1).randbytes(10_000)
    records = edited(made(capture(body), notes=False), 1, body[-10:], bytes(10))
    check, members = make_validator(kind), list(map(compressor(kind), records))
    refused = 0
    for _ in range(EVERY * 3):
        try:
            check(members)
        except CorruptData:
            refused += 1
    assert refused == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (b"WARC-Type: response", b"WARC-Type: answer", "head"),
        (b"Content-Length: 100", b"Content-Length: 10", "length"),
        (b"WARC-Date: 2026", b"WARC-Date: 2027", "pair"),
        (b"page\r\n", b"page" + b"x" * 10_000 + b"\r\n", "pair"),
    ],
)
def test_heads_lengths_and_pairs_of_large_members_are_always_looked_at(kind, old, new, rule):
    records = edited(made(capture(random.Random(1).randbytes(10_000)), notes=False), 1, old, new)
    check = make_validator(kind)
    for _ in range(3):
        assert refusal(records, kind, check) == rule


def test_what_lies_behind_a_large_member_is_seen():
    request, response = map(
        compressor("gzip"), made(capture(random.Random(1).randbytes(10_000)), notes=False)
    )
    check = make_validator("gzip")
    for _ in range(3):
        with pytest.raises(CorruptData):
            check([request, response + b"\0junk"])
