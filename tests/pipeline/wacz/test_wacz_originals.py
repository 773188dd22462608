"""The WACZ of a crawl whose revisits refer to records of other crawls has these records too."""

import hashlib
import json
import zipfile
from uuid import UUID

import pytest

from tests.pipeline.wacz.test_wacz_export import lines_of
from tests.storage.captures import STARTED_MS, capture
from tests.storage.plain_store import PlainStore
from tests.storage.warc.test_other_crawls import PICTURE
from thresher.core import CorruptData
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.qa.wacz_archive import WaczArchive
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import WaczOptions, export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.directory_store import DirectoryStore

SITE = "https://example.org"
WEEK_MS = 7 * 86_400_000


def crawled(store, name, start_ms, compression="gzip"):
    """A crawl of a page with a picture, in a file each."""
    made = ArchiveWriter(
        store, name, writer="w", user_agent="t", has_parts=True, refers_elsewhere=True,
        compression=compression, max_bytes=1,
    )  # fmt: skip
    for number, (path, body, kind) in enumerate(
        (("/p.png", PICTURE, "image/png"), ("/", b"<title>t</title><img src=/p.png>", "text/html"))
    ):
        one = capture(
            body, wire=f"{SITE}{path}", started_ms=start_ms + number, headers=(("Content-Type", kind),)
        )
        identity = UUID(int=int(hashlib.sha256(f"{name}{number}".encode()).hexdigest()[:20], 16))
        made.append(one, identity, resource_type="image" if number == 0 else "")
        made.commit()
    made.seal()


@pytest.fixture(params=["gzip", "zstd"])
def store(request, tmp_path):
    store = DirectoryStore(tmp_path / "data")
    crawled(store, "first", STARTED_MS, request.param)
    crawled(store, "second", STARTED_MS + WEEK_MS, request.param)
    return store


def export(store, out, name="second", **options):
    return export_wacz(store, name, out, "", LineProgress(), WaczOptions(**options))


def shown_picture(path, tmp_path):
    archive = WaczArchive(path, tmp_path)
    try:
        found = archive.find(f"{SITE}/p.png", STARTED_MS + WEEK_MS)
        return None if found is None else found.payload
    finally:
        archive.close()


def test_the_picture_is_found_at_the_second_time_and_the_page_list_is_that_of_the_crawl(store, tmp_path):
    summary = export(store, tmp_path / "second.wacz")
    assert (summary.originals, summary.missing_originals, summary.archives, summary.pages) == (1, 0, 2, 1)
    assert shown_picture(tmp_path / "second.wacz", tmp_path) == PICTURE
    with zipfile.ZipFile(tmp_path / "second.wacz") as package:
        names = {name for name in package.namelist() if name.startswith("archive/")}
        assert "archive/first-w-00000.originals.warc.gz" in names
        assert len(names) == 3
        times = [line.split()[1] for line in lines_of(package) if "p.png" in line]
    assert len(set(times)) == 2


def test_the_crawl_that_was_first_needs_nothing_of_the_other(store, tmp_path):
    assert export(store, tmp_path / "first.wacz", "first").originals == 0


def test_the_same_storage_gives_the_same_bytes(store, tmp_path):
    for name in "ab":
        export(store, tmp_path / f"{name}.wacz")
    assert (tmp_path / "a.wacz").read_bytes() == (tmp_path / "b.wacz").read_bytes()


def test_a_storage_of_objects_gives_the_same_bytes_as_a_directory(store, tmp_path):
    export(store, tmp_path / "a.wacz")
    export(PlainStore(store), tmp_path / "b.wacz")
    assert (tmp_path / "a.wacz").read_bytes() == (tmp_path / "b.wacz").read_bytes()


def test_in_several_files_the_one_with_the_revisit_names_the_one_with_the_payload(store, tmp_path):
    summary = export(store, tmp_path / "s.json", max_bytes=22_000)
    assert len(summary.files) > 1
    described = {}
    for name in summary.files:
        with zipfile.ZipFile(tmp_path / name) as package:
            described[name] = json.loads(package.read("datapackage.json")).get("relation")
    *_, last = summary.files
    assert {"requires": [{"filename": last}]} in described.values()
    assert shown_picture(tmp_path / "s.json", tmp_path) == PICTURE


def test_what_is_ingested_from_it_is_exported_whole_and_brings_nothing_of_the_project(store, tmp_path):
    export(store, tmp_path / "second.wacz")
    assert not ingest(store, "again", locate_inputs([tmp_path / "second.wacz"])).refused
    summary = export(store, tmp_path / "again.wacz", "again")
    assert (summary.originals, summary.missing_originals) == (0, 0)
    assert shown_picture(tmp_path / "again.wacz", tmp_path) == PICTURE


def test_what_is_lost_is_counted_and_the_rest_is_exported(store, tmp_path):
    for name in [*store.list("warc/first/"), *store.list("manifests/archive/first/")]:
        store.path(name).unlink()
    summary = export(store, tmp_path / "second.wacz")
    assert (summary.originals, summary.missing_originals, summary.pages) == (0, 1, 1)
    assert shown_picture(tmp_path / "second.wacz", tmp_path) is None


def test_a_record_that_was_changed_is_not_handed_on(store, tmp_path):
    path = next(store.path(name) for name in store.list("warc/first/") if "00000.warc" in name)
    data = bytearray(path.read_bytes())
    data[-700] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    with pytest.raises(CorruptData, match=r"first-w-00000\.warc"):
        export(store, tmp_path / "second.wacz")
    assert not (tmp_path / "second.wacz").exists()
