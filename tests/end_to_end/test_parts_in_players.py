"""ReplayWeb.page replays a crawl that is split, and verifies the signature of each file."""

import subprocess

import pytest

from tests.end_to_end.test_players import GREEN, HEAD, NEWEST, SITE, WORDS, Site
from tests.replaywebpage import launched_browser, player, replaywebpage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import WaczOptions, export_wacz
from thresher.pipeline.wacz.wacz_signature import MAKE_KEY
from thresher.storage.archive.archive_writer import ArchiveWriter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = HEAD + "<link rel=icon href=/i.png><body><h1>{0}</h1><p>" + WORDS


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """A signed crawl in three files: a page and its stylesheet in two of them, in the third that page again elsewhere."""
    directory = tmp_path_factory.mktemp("parts")
    site = Site(directory / "data")
    for number, (path, body, kind) in enumerate(
        (
            ("/first", PAGE.format("First"), "text/html"),
            ("/s.css", "body { color: green }" + " " * 1100, "text/css"),
            ("/again", PAGE.format("First"), "text/html"),
        )
    ):
        site.made = ArchiveWriter(site.store, "main", writer=f"w{number}", user_agent="t")
        site.count = number
        site.add(path, body.encode(), kind)
        site.made.seal()
    key = directory / "key.pem"
    subprocess.run([*MAKE_KEY.split(), key], check=True, capture_output=True)
    options = WaczOptions(key=key, max_bytes=22_000)
    summary = export_wacz(site.store, "main", directory / "main.json", "", LineProgress(), options)
    assert len(summary.files) == 3
    return directory


@pytest.fixture(scope="module")
def opened(archived, request):
    with (
        launched_browser() as browser,
        player(browser, replaywebpage(request.config.cache), archived) as found,
    ):
        yield found


@pytest.mark.parametrize("page", ["first", "again"])
def test_a_page_is_shown_with_what_lies_in_other_files(opened, page):
    shown = opened.open("main.json", f"{SITE}/{page}", NEWEST)
    assert shown.text.startswith("First")
    assert shown.colour == GREEN


def test_the_signature_of_a_file_is_verified(opened):
    assert opened.verified("main-001.wacz", f"{SITE}/first")["signature"] is True
