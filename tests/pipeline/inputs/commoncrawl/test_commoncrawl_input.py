"""Common Crawl is ingested as whole files or single records, sealed as they come, and nothing twice."""

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commoncrawl import CRAWL, StoredPage, base32, write_crawl
from tests.commoncrawl import index as write_index
from tests.commoncrawl_server import CutResponse, ErrorResponse, scripted
from tests.expect import expect
from tests.pipeline.inputs.commoncrawl.ingesting import ADDRESS, archived, config, ingested, processed, urls
from thresher.core import InputError
from thresher.pipeline.configuration import parse
from thresher.pipeline.inputs import commoncrawl_input
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.commoncrawl import index_facts
from thresher.storage.commoncrawl.index_facts import IndexFacts
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc import cdxj


def test_whole_files_come_in_byte_for_byte_and_are_known_then(store, theirs, tree):
    first = ingested(store, theirs.base, files=2)
    assert (first.added, first.known) == (2, 0)
    for manifest in manifests(store, "archive", "cc"):
        assert (
            store.read(manifest.outputs[0].name) == (theirs.root / manifest.recipe["ingested"]).read_bytes()
        )
    second = ingested(store, theirs.base)
    assert (second.added, second.known) == (1, 2)
    theirs.requests.clear()
    third = ingested(store, theirs.base)
    assert (third.added, third.known) == (0, 3)
    assert {asked.path for asked in theirs.requests} == {f"crawl-data/{CRAWL}/warc.paths.gz"}
    assert not verify_storage(store, LineProgress()).damage


@pytest.mark.parametrize(("kind", "record_type"), [("wat", "metadata"), ("wet", "conversion")])
def test_wat_and_wet_files_come_in_beside_the_pages(store, theirs, kind, record_type):
    ingested(store, theirs.base, files=1)
    found = ingested(store, theirs.base, f"{ADDRESS}/{kind}")
    assert found.added == 3
    assert record_type in {record.type for record in archived(store)}
    assert not verify_storage(store, LineProgress()).damage


def test_texts_of_wet_files_become_documents(store, theirs, tree, pool):
    ingested(store, theirs.base, f"{ADDRESS}/wet", files=1)
    documents = processed(store, pool)
    assert "The ferry to the island" in documents["https://example.org/000"]["text"]


def test_a_local_list_of_paths_names_the_files(store, theirs, tmp_path):
    listed = gzip.decompress((theirs.root / f"crawl-data/{CRAWL}/warc.paths.gz").read_bytes()).split(b"\n")
    (tmp_path / "some.paths.gz").write_bytes(gzip.compress(listed[1] + b"\n"))
    (tmp_path / "plain.paths").write_bytes(listed[1] + b"\n\n" + listed[2])
    assert ingested(store, theirs.base, str(tmp_path / "some.paths.gz")).added == 1
    again = ingested(store, theirs.base, str(tmp_path / "plain.paths"))
    assert (again.added, again.known) == (1, 1)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"crawl-data/a.warc.gz\nhttps://x/a.warc.gz\n", "line 2: .* is no path of an archive file"),
        (b"\xff\xfe", "no list of paths"),
        (b"\x1f\x8bno gzip", "no list of paths"),
        (b"a" * 5000, "no list of paths"),
    ],
)
def test_what_is_no_list_of_paths_is_refused(store, theirs, tmp_path, data, line):
    (tmp_path / "x.paths").write_bytes(data)
    with pytest.raises(InputError, match=line):
        ingested(store, theirs.base, str(tmp_path / "x.paths"))


def test_a_file_survives_a_failing_server(store, theirs, tree):
    theirs.plan = scripted(
        ErrorResponse(503),
        CutResponse(3000),
        CutResponse(1),
        ErrorResponse(403, ""),
        CutResponse(9000),
        path="/warc/",
    )
    assert ingested(store, theirs.base, files=1).added == 1
    (manifest,) = manifests(store, "archive", "cc")
    assert store.read(manifest.outputs[0].name) == (theirs.root / manifest.recipe["ingested"]).read_bytes()


@pytest.mark.parametrize("index", ["cdx", "columnar"])
def test_single_records_come_in_as_they_are_and_are_known_then(store, theirs, tree, pool, index):
    found = ingested(store, theirs.base, domains=("example.org",), index=index)
    wanted = sorted(
        each.page.url for each in tree[1] if "example.org/" in each.page.url and each.page.status == 200
    )
    assert (found.files, found.added, found.unusable) == (1, len(wanted), {})
    assert urls(store) == wanted
    theirs.requests.clear()
    again = ingested(store, theirs.base, domains=("EXAMPLE.org.",), index=index)
    assert (again.found, again.added, again.known) == (len(wanted), 0, len(wanted))
    assert theirs.requests == []
    assert not verify_storage(store, LineProgress()).damage
    documents = processed(store, pool)
    assert "The ferry to the island" in documents["https://docs.example.org/003"]["text"]
    (cut,) = [record for record in archived(store) if record.truncated]
    assert (cut.url, cut.truncated) == ("https://example.org/cut", "length")


def test_both_indexes_make_the_same_files(store, theirs):
    for source in ("cdx", "columnar"):
        ingested(store, theirs.base, domains=("example.org",), index=source, source=source)
    made = [
        [output.sha256 for output in manifest.outputs]
        for source in ("cdx", "columnar")
        for manifest in manifests(store, "archive", source)
    ]
    assert made[0][0] == made[1][0]


def test_a_wider_selection_ingests_only_what_is_new(store, theirs):
    first = ingested(store, theirs.base, domains=("docs.example.org",))
    more = ingested(store, theirs.base, domains=("example.org", "other.net"), index="columnar")
    assert more.known == first.added == 5
    assert len(urls(store)) == len(set(urls(store))) == 22 + 14


def test_a_limit_counts_what_is_known(store, theirs):
    assert ingested(store, theirs.base, domains=("other.net",), limit=3).added == 3
    second = ingested(store, theirs.base, domains=("other.net",), limit=5)
    assert (second.added, second.known) == (2, 3)
    assert urls(store) == [f"https://other.net/00{number}" for number in range(5)]


def test_what_the_index_says_lies_in_front_of_each_record_and_in_a_table(store, theirs):
    ingested(store, theirs.base, domains=("docs.example.org",), languages=("deu",))
    found = [record for record in archived(store) if record.type in {"metadata", "response"}]
    assert [record.type for record in found] == ["metadata", "response"] * 5
    told = expect(IndexFacts, index_facts.decode(found[0].payload))
    assert (told.languages, told.charset, told.mime_detected) == ("deu,eng", "UTF-8", "text/html")
    (name,) = store.list("commoncrawl/cc/")
    rows = pq.read_table(store.path(name)).to_pylist()
    at = {(record.ref.file, record.offset): record.url for record in found}
    assert {at[row["record_file"], row["record_offset"]] for row in rows} == {row["url"] for row in rows}
    (manifest,) = manifests(store, "archive", "cc")
    with store.open(manifest.outputs[1].name) as file:
        assert {row.offset for row in cdxj.read(file, name="x")} == {row["record_offset"] for row in rows}


def test_what_is_not_what_the_index_says_is_counted_and_not_asked_for_again(
    store: DirectoryStore, theirs, tmp_path
):
    theirs.root = tmp_path / "cc"
    stored = write_crawl(theirs.root)
    wrong = [
        StoredPage(**{**vars_of(each), "digest": base32(b"x")}) if each.page.url.endswith("/003") else each
        for each in stored
    ]
    write_index(theirs.root, wrong)
    found = ingested(store, theirs.base, domains=("other.net",))
    assert (found.added, found.unusable) == (13, {"wrong_digest": 1})
    theirs.requests.clear()
    wider = ingested(store, theirs.base, domains=("other.net", "nowhere.test"))
    assert (wider.added, wider.known, wider.unusable) == (0, 14, {})
    assert theirs.requests_with("/warc/") == []


def vars_of(stored):
    return (
        {name: getattr(stored, name) for name in stored.__slots__}
        if hasattr(stored, "__slots__")
        else vars(stored)
    )


def test_a_batch_of_which_nothing_is_taken_leaves_no_archive_file(store, theirs, tmp_path):
    theirs.root = tmp_path / "cc"
    stored = write_crawl(theirs.root)
    write_index(theirs.root, [StoredPage(**{**vars_of(each), "digest": base32(b"x")}) for each in stored])
    found = ingested(store, theirs.base, domains=("other.net",))
    assert (found.files, found.added, found.unusable) == (0, 0, {"wrong_digest": 14})
    assert list(store.list("warc/")) == []
    assert ingested(store, theirs.base, domains=("other.net",)).known == 14


@pytest.mark.parametrize(
    ("what", "wanted", "line"),
    [
        ("commoncrawl:2024", {}, "no name of a crawl"),
        (f"{ADDRESS}/wet", {"domains": ("example.org",)}, "the indexes list only pages"),
        (ADDRESS, {"domains": ("example.org",), "files": 1}, "--files and --segment select whole files"),
        (ADDRESS, {"languages": ("eng",)}, "give --domain or --url-prefix"),
        (ADDRESS, {"domains": ("no domain",)}, "--domain no domain"),
        (ADDRESS, {"domains": ("http://example.org/x",)}, "write it as example.org"),
        (ADDRESS, {"domains": ("org",)}, "--domain org"),
        (ADDRESS, {"prefixes": ("example.org",)}, "no beginning of a URL"),
        ("a.warc.gz", {}, "is not from Common Crawl as the others are"),
        (ADDRESS, {"segments": frozenset({"1"})}, "no file is in the segments 1"),
        ("commoncrawl:CC-MAIN-2013-20", {}, "there is no such file; correct the name of the crawl"),
        ("commoncrawl:CC-MAIN-2013-20", {"domains": ("example.org",)}, "there is no such file"),
    ],
)
def test_what_cannot_be_meant_is_one_line(store, theirs, what, wanted, line):
    with pytest.raises(InputError, match=line):
        ingested(store, theirs.base, what, **wanted)
    assert list(store.list()) == []


def test_a_segment_names_its_files(store, theirs):
    assert ingested(store, theirs.base, segments=frozenset({"1715971057216.39"}), files=1).added == 1


def test_without_a_contact_nothing_is_asked(store, theirs):
    plain = parse(f'[ingest]\ncommoncrawl = "{theirs.base}"\n', Path("/nowhere"))
    with pytest.raises(InputError, match="contact is not set"), commoncrawl_input.open_client(plain):
        pass
    assert theirs.requests == []


@pytest.mark.parametrize(
    "base", ["ftp://x/", "https://user:secret@x/", "data.commoncrawl.org", "https://x/?a=b", ""]
)
def test_a_base_that_is_none_is_refused_without_repeating_it(base):
    with pytest.raises(InputError, match=r"ingest.commoncrawl must be") as raised:
        config(base)
    assert "secret" not in str(raised.value)
