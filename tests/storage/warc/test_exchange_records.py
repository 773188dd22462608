"""Records are WARC/1.1 that any tool reads, byte for byte as the exchange was."""

import base64
import gzip
import hashlib
import io
import subprocess
from pathlib import Path
from uuid import UUID

import pytest
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from tests.storage.captures import BODY, CHUNKED, RECORD_ID, capture, captures
from tests.storage.reading import read
from thresher.core import InputError
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.exchange_records import (
    base32,
    capture_records,
    payload_digest,
    target_uri,
    warc_date,
    warcinfo,
)

GOLDEN_REQUEST = (
    b"WARC/1.1\r\n"
    b"WARC-Type: request\r\n"
    b"WARC-Record-ID: <urn:uuid:REQUESTID>\r\n"
    b"WARC-Concurrent-To: <urn:uuid:11111111-2222-4333-8444-555555555555>\r\n"
    b"WARC-Target-URI: https://example.org/page\r\n"
    b"WARC-Date: 2026-01-02T03:04:05.678Z\r\n"
    b"WARC-IP-Address: 192.0.2.7\r\n"
    b"WARC-Protocol: http/1.1\r\n"
    b"WARC-Block-Digest: sha1:REQUESTBLOCK\r\n"
    b"Content-Type: application/http; msgtype=request\r\n"
    b"Content-Length: 95\r\n"
    b"\r\n"
    b"GET /page HTTP/1.1\r\nHost: example.org\r\nUser-Agent: thresher/0.1 (+mailto:crawl@example.org)\r\n\r\n"
    b"\r\n\r\n"
)
GOLDEN_RESPONSE = (
    b"WARC/1.1\r\n"
    b"WARC-Type: response\r\n"
    b"WARC-Record-ID: <urn:uuid:11111111-2222-4333-8444-555555555555>\r\n"
    b"WARC-Concurrent-To: <urn:uuid:REQUESTID>\r\n"
    b"WARC-Target-URI: https://example.org/page\r\n"
    b"WARC-Date: 2026-01-02T03:04:05.678Z\r\n"
    b"WARC-IP-Address: 192.0.2.7\r\n"
    b"WARC-Protocol: http/1.1\r\n"
    b"WARC-Truncated: length\r\n"
    b"WARC-Payload-Digest: sha1:PAYLOAD\r\n"
    b"WARC-Payload-Digest-SHA256: sha256:CERTAIN\r\n"
    b"WARC-Block-Digest: sha1:RESPONSEBLOCK\r\n"
    b"Content-Type: application/http; msgtype=response\r\n"
    b"Content-Length: 112\r\n"
    b"\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    b"<html><title>Hello</title><p>Text of the page.</html>"
    b"\r\n\r\n"
)


def sha1(data):
    return base64.b32encode(hashlib.sha1(data).digest())


def stored(*records):
    return b"".join(gzip_member(record) for record in records)


def test_the_bytes_of_a_capture_are_these():
    one = capture(truncated="length")
    request, response = capture_records(one, record_id=RECORD_ID)
    filled = {b"REQUESTID": b"6d7f4ba9-f5a9-54b5-9ebe-da5d9dbff3c3", b"REQUESTBLOCK": sha1(one.request)}
    filled |= {b"PAYLOAD": sha1(BODY), b"RESPONSEBLOCK": sha1(one.response)}
    filled[b"CERTAIN"] = hashlib.sha256(BODY).hexdigest().encode()
    golden = [GOLDEN_REQUEST, GOLDEN_RESPONSE]
    for key, value in filled.items():
        golden = [each.replace(key, value) for each in golden]
    assert [request, response] == golden


def test_the_same_capture_gives_the_same_bytes():
    assert capture_records(CHUNKED, record_id=RECORD_ID) == capture_records(CHUNKED, record_id=RECORD_ID)


@given(captures)
def test_any_capture_round_trips_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, one):
    records = capture_records(one, record_id=RECORD_ID)
    blocks = [
        record.reader.read() for record in ArchiveIterator(io.BytesIO(stored(*records)), parse_http=False)
    ]
    assert blocks == [one.request, one.response]
    path = tmp_path_factory.mktemp("warc") / "x.warc.gz"
    path.write_bytes(stored(*records))
    request, response = read(path)
    assert (request.type, response.type) == ("request", "response")
    assert response.payload == one.payload
    assert response.status == one.status
    assert response.truncated == one.truncated
    assert response.date_ms == one.started_ms
    assert response.url == target_uri(one.url.wire)
    assert response.record_id == RECORD_ID.urn
    assert response.ref.digest == payload_digest(one)
    assert [(name, value) for name, value in one.headers] == list(response.headers)


@given(captures)
def test_no_capture_can_add_a_line_to_a_head(one):
    for record in capture_records(one, record_id=RECORD_ID):
        head = record.partition(b"\r\n\r\n")[0]
        names = [line.partition(b": ")[0].decode("ascii") for line in head.split(b"\r\n")[1:]]
        repeated = names.count("WARC-Protocol") - 1
        assert len(names) == len(set(names)) + repeated
        assert set(names) <= {
            "WARC-Type", "WARC-Record-ID", "WARC-Concurrent-To", "WARC-Target-URI", "WARC-Date",
            "WARC-IP-Address", "WARC-Truncated", "WARC-Payload-Digest", "WARC-Payload-Digest-SHA256", "WARC-Block-Digest",
            "WARC-Protocol", "WARC-Cipher-Suite", "Content-Type", "Content-Length",
        }  # fmt: skip
        uri = head.partition(b"WARC-Target-URI: ")[2].partition(b"\r\n")[0]
        assert uri.isascii()
        assert not set(uri) & set(b" \t\r\n\x7f")


def test_odd_urls_are_percent_encoded():
    assert target_uri("http://a/b c\r\nX: y") == "http://a/b%20c%0D%0AX:%20y"
    assert target_uri("http://a/é%20%zz[1]|~\ud800") == "http://a/%C3%A9%20%zz[1]|~%ED%A0%80"


@pytest.mark.parametrize("peer", ["example.org", "1.2.3.4\r\nX: y", "1.2.3", "::1\r\n"])
def test_a_peer_that_is_no_address_is_refused(peer):
    with pytest.raises(InputError, match="give an IP address"):
        capture_records(capture(peer=peer), record_id=RECORD_ID)


def test_an_address_loses_its_scope_and_an_unknown_peer_its_line():
    assert (
        b"\r\nWARC-IP-Address: fe80::1\r\n"
        in capture_records(capture(peer="fe80::1%a\r\n"), record_id=RECORD_ID)[1]
    )
    assert b"WARC-IP-Address" not in capture_records(capture(peer=""), record_id=RECORD_ID)[0]


def test_a_truncation_that_is_no_word_of_the_standard_is_refused():
    with pytest.raises(InputError, match="give one of length, time, disconnect, unspecified"):
        capture_records(capture(truncated="length\r\nX: y"), record_id=RECORD_ID)


def test_warcinfo_says_who_wrote_and_cannot_be_broken():
    record = warcinfo(
        "a.warc.gz", date_ms=0, fields={"software": "thresher", "isPartOf": "x\r\nrobots: ignore"}
    )
    assert b"WARC-Filename: a.warc.gz\r\n" in record
    assert b"WARC-Date: 1970-01-01T00:00:00.000Z\r\n" in record
    assert record.endswith(b"software: thresher\r\nisPartOf: x robots: ignore\r\n\r\n\r\n")


def test_dates_have_milliseconds():
    assert warc_date(1) == "1970-01-01T00:00:00.001Z"
    assert warc_date(1_767_323_045_678) == "2026-01-02T03:04:05.678Z"


@given(captures)
def test_fastwarc_and_warcio_agree_on_the_digests(one):
    data = stored(*capture_records(one, record_id=RECORD_ID))
    for record in ArchiveIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest()
    for record in WarcioIterator(io.BytesIO(data), check_digests="raise"):
        record.raw_stream.read()


@given(st.binary(min_size=20, max_size=20))
def test_digests_are_written_as_the_standard_library_writes_base32(digest):
    assert base32(digest).encode() == base64.b32encode(digest)


def test_the_payload_digest_is_of_the_entity_without_chunks(tmp_path: Path):
    data = stored(*capture_records(CHUNKED, record_id=RECORD_ID))
    assert b"sha1:" + sha1(b"<html>one and two</html>") in gzip.decompress(data)
    blocks = [record.reader.read() for record in ArchiveIterator(io.BytesIO(data), parse_http=False)]
    assert blocks[1] == CHUNKED.response
    (tmp_path / "x.warc.gz").write_bytes(data)
    *_, response = read(tmp_path / "x.warc.gz")
    assert response.payload == CHUNKED.payload


def test_every_member_is_gzip_without_time_or_name(tmp_path: Path):
    data = stored(*capture_records(capture(), record_id=RECORD_ID))
    assert data[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    (tmp_path / "x.gz").write_bytes(data)
    assert subprocess.run(["gzip", "-t", tmp_path / "x.gz"], check=False).returncode == 0


def test_record_ids_of_one_exchange_differ_and_derive():
    request, response = capture_records(capture(), record_id=UUID(int=5))
    assert request.count(b"<urn:uuid:00000000-0000-0000-0000-000000000005>") == 1
    assert request.split(b"WARC-Record-ID: <")[1][:45] == response.split(b"WARC-Concurrent-To: <")[1][:45]
