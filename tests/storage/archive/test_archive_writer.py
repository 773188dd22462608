"""What is appended and committed is never lost, and what is sealed is a WARC that any tool reads."""

import errno
import gzip
import io
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import pytest
from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from tests.storage.captures import BODY, CHUNKED, RECORD_ID, STARTED_MS, capture
from tests.storage.failing_calls import count_calls, failing_at
from tests.storage.reading import cuts, read, rows
from thresher.core import Conflict, CorruptData, InputError, RecordRef, Unavailable
from thresher.storage.archive.archive_writer import ArchiveWriter, recover_archives
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, digest, load_manifest, manifests
from thresher.storage.warc.exchange_records import capture_records, target_uri

AGENT = "thresher/0.1 (+mailto:crawl@example.org)"
CAPTURES = [
    capture(),
    CHUNKED,
    capture(b"", status=404, headers=(("Content-Type", "Text/Plain"),), wire="http://a.example/é x"),
    capture(
        b"\x89PNG", headers=(("Content-Type", "image/png"),), truncated="length", started_ms=STARTED_MS + 1
    ),
]
IDS = [UUID(int=number + 1, version=4) for number in range(len(CAPTURES))]
NAME = "warc/main/main-w1-00000.warc.gz"
INDEX = "warc/main/main-w1-00000.cdxj.gz"
SEAL = "manifests/archive/main/main-w1-00000.json"

GOLDEN_INFO = (
    b"WARC/1.1\r\n"
    b"WARC-Type: warcinfo\r\n"
    b"WARC-Record-ID: <urn:uuid:3dc00421-2b62-5b6c-878c-6c8352f241ba>\r\n"
    b"WARC-Filename: main-w1-00000.warc.gz\r\n"
    b"WARC-Date: 2026-01-02T03:04:05.678Z\r\n"
    b"WARC-Block-Digest: sha1:7G7Y3JA37RQ5WK7F4U6P5ONIZDZBRLKG\r\n"
    b"Content-Type: application/warc-fields\r\n"
    b"Content-Length: 238\r\n"
    b"\r\n"
    b"software: thresher\r\n"
    b"format: WARC File Format 1.1\r\n"
    b"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    b"isPartOf: main\r\n"
    b"robots: obey\r\n"
    b"http-header-user-agent: thresher/0.1 (+mailto:crawl@example.org)\r\n"
    b"\r\n\r\n"
)


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def archive(files, crawl="main", writer="w1", **more):
    return ArchiveWriter(files, crawl, writer=writer, user_agent=AGENT, **more)


def dead(_writer):
    return True


def fill(files, **more):
    """An archive with all the captures, committed."""
    made = archive(files, **more)
    refs = [made.append(each, record_id) for each, record_id in zip(CAPTURES, IDS, strict=True)]
    made.commit()
    return made, refs


def contents(files):
    return {name: files.read(name) for name in files.list()}


def open_files(files):
    return list((files.root / "warc").glob("*/.open/*"))


def assert_valid(path):
    """Held by gzip, FastWARC and warcio. warcio reckons the payload digest of a chunked body with its framing
    (warcio issue 74), which is not the payload of the standard: there, and nowhere else, it must object."""
    assert subprocess.run(["gzip", "-t", path], check=False).returncode == 0
    with path.open("rb") as file:
        for record in ArchiveIterator(file, parse_http=False):
            assert record.verify_block_digest()
    with path.open("rb") as file:
        for record in WarcioIterator(file, no_record_parse=False, check_digests=True):
            record.raw_stream.read()
            framed = record.rec_type == "response" and record.http_headers.get_header("Transfer-Encoding")
            problems = record.digest_checker.problems
            assert len(problems) == (1 if framed else 0)
            assert all(each.startswith("payload digest failed") for each in problems)


def test_the_bytes_of_an_archive_are_these(files: DirectoryStore):
    made = archive(files)
    made.append(capture(), RECORD_ID)
    made.seal()
    assert gzip.decompress(files.read(NAME)) == GOLDEN_INFO + b"".join(
        capture_records(capture(), record_id=RECORD_ID)
    )


def test_a_sealed_archive_is_published_with_its_index_and_manifest(files: DirectoryStore):
    made, refs = fill(files)
    manifest = made.seal()
    assert list(files.list()) == [SEAL, INDEX, NAME]
    assert open_files(files) == []
    assert load_manifest(files, SEAL) == manifest
    assert manifest.counts == {"warcinfo": 1, "request": 4, "response": 4}
    assert [(each.name, each.rows) for each in manifest.outputs] == [(NAME, 9), (INDEX, 4)]
    for output in manifest.outputs:
        assert (output.bytes, output.sha256) == (files.size(output.name), digest(files.path(output.name)))
    assert_valid(files.path(NAME))
    responses = [each for each in read(files.path(NAME), name=NAME) if each.type == "response"]
    assert [each.ref for each in responses] == refs
    assert [each.payload for each in responses] == [each.payload for each in CAPTURES]


def test_a_ref_is_enough_to_read_the_record(files: DirectoryStore):
    made, refs = fill(files)
    made.seal()
    for ref, one in zip(refs, CAPTURES, strict=True):
        stored = files.read(ref.file)[ref.offset : ref.offset + ref.length]
        assert one.response in gzip.decompress(stored)


def test_the_index_has_a_line_for_every_response(files: DirectoryStore):
    made, refs = fill(files)
    made.seal()
    found = list(rows(files.path(INDEX)))
    assert {(row.offset, row.length, row.filename, row.digest) for row in found} == {
        (ref.offset, ref.length, ref.file, ref.digest) for ref in refs
    }
    assert {(row.url, row.status, row.mime) for row in found} == {
        (target_uri(one.url.wire), one.status, one.headers[0][1].partition(";")[0].lower())
        for one in CAPTURES
    }


def test_warcio_check_passes(files: DirectoryStore):
    made = archive(files)
    for each, record_id in zip(CAPTURES, IDS, strict=True):
        if each is not CHUNKED:
            made.append(each, record_id)
    made.seal()
    tool = Path(sys.executable).with_name("warcio")
    checked = subprocess.run([tool, "check", files.path(NAME)], check=False, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_nothing_appended_is_nothing_sealed(files: DirectoryStore):
    made = archive(files)
    made.commit()
    assert made.seal() is None
    assert contents(files) == {}


def test_nothing_is_visible_before_the_seal(files: DirectoryStore):
    made, _ = fill(files)
    assert contents(files) == {}
    assert "no open file" not in repr(made)
    made.seal()
    assert repr(made) == "<archive of main by w1: no open file>"


def test_a_full_file_is_sealed_and_the_next_begun(files: DirectoryStore):
    made = archive(files, max_bytes=31_000)
    noise = random.Random(3)
    refs = [made.append(capture(noise.randbytes(9000)), UUID(int=number)) for number in range(7)]
    made.seal()
    names = [name for name in files.list("warc/") if name.endswith(".warc.gz")]
    assert names == [f"warc/main/main-w1-0000{number}.warc.gz" for number in range(3)]
    assert [ref.file for ref in refs] == [names[0]] * 3 + [names[1]] * 3 + [names[2]]
    assert all(files.size(name) <= 31_000 for name in names)
    assert sum(each.counts["response"] for each in manifests(files, "archive", "main")) == 7


def test_a_capture_larger_than_a_file_has_one_of_its_own(files: DirectoryStore):
    made = archive(files, max_bytes=1000)
    for number in range(2):
        made.append(capture(random.Random(number).randbytes(5000)), UUID(int=number))
    made.seal()
    assert len(list(manifests(files, "archive"))) == 2


def test_an_old_file_is_sealed_by_the_time_of_the_captures(files: DirectoryStore):
    made = archive(files, max_age_s=60)
    for seconds in (0, 60, 61, 121):
        made.append(capture(started_ms=STARTED_MS + seconds * 1000), UUID(int=seconds))
    made.seal()
    assert [each.counts["response"] for each in manifests(files, "archive")] == [2, 2]


def test_another_life_of_a_writer_goes_on_counting(files: DirectoryStore):
    for writer in ("w1", "w1-00007", "w1", "w"):
        made, _ = fill(files, writer=writer)
        made.seal()
    assert [name for name in files.list("warc/main/") if name.endswith(".warc.gz")] == [
        "warc/main/main-w-00000.warc.gz",
        "warc/main/main-w1-00000.warc.gz",
        "warc/main/main-w1-00001.warc.gz",
        "warc/main/main-w1-00007-00000.warc.gz",
    ]


def test_a_writer_with_an_open_file_from_an_earlier_life_is_refused(files: DirectoryStore):
    made, _ = fill(files)
    made.abandon()
    with pytest.raises(Conflict, match="writer w1 has an archive file of crawl main open"):
        archive(files)
    archive(files, writer="w2")
    recover_archives(files, "main", dead)
    archive(files)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "ü", "-x", "a\n"])
def test_names_that_are_none_are_refused(files: DirectoryStore, name):
    with pytest.raises(InputError, match="cannot name a crawl"):
        archive(files, crawl=name)
    with pytest.raises(InputError, match="cannot name a writer"):
        archive(files, writer=name)


def test_a_bad_capture_adds_nothing(files: DirectoryStore):
    made = archive(files)
    with pytest.raises(InputError):
        made.append(capture(peer="nobody"), RECORD_ID)
    made.append(capture(), RECORD_ID)
    assert made.seal().counts["response"] == 1


def test_an_abandoned_archive_loses_nothing_that_was_committed(files: DirectoryStore):
    made, refs = fill(files)
    made.append(capture(b"never committed"), UUID(int=99))
    made.abandon()
    (found,) = recover_archives(files, "main", dead)
    assert found.writer == "w1"
    assert [each.offset for each in found.records] == [ref.offset for ref in refs]
    assert [each.record_id for each in found.records] == [each.urn for each in IDS]
    assert [each.url for each in found.records] == [target_uri(each.url.wire) for each in CAPTURES]
    assert [each.status for each in found.records] == [200, 200, 404, 200]


def test_recovery_seals_to_the_same_bytes_as_the_writer_would(tmp_path: Path):
    sealed, recovered = DirectoryStore(tmp_path / "sealed"), DirectoryStore(tmp_path / "recovered")
    made, _ = fill(sealed)
    made.seal()
    made, _ = fill(recovered)
    made.abandon()
    recover_archives(recovered, "main", dead)
    assert contents(recovered) == contents(sealed)


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_cut_at_any_byte_every_whole_record_survives(files: DirectoryStore, step):
    made, _ = fill(files)
    made.abandon()
    (left,) = open_files(files)
    data = left.read_bytes()
    whole = list(read(left))
    for cut in cuts(whole, len(data), step):
        left.write_bytes(data[:cut])
        expected = [each for each in whole if each.offset + each.length <= cut]
        with patch.object(os, "fsync"):  # thousands of them; the order of calls is another test's
            found = recover_archives(files, "main", dead)
        assert open_files(files) == []
        if len(expected) < 2:  # no more than the warcinfo record
            assert (found, contents(files)) == ([], {})
            continue
        stored = files.read(NAME)
        assert stored == data[: sum(each.length for each in expected)]
        responses = [each for each in expected if each.type == "response"]
        assert [each.offset for each in found[0].records] == [each.offset for each in responses]
        assert found[0].manifest.counts["response"] == len(responses)
        assert {row.offset for row in rows(files.path(INDEX))} == {each.offset for each in responses}
        assert sum(1 for _ in ArchiveIterator(io.BytesIO(stored), parse_http=False)) == len(expected)
        for name in list(files.list()):
            files.path(name).unlink()


@pytest.mark.parametrize("at", [0.3, 0.5, 0.8])
def test_damage_in_the_middle_costs_only_the_records_that_it_is_in(files: DirectoryStore, at):
    made, _ = fill(files)
    made.abandon()
    (path,) = open_files(files)
    whole = list(read(path))
    data = bytearray(path.read_bytes())
    place = int(len(data) * at)
    data[place : place + 8] = bytes(8)
    path.write_bytes(data)
    hit = [each for each in whole if each.offset < place + 8 and each.offset + each.length > place]
    (found,) = recover_archives(files, "main", dead)
    assert sum(found.manifest.counts.values()) == len(whole) - len(hit)
    assert_valid(files.path(NAME))
    offsets = {each.offset for each in read(files.path(NAME)) if each.type == "response"}
    assert {row.offset for row in rows(files.path(INDEX))} == offsets
    assert {each.offset for each in found.records} == offsets


def test_killed_at_every_call_nothing_committed_is_lost_and_all_of_it_is_sealed_once(tmp_path: Path):
    """Append, commit and seal, killed at every system call; then another recovers, killed at every call too."""

    def work(files, refs):
        made = archive(files)
        try:
            for each, record_id in zip(CAPTURES, IDS, strict=True):
                refs.append(made.append(each, record_id))
            made.commit()
            refs.append(None)
            made.seal()
        finally:
            made.abandon()

    whole = DirectoryStore(tmp_path / "count")
    count = count_calls(lambda: work(whole, []))
    assert count > 20
    for number in range(count):
        files, refs = DirectoryStore(tmp_path / str(number)), []
        with failing_at(number), suppress(OSError):
            work(files, refs)
        committed = refs[-1:] == [None]
        for again in range(0, 40, 7):
            with failing_at(again), suppress(OSError):
                recover_archives(files, "main", dead)
        recover_archives(files, "main", dead)
        assert open_files(files) == []
        left = contents(files)
        assert left in ({}, contents(whole)) if not committed else left == contents(whole)
        shutil.rmtree(files.root, ignore_errors=True)


@pytest.mark.parametrize("call", ["append", "commit", "seal"])
def test_a_full_disk_is_one_line_and_the_call_may_be_made_again(tmp_path: Path, call):
    calls = {
        "append": lambda made: made.append(capture(), RECORD_ID),
        "commit": ArchiveWriter.commit,
        "seal": ArchiveWriter.seal,
    }
    failed = 0
    for number in range(40):
        files = DirectoryStore(tmp_path / str(number))
        made = archive(files)
        if call != "append":
            made.append(capture(), RECORD_ID)
        with failing_at(number, errno.ENOSPC):
            try:
                calls[call](made)
            except Unavailable as error:
                refusal = str(error)
            else:
                break
        failed += 1
        assert refusal.startswith("no room left for the storage at ")
        assert "\n" not in refusal
        calls[call](made)
        made.seal()
        (manifest,) = manifests(files, "archive")
        assert manifest.counts == {"warcinfo": 1, "request": 1, "response": 1}
        assert_valid(files.path(manifest.outputs[0].name))
    assert failed >= 2


def test_a_buffer_that_cannot_be_written_refuses_the_next_capture_and_keeps_the_last(files: DirectoryStore):
    made = archive(files)
    noise = random.Random(5)
    made.append(capture(noise.randbytes(3 << 19)), UUID(int=1))
    with failing_at(0, errno.ENOSPC), pytest.raises(Unavailable, match="no room left"):
        made.append(capture(b"refused"), UUID(int=2))
    made.append(capture(b"taken"), UUID(int=3))
    made.seal()
    ids = [each.record_id for each in read(files.path(NAME)) if each.type == "response"]
    assert ids == [UUID(int=1).urn, UUID(int=3).urn]
    assert_valid(files.path(NAME))


def write_and_wait(root, ready, go):
    made, _ = fill(DirectoryStore(root))
    ready.set()
    go.wait(60)
    made.seal()


def test_a_living_writer_is_left_alone_and_a_killed_one_is_recovered(files: DirectoryStore):
    context = multiprocessing.get_context("spawn")
    ready, never = context.Event(), context.Event()
    process = context.Process(target=write_and_wait, args=(files.root, ready, never))
    process.start()
    assert ready.wait(60)
    assert recover_archives(files, "main", dead) == []
    process.kill()
    process.join()
    assert recover_archives(files, "main", lambda writer: writer != "w1") == []
    (found,) = recover_archives(files, "main", lambda writer: writer == "w1")
    assert found.manifest.counts["response"] == len(CAPTURES)
    assert recover_archives(files, "main", dead) == []


def test_recovering_a_crawl_that_never_was_is_nothing(files: DirectoryStore):
    assert recover_archives(files, "main", dead) == []


def test_other_bytes_under_the_published_name_are_not_hidden(files: DirectoryStore):
    made, _ = fill(files)
    files.put(NAME, b"other")
    with pytest.raises(Conflict, match="published by another process, with other bytes"):
        made.seal()
    made.abandon()
    with pytest.raises(CorruptData, match="published with other bytes than its writer had; compare and"):
        recover_archives(files, "main", dead)
    assert len(open_files(files)) == 1


def test_refs_are_values(files: DirectoryStore):
    _, (ref, *_) = fill(files)
    assert ref == RecordRef(file=NAME, offset=ref.offset, length=ref.length, digest=ref.digest)
    assert Input(name=ref.file, sha256="").end is None
    assert BODY in CAPTURES[0].response
