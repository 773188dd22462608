"""What is damaged is named, all of it; what can be made again is, and nothing else."""

import gzip
import json

import pytest

from pipeline import engine, process
from pipeline.config import FiltersConfig
from pipeline.given import given
from pipeline.ingest import ingest
from pipeline.progress import LineProgress
from pipeline.verify import repair, verify_storage
from storage.files import Files

FILTERS = FiltersConfig(preset="none", languages=())


def warc(path, count):
    """A file of so many small pages."""
    data = b""
    for number in range(count):
        http = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Rivers run to the sea, %d of them."
            % number
        )
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{path.name}/{number}\r\n"
            f"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(http)}\r\n\r\n"
        )
        data += gzip.compress(head.encode() + http + b"\r\n\r\n", mtime=0)
    path.write_bytes(data)
    return path


@pytest.fixture
def files(tmp_path, crew):
    """Two archive files, processed."""
    files = Files(tmp_path / "data")
    ingest(files, "s", given([warc(tmp_path / "a.warc.gz", 3), warc(tmp_path / "b.warc.gz", 5)]))
    made(files, crew)
    return files


def made(files, crew):
    step, parts = process.step(FILTERS), process.parts(files, "s", FILTERS)
    return engine.run(files, step, parts, process.work, crew=crew, progress=LineProgress()).made


def contents(files):
    return {name: files.read(name) for name in files.list()}


def flip(files, name):
    path = files.path(name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def found(files):
    return verify_storage(files, LineProgress())


def test_a_whole_storage_has_no_damage(files):
    assert found(files).damage == ()
    assert found(files).files == 4 + 6


@pytest.mark.parametrize("kind", ["documents", "verdicts", "signatures", "manifests/process"])
def test_what_can_be_made_again_is_and_only_that(files, crew, kind):
    before = contents(files)
    name, *_ = files.list(f"{kind}/s/part-a")
    flip(files, name)
    damage = found(files)
    assert all("part-a" in line for line in damage.damage)
    assert len(damage.redo) == 1
    repair(files, damage)
    assert made(files, crew) == 1
    assert contents(files) == before
    assert found(files).damage == ()


def test_every_damage_is_named_at_once(files):
    names = [*files.list("documents/"), *files.list("signatures/")]
    for name in names:
        flip(files, name)
    damage = found(files).damage
    assert all(any(name in line for line in damage) for name in names)


def test_a_changed_count_is_damage(files):
    name, *_ = files.list("manifests/process/s/")
    body = json.loads(files.read(name))
    body["counts"]["keep.documents"] = 1_000_000
    files.path(name).write_text(json.dumps(body))
    assert any("was changed after it was sealed" in line for line in found(files).damage)


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_an_archive_file_that_lost_its_manifest_is_named_and_sealed_anew(files, crew, how, monkeypatch):
    monkeypatch.setattr("storage.reseal.GRACE_MS", 0)
    monkeypatch.setattr("storage.reseal.unsealed.__defaults__", (0,))
    before = contents(files)
    name = "manifests/archive/s/a.json"
    files.delete(name) if how == "gone" else flip(files, name)
    damage = found(files)
    assert any(("no Manifest names it" if how == "gone" else name) in line for line in damage.damage)
    repair(files, damage)
    assert contents(files) == before
    assert made(files, crew) == 0


def test_damage_of_an_archive_is_named_with_its_place_and_nothing_is_taken_away(files):
    flip(files, "warc/s/a.warc.gz")
    damage = found(files)
    assert any("warc/s/a.warc.gz at" in line for line in damage.damage)
    assert damage.redo == ()
    before = contents(files)
    repair(files, damage)
    assert contents(files) == before
