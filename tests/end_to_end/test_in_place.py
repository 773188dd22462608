"""WARC files that are ingested in place: the same results as of copies, and no reader takes other bytes for them."""

import os

import pytest

from tests.pipeline.inputs.test_ingest import OTHER, PAGE, warc
from tests.storage.s3server import BUCKET
from thresher.core import CorruptData, InputError
from thresher.storage.in_place.placed_file import ChangedInPlace
from thresher.storage.in_place.project_directory import ProjectDirectory
from thresher.storage.location import open_store
from thresher.storage.manifest import load_manifest
from thresher.storage.s3.s3_store import S3Store
from thresher.storage.sealed_reading import sealed_records
from thresher.storage.warc.records import record_at

NAME = "warc/s/a.warc.gz"
MANIFEST = "manifests/archive/s/a.json"


@pytest.fixture
def user(calling_user):
    (calling_user.directory / "archive").mkdir()
    warc(calling_user.directory / "archive/a.warc.gz", [PAGE, OTHER])
    return calling_user


def stored(user):
    data = user.directory / "data"
    return {
        str(path.relative_to(data)): path.read_bytes()
        for path in data.rglob("*")
        if path.is_file() and not path.relative_to(data).parts[0].startswith((".", "runs"))
    }


def flipped(path):
    """One byte is another, and the time of the last change is as it was."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced(path):
    other = warc(path.with_name("other"), [PAGE.replace("rivers", "bakery"), OTHER])
    data, size = other.read_bytes(), path.stat().st_size
    other.unlink()
    path.write_bytes(data[:size].ljust(size, b"\0"))


CHANGES = {
    "a byte": flipped,
    "another file of the same size": replaced,
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-10]),
    "gone": lambda path: path.unlink(),
}


def test_the_results_are_those_of_a_copy_and_no_copy_is_made(user):
    user.run("ingest", "s", "archive/a.warc.gz")
    user.run("process")
    copied = stored(user)
    user.run("init", "other")
    there = type(user)(user.directory / "other")
    (there.directory / "thresher.toml").write_text((user.directory / "thresher.toml").read_text())
    said = there.run("ingest", "s", "--in-place", "../archive")
    assert "a.warc.gz (warc): added, 2 records, 2 to be processed" in said.err
    there.run("process")
    placed = stored(there)
    assert copied.keys() - placed.keys() == {NAME}
    assert [name for name, data in placed.items() if copied[name] != data] == [MANIFEST]
    assert "1 known" in there.run("ingest", "s", "--in-place", "../archive").out
    assert "all as they were sealed" in there.run("verify").out
    assert "captured 200 text/html in warc/s/a.warc.gz" in there.run("show", "http://example.org/0").out
    exported = there.run("export-wacz", "s", "--out", "s.wacz")
    assert "2 pages" in exported.out
    assert (user.directory / "archive/a.warc.gz").exists()


@pytest.mark.parametrize("change", CHANGES)
def test_no_reader_takes_a_changed_file_for_the_one_that_was_ingested(user, change):
    user.run("ingest", "s", "--in-place", "archive")
    files = ProjectDirectory(user.directory / "data")
    span = load_manifest(files, MANIFEST).outputs[0]
    (first, *_) = list(sealed_records(files, span_of(span)))
    path = user.directory / "archive/a.warc.gz"
    CHANGES[change](path)
    for read in (
        lambda: files.open(NAME),
        lambda: files.read(NAME),
        lambda: files.stamp(NAME),
        lambda: record_at(files, first.ref),
        lambda: list(sealed_records(files, span_of(span))),
    ):
        with pytest.raises(
            ChangedInPlace, match=r"warc/s/a\.warc\.gz stayed in place at file:.*; put the file back"
        ):
            read()
    assert "put the file back as it was" in user.run("process", code=2).line
    assert NAME in user.run("verify", code=1).err
    user.run("export-wacz", "s", "--out", "s.wacz", code=2)
    assert not list((user.directory / "data").glob("documents/**/*.parquet"))


def span_of(output):
    from thresher.storage.manifest import Input

    return Input(name=output.name, sha256=output.sha256, first=0, end=output.bytes)


def test_a_file_that_changes_while_it_is_read_gives_no_more_bytes(user):
    user.run("ingest", "s", "--in-place", "archive")
    files = ProjectDirectory(user.directory / "data")
    path = user.directory / "archive/a.warc.gz"
    with files.open(NAME) as file:
        file.raw.read(10)
        with path.open("r+b") as writer:
            writer.seek(100)
            writer.write(b"other")
        with pytest.raises(ChangedInPlace, match="it was changed meanwhile"):
            file.raw.read(10)


def test_results_that_could_not_be_made_again_are_not_deleted(user):
    user.run("ingest", "s", "--in-place", "archive")
    user.run("process")
    before = stored(user)
    flipped(user.directory / "archive/a.warc.gz")
    assert "its SHA-256 differs; put the file back as it was" in user.run("process", "--redo", code=2).line
    assert stored(user) == before


def test_nothing_is_deleted_or_written_in_place(user):
    user.run("ingest", "s", "--in-place", "archive")
    path = user.directory / "archive/a.warc.gz"
    before = path.read_bytes()
    files = ProjectDirectory(user.directory / "data")
    files.delete(NAME)
    assert files.exists(NAME)
    files.clear()
    assert not files.exists(NAME)
    assert (path.read_bytes(), sorted(each.name for each in path.parent.iterdir())) == (before, ["a.warc.gz"])


def test_what_cannot_stay_in_place_is_refused(user):
    (user.directory / "x.jsonl").write_text('{"text": "x"}\n')
    said = user.run("ingest", "s", "--in-place", "x.jsonl", code=2)
    assert "only WARC files with one record per member can stay in place" in said.err
    assert not stored(user)


def test_an_object_of_a_bucket_stays_there(user, server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    bucket = S3Store(BUCKET, "in-place")
    bucket.put_file(user.directory / "archive/a.warc.gz", "deep/a.warc.gz")
    user.run("ingest", "s", "--in-place", f"s3://{BUCKET}/in-place/deep/a.warc.gz")
    user.run("process")
    files = open_store("file:data", user.directory)
    manifest = next(name for name in files.list("manifests/archive/"))
    (name,) = (each.name for each in load_manifest(files, manifest).outputs if each.name.endswith(".warc.gz"))
    with files.open(name) as file:
        assert file.read() == (user.directory / "archive/a.warc.gz").read_bytes()
    bucket.delete("deep/a.warc.gz")
    with pytest.raises(ChangedInPlace, match="it is not there"):
        files.open(name)
    flipped(user.directory / "archive/a.warc.gz")
    bucket.put_file(user.directory / "archive/a.warc.gz", "deep/a.warc.gz")
    with pytest.raises(ChangedInPlace, match="its entity tag differs"):
        files.open(name)
    assert issubclass(ChangedInPlace, InputError)
    assert issubclass(ChangedInPlace, CorruptData)
    bucket.close()
