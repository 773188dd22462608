"""`thresher qa` in a real Chromium: on an archive made by hand, and on those of a real crawl with faults."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from tests.crawler.render.behaviours.test_scrolling import posts
from tests.crawler.server import page
from tests.pipeline.qa.faulty_wacz import Change, fault, made_wacz, rewrite
from tests.pipeline.qa.faulty_wacz import site as faulty_site
from thresher.core import InputError
from thresher.crawler.render.tab import BrowserGoneError
from thresher.crawler.worker import run_worker
from thresher.pipeline.commands.app import app
from thresher.pipeline.qa import examination
from thresher.pipeline.qa.examiner import Examiner
from thresher.pipeline.qa.replay_tab import replay_page
from thresher.pipeline.qa.wacz_archive import WaczArchive
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.directory_store import DirectoryStore

KINDS = ("missing_picture", "blank_page", "wrong_text")
HOME = "http://site.test/"
OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
REFERS = (
    "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified",
    f"WARC-Refers-To-Target-URI: {HOME}",
    f"WARC-Refers-To-Date: {OLD}",
)


def listed(url, moment, **more):
    return json.dumps({"id": moment, "url": url, "ts": moment, **more})


def qa(path, sandbox, *options):
    """Return exit code and result of the command."""
    (path.parent / "thresher.toml").write_text(f"[crawler]\nbrowser_sandbox = {str(sandbox).lower()}\n")
    called = CliRunner().invoke(app, ["qa", str(path), "--project", str(path.parent), "--json", *options])
    return called.exit_code, json.loads(called.stdout)


def test_an_archive_of_others_is_compared_with_the_text_that_it_has(chromium, sandbox, tmp_path):
    body = (
        "<!doctype html><title>Its title</title><p>words of the page</p><img src=lost.png><img src=gone.png>"
    )
    records = [
        ("response", HOME, NEW, page(body)),
        ("response", f"{HOME}gone.png", NEW, page("", status="404 Not Found")),
        ("resource", f"urn:text:{HOME}", NEW, b"Its title\nwords of the page"),
    ]
    made_wacz(tmp_path / "other.wacz", records, [listed(HOME, NEW)])
    code, found = qa(tmp_path / "other.wacz", sandbox, "--html", str(tmp_path / "qa.html"))
    (result,) = found["pages"]
    assert (code, found["below"], result["text_source"]) == (1, 1, "text")
    assert result["scores"] == {"text": 1.0, "picture": None, "parts": 0.9}
    assert result["parts"] == {"image": {"error": 1, "missing": 1}}
    assert result["lost"] == [f"{HOME}lost.png"]
    assert "lost_image" in (tmp_path / "qa.html").read_text()


def test_the_capture_that_is_nearest_in_time_answers_and_a_revisit_has_its_payload(tmp_path):
    unchanged = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    records = [
        ("response", HOME, OLD, page("old")),
        ("response", f"{HOME}b", OLD, page("old b")),
        ("response", f"{HOME}b", NEW, page("new b")),
        ("revisit", HOME, NEW, unchanged, *REFERS),
    ]
    made_wacz(tmp_path / "a.wacz", records, [listed(HOME, OLD), listed(HOME, NEW), listed(HOME, NEW)])
    archive = WaczArchive(tmp_path / "a.wacz", tmp_path)
    try:
        assert archive.page_count == 2
        old, new = archive.page(0), archive.page(1)
        found = [archive.find(f"{HOME}b", each.date_ms) for each in (old, new)]
        assert [record and record.payload for record in found] == [b"old b", b"new b"]
        first = archive.find(HOME, old.date_ms)
        assert first is not None
        assert first.payload == b"old"
        assert archive.find(HOME, new.date_ms) is None, "no player shows a revisit whose index line says 304"
        assert archive.find(f"{HOME}never", old.date_ms) is None
    finally:
        archive.close()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["its browser ends", "its browser no longer answers"])
def test_a_page_that_ends_every_browser_is_one_crashed_page(chromium, sandbox, tmp_path, monkeypatch, fault):
    records = [("response", f"{HOME}{name}", NEW, page(f"<p>words of {name}")) for name in ("good", "bad")]
    made_wacz(tmp_path / "a.wacz", records, [listed(f"{HOME}{name}", NEW) for name in ("bad", "good")])
    replay, read = replay_page, Examiner.text

    async def ends(browser, listed, *arguments, **more):
        if listed.url.endswith("bad"):
            raise BrowserGoneError
        return await replay(browser, listed, *arguments, **more)

    async def hangs(self, html):
        return await (asyncio.Event().wait() if "words of bad" in html else read(self, html))

    if fault == "its browser ends":
        monkeypatch.setattr(examination, "replay_page", ends)
    else:
        monkeypatch.setattr(examination, "PAGE_S", 1.0)
        monkeypatch.setattr(Examiner, "text", hangs)
    code, found = qa(tmp_path / "a.wacz", sandbox)
    assert [(each["score"], each["faults"]) for each in found["pages"]] == [
        (0.0, ["crashed", "blank"]),
        (1.0, []),
    ]
    assert code == 1


@pytest.mark.slow
def test_faults_made_by_hand_are_found_and_a_whole_page_has_none(crawl, site, chromium, sandbox, tmp_path):
    site.answers |= faulty_site(4)
    crawl.seed(*(f"{site.url}/{number}/" for number in range(4)), max_depth=0)
    run_worker(crawl.config("w", render="always", screenshot=True, timeout_s=30))
    source, base = tmp_path / "crawl.wacz", site.url
    export_wacz(DirectoryStore(crawl.root), crawl.name, source, "", LineProgress())
    changes = [fault(kind, f"{base}/{number}/") for number, kind in enumerate(KINDS)]
    rewrite(source, tmp_path / "faulty.wacz", changes)
    code, found = qa(tmp_path / "faulty.wacz", sandbox)
    pages = {page["url"].removeprefix(base): page for page in found["pages"]}
    assert pages["/0/"]["faults"] == ["picture", "lost_image"]
    assert pages["/0/"]["lost"] == [f"{base}/0/picture.png"]
    assert pages["/1/"]["faults"] == ["blank", "text", "picture"]
    assert "text" in pages["/2/"]["faults"]
    assert (pages["/3/"]["score"], pages["/3/"]["faults"]) == (1.0, [])
    assert pages["/3/"]["parts"]["image"] == {"found": 3}
    assert {page["text_source"] for page in pages.values()} == {"dom"}
    assert (code, found["compared"], found["below"]) == (1, 4, 3)

    rewrite(source, tmp_path / "plain.wacz", [Change(f"{base}/0/style.css")], keeps_evidence=False)
    code, found = qa(tmp_path / "plain.wacz", sandbox, "--max-pages", "1")
    (result,) = found["pages"]
    assert (result["text_source"], result["picture_source"]) == ("html", "")


@pytest.mark.slow
def test_a_page_that_was_scrolled_in_the_crawl_is_scrolled_in_its_replay(crawl, site, sandbox, tmp_path):
    site.answers |= posts(50)
    crawl.seed(f"{site.url}/", max_depth=0)
    run_worker(crawl.config("w", render="always", timeout_s=30))
    export_wacz(DirectoryStore(crawl.root), crawl.name, tmp_path / "crawl.wacz", "", LineProgress())
    _, found = qa(tmp_path / "crawl.wacz", sandbox)
    (result,) = found["pages"]
    assert (result["score"], result["faults"], result["parts"]["xhr"]) == (1.0, [], {"found": 8})


def test_what_is_no_wacz_is_the_users_mistake(tmp_path):
    (tmp_path / "text.wacz").write_text("no zip file")
    with pytest.raises(InputError, match="is no WACZ"):
        WaczArchive(tmp_path / "text.wacz", tmp_path)
