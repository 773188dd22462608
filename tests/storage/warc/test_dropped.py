"""The note of a page that is not archived is read back whole, by us and by others, and is never lost."""

import dataclasses
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from tests.expect import expect
from tests.storage.captures import RECORD_ID, STARTED_MS, capture
from tests.storage.reading import read
from thresher.core import InputError
from thresher.storage.archive.archive_writer import ArchiveWriter, recover_archives
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.dropped import DROPPED, DroppedPage, decode, encode
from thresher.storage.warc.exchange_records import dropped_record, payload_digest

REMAINS = DroppedPage(
    reason="other_language",
    status=200,
    mime="text/html",
    length=52,
    digest=payload_digest(capture()),
    truncated=None,
    retry_after=None,
    outlinks=("http://example.org/a", "http://example.org/b?x=%20y"),
)
GOLDEN = (
    b"WARC/1.1\r\n"
    b"WARC-Type: metadata\r\n"
    b"WARC-Record-ID: <urn:uuid:11111111-2222-4333-8444-555555555555>\r\n"
    b"WARC-Target-URI: https://example.org/page\r\n"
    b"WARC-Date: 2026-01-02T03:04:05.678Z\r\n"
    b"WARC-IP-Address: 192.0.2.7\r\n"
    b"WARC-Block-Digest: sha1:BLOCK\r\n"
    b"Content-Type: application/warc-fields\r\n"
    b"Content-Length: 201\r\n"
    b"\r\n"
    b"reason: other_language\r\n"
    b"status: 200\r\n"
    b"mime: text/html\r\n"
    b"length: 52\r\n"
    b"payload-digest: sha1:PAYLOAD\r\n"
    b"outlink: http://example.org/a\r\n"
    b"outlink: http://example.org/b?x=%20y\r\n"
    b"\r\n\r\n"
)

LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=30)
dropped = st.builds(
    DroppedPage,
    reason=st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True),
    status=st.integers(100, 599),
    mime=st.sampled_from(["", "text/html", "image/png"]),
    length=st.integers(0, 2**40),
    digest=st.just("sha1:X"),
    truncated=st.sampled_from([None, "length", "time", "disconnect", "unspecified"]),
    retry_after=st.none() | LINES,
    outlinks=st.lists(LINES, max_size=5).map(tuple),
)


def test_the_record_is_what_it_has_always_been():
    record = dropped_record(capture(), REMAINS, record_id=RECORD_ID)
    block = record.partition(b"\r\n\r\n")[2][:-4]
    golden = GOLDEN.replace(b"sha1:PAYLOAD", REMAINS.digest.encode())
    digest = next(line for line in record.split(b"\r\n") if b"Block-Digest" in line).split(b": ")[1]
    assert record == golden.replace(b"sha1:BLOCK", digest).replace(b": 201", b": %d" % len(block))


@given(dropped)
def test_what_is_encoded_is_decoded(made):
    assert decode(encode(made)) == made


@given(st.binary(max_size=200).map(lambda data: b"reason: x\r\n" + data) | st.binary(max_size=50))
def test_no_block_can_raise(block):
    decode(block)


@given(dropped, st.data())
def test_a_block_that_was_cut_is_none_or_says_nothing_that_it_did_not_say(made, data):
    block = encode(made)
    cut = decode(block[: data.draw(st.integers(0, len(block)))])
    if cut is not None:
        assert set(cut.outlinks) <= set(made.outlinks)
        assert dataclasses.replace(cut, outlinks=(), truncated=None, retry_after=None) == dataclasses.replace(
            made, outlinks=(), truncated=None, retry_after=None
        )


def test_a_header_with_line_breaks_adds_no_line():
    made = dataclasses.replace(REMAINS, retry_after="1\r\noutlink: http://evil.example/")
    assert expect(DroppedPage, decode(encode(made))).outlinks == REMAINS.outlinks


@pytest.mark.parametrize("reason", ["", "Two words", "a/b", "a.b", "x" * 41, "a\r\n"])
def test_a_reason_is_a_code(reason):
    with pytest.raises(InputError):
        dataclasses.replace(REMAINS, reason=reason)


def test_metadata_of_others_is_metadata(tmp_path: Path):
    heritrix = b"seed: \r\nfetchTimeMs: 208\r\noutlink: http://example.org/ L a/@href\r\n"
    for number, block in enumerate([heritrix, b"reason: because we could\r\n", b"reason: x\r\n", b""]):
        head = (
            b"WARC/1.0\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Length: %d\r\n"
            b"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: application/warc-fields\r\n\r\n" % len(block)
        )
        path = tmp_path / f"{number}.warc.gz"
        path.write_bytes(gzip_member(head + block + b"\r\n\r\n"))
        assert [record.type for record in read(path)] == ["metadata"]


def fill(store):
    """One page archived between two that are not."""
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    made.drop(capture(), UUID(int=1), REMAINS)
    made.append(capture(started_ms=STARTED_MS + 1), UUID(int=2))
    made.drop(capture(), UUID(int=3), dataclasses.replace(REMAINS, reason="status", status=404, outlinks=()))
    made.commit()
    return made


def test_notes_and_responses_lie_in_one_file_and_are_read_back_in_order(tmp_path: Path):
    store = DirectoryStore(tmp_path)
    manifest = fill(store).seal()
    assert manifest.counts == {"warcinfo": 1, DROPPED: 2, "request": 1, "response": 1}
    warc, index = manifest.outputs
    assert index.rows == 1
    found = list(read(store.path(warc.name)))
    assert [record.type for record in found] == ["warcinfo", DROPPED, "request", "response", DROPPED]
    assert decode(found[1].payload) == REMAINS
    assert [found[n].record_id for n in (1, 3, 4)] == [UUID(int=n).urn for n in (1, 2, 3)]
    assert found[1].url == "https://example.org/page"


def test_warcio_reads_the_notes_and_finds_their_digests_right(tmp_path: Path, capsys):
    store = DirectoryStore(tmp_path)
    path = store.path(fill(store).seal().outputs[0].name)
    with path.open("rb") as file:
        notes = [
            (record.rec_headers.get_header("Content-Type"), record.content_stream().read())
            for record in ArchiveIterator(file)
            if record.rec_type == "metadata"
        ]
    assert notes[0] == ("application/warc-fields", encode(REMAINS))
    assert len(notes) == 2

    class Asked:
        inputs = (str(path),)
        verbose = True

    checker = Checker(Asked())
    checker.process_all()
    assert checker.exit_value == 0
    assert "failed" not in capsys.readouterr().out


def test_what_a_dead_writer_dropped_is_recovered_even_where_it_archived_nothing(tmp_path: Path):
    store = DirectoryStore(tmp_path)
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    made.drop(capture(), RECORD_ID, REMAINS)
    made.commit()
    made.abandon()
    (recovered,) = recover_archives(store, "main", lambda _: True)
    assert recovered.manifest.counts == {"warcinfo": 1, DROPPED: 1}
    (sealed,) = manifests(store, "archive", "main")
    assert sealed == recovered.manifest
