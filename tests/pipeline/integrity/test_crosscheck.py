"""Two readers that share no code go over every archived record; where they differ, the place and the reason are named."""

import gzip
import random
from uuid import UUID

import pytest

from tests.end_to_end.conftest import TOML, CallingUser
from tests.pipeline.integrity.test_audit import archive, resealed
from tests.shared import shared_file
from tests.storage.captures import capture, chunks
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity import crosscheck
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.compression import SUFFIXES
from thresher.storage.warc.records import read_records

WITH_TRAILERS = capture(
    b"5;x=y\r\nhello\r\n0\r\nTrailer: t\r\n\r\n",
    headers=(("Transfer-Encoding", "chunked"), ("Content-Type", "text/plain")),
    payload=b"hello",
)


@pytest.fixture
def files(tmp_path):
    return DirectoryStore(tmp_path / "data")


def found(files):
    return verify_storage(files, LineProgress(), is_deep=True)


def test_an_archive_of_every_kind_of_record_is_read_alike(files: DirectoryStore):
    made = archive(files)
    noise = random.Random(5)
    for number, body in enumerate((b"", b"x", noise.randbytes(3 << 20))):
        made.append(capture(body, headers=(("Content-Encoding", "gzip"),)), UUID(int=100 + number))
    pieces = (noise.randbytes(70_000), b"y")
    one = capture(
        chunks(*pieces), headers=(("Transfer-Encoding", "chunked"),), payload=b"".join(pieces), started_ms=9
    )
    made.append(one, UUID(int=110))
    made.append(capture(b"cut", truncated="length"), UUID(int=111))
    made.append(capture(b"<p>", protocol="h2"), UUID(int=112))
    made.seal()
    checked = found(files)
    assert (checked.damage, checked.differences, checked.unread) == ((), (), ())


def test_what_warcio_is_known_not_to_read_is_no_damage(files: DirectoryStore):
    made = archive(files)
    ref = made.append(WITH_TRAILERS, UUID(int=110))
    made.seal()
    checked = found(files)
    assert checked.damage == ()
    (line,) = checked.differences
    assert line.startswith(f"{ref.file} at {ref.offset}: the payload is not that of {ref.digest}, as warcio")
    assert "(warcio cannot undo its chunks: " in line


def test_files_that_warcio_cannot_read_are_named(files: DirectoryStore):
    made = archive(files, "zstd")
    made.seal()
    checked = found(files)
    assert checked.damage == ()
    (line,) = checked.unread
    assert (
        line
        == f"warc/main/main-w-00000{SUFFIXES['zstd']}: warcio reads gzip and plain files, but not Zstandard or LZ4"
    )


def test_what_is_wrong_in_a_file_of_ours_is_damage(files: DirectoryStore):
    archive(files).seal()
    name = "warc/main/main-w-00000.warc.gz"
    data = b""
    for record in read_records(files.open(name), name=name):
        member = gzip.decompress(files.read(name)[record.offset : record.offset + record.length])
        if record.type == "response" and record.url.endswith("/0"):
            member = member.replace(b"xxx", b"xyx", 1)
        data += gzip.compress(member, mtime=0)
    resealed(files, name, data)
    assert any(
        "the block is not that of sha1:" in line and "as warcio reads it" in line
        for line in found(files).damage
    )


def lost(file, **options):
    return (record for record in read_records(file, **options) if record.type != "revisit")


def changed(member):
    return b"another block"


@pytest.mark.parametrize(
    ("what", "instead", "said"),
    [
        ("read_records", lost, "warcio finds a revisit record, our reader finds none"),
        ("block_of", changed, "length is 13 to our reader"),
    ],
)
def test_a_fault_of_our_reader_is_damage(files: DirectoryStore, monkeypatch, what, instead, said):
    archive(files).seal()
    monkeypatch.setattr(crosscheck, what, instead)
    assert any(said in line for line in found(files).damage)


def of_version(version, number):
    http = b"HTTP/1.1 200 OK\r\n\r\n%d" % number
    head = f"{version}\r\nWARC-Type: response\r\nWARC-Target-URI: http://e.org/{number}\r\nContent-Type: application/http\r\nContent-Length: {len(http)}\r\n\r\n"
    return gzip.compress(head.encode() + http + b"\r\n\r\n", mtime=0)


def test_behind_what_warcio_cannot_read_it_goes_on(files: DirectoryStore, tmp_path):
    versions = ["WARC/1.0", "WARC/0.9", "WARC/1.1", "WARC/0.9", "WARC/0.18"]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(of_version(each, n) for n, each in enumerate(versions)))
    ingest(files, "s", locate_inputs([tmp_path / "a.warc.gz"]))
    checked = found(files)
    assert checked.damage == ()
    assert len(checked.differences) == 2
    assert all(
        "our reader finds a response record, warcio finds none (warcio stops: " in line
        for line in checked.differences
    )


OTHERS = {
    "cc_net/sample.warc.txt": (2, 0),  # an excerpt, whose blocks are shorter than they were
    "chatnoir-resiliparse/block-sized-records.warc.lz4": (0, 1),
    "chatnoir-resiliparse/clueweb-quirk.warc.gz": (
        21,
        0,
    ),  # 29 that were stored otherwise than hashed; 20 are named
    "chatnoir-resiliparse/warcfile.warc.lz4": (0, 1),
    "pywb/example-extra.warc": (1, 0),
    "warcio/example-digest.warc": (1, 0),
    "warcio/example-trunc.warc": (1, 0),
}
"""Differences, and files that warcio does not read; of all others, none."""


@pytest.mark.shared
def test_archives_of_others_are_read_alike_but_for_what_is_known(files: DirectoryStore):
    ingest(files, "a", locate_inputs([shared_file("archives")]))
    checked = found(files)
    assert checked.damage == ()
    names = {
        output.name: manifest.recipe["ingested"]
        for manifest in manifests(files, "archive")
        for output in manifest.outputs
    }
    counted = {name: [0, 0] for name in names.values()}
    for column, lines in enumerate((checked.differences, checked.unread)):
        for line in lines:
            counted[names[line.partition(" at ")[0].partition(": ")[0]]][column] += 1
    assert {name: tuple(count) for name, count in counted.items() if any(count)} == OTHERS


def test_the_command_says_where_the_readers_differ(tmp_path):
    (tmp_path / "thresher.toml").write_text(TOML)
    user = CallingUser(tmp_path)
    (tmp_path / "a.warc.gz").write_bytes(of_version("WARC/1.0", 0) + of_version("WARC/0.9", 1))
    user.run("ingest", "s", "a.warc.gz")
    said = user.run("verify", "--deep", "--json")
    assert said.json["damage"] == []
    (line,) = said.json["differences"]
    assert "warc/s/a.warc.gz at" in line
    assert line in said.err
    assert "--deep and --accept-loss are for the archive" in user.run("verify", "--deep", "out", code=2).line
