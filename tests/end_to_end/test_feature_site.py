"""A site with every feature is archived whole: no part is missing and no page looks different, in our replay and in the players that people use."""

import gzip
import json
import subprocess
from zipfile import ZipFile

import pytest

from tests.end_to_end.conftest import User
from tests.end_to_end.feature_site import BATCHES, MARKERS, feature_site, other_host
from tests.replaywebpage import launched_browser, player, replaywebpage
from tests.storage.pywbenv import programs, pywb, replayed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

UNREADABLE_FOR_THE_PLAYER = {"/wide", "/enc/deflate"}
"""ReplayWeb.page 2.4.6 writes its script in UTF-8 into a page in UTF-16, and shows what `deflate` packed as it came."""
TOML = """
[project]
contact = "mailto:test@example.org"
[crawler]
min_delay = 0.0
min_ip_delay = 0.0
allow_networks = ["127.0.0.0/8"]
cookies = true
render = "always"
screenshot = true
requisites = true
browser_sandbox = false
"""


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """The site's address, and a directory with two visits of it in one WACZ."""
    directory = tmp_path_factory.mktemp("features")
    (directory / "thresher.toml").write_text(TOML)
    user = User(directory)
    with other_host("127.0.0.2").in_thread() as far, feature_site("127.0.0.1", far.url).in_thread() as site:
        for _ in range(2):
            user.run("seed", "-", "--crawl", "site", "--scope", "host", "--again", text=f"{site.url}/\n")
            user.run("crawl", "site")
    user.run("export-wacz", "site", "--out", "site.wacz")
    return site.url, user


def test_qa_finds_each_page_as_it_was(archived):
    _, user = archived
    found = json.loads(user.run("qa", "site.wacz", "--threshold", "0.95", "--json").out)
    assert found["compared"] >= len(MARKERS)
    assert {page["url"]: page["lost"] for page in found["pages"] if page["lost"]} == {}
    assert {page["url"]: page["faults"] for page in found["pages"] if page["faults"]} == {}


def test_pywb_answers_every_part_of_both_visits(archived, request):
    _, user = archived
    rows = index_rows(user.directory)
    assert any(row["url"].endswith(f"/api/posts/{BATCHES - 1}") for row in rows), (
        "the page has an end, and all is there"
    )
    collect = programs(request.config.cache) / "wb-manager"
    for words in (["init", "site"], ["add", "site", "site.wacz", "--unpack-wacz"]):
        subprocess.run([collect, *words], cwd=user.directory, check=True, capture_output=True)
    with pywb(programs(request.config.cache), user.directory) as played:
        found = {row["url"]: replayed(f"{played}/site", row["url"], row["timestamp"])[0] for row in rows}
    assert {url: status for url, status in found.items() if status not in {200, 302, 301}} == {}


def index_rows(directory):
    """The lines of the WACZ's index that have what a server answered with success."""
    with ZipFile(directory / "site.wacz") as package:
        (name,) = (
            name for name in package.namelist() if name.startswith("indexes/") and name.endswith(".gz")
        )
        lines = gzip.decompress(package.read(name)).decode().splitlines()
    rows = []
    for line in lines:
        _, timestamp, fields = line.split(" ", 2)
        row = {"timestamp": timestamp, **json.loads(fields)}
        if row["url"].startswith("http") and row.get("status", "200") in {"200", "301", "302"}:
            rows.append(row)
    return rows


@pytest.fixture(scope="module")
def browser():
    with launched_browser() as found:
        yield found


@pytest.fixture(scope="module")
def opened(archived, browser, request):
    with player(browser, replaywebpage(request.config.cache), archived[1].directory) as found:
        yield found


@pytest.mark.parametrize("path", sorted(MARKERS.keys() - UNREADABLE_FOR_THE_PLAYER))
def test_replaywebpage_shows_each_page_with_its_pictures(archived, opened, path):
    shown = opened.open("site.wacz", f"{archived[0]}{path}", wanted=MARKERS[path])
    assert MARKERS[path] in shown.text
    assert shown.broken_images == 0


def test_two_pages_have_their_content_from_a_service_worker_in_a_browser_that_has_one(browser):
    with feature_site("127.0.0.1", "").in_thread() as site:
        page = browser.new_context(service_workers="allow").new_page()
        for path, text in (("/worker", "from the worker"), ("/offline", "made by the worker")):
            page.goto(f"{site.url}{path}")
            page.get_by_text(text).wait_for(timeout=120_000)
