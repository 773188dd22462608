"""Sealed data is read exactly as it was sealed, or not at all."""

import os
import random
import shutil
from pathlib import Path
from uuid import UUID

import pytest

from tests.expect import expect
from tests.shared import shared_file
from tests.storage.captures import STARTED_MS, capture
from tests.storage.reading import read, rows
from tests.storage.test_tables import document
from thresher.core import CorruptData
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.storage import sealed_reading, tables
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, manifests, put_output
from thresher.storage.warc.records import DAMAGED, block_of

FLIPS = 60
"""Bits that are flipped in each file, one after another."""


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def archived(files, compression):
    """A sealed file of six pages; its span."""
    noise = random.Random(1)
    made = ArchiveWriter(files, "main", writer="w", user_agent="t", compression=compression)
    for number in range(6):
        body = noise.randbytes(500) + b"words " * 200
        one = capture(body, wire=f"https://example.org/{number}", started_ms=STARTED_MS + number)
        made.append(one, UUID(int=number), metadata=CaptureMetadata())
    return spanned(made.seal())


def brought(files, name):
    """A sealed file of another's, as it came in; its span."""
    ingest(files, "others", locate_inputs([shared_file(f"archives/{name}")]))
    (manifest,) = manifests(files, "archive", "others")
    return spanned(manifest)


def spanned(manifest):
    warc = next(output for output in manifest.outputs if not output.name.endswith(".cdxj.gz"))
    return Input(name=warc.name, sha256=warc.sha256, first=0, end=warc.bytes)


FORMS = {
    "gzip": lambda files: archived(files, "gzip"),
    "zstd": lambda files: archived(files, "zstd"),
    "plain": lambda files: brought(files, "whirlwind-python/whirlwind.warc"),
    "lz4": lambda files: brought(files, "chatnoir-resiliparse/block-sized-records.warc.lz4"),
}


@pytest.fixture(params=FORMS)
def span(request: pytest.FixtureRequest, files: DirectoryStore):
    return FORMS[request.param](files)


def flip(path, data, draw):
    """Write the bytes with one bit changed, as a disk's clock sees it: later than what was there."""
    changed = bytearray(data)
    changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    write(path, changed)


def write(path, data):
    before = path.stat().st_mtime_ns
    path.write_bytes(data)
    os.utime(path, ns=(before + 1, before + 1))


def test_a_bit_that_flips_in_an_archive_file_changes_no_record_that_is_read(files: DirectoryStore, span):
    path, draw = files.path(span.name), random.Random(7)
    sealed, whole = path.read_bytes(), list(sealed_reading.sealed_records(files, span))
    refused = 0
    for _ in range(FLIPS):
        flip(path, sealed, draw)
        found, error = every(files, span)
        assert error or found == whole  # a clock or a name in the head of a gzip member may change
        assert not error or (span.name in error and "copy it back" in error)
        refused += bool(error)
    assert refused > FLIPS * 0.9


def every(files, span):
    """The records, or the error that is in their place."""
    try:
        return list(sealed_reading.sealed_records(files, span)), ""
    except CorruptData as error:
        return [], str(error)


def test_a_file_that_ends_between_two_records_is_not_whole(files: DirectoryStore, span):
    path, whole = files.path(span.name), list(sealed_reading.sealed_records(files, span))
    path.write_bytes(path.read_bytes()[: whole[-1].offset])
    with pytest.raises(CorruptData, match=r"it ends at byte|is not as it was sealed"):
        list(sealed_reading.sealed_records(files, span))


def test_damage_outside_the_range_is_none_of_its_business_where_records_bear_checksums(files: DirectoryStore):
    span = archived(files, "gzip")
    path, whole = files.path(span.name), list(sealed_reading.sealed_records(files, span))
    middle = whole[len(whole) // 2].offset
    data = bytearray(path.read_bytes())
    data[middle + 40] ^= 4
    path.write_bytes(data)
    first = Input(name=span.name, sha256=span.sha256, first=0, end=middle)
    assert list(sealed_reading.sealed_records(files, first)) == [
        each for each in whole if each.offset < middle
    ]
    with pytest.raises(CorruptData, match=f"at byte {middle:,}: broken_compression"):
        list(sealed_reading.sealed_records(files, span))


def test_what_came_in_damaged_is_a_record_like_any_other(files: DirectoryStore, tmp_path: Path):
    span = archived(DirectoryStore(tmp_path / "elsewhere"), "gzip")
    data = bytearray((tmp_path / "elsewhere" / span.name).read_bytes())
    data[len(data) // 2] ^= 4
    (tmp_path / "a.warc.gz").write_bytes(data)
    ingest(files, "others", locate_inputs([tmp_path / "a.warc.gz"]))
    (manifest,) = manifests(files, "archive", "others")
    kinds = [record.type for record in sealed_reading.sealed_records(files, spanned(manifest))]
    assert kinds.count(DAMAGED) == 1


def test_an_archive_file_that_is_gone_or_no_archive_any_more_is_named(files: DirectoryStore):
    span = archived(files, "gzip")
    files.path(span.name).write_bytes(b"x" * span.end)
    with pytest.raises(CorruptData, match=f"{span.name} is not as it was sealed"):
        list(sealed_reading.sealed_records(files, span))
    files.delete(span.name)
    with pytest.raises(CorruptData, match="is missing"):
        list(sealed_reading.sealed_records(files, span))


def test_a_bit_that_flips_in_an_index_changes_no_line_that_is_read(files: DirectoryStore):
    archived(files, "gzip")
    (name,) = (name for name in files.list("warc/") if name.endswith(".cdxj.gz"))
    path, draw = files.path(name), random.Random(7)
    sealed, whole, refused = path.read_bytes(), list(rows(path)), 0
    for _ in range(20 * FLIPS):
        flip(path, sealed, draw)
        try:
            found = list(rows(path))
        except CorruptData:
            refused += 1
        else:
            assert found == whole  # a clock or a name in the head of the gzip member
    assert refused > 20 * FLIPS * 0.9


@pytest.fixture
def table(files: DirectoryStore):
    rows = tables.document_rows([document(number, f"text {number} " * 50) for number in range(50)])
    return put_output(files, "documents/a.parquet", 50, lambda path: tables.write(path, rows))


READERS = {
    "read": sealed_reading.read_sealed,
    "check": sealed_reading.check_sealed,
    "some columns of a table": lambda files, sealed: tables.read(
        files, sealed, tables.columns(tables.DOCUMENTS, "id")
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_bit_of_an_object_can_flip_unseen(files: DirectoryStore, table, reader):
    path, draw = files.path(table.name), random.Random(3)
    sealed = path.read_bytes()
    READERS[reader](files, table)
    for _ in range(FLIPS):
        flip(path, sealed, draw)
        with pytest.raises(CorruptData, match=r"documents/a\.parquet is not as it was sealed; run `thresher"):
            READERS[reader](files, table)
    write(path, sealed)
    READERS[reader](files, table)


def test_a_process_hashes_a_file_once_for_all_of_its_ranges(
    files: DirectoryStore, monkeypatch: pytest.MonkeyPatch
):
    span = brought(files, "whirlwind-python/whirlwind.warc")
    hashed = []

    def stored_digest(_store, name):
        hashed.append(name)
        return span.sha256

    monkeypatch.setattr("thresher.storage.sealed_reading.stored_digest", stored_digest)
    offsets = [record.offset for record in sealed_reading.sealed_records(files, span)]
    for first, end in zip(offsets, [*offsets[1:], span.end], strict=True):
        part = Input(name=span.name, sha256=span.sha256, first=first, end=end)
        assert len(list(sealed_reading.sealed_records(files, part))) == 1
    assert hashed == [span.name]


def test_the_block_of_a_record_is_what_lies_behind_its_head(files: DirectoryStore):
    span = archived(files, "gzip")
    seen = []
    for _ in read(files.path(span.name), name=span.name, on_member=seen.append):
        member = seen.pop()
        block = expect(bytes, block_of(member))
        assert member.data.endswith(block + b"\r\n\r\n")
        assert f"Content-Length: {len(block)}\r\n".encode() in member.data
    shutil.rmtree(files.root)
