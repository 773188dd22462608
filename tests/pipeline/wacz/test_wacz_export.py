"""A WACZ holds what was archived, where its index says, and is the same each time."""

import gzip
import hashlib
import io
import json
import random
import zipfile
from unittest.mock import patch
from uuid import UUID

import pytest

from tests.storage.captures import STARTED_MS, capture
from tests.storage.conftest import bucket_at, keys, proxy, server  # noqa: F401 - fixtures of these tests too
from thresher.core import CorruptData, InputError, Unavailable
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz import wacz_index, wacz_pages
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata
from thresher.storage.crawllog import log_writer
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.records import read_records
from thresher.storage.warc.revisit import Revisit

TITLES = ["First &amp; best", "Zweite  Seite", "Third"]


def archived(root, compression="gzip", pages=30, padding=0, **more):
    """A crawl of HTML pages, a picture, a 404, and pages that say the same again."""
    store = DirectoryStore(root)
    made = ArchiveWriter(store, "main", writer="w", user_agent="t", compression=compression, **more)
    for number in range(pages):
        title = TITLES[number % 20 % len(TITLES)]
        body = f"<html><head><title>{title}</title></head><p>{'text ' * 300}{number % 20}</html>".encode()
        body += random.Random(number % 20).randbytes(padding)
        one = capture(body, wire=f"https://example.org/{number}", started_ms=STARTED_MS + number * 1000)
        made.append(one, UUID(int=number), metadata=CaptureMetadata())
        made.commit()
    made.append(
        capture(b"\x89PNG", headers=(("Content-Type", "image/png"),), wire="https://example.org/p"),
        UUID(int=98),
    )
    made.append(capture(b"none", status=404, wire="https://example.org/none"), UUID(int=99))
    made.seal()
    return store


def exported(store, out, title=""):
    return export_wacz(store, "main", out, title, LineProgress())


def lines_of(package):
    """The index, read as readers do: by the blocks that the .idx names."""
    data = package.read("indexes/index.cdx.gz")
    first, *rest = package.read("indexes/index.idx").decode().splitlines()
    assert first == '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}'
    lines = []
    for entry in rest:
        place = json.loads(entry[entry.index("{") :])
        block = data[place["offset"] : place["offset"] + place["length"]]
        assert place["digest"] == f"sha256:{hashlib.sha256(block).hexdigest()}"
        found = gzip.decompress(block).decode().splitlines()
        assert found[0].startswith(entry[: entry.index(" {")])
        lines += found
    assert lines == sorted(lines)
    return lines


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_every_line_leads_to_its_record(tmp_path, compression):
    store = archived(tmp_path / "data", compression, max_bytes=15_000)
    made = exported(store, tmp_path / "x.wacz")
    assert made.archives > 1
    assert made.recompressed == (made.archives if compression == "zstd" else 0)
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        lines = lines_of(package)
        assert len(lines) == made.records == 32
        found = set()
        for line in lines:
            row = json.loads(line[line.index("{") :])
            with package.open(f"archive/{row['filename']}") as file:
                archive = io.BytesIO(file.read())
            record = next(
                read_records(archive, int(row["offset"]), int(row["offset"]) + 1, name=row["filename"])
            )
            assert (record.url, record.length, record.ref.digest) == (
                row["url"],
                int(row["length"]),
                row["digest"],
            )
            found.add(record.type)
        assert found == {"response", "revisit"}


def test_pages_have_titles_and_times(tmp_path):
    exported(archived(tmp_path / "data"), tmp_path / "x.wacz", "A title")
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        header, *pages = map(json.loads, package.read("pages/pages.jsonl").decode().splitlines())
        described = json.loads(package.read("datapackage.json"))
    assert header == {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
    assert len(pages) == 30
    assert ["title" in page for page in pages] == [True] * 20 + [False] * 10
    assert pages[0] == {
        "id": pages[0]["id"],
        "url": "https://example.org/0",
        "ts": "2026-01-02T03:04:05Z",
        "title": "First & best",
    }
    assert pages[1]["title"] == "Zweite Seite"
    assert len({page["id"] for page in pages}) == 30
    assert described["title"] == "A title"
    assert described["wacz_version"] == "1.1.1"
    assert described["created"] == "2026-01-02T03:04:34Z"
    assert described["mainPageUrl"] == "https://example.org/0"


def test_what_a_page_fetched_is_no_page_of_the_list(tmp_path):
    store = DirectoryStore(tmp_path / "data")
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    html = b"<p>a fragment that a script asked for"
    for number, (path, kind) in enumerate(
        (("part", "fetch"), ("other", "xhr"), ("seen", "document"), ("page", ""))
    ):
        made.append(capture(html, wire=f"https://example.org/{path}"), UUID(int=number), resource_type=kind)
    made.seal()
    assert exported(store, tmp_path / "x.wacz").pages == 2
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        _, *pages = map(json.loads, package.read("pages/pages.jsonl").decode().splitlines())
        assert len(lines_of(package)) == 4
    assert [page["url"].rpartition("/")[2] for page in pages] == ["seen", "page"]


def test_what_a_server_called_unchanged_is_found_as_the_capture_that_has_its_payload(tmp_path):
    store = DirectoryStore(tmp_path / "data")
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    url = "https://example.org/a"
    made.append(capture(b"<p>some", wire=url, started_ms=STARTED_MS), UUID(int=1))
    unchanged = Revisit(profile="server-not-modified", refers_to=UUID(int=1).urn, uri=url, date_ms=STARTED_MS)
    later = capture(b"", status=304, wire=url, started_ms=STARTED_MS + 1000)
    made.append(later, UUID(int=2), revisit=unchanged)
    made.seal()

    exported(store, tmp_path / "x.wacz")

    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        (line,) = lines_of(package)
        archive = gzip.decompress(package.read(f"archive/{json.loads(line[line.index('{') :])['filename']}"))
    assert json.loads(line[line.index("{") :])["status"] == "200"
    assert archive.count(b"WARC-Type: revisit") == 1


def test_a_robots_txt_that_is_answered_with_html_is_no_page(tmp_path):
    store = DirectoryStore(tmp_path / "data")
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    for number, path in enumerate(("robots.txt", "a")):
        made.append(capture(b"<p>some", wire=f"https://example.org/{path}"), UUID(int=number))
    made.seal()

    assert exported(store, tmp_path / "x.wacz").pages == 1

    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        assert json.loads(package.read("datapackage.json"))["mainPageUrl"] == "https://example.org/a"


def test_the_package_names_every_file_with_its_digest(tmp_path):
    exported(archived(tmp_path / "data"), tmp_path / "x.wacz")
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        described = json.loads(package.read("datapackage.json"))
        digest = json.loads(package.read("datapackage-digest.json"))
        names = set(package.namelist()) - {"datapackage.json", "datapackage-digest.json"}
        assert {each["path"] for each in described["resources"]} == names
        for each in described["resources"]:
            data = package.read(each["path"])
            assert (each["bytes"], each["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        whole = package.read("datapackage.json")
        assert digest == {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(whole).hexdigest()}"}
        stored = [each for each in package.infolist() if each.filename.startswith("archive/")]
        assert all(each.compress_type == zipfile.ZIP_STORED for each in stored)
        assert package.testzip() is None


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_the_same_storage_gives_the_same_bytes(tmp_path, compression):
    store = archived(tmp_path / "data", compression)
    for name in ("one", "two"):
        exported(store, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "one", "two"]


def test_more_files_than_may_be_open_are_merged_in_rounds(tmp_path, monkeypatch):
    store = archived(tmp_path / "data", max_bytes=5_000)
    exported(store, tmp_path / "one")
    monkeypatch.setattr(wacz_index, "MAX_OPEN_FILES", 3)
    exported(store, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_nothing_archived_is_nothing_exported(tmp_path):
    with pytest.raises(InputError, match="main: nothing is archived under that name"):
        exported(DirectoryStore(tmp_path / "data"), tmp_path / "x.wacz")
    assert not (tmp_path / "x.wacz").exists()
    with pytest.raises(InputError, match="there is no directory"):
        exported(archived(tmp_path / "data"), tmp_path / "no" / "x.wacz")


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_every_byte_of_a_bucket_is_read_once(tmp_path, bucket_at, proxy, compression):
    here = archived(tmp_path / "data", compression, pages=100, padding=8_000, max_bytes=300_000)
    there = bucket_at(proxy.endpoint)
    for name in here.list():
        there.put(name, here.read(name))
    proxy.replied = 0
    exported(there, tmp_path / "x.wacz")
    assert proxy.replied < 1.05 * sum(here.size(name) for name in here.list())
    exported(here, tmp_path / "y.wacz")
    assert (tmp_path / "x.wacz").read_bytes() == (tmp_path / "y.wacz").read_bytes()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_an_archive_file_that_was_changed_is_not_exported(tmp_path, compression):
    store = archived(tmp_path / "data", compression)
    (path,) = (tmp_path / "data/warc/main").glob("*.warc.*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)
    with pytest.raises(CorruptData, match=rf"{path.name} is not as it was sealed"):
        exported(store, tmp_path / "x.wacz")
    assert [found.name for found in tmp_path.iterdir()] == ["data"]


def test_a_place_that_cannot_be_written_is_told_in_a_line(tmp_path):
    with (
        patch(
            "thresher.pipeline.wacz.wacz_export.Path.replace",
            side_effect=OSError(28, "No space left on device"),
        ),
        pytest.raises(
            Unavailable, match=r"\A[^\n]*x.wacz cannot be written \(No space left on device\)[^\n]*\Z"
        ),
    ):
        exported(archived(tmp_path / "data"), tmp_path / "x.wacz")


def test_a_file_that_is_no_wacz_is_not_replaced(tmp_path):
    (tmp_path / "key.pem").write_text("secret")
    (tmp_path / "x.wacz").mkdir()
    for name in ("key.pem", "x.wacz"):
        with pytest.raises(
            InputError, match=rf"\A[^\n]*{name}: this was no export before, and is not replaced"
        ):
            exported(archived(tmp_path / "data"), tmp_path / name)
    assert (tmp_path / "key.pem").read_text() == "secret"


def test_a_title_that_cannot_be_read_is_none(tmp_path, monkeypatch, caplog):
    def failing(text):
        if text.startswith("Zweite"):
            raise ArithmeticError("of a title")
        return text

    monkeypatch.setattr(wacz_pages, "unescape", failing)
    exported(archived(tmp_path / "data", pages=3), tmp_path / "out.wacz")
    with zipfile.ZipFile(tmp_path / "out.wacz") as package:
        pages = package.read("pages/pages.jsonl").decode().splitlines()[1:]
    assert [json.loads(line).get("title", "") for line in pages] == ["First &amp; best", "", "Third"]
    assert "has no title: title: ArithmeticError: of a title" in caplog.text


def test_the_first_page_is_the_seed_and_robots_txt_is_none(tmp_path):
    store = DirectoryStore(tmp_path / "data")
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    log = []
    for number, (kind, path, referrer) in enumerate(
        (
            ("robots", "robots.txt", ""),
            ("sitemap", "map", ""),
            ("page", "found", "https://example.org/"),
            ("page", "", ""),
        )
    ):
        url = f"https://example.org/{path}"
        made.append(capture(b"<title>Some text</title>", wire=url), UUID(int=number))
        log.append(
            LogLine(
                time_ms=STARTED_MS + number,
                url=url,
                kind=kind,
                outcome="fetched",
                referrer=referrer,
                status=200,
                record=UUID(int=number).urn,
            )
        )
    made.seal()
    log_writer.put(store, "main", "main-w-00000", log)
    exported(store, tmp_path / "x.wacz")
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        _, *pages = map(json.loads, package.read("pages/pages.jsonl").decode().splitlines())
        described = json.loads(package.read("datapackage.json"))
    assert [page["url"] for page in pages] == ["https://example.org/found", "https://example.org/"]
    assert described["mainPageUrl"] == "https://example.org/"
