"""A label in the names of archive files changes neither who owns them nor what becomes of them."""

import json
from uuid import UUID

import pytest

from tests.storage.captures import STARTED_MS, capture
from tests.storage.plain_store import PlainStore
from thresher.core import Conflict, InputError
from thresher.pipeline.open_project import OpenProject
from thresher.storage.archive.archive_writer import ArchiveWriter, recover_archives
from thresher.storage.archive.file_label import DEFAULT_TEMPLATE, is_template, label_of
from thresher.storage.archive.open_files import open_archive_files, writer_and_serial
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.records import read_records


def writer(store, name, label, **more):
    return ArchiveWriter(store, "main", writer=name, user_agent="t", label=label, **more)


def add(made, number):
    made.append(
        capture(wire=f"https://example.org/{number}", started_ms=STARTED_MS + number), UUID(int=number)
    )
    made.commit()


@pytest.fixture(params=["directory", "objects"])
def store(request, tmp_path):
    files = DirectoryStore(tmp_path / "data")
    return files if request.param == "directory" else PlainStore(files)


def test_names_have_the_label_and_the_time_at_which_the_file_was_begun(store):
    made = writer(store, "w-1", "NL_{timestamp}.a", max_bytes=100)
    for number in range(2):
        add(made, number * 1000)
    made.seal()
    names = [name for name in store.list("warc/main/") if name.endswith(".warc.gz")]
    assert names == [
        "warc/main/main-NL_20260102030405.a~w-1-00000.warc.gz",
        "warc/main/main-NL_20260102030406.a~w-1-00001.warc.gz",
    ]
    assert [writer_and_serial("main", name.rpartition("/")[2]) for name in names] == [("w-1", 0), ("w-1", 1)]


def test_what_a_dead_writer_left_is_sealed_by_one_that_knows_no_label_and_its_serial_is_not_used_again(store):
    dead = writer(store, "w-1", "{timestamp}")
    add(dead, 1)
    dead.abandon()
    (name,) = open_archive_files(store, "main")
    with pytest.raises(Conflict, match="writer w-1 has an archive file of crawl main open"):
        writer(store, "w-1", "")
    assert recover_archives(store, "main", lambda who: who != "w-1") == []

    (found,) = recover_archives(store, "main", lambda who: who == "w-1")

    assert (found.writer, found.manifest.part) == ("w-1", f"main/{name.removesuffix('.warc.gz')}")
    assert open_archive_files(store, "main") == []
    again = writer(store, "w-1", "other")
    add(again, 2)
    again.seal()
    assert store.exists("warc/main/main-other~w-1-00001.warc.gz")


def test_two_writers_with_one_label_at_one_moment_have_two_files(store):
    for name in ("w-1", "w-2"):
        made = writer(store, name, "{timestamp}")
        add(made, 1)
        made.seal()
    assert sum(name.endswith(".warc.gz") for name in store.list("warc/main/")) == 2


@pytest.mark.parametrize(
    ("template", "label"),
    [
        (DEFAULT_TEMPLATE, ""),
        ("{crawl}-NL_{timestamp}~{writer}-{serial}", "NL_{timestamp}"),
        ("{crawl}-{timestamp}.{host}~{writer}-{serial}", "{timestamp}.node-7"),
        (f"{{crawl}}-{'x' * 44}{{host}}~{{writer}}-{{serial}}", f"{'x' * 44}node-7"),
    ],
)
def test_a_template_has_a_label_between_crawl_and_writer(template, label):
    assert is_template(template)
    assert label_of(template, "node~7.example.org") == label


@pytest.mark.parametrize(
    "template",
    [
        *("", "{crawl}", "{crawl}-{serial}", "{timestamp}~{writer}-{serial}", "{crawl}-a{writer}-{serial}"),
        *("{crawl}-~{writer}-{serial}", "{crawl}-a~b~{writer}-{serial}", "{crawl}-{writer}-{serial}-a"),
        *(
            "{crawl}-{time}~{writer}-{serial}",
            "{crawl}-../a~{writer}-{serial}",
            "{crawl}-é~{writer}-{serial}",
        ),
        *("{crawl}-{writer}-{serial}\n", f"{{crawl}}-{'x' * 45}{{host}}~{{writer}}-{{serial}}"),
    ],
)
def test_a_template_without_names_of_their_own_is_one_line(template, tmp_path):
    assert not is_template(template)
    (tmp_path / "thresher.toml").write_text(f"[crawler]\nwarc_name = {json.dumps(template)}\n")
    with pytest.raises(
        InputError, match=r"crawler\.warc_name.*must be \"{crawl}-{writer}-{serial}\", or"
    ) as refused:
        OpenProject.at(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("label", ["a/b", "a~b", "{time}", "é", "x" * 101, "a\n"])
def test_a_label_that_is_no_part_of_a_name_is_refused(tmp_path, label):
    with pytest.raises(InputError, match="cannot stand in names of files"):
        writer(DirectoryStore(tmp_path), "w", label)


def test_the_first_record_has_the_fields_that_the_writer_is_given(tmp_path):
    store = DirectoryStore(tmp_path)
    made = writer(store, "w", "", about={"operator": "A\r\nlibrary", "description": "Some"})
    add(made, 1)
    made.seal()
    with store.open("warc/main/main-w-00000.warc.gz") as file:
        first = next(read_records(file, name="x"))
    assert first.payload.decode().split("\r\n")[-3:-1] == ["operator: A library", "description: Some"]
