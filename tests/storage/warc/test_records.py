"""Every record of any archive is read, every damage is named, and an offset is enough to find a record again."""

import gzip
import io
import random
from functools import partial
from pathlib import Path

import pytest
import zstandard
from fastwarc.stream_io import Lz4Writer
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import DATA, shared_file
from tests.storage.captures import BODY, CHUNKED, RECORD_ID, STARTED_MS, capture
from tests.storage.reading import read
from thresher.core import InputError
from thresher.storage.warc.exchange_records import capture_records, warcinfo
from thresher.storage.warc.members import BROKEN, CUT_OFF, NO_RECORD
from thresher.storage.warc.records import MANY_RECORDS, NO_HEAD, WRONG_LENGTH

compressed = partial(gzip.compress, mtime=0)  # the names of tests are made of it: no clock in them

INFO = warcinfo("x.warc.gz", date_ms=STARTED_MS, fields={"software": "thresher"})
RECORDS = [
    INFO,
    *capture_records(capture(), record_id=RECORD_ID),
    *capture_records(CHUNKED, record_id=RECORD_ID),
    *capture_records(capture(random.Random(1).randbytes(90_000)), record_id=RECORD_ID),
]


def lz4(data):
    made = io.BytesIO()
    writer = Lz4Writer(made)
    writer.write(data)
    writer.close()
    return made.getvalue()


CODECS = {
    "gzip": lambda data: compressed(data, 1, mtime=0),
    "plain": bytes,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "zstd streamed": lambda data: zstandard.ZstdCompressor().compressobj().compress(data) or streamed(data),
    "lz4": lz4,
}


def streamed(data):
    engine = zstandard.ZstdCompressor().compressobj()
    return engine.compress(data) + engine.flush()


def summary(records):
    return [(each.type, each.problem, each.url, each.payload) for each in records]


@pytest.fixture
def write(tmp_path: Path):
    def write(data, name="x.warc.gz"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def record(block, *, kind=b"response", mime=b"application/http; msgtype=response", extra=b"", length=None):
    size = len(block) if length is None else length
    return (
        b"WARC/1.0\r\nWARC-Type: %b\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        b"WARC-Target-URI: http://example.org/\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n%b\r\n\r\n"
        % (kind, mime, extra, size, block)
    )


@pytest.mark.parametrize("codec", CODECS)
def test_every_compression_reads_the_same(write, codec):
    path = write(b"".join(map(CODECS[codec], RECORDS)))
    found = list(read(path))
    assert [each.type for each in found] == ["warcinfo", *["request", "response"] * 3]
    assert [each.problem for each in found] == [None] * 7
    assert found[2].payload == BODY
    assert found[4].payload == CHUNKED.payload
    assert len(found[6].payload) == 90_000
    assert found[2].header("content-TYPE") == "text/html; charset=utf-8"
    assert found[2].mime == "text/html"
    assert found[0].mime == "application/warc-fields"
    assert found[0].payload == b"software: thresher\r\n"


@pytest.mark.parametrize("codec", CODECS)
def test_seeking_to_the_offset_and_reading_the_length_gives_the_record(write, codec):
    members = [CODECS[codec](record) for record in RECORDS]
    path = write(b"".join(members))
    data = path.read_bytes()
    found = list(read(path))
    for each, whole in zip(found, members, strict=True):
        assert data[each.offset : each.offset + each.length] == whole
        (alone,) = read(path, each.offset, each.offset + 1)
        assert alone == each


@pytest.mark.parametrize("codec", CODECS)
def test_ranges_meet_without_gap_or_overlap(write, codec):
    path = write(b"".join(map(CODECS[codec], RECORDS)))
    whole = list(read(path))
    for border in [each.offset for each in whole]:
        assert [*read(path, 0, border), *read(path, border)] == whole


def test_refs_bear_the_name_they_are_given(write):
    path = write(compressed(INFO))
    assert next(read(path, name="warc/main/x.warc.gz")).ref.file == "warc/main/x.warc.gz"
    assert next(read(path)).ref.file == str(path)


@pytest.mark.parametrize("codec", CODECS)
def test_cut_at_any_byte_all_whole_records_before_are_read_and_the_rest_is_named(write, codec):
    members = [CODECS[codec](record) for record in RECORDS[:3]]
    data = b"".join(members)
    whole = list(read(write(data)))
    for cut in range(20, len(data)):
        path = write(data[:cut])
        kept = [each for each in whole if each.offset + each.length <= cut]
        if codec == "plain":  # the blank lines behind a record may be missing
            kept = [each for each in whole if each.offset + each.length - 4 <= cut]
        found = list(read(path))
        good = [each for each in found if each.type != "damaged"]
        assert summary(good) == summary(kept)
        damaged = [each.problem for each in found if each.type == "damaged"]
        assert damaged in ([], [CUT_OFF], [BROKEN], [NO_RECORD])
        assert bool(damaged) == (cut > sum(each.length for each in good))


@pytest.mark.parametrize("codec", ["gzip", "plain", "zstd", "lz4"])
def test_rubbish_between_records_costs_nothing_else(write, codec):
    members = [CODECS[codec](record) for record in RECORDS]
    rubbish = random.Random(7).randbytes(4999) + b"\n"
    path = write(b"".join([*members[:3], rubbish, *members[3:]]))
    found = list(read(path))
    assert [each.type for each in found if each.type != "damaged"] == [
        "warcinfo",
        *["request", "response"] * 3,
    ]
    (damaged,) = (each for each in found if each.type == "damaged")
    assert (damaged.offset, damaged.length) == (sum(map(len, members[:3])), 5000)
    assert damaged.url == damaged.record_id == ""


@given(data=st.data())
def test_a_flipped_byte_costs_at_most_the_record_that_it_is_in(
    tmp_path_factory: pytest.TempPathFactory, data
):
    members = [compressed(record, 1, mtime=0) for record in RECORDS[:5]]
    whole = b"".join(members)
    at = data.draw(st.integers(10, len(whole) - 1))
    broken = bytearray(whole)
    broken[at] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("flip") / "x.warc.gz"
    path.write_bytes(whole)
    good = list(read(path))
    path.write_bytes(broken)
    found = {each.offset: each for each in read(path)}
    for each in good:
        if not each.offset <= at < each.offset + each.length:
            assert found[each.offset] == each


@pytest.mark.parametrize("codec", ["plain", "gzip"])
@given(junk=st.binary(max_size=300), at=st.integers(0, 6))
def test_no_bytes_anywhere_can_raise(tmp_path_factory: pytest.TempPathFactory, codec, junk, at):
    members = [CODECS[codec](record) for record in RECORDS]
    path = tmp_path_factory.mktemp("junk") / "x.warc"
    path.write_bytes(b"".join([*members[:at], junk, *members[at:]]))
    try:
        list(read(path))
    except InputError:
        assert at == 0


@pytest.mark.parametrize(
    ("block", "payload", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", b"body", None),
        (b"HTTP/1.1 200\r\n\r\nbody", b"body", None),
        (b"HTTP/1.0 200 OK\nContent-Type: text/plain\n\nbody", b"body", None),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nbody", b"body", "broken_content_encoding"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbody", b"body", "broken_chunks"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + compressed(b"body"), b"body", None),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n\r\n"
            + b"%x\r\n%b\r\n0\r\n\r\n" % (len(compressed(b"body")), compressed(b"body")),
            b"body",
            None,
        ),
        (b"http/1.1 200 ok\r\nContent-Encoding: gzip\r\n\r\n" + compressed(b"body"), b"body", None),
        (b"ICY 200 OK\r\nicy-name: x\r\n\r\nbody", b"body", None),
        (b"ICY 200 OK\n\nbody", b"body", None),
        (b"ICY in summer\r\n\r\nbody", b"ICY in summer\r\n\r\nbody", NO_HEAD),
        (b"<html>no head at all", b"<html>no head at all", NO_HEAD),
        (b"HTTP/1.1 OK\r\n\r\nbody", b"HTTP/1.1 OK\r\n\r\nbody", NO_HEAD),
        (b"", b"", None),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 500_000 + b"\r\n\r\nbody", b"body", None),
    ],
)
def test_responses_of_all_kinds(write, block, payload, problem):
    (found,) = read(write(compressed(record(block))))
    assert (found.payload, found.problem) == (payload, problem)
    assert found.type == "response"


def test_a_payload_longer_than_the_limit_is_cut_and_says_so(write):
    page = record(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(3 << 20))
    for data in (compressed(page), page):
        (found,) = read(write(data), limit=1000)
        assert (found.payload, found.problem) == (bytes(1000), "too_long")
        assert found.length == len(data)


def test_blocks_that_are_no_http_are_payloads_as_they_are(write):
    path = write(compressed(record(b"some text", kind=b"conversion", mime=b"text/plain; charset=utf-8")))
    (found,) = read(path)
    assert (found.type, found.mime, found.payload, found.status) == (
        "conversion",
        "text/plain",
        b"some text",
        None,
    )


def test_a_length_that_is_wrong_in_a_member_is_named_and_the_rest_kept(write):
    for length, payload in ((30, b"0123456789"), (23, b"0123")):
        block = b"HTTP/1.1 200 OK\r\n\r\n0123456789"
        (found,) = read(write(compressed(record(block, length=length).removesuffix(b"\r\n\r\n"))))
        assert (found.payload, found.problem) == (payload, WRONG_LENGTH)


def test_odd_heads_are_read(write):
    odd = record(
        b"x", kind=b"RESPONSE", mime=b"Text/HTML ; x", extra=b"WARC-Truncated: length\r\nwarc-junk\r\n: y\r\n"
    )
    odd = odd.replace(b"http://example.org/", b"<http://example.org/a b>").replace(
        b"2026-01-02T03:04:05Z", b"never"
    )
    (found,) = read(write(compressed(odd)))
    assert (found.type, found.url, found.date_ms) == ("response", "http://example.org/a b", 0)
    assert (found.mime, found.truncated, found.record_id) == ("text/html", "length", "urn:uuid:1")


def test_blank_members_are_no_records(write):
    path = write(compressed(INFO) + compressed(b"") + compressed(b"\r\n\r\n") + compressed(RECORDS[1]))
    assert [each.type for each in read(path)] == ["warcinfo", "request"]


def test_a_member_of_something_else_is_named(write):
    path = write(compressed(INFO) + compressed(b"hello") + compressed(RECORDS[1]))
    assert [each.problem for each in read(path)] == [None, NO_RECORD, None]
    path = write(compressed(INFO) + compressed(RECORDS[1] + RECORDS[2]))
    assert [each.problem for each in read(path)] == [None, MANY_RECORDS]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b"http://example.org/\n", "it begins with b'http://e'"),
        (b"filedesc://x.arc 0.0.0.0", "it is an ARC file; `thresher ingest` reads it"),
        (compressed(b"filedesc://x.arc 0.0.0.0"), "is an ARC file, not a WARC; `thresher ingest` reads it"),
        (compressed(INFO + RECORDS[1]), "many records in one compressed member; `thresher ingest` reads it"),
        (compressed(b"hello"), "no record begins in its first bytes"),
        (b"PK\x03\x04....", "it is a ZIP file; if it is a WACZ, `thresher ingest` reads it"),
        (b"\x5d\x2a\x4d\x18....", "the Zstandard dictionary at its beginning is broken"),
        (b"WARC/1.0 is a fine format\n", "no record begins in its first bytes"),
    ],
)
def test_what_is_no_warc_is_refused_in_one_line_that_says_why(write, data, said):
    with pytest.raises(InputError) as caught:
        list(read(write(data)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


ARCHIVES = sorted(path.relative_to(DATA).as_posix() for path in (DATA / "archives").glob("*/*"))
INTACT = [
    name
    for name in ARCHIVES
    if name.endswith((".warc", ".warc.gz", ".warc.lz4", ".wet", ".wet.gz", ".wat", ".wat.gz"))
    and not name.endswith(("missing-status-text.warc", "example-trunc.warc"))
]
READ_IN_PART = ("sample.warc.txt", "example-trunc.warc", "double-single-inflate-error.gz", "empty.gz")


@pytest.mark.shared
@pytest.mark.parametrize("name", ARCHIVES or ["archives/warcio/example.warc.gz"])
def test_every_real_archive_is_read_or_refused_with_a_reason(name):
    path = shared_file(name)
    if name not in INTACT and not name.endswith(READ_IN_PART):
        with pytest.raises(InputError, match=r"\A[^\n]+\Z"):
            list(read(path))
        return
    found = list(read(path))
    for each in found:
        (alone,) = read(path, each.offset, each.offset + 1)
        assert alone == each
    assert sum(each.length for each in found) <= path.stat().st_size


@pytest.mark.shared
@pytest.mark.parametrize("name", INTACT or ["archives/warcio/example.warc.gz"])
def test_fastwarc_finds_the_same_records_at_the_same_places(name):
    path = shared_file(name)
    with path.open("rb") as file:
        theirs = [
            (each.stream_pos, str(each.record_type)) for each in ArchiveIterator(file, parse_http=False)
        ]
    ours = [(each.offset, each.type) for each in read(path)]
    assert ours == theirs


@pytest.mark.shared
def test_fastwarc_decodes_real_pages_to_the_same_payloads():
    path = shared_file("archives/aut/example.warc.gz")
    with path.open("rb") as file:
        kinds = WarcRecordType.response
        theirs = [
            each.reader.read() for each in ArchiveIterator(file, kinds, parse_http=True, auto_decode="all")
        ]
    ours = [each.payload for each in read(path) if each.type == "response"]
    assert len(ours) == 299
    assert sum(a == b for a, b in zip(ours, theirs, strict=True)) >= 298


@pytest.mark.shared
def test_pages_whose_headers_claim_gzip_are_kept_as_they_are():
    pages = [
        each
        for each in read(shared_file("archives/chatnoir-resiliparse/clueweb-quirk.warc.gz"))
        if each.status == 200
    ]
    assert len(pages) == 29
    assert all(
        each.problem == "broken_content_encoding" and b"<html" in each.payload.lower() for each in pages
    )
