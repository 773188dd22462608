"""Each way in which an archive can be wrong is one line that names the place."""

import gzip
from dataclasses import replace
from uuid import UUID

import pytest

from tests.storage.captures import CHUNKED, STARTED_MS, capture
from tests.storage.plain_store import PlainStore
from tests.storage.reading import rows
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata, Revisit
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import digest, load_manifest, manifest_name, seal
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import SUFFIXES, compressor
from thresher.storage.warc.exchange_records import Attachment
from thresher.storage.warc.records import read_records

INDEX = "warc/main/main-w-00000.cdxj.gz"


def archive(store, compression="gzip"):
    made = ArchiveWriter(store, "main", writer="w", user_agent="t", compression=compression)
    for number in range(3):
        one = capture(b"x" * 3000, wire=f"https://example.org/{number}", started_ms=STARTED_MS + number)
        made.append(one, UUID(int=number), metadata=CaptureMetadata())
        made.commit()
    made.append(CHUNKED, UUID(int=4))
    made.append(capture(), UUID(int=5))
    view = Attachment(
        kind="resource",
        block=b"<p>",
        uri="urn:view:https://example.org/1",
        mime="text/html",
        date_ms=STARTED_MS,
    )
    made.attach(view, record_id=UUID(int=6), response_id=UUID(int=5))
    return made


def found(store):
    return verify_storage(store, LineProgress())


def resealed(files, name, data):
    """The file with other bytes, sealed as if a writer had made it so."""
    files.path(name).write_bytes(data)
    part = "main/main-w-00000"
    manifest = load_manifest(files, manifest_name("archive", part))
    outputs = tuple(
        replace(output, bytes=len(data), sha256=digest(files.path(name))) if output.name == name else output
        for output in manifest.outputs
    )
    files.delete(manifest_name("archive", part))
    seal(files, replace(manifest, outputs=outputs))


@pytest.mark.parametrize("compression", SUFFIXES)
def test_an_archive_of_every_kind_of_record_is_whole(tmp_path, compression):
    files = DirectoryStore(tmp_path)
    archive(files, compression).seal()
    checked = found(files)
    assert (checked.damage, checked.unfinished, checked.files) == ((), (), 2)


@pytest.mark.parametrize("compression", SUFFIXES)
@pytest.mark.parametrize(
    ("kind", "old", "new", "rule"),
    [
        ("response", b"xxx", b"xyx", "block digest"),
        ("request", b"GET /", b"PUT /", "block digest"),
        ("metadata", b"fetchTimeMs: 1", b"fetchTimeMs: 2", "block digest"),
        ("resource", b"<p>", b"<b>", "block digest"),
        ("revisit", b"200 OK", b"200 KO", "block digest"),
        ("response", b"WARC-Date: 2026", b"WARC-Date: 20a6", "head"),
    ],
)
def test_a_record_that_was_sealed_wrong_is_named(tmp_path, compression, kind, old, new, rule):
    files = DirectoryStore(tmp_path)
    archive(files, compression).seal()
    name = f"warc/main/main-w-00000{SUFFIXES[compression]}"
    with files.open(name) as file:
        record = next(record for record in read_records(file, name=name) if record.type == kind)
    data = files.read(name)
    end = record.offset + record.length
    with files.open(name) as file:
        kept = []
        list(read_records(file, record.offset, end, name=name, on_member=kept.append))
    member = compressor(compression)(kept[0].data.replace(old, new, 1))
    resealed(files, name, data[: record.offset] + member + data[end:])
    damage = found(files).damage
    assert any(f"{name} at {record.offset}: the record breaks the rule '{rule}'" in line for line in damage)
    assert all("\n" not in line for line in damage)


def test_a_chunked_payload_with_the_digest_of_its_chunks_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "thresher.storage.archive.archive_writer.payload_digest", lambda _: "sha1:" + "A" * 32
    )
    files = DirectoryStore(tmp_path)
    made = ArchiveWriter(files, "main", writer="w", user_agent="t")
    made.append(CHUNKED, UUID(int=4))
    made.seal()
    (line,) = found(files).damage
    assert "breaks the rule 'payload digest'" in line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: replace(row, offset=row.offset + 1), "leads to warc/main/main-w-00000.warc.gz at"),
        (lambda row: replace(row, length=row.length + 1), "where that record is not"),
        (lambda row: replace(row, digest="sha1:X"), "where that record is not"),
        (lambda row: replace(row, filename="warc/main/other.warc.gz"), "leads to warc/main/other.warc.gz"),
    ],
)
def test_a_line_that_does_not_lead_to_its_record_is_named(tmp_path, change, says):
    files = DirectoryStore(tmp_path)
    archive(files).seal()
    first, *rest = rows(files.path(INDEX))
    text = "".join(f"{cdxj.format_line(row)}\n" for row in [change(first), *rest])
    resealed(files, INDEX, gzip.compress(text.encode(), mtime=0))
    damage = found(files).damage
    assert any(f"{INDEX}: its line for {first.url} " in line and says in line for line in damage)


def test_a_record_without_a_line_is_named(tmp_path):
    files = DirectoryStore(tmp_path)
    archive(files).seal()
    first, *rest = rows(files.path(INDEX))
    text = "".join(f"{cdxj.format_line(row)}\n" for row in rest)
    resealed(files, INDEX, gzip.compress(text.encode(), mtime=0))
    damage = found(files).damage
    assert any(
        line.endswith(f"has no line for the record of {first.filename} at {first.offset}") for line in damage
    )


def test_a_revisit_of_what_is_not_archived_is_named(tmp_path):
    files = DirectoryStore(tmp_path)
    made = archive(files)
    nowhere = Revisit(
        profile="server-not-modified", refers_to=UUID(int=77).urn, uri="https://example.org/", date_ms=0
    )
    ref = made.append(capture(b"", status=304), UUID(int=8), revisit=nowhere)
    made.seal()
    (line,) = found(files).damage
    assert line == f"{ref.file} at {ref.offset}: a revisit of a record that is not archived"


def test_what_a_dead_writer_left_is_named_and_no_damage(tmp_path):
    files = DirectoryStore(tmp_path)
    made = archive(files)
    made.commit()
    assert found(files).unfinished == ()
    made.abandon()
    (left,) = (tmp_path / "warc" / "main" / ".open").glob("*")
    whole = left.stat().st_size
    left.write_bytes(left.read_bytes() + b"\x1f\x8b\x08torn")
    checked = found(files)
    assert checked.damage == ()
    (line,) = checked.unfinished
    assert line == (
        f"main-w-00000.warc.gz was left open with 15 complete records in {whole} bytes, and 7 bytes without a record; "
        "`thresher crawl main` seals the complete records"
    )


def test_segments_of_a_store_that_cannot_append_are_named(tmp_path):
    store = PlainStore(DirectoryStore(tmp_path))
    made = archive(store)
    made.commit()
    made.abandon()
    (line,) = found(store).unfinished
    assert "was left open with 15 complete records" in line
