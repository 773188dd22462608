"""Pictures of rendered pages, from a real Chromium into the archive."""

import io

import pytest

from tests.crawler.conftest import redis  # noqa: F401 - a fixture
from tests.crawler.render.browser_thread import BrowserThread
from tests.crawler.render.pictures import png, png_size
from tests.crawler.render.test_rendering import processed, records
from tests.crawler.server import page
from thresher.core import InputError
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.subresources import request_rules
from thresher.crawler.worker import run_worker
from thresher.frontier import canonicalize
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.history import url_history
from thresher.pipeline.steps import process
from thresher.storage.warc.records import read_records

pytestmark = pytest.mark.usefixtures("chromium")
WORDS = "<p>" + "Plain words of a page that is shown. " * 30
SHORT = page(f"<!doctype html>{WORDS}<img src=/red.png width=300 height=200>")
TALL_PAGE = (
    f"<!doctype html><style>* {{ margin: 0 }} body {{ height: 5000px }}</style>{WORDS}"
    "<img src=/red.png width=300 height=200 loading=lazy style='position: absolute; top: 4000px'>"
)
TALL = page(TALL_PAGE)
RED = page(png(30, 20, (255, 0, 0)), kind="image/png")


@pytest.fixture(scope="module")
def painting_stage(sandbox):
    made = BrowserThread(sandbox=sandbox, with_pictures=True)
    yield made
    made.close()


def test_a_page_is_pictured_in_its_window_as_a_thumbnail_and_whole(painting_stage):
    rendered, server = painting_stage.render({"/": TALL, "/red.png": RED})
    assert server.paths["/red.png"] == 1, "an image that waits to be near the window is fetched too"
    view, thumbnail, whole = rendered.screenshots
    assert (view.kind, png_size(view.data)) == ("view", (1920, 1080))
    assert (whole.kind, png_size(whole.data)) == ("fullPage", (1920, 5000))
    assert (thumbnail.kind, thumbnail.mime, thumbnail.height) == ("thumbnail", "image/jpeg", 360)
    assert thumbnail.data.startswith(b"\xff\xd8\xff")
    assert rendered.page_height == 5000


def test_a_page_that_lays_itself_out_by_script_is_pictured_as_it_is_in_the_window(painting_stage):
    script = (
        "onresize = () => requestAnimationFrame(() => { document.body.style.height = innerHeight + 'px' })"
    )
    style = "* { margin: 0 } body { height: 4000px; background: red }"
    rendered, _ = painting_stage.render(
        {"/": page(f"<!doctype html><style>{style}</style><p>text</p><script>{script}</script>")}
    )
    assert rendered.page_height == 1080


@pytest.mark.slow
def test_an_image_far_below_the_window_that_waits_to_be_near_it_is_fetched_by_scrolling(painting_stage):
    answers = {
        "/": page(TALL_PAGE.replace("5000px", "30000px").replace("4000px", "20000px")),
        "/red.png": RED,
    }
    assert "/red.png" not in painting_stage.render(answers)[1].paths
    rendered, server = painting_stage.render(answers, behaviours=("scroll",), seconds=20)
    assert (server.paths["/red.png"], rendered.report.behaviours.cut) == (1, "")
    assert png_size(rendered.screenshots[0].data) == (1920, 1080)


def test_pictures_lie_before_their_page_and_documents_refer_to_them(crawl, site, monkeypatch):
    site.answers |= {"/": SHORT, "/tall": TALL, "/red.png": RED}
    crawl.seed(f"{site.url}/", f"{site.url}/tall", max_depth=0)
    run_worker(crawl.config("w", render="always", screenshot=True, timeout_s=30))
    found = list(records(crawl))
    pictures = {record.url: record for record in found if record.type == "resource"}
    assert sorted((url.partition(":http")[0], record.mime) for url, record in pictures.items()) == [
        ("urn:fullPage", "image/png"),
        ("urn:thumbnail", "image/jpeg"),
        ("urn:thumbnail", "image/jpeg"),
        ("urn:view", "image/png"),
        ("urn:view", "image/png"),
    ], "a page that its window shows whole has no picture of the full page"
    pages = {record.url: record for record in found if record.status == 200 and not record.resource_type}
    assert pictures[f"urn:view:{site.url}/tall"].date_ms == pages[f"{site.url}/tall"].date_ms
    # Wherever a part ends, it has the pictures of its pages.
    monkeypatch.setattr(process, "RECORDS_PER_PART", 4)
    store = crawl.config("w").store
    documents = {row["url"]: row for row in processed(crawl)}
    assert set(documents) == {f"{site.url}/", f"{site.url}/tall"}, "pictures are no documents"
    for url, kind in ((f"{site.url}/", "view"), (f"{site.url}/tall", "fullPage")):
        row = documents[url]
        with store.open(row["record_file"]) as file:
            file.seek(row["screenshot_offset"])
            member = io.BytesIO(file.read(row["screenshot_length"]))
        (picture,) = read_records(member, name="part")
        assert picture.url == f"urn:{kind}:{url}"
        assert png_size(picture.payload)[0] == 1920

    directory = crawl.root.parent
    (directory / "thresher.toml").write_text(f'[project]\nredis = "{crawl.redis}"\n')
    (history,) = url_history(OpenProject.at(directory), canonicalize(f"{site.url}/tall"), (crawl.name,))
    (capture,) = history.captures
    assert {row.url for row in capture.pictures} == {url for url in pictures if url.endswith("/tall")}


def test_images_and_fonts_are_requested_for_pictures_alone():
    asked = [
        request_rules.refusal(method="GET", kind=kind, url="https://x.test/", allowed_kinds=allowed)
        for kind in ("image", "font", "media")
        for allowed in (request_rules.ALLOWED_KINDS, request_rules.VISIBLE_KINDS)
    ]
    assert asked == ["image", None, "font", None, "media", "media"]


def test_pictures_of_pages_that_are_never_rendered_are_a_mistake():
    with pytest.raises(InputError, match=r"set crawler\.render"):
        RenderSettings(screenshot=True)
