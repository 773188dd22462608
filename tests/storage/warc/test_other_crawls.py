"""A part of a page may be a revisit of what another crawl of the project has sealed; a page never is."""

import random
import re
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from tests.expect import expect
from tests.storage.captures import STARTED_MS, capture
from tests.storage.reading import read, rows
from thresher.pipeline.crawls.rescrape import request_state_of
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.archive import recent_payloads
from thresher.storage.archive.archive_writer import ArchiveWriter, recover_archives
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Manifest, load_manifest

GUIDE = Path(__file__).resolve().parents[3] / "docs/guides/archive.md"
STYLE, PICTURE, PAGE = (random.Random(seed).randbytes(2_000) for seed in range(3))
TYPES = {"css": "text/css", "png": "image/png", "html": "text/html"}
BODIES = {"css": STYLE, "png": PICTURE, "html": PAGE}


@pytest.fixture
def files(tmp_path):
    """A storage in which the crawl `old` has archived a style, a picture and a page."""
    store = DirectoryStore(tmp_path / "data")
    made = crawl(store, "old")
    for number, kind in enumerate(TYPES):
        append(made, kind, number, "" if kind == "html" else "image")
    made.seal()
    return store


def crawl(store, name, **more):
    return ArchiveWriter(store, name, writer="w", user_agent="t", has_parts=True, **more)


def append(made, kind, number, resource_type):
    one = capture(
        BODIES[kind], wire=f"https://example.org/{number}.{kind}", started_ms=STARTED_MS + number,
        headers=(("Content-Type", TYPES[kind]),),
    )  # fmt: skip
    made.append(one, UUID(int=100 * len(made._crawl) + number), resource_type=resource_type)
    made.commit()


def sealed(made):
    manifest = expect(Manifest, made.seal())
    found = next(each.name for each in manifest.outputs if not each.name.endswith(".cdxj.gz"))
    records = read(made._store.path(found), name=found)
    return {each.url[-4:]: each for each in records if each.type in {"response", "revisit"}}


def index(store, name):
    return list(rows(store.path(f"warc/{name}/{name}-w-00000.cdxj.gz")))


def again(store, name="newer", **more):
    made = crawl(store, name, refers_elsewhere=True, **more)
    for number, kind in enumerate(TYPES, 7):
        append(made, kind, number, "" if kind == "html" else "image")
    return made


def test_a_part_refers_to_the_record_and_the_file_of_the_other_crawl_and_a_page_is_whole(files):
    found = sealed(again(files))
    assert [found[kind].type for kind in (".css", ".png", "html")] == ["revisit", "revisit", "response"]
    revisit = found[".png"].revisit
    assert (revisit.file, revisit.uri) == ("warc/old/old-w-00000.warc.gz", "https://example.org/1.png")
    assert (revisit.refers_to, revisit.date_ms) == (UUID(int=301).urn, STARTED_MS + 1)
    (row,) = (row for row in index(files, "newer") if row.url.endswith("png"))
    assert (row.original_file, row.original_id) == (revisit.file, revisit.refers_to)
    assert not request_state_of(row).has_capture  # a page never refers to another crawl
    assert not verify_storage(files, LineProgress()).damage


def test_a_picture_that_is_fetched_as_a_page_is_whole(files):
    made = crawl(files, "newer", refers_elsewhere=True)
    append(made, "png", 1, "")
    append(made, "png", 2, "image")  # from now on its own record is known
    found = sealed(made)
    assert [each.type for each in found.values()] == ["revisit"]  # of the same address
    assert found[".png"].revisit.file == ""


def test_nothing_of_other_crawls_is_known_unless_that_is_set(files):
    made = crawl(files, "newer")
    append(made, "png", 7, "image")
    assert sealed(made)[".png"].type == "response"


def test_no_revisit_refers_to_a_revisit(files):
    again(files, "second").seal()
    found = sealed(again(files, "third"))
    assert found[".png"].revisit.file == "warc/old/old-w-00000.warc.gz"


def test_what_is_not_sealed_is_not_known(tmp_path):
    store = DirectoryStore(tmp_path / "data")
    open_one = crawl(store, "old")
    append(open_one, "png", 1, "image")
    assert sealed(again(store))[".png"].type == "response"
    open_one.abandon()


@pytest.mark.parametrize("loss", ["manifests/archive/old/old-w-00000.json", "warc/old/old-w-00000.cdxj.gz"])
def test_a_file_without_its_seal_or_its_index_is_not_known(files, loss):
    files.path(loss).unlink()
    assert sealed(again(files))[".png"].type == "response"


def test_what_was_ingested_is_not_known(files, monkeypatch):
    monkeypatch.setattr(recent_payloads, "is_crawled", lambda manifest: "old" not in manifest.part)
    assert sealed(again(files))[".png"].type == "response"


def test_memory_is_bounded_and_the_own_crawl_comes_first(files):
    made = again(files, max_known_payloads=1)
    assert len(made._payloads) <= 1
    made.seal()
    found = sealed(again(files))
    assert found["html"].type == "response"  # a new writer does not know documents
    assert {found[kind].type for kind in (".css", ".png")} == {"revisit"}


def test_a_recovered_file_has_the_same_bytes_and_index_as_a_sealed_one(files):
    written = again(files, "sealed")
    written.seal()
    left = again(files, "broken")
    left.abandon()
    recover_archives(files, "broken", lambda _: True)
    counts = [
        load_manifest(files, f"manifests/archive/{name}/{name}-w-00000.json").counts
        for name in ("sealed", "broken")
    ]
    assert counts[0] == counts[1]
    one, other = ([row.original_file for row in index(files, name)] for name in ("sealed", "broken"))
    assert one == other
    assert sum(map(bool, one)) == 2


def test_a_crawl_that_is_lost_is_named_by_the_revisits_that_refer_to_it(files):
    again(files).seal()
    for name in [*files.list("warc/old/"), *files.list("manifests/archive/old/")]:
        files.path(name).unlink()
    damage = verify_storage(files, LineProgress()).damage
    assert len(damage) == 2
    assert all("newer-w-00000" in line and "not archived" in line for line in damage)


def test_the_guide_says_how_to_find_the_files_that_refer_to_a_crawl(files):
    again(files).seal()
    (line,) = re.findall(r"^zgrep .+$", GUIDE.read_text(), re.MULTILINE)
    command = line.replace("docs-january", "old")
    done = subprocess.run(
        ["bash", "-c", command], cwd=files.root.parent, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["data/warc/newer/newer-w-00000.cdxj.gz"]
