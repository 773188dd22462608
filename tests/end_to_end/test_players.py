"""Every kind of record is replayed by pywb and by ReplayWeb.page, at its newest time, after a second visit too."""

import io
import os
import re
import subprocess
from pathlib import Path
from uuid import UUID
from zipfile import ZipFile

import pytest
from PIL import Image

from tests.replaywebpage import launched_browser, player, replaywebpage
from tests.storage.captures import STARTED_MS, capture
from tests.storage.pywbenv import programs, pywb, replayed
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter, Revisit
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc import wacz
from thresher.storage.warc.wacz import WaczWriter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SITE = "https://example.org"
HEAD = "<!doctype html><head><title>{0}</title><link rel=stylesheet href=/s.css></head>"
PAGE = HEAD + "<body><h1>{0}</h1><p>{1}</p><img src=/p.png>"
WORDS = "Words that take a thousand bytes and more. " * 30
GREEN = "rgb(0, 128, 0)"
NEWEST = "20270101000000"
GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/archive.md"


def picture():
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return file.getvalue()


class Site:
    """The archive of a crawl, in which each exchange is a second later than the one before."""

    def __init__(self, root, crawl="main", **more):
        self.store = DirectoryStore(root)
        self.made = ArchiveWriter(self.store, crawl, writer="w", user_agent="t", **more)
        self.count = 0
        self.first = {}

    def add(self, path, body, kind="text/html", status=200, headers=(), resource_type=""):
        self.count += 1
        one = capture(
            body, wire=f"{SITE}{path}", status=status, started_ms=STARTED_MS + self.count * 1000,
            headers=(("Content-Type", kind), *headers),
        )  # fmt: skip
        self.made.append(one, UUID(int=self.count), resource_type=resource_type)
        self.made.commit()
        self.first.setdefault(path, (one, UUID(int=self.count)))

    def unchanged(self, path):
        self.count += 1
        before, record_id = self.first[path]
        again = capture(
            b"", wire=before.url.wire, status=304, started_ms=STARTED_MS + self.count * 1000, headers=()
        )
        same = Revisit(
            profile="server-not-modified", refers_to=record_id.urn, uri=before.url.wire,
            date_ms=before.started_ms,
        )  # fmt: skip
        self.made.append(again, UUID(int=self.count), revisit=same)


@pytest.fixture(scope="module", params=["fresh", "after a second visit"])
def archived(request, tmp_path_factory):
    """A directory with the crawl in data/, and its WACZ."""
    directory = tmp_path_factory.mktemp("players")
    site = Site(directory / "data")

    def visit():
        site.add("/changes", PAGE.format("Changes", f"version {site.count}").encode())
        site.add("/same", PAGE.format("Same", WORDS).encode())
        site.add("/moved", b"", status=301, headers=(("Location", "/kept"),))
        site.add("/none", PAGE.format("None", "not here").encode(), status=404)

    site.add("/kept", PAGE.format("Kept", WORDS).encode())
    site.add("/s.css", b"body { color: green }" + b" " * 1100, "text/css")
    site.add("/p.png", picture(), "image/png")
    visit()
    if request.param != "fresh":
        for path in ("/kept", "/s.css", "/p.png"):
            site.unchanged(path)
        visit()
    site.made.seal()
    export_wacz(site.store, "main", directory / "main.wacz", "", LineProgress())
    return directory


@pytest.fixture(scope="module")
def browser():
    with launched_browser() as found:
        yield found


@pytest.fixture(scope="module")
def opened(archived, browser, request):
    with player(browser, replaywebpage(request.config.cache), archived) as found:
        yield found


@pytest.mark.parametrize("page", ["Kept", "Same", "Changes", "None"])
def test_replaywebpage_shows_a_page_with_its_parts(opened, page):
    shown = opened.open("main.wacz", f"{SITE}/{page.lower()}", NEWEST)
    assert shown.text.startswith(page)
    assert (shown.broken_images, shown.colour) == (0, GREEN)


def index_for_pywb(directory, crawls):
    """Make the index of these crawls as the guide says, and the configuration of pywb."""
    (line,) = re.findall(r"^zcat .+$", GUIDE.read_text(), re.MULTILINE)
    subprocess.run(["bash", "-c", line.replace("/docs/", crawls)], cwd=directory, check=True)
    config = {"collections": {"main": {"index": "index.cdxj", "archive_paths": "data/"}}}
    (directory / "config.yaml").write_text(str(config))  # YAML holds JSON, and this is both


def test_pywb_gives_what_the_newest_visit_found(archived, request):
    index_for_pywb(archived, "/main/")
    with pywb(programs(request.config.cache), archived) as address:
        found = {
            path: replayed(f"{address}/main", f"{SITE}{path}", NEWEST)
            for path in ("/kept", "/s.css", "/p.png", "/same", "/changes", "/moved", "/none")
        }
    assert {path: status for path, (status, _, _) in found.items()} == {
        "/kept": 200, "/s.css": 200, "/p.png": 200, "/same": 200, "/changes": 200, "/moved": 301, "/none": 404,
    }  # fmt: skip
    assert found["/kept"][2] == PAGE.format("Kept", WORDS).encode()
    assert found["/p.png"][2] == picture()
    assert found["/same"][2] == PAGE.format("Same", WORDS).encode()


class HollowFile(io.FileIO):
    """A file in which zeros take no room."""

    def write(self, data):
        if bytes(data).count(0) < len(data):
            return super().write(data)
        self.seek(len(data), os.SEEK_CUR)
        return len(data)


@pytest.mark.parametrize("archived", ["fresh"], indirect=True)
def test_replaywebpage_opens_a_file_of_more_than_four_gigabytes(
    archived, browser, tmp_path, monkeypatch, request
):
    large, spool = tmp_path / "large", tmp_path / "spool"
    with large.open("wb") as file:
        file.truncate((1 << 32) + 5)
    with HollowFile(tmp_path / "large.wacz", "w") as hollow, ZipFile(archived / "main.wacz") as small:
        monkeypatch.setattr(wacz, "ZipFile", lambda _, mode, **more: ZipFile(hollow, mode, **more))
        with WaczWriter(tmp_path / "large.wacz") as made:
            made.add("archive/large.warc.gz", large)
            for name in small.namelist():
                if not name.startswith("datapackage"):
                    spool.write_bytes(small.read(name))
                    made.add(name, spool)
            made.finish({"title": "large"})
    with ZipFile(tmp_path / "large.wacz") as package:
        assert package.getinfo("archive/large.warc.gz").file_size == (1 << 32) + 5
    with player(browser, replaywebpage(request.config.cache), tmp_path) as opened:
        shown = opened.open("large.wacz", f"{SITE}/kept", NEWEST)
    assert shown.text.startswith("Kept")
    assert (shown.broken_images, shown.colour) == (0, GREEN)
