"""A payload is written once; a later revisit refers to a record that is durable."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from fastwarc.warc import ArchiveIterator

from tests.expect import expect
from tests.storage.captures import STARTED_MS, capture
from tests.storage.reading import cuts, read, rows
from thresher.core import CorruptData
from thresher.storage.archive import archive_writer as storage_archive
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata, Revisit, recover_archives
from thresher.storage.archive.originals import find_originals
from thresher.storage.archive.recent_payloads import load_recent_payloads
from thresher.storage.archive.written_payloads import WrittenPayloads
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Manifest
from thresher.storage.warc.compression import SUFFIXES
from thresher.storage.warc.exchange_records import Attachment, payload_digest, payload_sha256
from thresher.storage.warc.records import record_at

BIG = random.Random(1).randbytes(2_000)
KINDS = list(SUFFIXES)


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def archive(files, compression="gzip", **more):
    return ArchiveWriter(files, "main", writer="w", user_agent="t", compression=compression, **more)


def records(files, kind="gzip"):
    name = f"warc/main/main-w-00000{SUFFIXES[kind]}"
    return list(read(files.path(name), name=name))


def page(number, body=BIG, **more):
    return capture(body, wire=f"https://example.org/{number}", started_ms=STARTED_MS + number, **more)


def types(found):
    return [record.type for record in found]


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_that_is_committed_is_not_written_again(files: DirectoryStore, kind):
    made = archive(files, kind)
    made.append(page(1), UUID(int=1), metadata=CaptureMetadata(outlinks=("https://example.org/x",)))
    made.append(page(2), UUID(int=2))
    made.commit()
    ref = made.append(
        page(3, headers=(("ETag", '"3"'), ("Content-Type", "text/html"))),
        UUID(int=3),
        metadata=CaptureMetadata(),
    )
    manifest = made.seal()
    assert manifest.counts == {"warcinfo": 1, "request": 3, "response": 2, "metadata": 2, "revisit": 1}
    found = records(files, kind)
    assert types(found) == [
        *("warcinfo", "request", "metadata", "response"),
        *("request", "response"),
        *("request", "metadata", "revisit"),
    ]
    revisit = found[-1]
    assert revisit.ref == ref
    assert revisit.header("etag") == '"3"'
    assert revisit.revisit == Revisit(
        profile="identical-payload-digest",
        refers_to=UUID(int=2).urn,
        uri="https://example.org/2",
        date_ms=STARTED_MS + 2,
        digest=payload_digest(page(3)),
        sha256=payload_sha256(page(3)),
    )
    line = next(row for row in rows(files.path("warc/main/main-w-00000.cdxj.gz")) if row.url.endswith("/3"))
    assert (line.mime, line.status, line.etag) == ("warc/revisit", 200, '"3"')
    assert (line.offset, line.length, line.digest) == (ref.offset, ref.length, ref.digest)
    assert (line.sha256, revisit.sha256) == (payload_sha256(page(3)),) * 2
    whole = find_originals(files, [ref.file], [revisit.revisit])
    assert record_at(files, whole[revisit.revisit].ref).payload == BIG


@pytest.mark.parametrize(
    "other",
    [
        page(2, BIG[:1000]),
        page(2, truncated="length"),
        page(2, headers=(("Content-Encoding", "br"),)),
        page(2, BIG + b"."),
    ],
)
def test_another_payload_is_written(files: DirectoryStore, other):
    made = archive(files)
    for number, one in enumerate((page(1), page(0, BIG[:1000]), page(1, truncated="length"))):
        made.append(one, UUID(int=number))
    made.commit()
    made.append(other, UUID(int=9))
    made.seal()
    assert types(records(files)).count("revisit") == 0


def test_a_commit_that_fails_makes_nothing_known(files: DirectoryStore, monkeypatch: pytest.MonkeyPatch):
    made = archive(files)
    made.append(page(1), UUID(int=1))
    with monkeypatch.context() as broken:
        broken.setattr(
            "thresher.storage.archive.local_open_file.os.fsync",
            lambda _: (_ for _ in ()).throw(OSError(5, "EIO")),
        )
        with pytest.raises(OSError, match="EIO"):
            made.commit()
    made.append(page(2), UUID(int=2))
    made.commit()
    made.append(page(3), UUID(int=3))
    made.seal()
    assert types(records(files))[1::2] == ["request"] * 3
    assert types(records(files))[2::2] == ["response", "response", "revisit"]


def test_what_is_remembered_is_bounded_and_the_least_used_is_forgotten():
    known = WrittenPayloads(limit=2)
    ones = [page(number, bytes([number]) * 2000) for number in range(3)]

    def find(one):
        return known.find(one, payload_digest(one), payload_sha256(one))

    for number, one in enumerate(ones[:2]):
        known.add(one, payload_sha256(one), UUID(int=number))
    known.mark_committed()
    assert find(ones[0]) is not None
    known.add(ones[2], payload_sha256(ones[2]), UUID(int=2))
    known.mark_committed()
    assert len(known) == 2
    assert [find(one) is not None for one in ones] == [True, False, True]


def test_two_payloads_of_one_sha1_are_both_written(files: DirectoryStore, monkeypatch: pytest.MonkeyPatch):
    """As shattered-1.pdf and shattered-2.pdf are (https://shattered.io): SHA-256 decides."""
    collision = payload_digest(page(1))
    monkeypatch.setattr("thresher.storage.archive.archive_writer.payload_digest", lambda _: collision)
    monkeypatch.setattr("thresher.storage.archive.archive_writer.make_validator", lambda _: lambda _: None)
    made = archive(files)
    for number, one in enumerate((page(1), page(2, BIG[::-1]), page(3), page(4, BIG[::-1]))):
        made.append(one, UUID(int=number))
        made.commit()
    made.seal()
    found = [record for record in records(files) if record.type in {"response", "revisit"}]
    assert types(found) == ["response", "response", "revisit", "revisit"]
    assert [each.revisit.refers_to for each in found[2:]] == [UUID(int=0).urn, UUID(int=1).urn]
    again = ArchiveWriter(
        files, "main", writer="v", user_agent="t"
    )  # what it recalls of the index is decided the same way
    again.append(page(5, BIG[::-1]), UUID(int=5))
    again.append(page(6, b"x" * 2000), UUID(int=6))
    manifest = expect(Manifest, again.seal())
    assert (manifest.counts["revisit"], manifest.counts["response"]) == (1, 1)


def test_no_revisits_where_none_are_wanted(files: DirectoryStore):
    made = archive(files, max_known_payloads=0)
    for number in range(3):
        made.append(page(number), UUID(int=number))
        made.commit()
    made.seal()
    assert types(records(files)).count("response") == 3


def test_what_a_browser_made_lies_behind_the_response(files: DirectoryStore):
    made = archive(files)
    made.append(page(1), UUID(int=1))
    dom = Attachment(
        kind="conversion",
        block=b"<p>DOM",
        uri="https://example.org/1",
        mime="text/html",
        date_ms=STARTED_MS,
    )
    made.attach(dom, record_id=UUID(int=2), response_id=UUID(int=1))
    view = replace(dom, kind="resource", uri="urn:view:https://example.org/1")
    ref = made.attach(view, record_id=UUID(int=3), response_id=UUID(int=1))
    made.seal()
    found = records(files)
    assert types(found)[3:] == ["conversion", "resource"]
    assert found[-1].payload == b"<p>DOM"
    lines = {row.url: row for row in rows(files.path("warc/main/main-w-00000.cdxj.gz"))}
    assert lines.keys() == {"https://example.org/1", "urn:view:https://example.org/1"}
    assert lines["urn:view:https://example.org/1"].offset == ref.offset


def test_what_is_no_warc_is_refused_and_nothing_is_written(
    files: DirectoryStore, monkeypatch: pytest.MonkeyPatch
):
    made = archive(files)
    made.append(page(1), UUID(int=1))
    before = made.appended
    monkeypatch.setattr(storage_archive, "metadata_record", lambda *_, **__: b"no record")
    with pytest.raises(CorruptData, match="breaks the rule 'head'"):
        made.append(page(2), UUID(int=2), metadata=CaptureMetadata())
    assert made.appended == before
    made.append(page(3), UUID(int=3))
    assert made.seal().counts["response"] == 2


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_cut_at_any_byte_of_the_last_two_records_exactly_the_whole_ones_are_recovered(
    files: DirectoryStore, kind, step, monkeypatch: pytest.MonkeyPatch
):
    made = archive(files, kind)
    for number in range(2):
        made.append(page(number), UUID(int=number), metadata=CaptureMetadata())
        made.commit()
    made.abandon()
    (left,) = (files.root / "warc" / "main" / ".open").glob("*")
    data, whole = left.read_bytes(), list(read(left))
    assert types(whole)[-2:] == ["metadata", "revisit"]
    monkeypatch.setattr("os.fsync", lambda _: None)  # thousands of them; the order of calls is another test's
    name = f"warc/main/main-w-00000{SUFFIXES[kind]}"
    for cut in cuts(whole[-2:], len(data), step):
        left.write_bytes(data[:cut])
        (found,) = recover_archives(files, "main", lambda _: True)
        expected = [each for each in whole if each.offset + each.length <= cut]
        stored = files.read(name)
        assert stored == data[: sum(each.length for each in expected)]
        answers = [each for each in expected if each.type in {"response", "revisit"}]
        assert [each.record_id for each in found.records] == [each.record_id for each in answers]
        indexed = {row.offset for row in rows(files.path("warc/main/main-w-00000.cdxj.gz"))}
        assert indexed == {each.offset for each in answers}
        for stale in list(files.list()):
            files.path(stale).unlink()


@pytest.mark.parametrize("kind", KINDS)
def test_recovered_and_sealed_files_are_the_same_bytes(tmp_path: Path, kind):
    stores = [DirectoryStore(tmp_path / "sealed"), DirectoryStore(tmp_path / "recovered")]
    for store in stores:
        made = archive(store, kind)
        for number in range(3):
            made.append(
                page(number, headers=(("ETag", "x"), ("Last-Modified", "yesterday"))),
                UUID(int=number),
                metadata=CaptureMetadata(),
            )
            made.commit()
        made.seal() if store is stores[0] else made.abandon()
    recover_archives(stores[1], "main", lambda _: True)
    assert list(stores[0].list()) == list(stores[1].list())
    assert all(stores[0].read(name) == stores[1].read(name) for name in stores[0].list())


@pytest.mark.parametrize("kind", KINDS)
def test_fastwarc_finds_every_digest_right(files: DirectoryStore, kind):
    made = archive(files, kind)
    for number in range(3):
        made.append(page(number), UUID(int=number), metadata=CaptureMetadata())
        made.commit()
    made.seal()
    path = files.path(f"warc/main/main-w-00000{SUFFIXES[kind]}")
    with path.open("rb") as file:
        assert all(record.verify_block_digest() for record in ArchiveIterator(file, parse_http=False))
    tool = Path(sys.executable).with_name("fastwarc")
    assert subprocess.run([tool, "check", path], check=False, capture_output=True).returncode == 0


def test_a_page_that_comes_again_is_written_whole_whoever_had_its_payload(files: DirectoryStore):
    made = archive(files)
    made.append(page(1), UUID(int=1))
    made.commit()
    made.append(page(2), UUID(int=2), whole=True)
    again = Revisit(
        profile="identical-payload-digest",
        refers_to=UUID(int=2).urn,
        uri=page(2).url.wire,
        date_ms=STARTED_MS + 2,
    )
    made.append(page(3), UUID(int=3), revisit=again, whole=True)
    made.seal()
    answers = [record for record in records(files) if record.type in {"response", "revisit"}]
    assert types(answers) == ["response", "response", "revisit"]
    assert answers[-1].revisit.refers_to == UUID(int=2).urn


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["sealed", "recovered"])
def test_a_new_writer_knows_what_was_archived_before(tmp_path: Path, kind, end):
    files = DirectoryStore(tmp_path / "data")
    first = archive(files, kind)
    first.append(page(1), UUID(int=1))
    first.append(page(2, BIG[:1500], headers=(("Content-Encoding", "br"),)), UUID(int=2))
    first.commit()
    if end == "sealed":
        first.seal()
    else:
        first.abandon()
        recover_archives(files, "main", lambda _: True)
    second = ArchiveWriter(files, "main", writer="v", user_agent="t", compression=kind)
    second.append(page(3), UUID(int=3))
    second.append(page(4, BIG[:1500], headers=(("Content-Encoding", " BR"),)), UUID(int=4))
    second.append(page(5, BIG[:1500]), UUID(int=5))  # the same bytes, and another page
    second.seal()
    name = f"warc/main/main-v-00000{SUFFIXES[kind]}"
    found = [each for each in read(files.path(name), name=name) if each.type in {"response", "revisit"}]
    assert types(found) == ["revisit", "revisit", "response"]
    assert [each.revisit.refers_to for each in found[:2]] == [UUID(int=1).urn, UUID(int=2).urn]
    sealed_ = [*files.list("warc/main/main-w"), name]
    whole = find_originals(
        files, [each for each in sealed_ if not each.endswith(".cdxj.gz")], [found[0].revisit]
    )
    assert record_at(files, whole[found[0].revisit].ref).payload == BIG


def test_the_files_that_were_sealed_last_are_known_and_no_more_than_there_is_room_for(tmp_path: Path):
    files = DirectoryStore(tmp_path / "data")
    for number, writer in enumerate("abc"):
        made = ArchiveWriter(files, "main", writer=writer, user_agent="t", max_known_payloads=0)
        for one in range(3):
            body = bytes([10 * number + one]) * 2000
            made.append(page(10 * number + one, body), UUID(int=10 * number + one))
        made.seal()
        os.utime(files.path(f"warc/main/main-{writer}-00000.cdxj.gz"), ns=(number, number))
    payloads = WrittenPayloads(4)
    load_recent_payloads(payloads, files, "main")
    assert len(payloads) == 4
    known = [
        one
        for one in range(30)
        if payloads.find(again := page(99, bytes([one]) * 2000), "", payload_sha256(again)) is not None
    ]
    assert set(known) >= {20, 21, 22}


@pytest.mark.parametrize("damage", ["damaged", "missing", "of another"])
def test_an_index_that_cannot_be_believed_is_passed_over(tmp_path: Path, damage):
    files = DirectoryStore(tmp_path / "data")
    made = archive(files)
    made.append(page(1), UUID(int=1))
    made.seal()
    path = files.path("warc/main/main-w-00000.cdxj.gz")
    data = path.read_bytes()
    path.unlink()
    if damage == "damaged":
        path.write_bytes(data[:-6] + bytes([data[-6] ^ 1]) + data[-5:])
    elif damage == "of another":
        path.with_name("somebody.cdxj.gz").write_bytes(data)
    again = ArchiveWriter(files, "main", writer="v", user_agent="t")
    again.append(page(2), UUID(int=2))
    assert expect(Manifest, again.seal()).counts["response"] == 1


def test_what_is_referred_to_by_its_url_alone_is_the_record_of_that_url_and_no_other_of_its_key(
    files: DirectoryStore,
):
    made = archive(files)
    urls = ("http://www.example.org/A/", "https://example.org/a")
    for number, url in enumerate(urls, 1):
        made.append(capture(b"%d" % number, wire=url, started_ms=STARTED_MS), UUID(int=number))
    made.seal()
    wanted = {
        url: Revisit(profile="server-not-modified", refers_to="", uri=url, date_ms=STARTED_MS) for url in urls
    }
    found = find_originals(files, ["warc/main/main-w-00000.warc.gz"], wanted.values())
    assert [record_at(files, found[wanted[url]].ref).payload for url in urls] == [b"1", b"2"]
