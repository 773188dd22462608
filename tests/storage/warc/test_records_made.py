"""The bytes of every kind of record beside request and response, and what reads them back."""

import base64
import hashlib
import io
from uuid import UUID

import pytest
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from tests.storage.captures import BODY, RECORD_ID, SPOKEN, STARTED_MS, capture, captures, wild_captures
from tests.storage.reading import read
from thresher.core import InputError
from thresher.storage.archive.archive_writer import CaptureMetadata, Revisit
from thresher.storage.warc.compression import compressor, gzip_member
from thresher.storage.warc.exchange_records import (
    Attachment,
    attachment_record,
    capture_records,
    metadata_record,
)

EARLIER = "urn:uuid:99999999-2222-4333-8444-555555555555"
SAME = Revisit(
    profile="identical-payload-digest",
    refers_to=EARLIER,
    uri="https://example.org/other <page>",
    date_ms=STARTED_MS - 1_000,
)
UNCHANGED = Revisit(
    profile="server-not-modified",
    refers_to=EARLIER,
    uri=SAME.uri,
    date_ms=SAME.date_ms,
    digest="sha1:EARLIER",
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
NOTES = CaptureMetadata(
    via="https://example.org/",
    depth=2,
    redirects=1,
    outlinks=("https://example.org/a", "https://example.org/b"),
    facts=(("charset", "utf-8 (from\r\nthe head)"),),
)


def sha1(data):
    return b"sha1:" + base64.b32encode(hashlib.sha1(data).digest())


def golden(*lines, block):
    return b"".join(line + b"\r\n" for line in (b"WARC/1.1", *lines)) + b"\r\n" + block + b"\r\n\r\n"


def test_what_was_spoken_stands_on_request_and_response():
    for record in capture_records(capture(**SPOKEN), record_id=RECORD_ID):
        assert (
            b"\r\nWARC-IP-Address: 192.0.2.7\r\nWARC-Protocol: h2\r\nWARC-Protocol: tls/1.3\r\n"
            b"WARC-Cipher-Suite: TLS_AES_128_GCM_SHA256\r\n"
        ) in record


def test_the_bytes_of_a_revisit_of_the_same_payload_are_these():
    _, record = capture_records(capture(), record_id=RECORD_ID, revisit=SAME)
    assert record == golden(
        b"WARC-Type: revisit",
        b"WARC-Record-ID: <urn:uuid:11111111-2222-4333-8444-555555555555>",
        b"WARC-Concurrent-To: <urn:uuid:6d7f4ba9-f5a9-54b5-9ebe-da5d9dbff3c3>",
        b"WARC-Target-URI: https://example.org/page",
        b"WARC-Date: 2026-01-02T03:04:05.678Z",
        b"WARC-IP-Address: 192.0.2.7",
        b"WARC-Protocol: http/1.1",
        b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        b"WARC-Refers-To: <urn:uuid:99999999-2222-4333-8444-555555555555>",
        b"WARC-Refers-To-Target-URI: https://example.org/other%20%3Cpage%3E",
        b"WARC-Refers-To-Date: 2026-01-02T03:04:04.678Z",
        b"WARC-Truncated: length",
        b"WARC-Payload-Digest: " + sha1(BODY),
        b"WARC-Payload-Digest-SHA256: sha256:" + hashlib.sha256(BODY).hexdigest().encode(),
        b"WARC-Block-Digest: " + sha1(HEAD),
        b"Content-Type: application/http; msgtype=response",
        b"Content-Length: 59",
        block=HEAD,
    )


def test_the_bytes_of_a_revisit_that_the_server_saved_us_are_these():
    head = b'HTTP/1.1 304 OK\r\nETag: "x"\r\n\r\n'
    one = capture(b"", status=304, headers=(("ETag", '"x"'),))
    _, record = capture_records(one, record_id=RECORD_ID, revisit=UNCHANGED)
    assert record == golden(
        b"WARC-Type: revisit",
        b"WARC-Record-ID: <urn:uuid:11111111-2222-4333-8444-555555555555>",
        b"WARC-Concurrent-To: <urn:uuid:6d7f4ba9-f5a9-54b5-9ebe-da5d9dbff3c3>",
        b"WARC-Target-URI: https://example.org/page",
        b"WARC-Date: 2026-01-02T03:04:05.678Z",
        b"WARC-IP-Address: 192.0.2.7",
        b"WARC-Protocol: http/1.1",
        b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified",
        b"WARC-Refers-To: <urn:uuid:99999999-2222-4333-8444-555555555555>",
        b"WARC-Refers-To-Target-URI: https://example.org/other%20%3Cpage%3E",
        b"WARC-Refers-To-Date: 2026-01-02T03:04:04.678Z",
        b"WARC-Payload-Digest: sha1:EARLIER",
        b"WARC-Block-Digest: " + sha1(head),
        b"Content-Type: application/http; msgtype=response",
        b"Content-Length: 30",
        block=head,
    )


def test_the_bytes_of_notes_are_these():
    block = (
        b"fetchTimeMs: 120\r\ndnsTimeMs: 3\r\nconnectTimeMs: 11\r\ntlsTimeMs: 25\r\nfirstByteTimeMs: 80\r\n"
        b"tlsVerdict: trusted\r\nvia: https://example.org/\r\nhopsFromSeed: LLR\r\ncharset: utf-8 (from the head)\r\n"
        b"outlink: https://example.org/a L\r\noutlink: https://example.org/b L\r\n"
    )
    assert metadata_record(capture(**SPOKEN), NOTES, record_id=RECORD_ID) == golden(
        b"WARC-Type: metadata",
        b"WARC-Record-ID: <urn:uuid:340dc669-58ef-5cd3-bf88-3d3f43795e9f>",
        b"WARC-Concurrent-To: <urn:uuid:11111111-2222-4333-8444-555555555555>",
        b"WARC-Target-URI: https://example.org/page",
        b"WARC-Date: 2026-01-02T03:04:05.678Z",
        b"WARC-Block-Digest: " + sha1(block),
        b"Content-Type: application/warc-fields",
        b"Content-Length: %d" % len(block),
        block=block,
    )


@pytest.mark.parametrize(
    ("kind", "how"), [("conversion", b"WARC-Refers-To"), ("resource", b"WARC-Concurrent-To")]
)
def test_the_bytes_of_what_was_made_of_a_page_are_these(kind, how):
    attachment = Attachment(
        kind=kind,
        block=b"<p>DOM",
        uri="https://example.org/page",
        mime="text/html; charset=utf-8",
        date_ms=STARTED_MS,
        truncated="length",
    )
    record = attachment_record(attachment, record_id=UUID(int=7), response_id=RECORD_ID)
    assert record == golden(
        b"WARC-Type: " + kind.encode(),
        b"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000007>",
        how + b": <urn:uuid:11111111-2222-4333-8444-555555555555>",
        b"WARC-Target-URI: https://example.org/page",
        b"WARC-Date: 2026-01-02T03:04:05.678Z",
        b"WARC-Truncated: length",
        b"WARC-Payload-Digest: " + sha1(b"<p>DOM"),
        b"WARC-Block-Digest: " + sha1(b"<p>DOM"),
        b"Content-Type: text/html; charset=utf-8",
        b"Content-Length: 6",
        block=b"<p>DOM",
    )


@given(captures, st.sampled_from(["identical-payload-digest", "server-not-modified"]), st.text(), st.text())
def test_any_exchange_round_trips_as_a_revisit_with_notes(
    tmp_path_factory: pytest.TempPathFactory, one, profile, uri, fact
):
    revisit = Revisit(profile=profile, refers_to=EARLIER, uri=f"http://a/{uri}", date_ms=12_345)
    if one.truncated:
        profile = "server-not-modified"
        revisit = Revisit(profile=profile, refers_to=EARLIER, uri=f"http://a/{uri}", date_ms=12_345)
    notes = CaptureMetadata(via=uri, depth=3, outlinks=(uri, fact), facts=(("fact", fact),))
    request, response = capture_records(one, record_id=RECORD_ID, revisit=revisit)
    metadata = metadata_record(one, notes, record_id=RECORD_ID)
    data = b"".join(map(gzip_member, (request, metadata, response)))
    blocks = []
    for record in ArchiveIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest()
        blocks.append(record.reader.read())
    assert [blocks[0], blocks[2]] == [one.request, one.response[: one.head_length]]
    assert blocks[1].count(b"\r\n") == len(blocks[1].split(b"\r\n")) - 1
    assert not blocks[1].startswith(b"reason: ")
    for record in WarcioIterator(io.BytesIO(data), check_digests="raise"):
        record.raw_stream.read()
    path = tmp_path_factory.mktemp("warc") / "x.warc.gz"
    path.write_bytes(data)
    *_, found = read(path)
    assert (found.type, found.status, found.payload) == ("revisit", one.status, b"")
    assert found.record_id == RECORD_ID.urn
    assert (found.revisit.profile, found.revisit.refers_to) == (profile, EARLIER)
    assert found.revisit.date_ms == 12_345


@given(wild_captures)
def test_bytes_that_are_no_http_round_trip_as_any_others(tmp_path_factory: pytest.TempPathFactory, one):
    data = b"".join(map(gzip_member, capture_records(one, record_id=RECORD_ID)))
    blocks = []
    for record in ArchiveIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest()
        blocks.append(record.reader.read())
    assert blocks == [one.request, one.response]
    blocks = [record.raw_stream.read() for record in WarcioIterator(io.BytesIO(data), no_record_parse=True)]
    assert blocks == [one.request, one.response]
    path = tmp_path_factory.mktemp("warc") / "x.warc.gz"
    path.write_bytes(data)
    assert [record.type for record in read(path)] == ["request", "response"]


@given(captures)
def test_zstd_members_are_read_by_fastwarc_and_by_us(tmp_path_factory: pytest.TempPathFactory, one):
    compress = compressor("zstd")
    data = b"".join(map(compress, capture_records(one, record_id=RECORD_ID)))
    found = []
    for record in ArchiveIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest()
        found.append(record.reader.read())
    assert found == [one.request, one.response]
    path = tmp_path_factory.mktemp("warc") / "x.warc.zst"
    path.write_bytes(data)
    request, response = read(path)
    assert (response.payload, response.status) == (one.payload, one.status)
    assert response.offset == request.length


def test_a_payload_that_was_cut_is_no_revisit():
    with pytest.raises(InputError, match="truncated payload"):
        capture_records(capture(truncated="length"), record_id=RECORD_ID, revisit=SAME)


@pytest.mark.parametrize("field", [{"profile": "other"}, {"refers_to": "no id"}, {"refers_to": "urn:x>\r\n"}])
def test_a_revisit_of_nothing_is_refused(field):
    fields = {"profile": "server-not-modified", "refers_to": EARLIER, "uri": "", "date_ms": 0}
    with pytest.raises(InputError):
        Revisit(**{**fields, **field})


@pytest.mark.parametrize("name", ["", "reason", "a b", "a:", "é", "x\r\ny"])
def test_a_fact_has_a_name(name):
    with pytest.raises(InputError, match="cannot name a fact"):
        CaptureMetadata(facts=((name, "x"),))


def test_outlinks_beyond_all_measure_are_counted():
    links = tuple(f"https://example.org/{'x' * 100_000}{number}" for number in range(50))
    record = metadata_record(capture(), CaptureMetadata(outlinks=links), record_id=RECORD_ID)
    assert record.count(b"\r\noutlink: ") == 41
    assert record.endswith(b"outlinksLeftOut: 9\r\n\r\n\r\n")
