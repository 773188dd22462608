"""The ingest command as a user types it."""

import gzip
import json

import pytest

from tests.end_to_end.conftest import CallingUser
from tests.storage.made_inputs import FORMS, ROWS, packed
from tests.storage.s3server import BUCKET
from thresher.storage.s3.s3_store import S3Store


@pytest.fixture
def user(user):
    """`tests/end_to_end/test_dumps.py` starts the command; these commands run in the process of the test."""
    return CallingUser(user.directory)


@pytest.fixture
def inputs(user):
    """A directory with the same rows in every form, each row with a word of its own form."""
    directory = user.directory / "in"
    directory.mkdir()
    for name, form in FORMS.items():
        rows = [{**row, "text": f"{row['text']} {name}"} for row in ROWS]
        (directory / f"{name}.zst").write_bytes(packed(form(rows)))
    return directory


def test_a_line_a_file_and_a_sum_at_the_end(user, inputs):
    (inputs / "bad.jsonl").write_text('{"text": "x"}\n{"text": \n{"text": "y"}\n')
    said = user.run("ingest", "s", "in")
    assert (
        "bad.jsonl (jsonl): added, 2 records, 2 to be processed; passed over: 1 broken_json"
        in said.err.splitlines()
    )
    assert "x.tsv.zst (csv): added, 4 records, 4 to be processed" in said.err.splitlines()
    files, texts = len(FORMS) + 1, 4 * len(FORMS) + 2
    assert said.out == (
        f"s: {files} files added, 0 known; {texts} records, {texts} of them to be processed; "
        "passed over: 1 broken_json\n"
    )
    assert user.run("ingest", "s", "in", "--json").json == {
        "added": 0,
        "known": files,
        "indexes": 0,
        "refused": [],
        "records": texts,
        "entries": texts,
        "unusable": {"broken_json": 1},
        "columns": {},
        "columns_not_kept": {},
    }
    assert "all as they were sealed" in user.run("verify").out


def test_columns_and_a_document_a_line_are_said_on_the_command_line(user):
    (user.directory / "x.jsonl").write_text(json.dumps({"body": "b", "link": "http://a.org/", "key": "k"}))
    (user.directory / "x.txt").write_text("one\n\ntwo\n")
    assert "has no column text, html or messages" in user.run("ingest", "s", "x.jsonl", code=2).line
    columns = ("--text-column", "body", "--url-column", "link", "--id-column", "key")
    assert user.run("ingest", "s", "x.jsonl", "x.txt", *columns, "--by-line", "--json").json["entries"] == 3
    (warc,) = (user.directory / "data" / "warc" / "s").glob("*.warc.gz")
    record = gzip.decompress(warc.read_bytes())
    assert b"WARC-Target-URI: http://a.org/\r\n" in record
    assert b'WARC-JSON-Metadata: {"id": "k", "from": "x.jsonl"}\r\n' in record


def test_a_file_that_is_refused_is_one_line_and_code_2_and_leaves_nothing(user):
    (user.directory / "x.parquet").write_text("no such thing")
    said = user.run("ingest", "s", "x.parquet", "--json", code=2)
    assert said.line == (
        "thresher: x.parquet says parquet and is none: it begins with b'no such thing'; get the file again"
    )
    assert said.json["error"] == said.line.removeprefix("thresher: ")
    assert said.json["refused"] == [{"file": "x.parquet", "reason": said.json["error"]}]
    assert not list((user.directory / "data").glob("[!.]*"))


def test_objects_of_a_bucket_are_brought_in_like_files(user, inputs, server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    bucket = S3Store(BUCKET, "given")
    for path in inputs.iterdir():
        bucket.put_file(path, f"some/deep/{path.name}")
    bucket.put("some/else", b"no text")
    bucket.close()
    one = f"s3://{BUCKET}/given/some/deep/x.jsonl.zst"
    brought = user.run("ingest", "s", one, f"s3://{BUCKET}/given/some/deep/", "--json").json
    assert (brought["added"], brought["known"]) == (len(FORMS), 1)
    assert brought["entries"] == 4 * (len(FORMS) + 1)
    said = user.run("ingest", "s", f"s3://{BUCKET}/given/none", code=2)
    assert said.line == f"thresher: ingest s3://{BUCKET}/given/none: there is no object under this address"


def test_many_small_files_have_a_line_together_and_what_grew_is_added(user):
    directory = user.directory / "in"
    directory.mkdir()
    for number in range(30):
        (directory / f"{number}.txt").write_text(f"The text number {number} of thirty.")
    said = user.run("ingest", "s", "in")
    assert (
        "30 small files such as 0.txt (text): added, 30 records, 30 to be processed" in said.err.splitlines()
    )
    assert len(list((user.directory / "data").glob("[!.]*/**/*.*"))) == 3
    (directory / "new.txt").write_text("A new text.")
    said = user.run("ingest", "s", "in")
    assert said.err.splitlines() == [
        "new.txt (text): added, 2 records, 1 to be processed",
        "30 small files such as 0.txt (text): known, 30 records, 30 to be processed",
    ]
    assert "31 of them to be processed" in said.out
    assert user.run("process", "s", "--json").json["made"] == 2
    assert "all as they were sealed" in user.run("verify").out


def test_index_files_below_a_directory_are_passed_over_and_junk_is_refused(user):
    (user.directory / "x.jsonl").write_text('{"text": "Some words."}\n{"text": "Other words."}\n')
    user.run("ingest", "s", "x.jsonl")
    said = user.run("ingest", "t", "data")
    assert "warc/s/x.jsonl-00000.cdxj.gz: passed over, an index file holds no text" in said.err.splitlines()
    assert said.out.startswith("t: 1 files added, 0 known; 2 index files passed over; 3 records, 2 of them")
    (user.directory / "data" / "warc" / "junk.bin").write_bytes(b"\0\1\2")
    said = user.run("ingest", "t", "data", code=2)
    assert said.out.startswith("t: 0 files added, 2 known; 1 refused; 4 index files passed over;")
    assert said.line.startswith("thresher: warc/junk.bin is nothing that is read here")
