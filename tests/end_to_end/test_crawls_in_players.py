"""pywb and ReplayWeb.page show a crawl whose style and pictures are revisits of what another crawl archived."""

import pytest

from tests.end_to_end.test_players import GREEN, NEWEST, PAGE, SITE, WORDS, Site, index_for_pywb, picture
from tests.replaywebpage import launched_browser, player, replaywebpage
from tests.storage.pywbenv import programs, pywb, replayed
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PICTURE = picture() + b" " * 1100
STYLE = b"body { color: green }" + b" " * 1100
WEEK_S = 7 * 86_400


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """The WACZ of the second of two crawls. Its style has the same address in both, its picture another one."""
    directory = tmp_path_factory.mktemp("crawls")
    for crawl, count, path in (("first", 0, "/old.png"), ("second", WEEK_S, "/p.png")):
        site = Site(directory / "data", crawl, has_parts=True, refers_elsewhere=True)
        site.count = count
        site.add("/s.css", STYLE, "text/css", resource_type="stylesheet")
        site.add(path, PICTURE, "image/png", resource_type="image")
        if crawl == "second":
            site.add("/kept", PAGE.format("Kept", WORDS).encode())
        site.made.seal()
    assert export_wacz(site.store, "second", directory / "second.wacz", "", LineProgress()).originals == 2
    return directory


def test_replaywebpage_shows_the_page_with_both(archived, request):
    with (
        launched_browser() as browser,
        player(browser, replaywebpage(request.config.cache), archived) as opened,
    ):
        shown = opened.open("second.wacz", f"{SITE}/kept", NEWEST)
    assert shown.text.startswith("Kept")
    assert (shown.broken_images, shown.colour) == (0, GREEN)


def test_pywb_finds_both_with_the_indexes_of_all_crawls(archived, request):
    index_for_pywb(archived, "/*/")
    with pywb(programs(request.config.cache), archived) as address:
        found = {
            path: replayed(f"{address}/main", f"{SITE}{path}", NEWEST)
            for path in ("/kept", "/s.css", "/p.png")
        }
    assert {status for status, _, _ in found.values()} == {200}
    assert found["/p.png"][2] == PICTURE
    assert b"color: green" in found["/s.css"][2]
