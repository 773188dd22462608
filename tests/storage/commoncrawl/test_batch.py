"""A record that matches its index row is taken byte for byte; any other is refused with a reason."""

import gzip
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commoncrawl import Page, base32, cdx_line, record, response
from tests.commoncrawl_server import CutResponse, ErrorResponse, Fault, scripted
from tests.expect import expect
from tests.storage.commoncrawl.samples import ROW
from thresher.storage.commoncrawl import index_facts, row_results
from thresher.storage.commoncrawl.batch import NOT_THERE, batches, fetch_batch
from thresher.storage.commoncrawl.index.row import parse
from thresher.storage.commoncrawl.index_facts import IndexFacts
from thresher.storage.commoncrawl.record_check import ANOTHER, BROKEN, SHORT, WRONG_DIGEST, read_member
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Manifest, fingerprint, put_output, seal
from thresher.storage.warc import records
from thresher.storage.warc.members import members
from thresher.storage.warc.records import ArchivedRecord
from thresher.storage.warc.validator import check_record

PAGE = Page(url="https://example.org/a", body=b"<p>Rivers run to the sea.")
MEMBER = response(PAGE)
NAME = "warc/s/x.warc.gz"


def row_of(member, **more):
    return replace(ROW, **{"length": len(member), "digest": base32(PAGE.body), **more})


def rows_of(stored):
    return [parse(cdx_line(each).decode()) for each in stored]


def chunked(body, coding=b"Transfer-Encoding: chunked\r\n"):
    http = b"HTTP/1.1 200 OK\r\n" + coding + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    return record("response", PAGE.url, http, "application/http; msgtype=response")


def test_a_record_that_is_what_its_row_says_is_read():
    found = expect(ArchivedRecord, read_member(MEMBER, row_of(MEMBER)))
    assert (found.type, found.url, found.payload) == ("response", PAGE.url, PAGE.body)


@pytest.mark.parametrize(
    ("member", "more", "reason"),
    [
        (MEMBER, {"length": len(MEMBER) + 1}, SHORT),
        (MEMBER, {"url": "https://example.org/b"}, ANOTHER),
        (MEMBER, {"digest": base32(b"another")}, WRONG_DIGEST),
        (MEMBER + MEMBER, {}, BROKEN),
        (gzip.decompress(MEMBER), {}, BROKEN),
        (b"\0" * 100, {}, BROKEN),
        (gzip.compress(b"no record", mtime=0), {}, BROKEN),
        (record("request", PAGE.url, b"GET / HTTP/1.1\r\n\r\n", "application/http"), {}, ANOTHER),
        (record("metadata", PAGE.url, b"a: b\r\n", "application/warc-fields"), {}, ANOTHER),
    ],
)
def test_what_it_is_not_is_a_reason(member, more, reason):
    assert read_member(member, row_of(member, **more)) == reason


@pytest.mark.parametrize("member", [chunked(PAGE.body), chunked(PAGE.body, b"transfer-encoding:chunked\r\n")])
def test_the_digest_may_be_of_the_body_as_it_is_stored_or_of_what_its_chunks_hold(member):
    whole = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE.body), PAGE.body)
    for digest in (base32(PAGE.body), base32(whole), ""):
        found = expect(ArchivedRecord, read_member(member, row_of(member, digest=digest)))
        assert found.type == "response"


def test_a_revisit_has_no_payload_to_hold_against_the_index():
    http = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    extra = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n"
    member = record("revisit", PAGE.url, http, "application/http; msgtype=response", extra)
    assert expect(ArchivedRecord, read_member(member, row_of(member))).type == "revisit"


def test_a_record_clipped_at_every_byte_is_broken_and_nothing_else():
    for end in range(len(MEMBER)):
        assert read_member(MEMBER[:end], row_of(MEMBER)) == SHORT
        assert read_member(MEMBER[:end], row_of(MEMBER, length=end)) == BROKEN


@given(st.binary(max_size=200))
def test_no_bytes_can_raise(data):
    assert isinstance(read_member(data, row_of(data)), str)


@given(st.integers(0, len(MEMBER) - 1), st.integers(1, 255))
def test_a_changed_byte_is_found_or_changes_nothing_that_counts(at, change):
    data = bytearray(MEMBER)
    data[at] ^= change
    found = read_member(bytes(data), row_of(MEMBER))
    assert isinstance(found, str) or found.payload == PAGE.body


def test_a_file_holds_records_byte_for_byte_behind_what_the_index_says(
    client, stored, server, tmp_path: Path
):
    (batch,) = batches(rows_of(stored))
    hauled = fetch_batch(client, batch, tmp_path / "x", NAME, "CC-MAIN-2024-22")
    data = (tmp_path / "x").read_bytes()
    assert hauled.counts == {"warcinfo": 1, "metadata": len(stored), "response": len(stored)}
    for one in hauled.results:
        there = (server.root / one.row.filename).read_bytes()[one.row.offset :][: one.row.length]
        assert data[one.offset :][: one.row.length] == there
    found = list(records.read_records(io.BytesIO(data), name=NAME))
    info, *pairs = found
    assert b"isPartOf: CC-MAIN-2024-22" in info.payload
    for said, page in zip(pairs[::2], pairs[1::2], strict=True):
        assert (said.type, page.type) == ("metadata", "response")
        assert said.url == page.url
        told = expect(IndexFacts, index_facts.decode(said.payload))
        assert told.digest == base32(page.payload)
        assert (told.truncated or None) == page.truncated
        assert index_facts.with_index_facts(page, said).facts == {"from": told.filename}
        assert index_facts.with_index_facts(replace(page, truncated=None), said).truncated == page.truncated
        assert index_facts.with_index_facts(page, info) is index_facts.with_index_facts(page, None) is page
    assert index_facts.with_index_facts(pairs[3], pairs[0]) is pairs[3]
    for member in members(io.BytesIO(data), 0, None, 1 << 20, name=NAME):
        if b"WARC/1.1" in member.data[:10]:
            check_record(member.data)


def test_the_same_batch_is_the_same_file_whatever_the_server_did(client_of, stored, server, tmp_path: Path):
    (batch,) = batches(rows_of(stored))
    fetch_batch(client_of(server.base), batch, tmp_path / "a", NAME, "C")
    faults: list[Fault] = [ErrorResponse(503), CutResponse(100), ErrorResponse(403, ""), None, CutResponse(0)]
    server.plan = scripted(*faults * 3)
    fetch_batch(client_of(server.base), batch, tmp_path / "b", NAME, "C")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_is_not_there_costs_itself_alone(client, stored, server, tmp_path: Path):
    good = rows_of(stored)[:4]
    behind = replace(good[1], offset=50_000_000)
    gone = replace(good[0], filename="crawl-data/none.warc.gz")
    wrong = replace(good[3], digest=base32(b"x"))
    near = replace(good[2], offset=good[2].offset + 1)
    (batch,) = batches([*good[:3], behind, gone, wrong, near])
    hauled = fetch_batch(client, batch, tmp_path / "x", NAME, "C")
    reasons = {one.row: one.reason for one in hauled.results}
    assert [reasons[row] for row in (*good[:3], behind, gone, wrong, near)] == [
        "",
        "",
        "",
        NOT_THERE,
        NOT_THERE,
        WRONG_DIGEST,
        BROKEN,
    ]
    assert hauled.counts["response"] == len(hauled.lines) == 3


def test_a_range_that_leaves_the_file_does_not_take_its_neighbours_with_it(
    client, stored, server, tmp_path: Path
):
    last = rows_of(stored)[2]
    size = (server.root / last.filename).stat().st_size
    over = replace(last, offset=size - 10, length=100)
    beyond = replace(last, offset=size + 1, length=100)
    (batch,) = batches([last, over, beyond])
    hauled = fetch_batch(client, batch, tmp_path / "x", NAME, "C")
    assert [one.reason for one in hauled.results] == ["", SHORT, NOT_THERE] or [
        one.reason for one in hauled.results
    ] == ["", SHORT, SHORT]


def test_what_was_taken_is_known_from_its_sealed_table(stored, tmp_path: Path):
    store = DirectoryStore(tmp_path)
    rows = rows_of(stored)
    done = [
        row_results.RowResult(row=row, reason="" if at % 2 else BROKEN, offset=at)
        for at, row in enumerate(rows[:20])
    ]
    name = row_results.table_name("s/x")
    output = put_output(store, name, len(done), lambda path: row_results.write(path, done, NAME))
    assert len(row_results.known_ranges(store, "s")) == 0
    made = fingerprint(row_results.STEP, {}, ())
    seal(
        store,
        Manifest(
            step=row_results.STEP,
            part="s/x",
            fingerprint=made,
            recipe={},
            inputs=(),
            outputs=(output,),
            counts={},
        ),
    )
    known = row_results.known_ranges(store, "s")
    assert [row in known for row in rows] == [True] * 20 + [False] * (len(rows) - 20)
    assert len(row_results.known_ranges(store, "other")) == 0
