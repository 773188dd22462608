"""`verify` names all damage; `--repair` makes again what can be made again, and changes nothing else."""

import gzip
import json
import re

import pytest

from tests.storage.manifest_samples import ran
from thresher.core import CorruptData
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity.verify import accept_loss, repair, verify_storage
from thresher.pipeline.steps import blocklist, process
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import run
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import load_manifest

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
def files(tmp_path, pool):
    """Two archive files, processed."""
    files = DirectoryStore(tmp_path / "data")
    ingest(files, "s", locate_inputs([warc(tmp_path / "a.warc.gz", 3), warc(tmp_path / "b.warc.gz", 5)]))
    made(files, pool)
    return files


def made(files, pool):
    step, parts = process.step(FILTERS), process.parts(files, "s", FILTERS)
    return run_step.run_step(files, step, parts, process.work, pool=pool, progress=LineProgress()).made


def contents(files):
    return {name: files.read(name) for name in files.list()}


def flip(files, name):
    path = files.path(name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def found(files):
    return verify_storage(files, LineProgress())


def test_a_whole_storage_has_no_damage(files: DirectoryStore):
    assert found(files).damage == ()
    assert found(files).files == 4 + 2 * len(process.TABLES)


@pytest.mark.parametrize("kind", ["documents", "verdicts", "signatures", "manifests/process"])
def test_what_can_be_made_again_is_and_only_that(files, pool, kind):
    before = contents(files)
    name, *_ = files.list(f"{kind}/s/part-a")
    flip(files, name)
    damage = found(files)
    assert all("part-a" in line for line in damage.damage)
    assert len(damage.redo) == 1
    repair(files, damage)
    assert made(files, pool) == 1
    assert contents(files) == before
    assert found(files).damage == ()


def test_every_damage_is_named_at_once(files: DirectoryStore):
    names = [*files.list("documents/"), *files.list("signatures/")]
    for name in names:
        flip(files, name)
    damage = found(files).damage
    assert all(any(name in line for line in damage) for name in names)


def test_a_changed_count_is_damage(files: DirectoryStore):
    name, *_ = files.list("manifests/process/s/")
    body = json.loads(files.read(name))
    body["counts"]["keep.documents"] = 1_000_000
    files.path(name).write_text(json.dumps(body))
    assert any("was changed after it was sealed" in line for line in found(files).damage)


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_an_archive_file_that_lost_its_manifest_is_named_and_sealed_anew(files, pool, how, monkeypatch):
    monkeypatch.setattr("thresher.storage.archive.reseal.GRACE_MS", 0)
    monkeypatch.setattr("thresher.storage.archive.reseal.unsealed_files.__defaults__", (0,))
    before = contents(files)
    name = "manifests/archive/s/a.json"
    files.delete(name) if how == "gone" else flip(files, name)
    damage = found(files)
    assert any(("no Manifest names it" if how == "gone" else name) in line for line in damage.damage)
    repair(files, damage)
    assert contents(files) == before
    assert made(files, pool) == 0


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_an_index_is_made_again_from_its_archive_file(files, pool, how):
    before = contents(files)
    name = "warc/s/a.cdxj.gz"
    files.delete(name) if how == "gone" else flip(files, name)
    damage = found(files)
    (line,) = damage.damage
    assert name in line
    assert damage.archives == ()
    repair(files, damage)
    assert contents(files) == before
    assert found(files).damage == ()
    assert made(files, pool) == 0


def test_a_list_of_addresses_that_is_damaged_is_named_and_put_anew(files, tmp_path):
    (tmp_path / "blocked.txt").write_text("bad.example\n")
    name = blocklist.put_blocklist(files, tmp_path, "blocked.txt")
    whole = files.read(name)
    flip(files, name)
    with pytest.raises(CorruptData, match=f"{name} is damaged"):
        blocklist.load_blocklist.__wrapped__(files, name)
    damage = found(files)
    (line,) = damage.damage
    assert name in line
    assert blocklist.put_blocklist(files, tmp_path, "blocked.txt") == name
    assert files.read(name) == whole
    flip(files, name)
    repair(files, damage)
    assert not files.exists(name)


def test_a_run_that_is_damaged_is_named_and_deleted(files: DirectoryStore):
    run.put(files, ran(1))
    flip(files, run.run_name(ran(1)))
    damage = found(files)
    (line,) = damage.damage
    assert line.startswith(f"{run.run_name(ran(1))} is no run")
    repair(files, damage)
    assert found(files).damage == ()


def test_one_damaged_record_is_one_line(files: DirectoryStore):
    flip(files, "warc/s/a.warc.gz")
    (line,) = found(files).damage
    assert re.fullmatch(r"manifests/archive/s/a\.json: warc/s/a\.warc\.gz at \d+: broken_compression", line)


def test_a_loss_is_accepted_only_when_the_user_says_so(files, pool):
    """The damaged record counts as such; what was made of the file is made again, and nothing else."""
    before = contents(files)
    name = "warc/s/b.warc.gz"
    flip(files, name)
    damage = found(files)
    assert [manifest.part for manifest in damage.archives] == ["s/b"]
    assert accept_loss(files, damage) == [name]
    assert found(files).damage == ()
    assert made(files, pool) == 1
    counts = load_manifest(files, "manifests/process/s/part-b-000000000000.json").counts
    assert counts["early/damaged.documents"] == 1
    assert counts["keep.documents"] == 4
    after = contents(files)
    assert {each for each in before if before[each] != after.get(each)} == {
        name,
        "warc/s/b.cdxj.gz",
        "manifests/archive/s/b.json",
        "manifests/process/s/part-b-000000000000.json",
        *(
            f"{kind}/s/part-b-000000000000.parquet"
            for kind in ("documents", "measurements", "verdicts", "signatures")
        ),
    }


def test_of_a_file_that_is_gone_no_loss_can_be_accepted(files: DirectoryStore):
    files.delete("warc/s/b.warc.gz")
    damage = found(files)
    assert len(damage.damage) == 1
    assert accept_loss(files, damage) == []
    assert found(files).damage == damage.damage


def test_an_archive_that_is_copied_back_is_processed_again_without_a_word(files, pool):
    name = "warc/s/b.warc.gz"
    whole = files.read(name)
    before = contents(files)
    process.delete_results(files, "s")
    flip(files, name)
    step, parts = process.step(FILTERS), list(process.parts(files, "s", FILTERS))
    ran = run_step.run_step(files, step, parts, process.work, pool=pool, progress=LineProgress())
    (mark,) = ran.quarantined
    assert ran.made == 1
    assert "warc/s/b.warc.gz is not as it was sealed (at byte" in mark.reason
    files.delete(name)
    files.put(name, whole)
    assert made(files, pool) == 1
    assert contents(files) == before


def test_damage_of_an_archive_is_named_with_its_place_and_nothing_is_taken_away(files):
    flip(files, "warc/s/a.warc.gz")
    damage = found(files)
    assert any("warc/s/a.warc.gz at" in line for line in damage.damage)
    assert damage.redo == ()
    before = contents(files)
    repair(files, damage)
    assert contents(files) == before
