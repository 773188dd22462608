"""The console in a real Chromium: every view, every action, and a hostile page that does nothing."""

import os
import re
import time
from contextlib import contextmanager

import pytest

from thresher.core import InputError
from thresher.crawler.render.chromium.program import find_browser

playwright = pytest.importorskip("playwright.sync_api", reason="the extra 'render' is not installed")

VIEWS = [
    "/",
    "/crawls/main",
    "/crawls/main/hosts",
    "/crawls/main/hosts?host=127.0.0.1",
    "/crawls/main/hosts?host=nobody.test",
    "/crawls/main/errors",
    "/crawls/main/log",
    "/storage",
    "/runs",
    "/manifests",
    "/url",
    "/actions",
    "/login",
    "/nothing",
    *(
        f"/crawls/main/actions/{name}"
        for name in ("hold", "resume", "drop", "settings", "rescrape", "scale-fleet")
    ),
]


def chromium():
    try:
        return find_browser("")
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def browser(served):  # Playwright keeps an event loop in this thread: the site is crawled before
    assert served
    path = chromium()
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=path, args=arguments)
        yield found
        found.close()


@contextmanager
def tab(browser, served, **options):
    """A page that notices dialogs, failed policies, and requests to anywhere but the console."""
    context = browser.new_context(base_url=served.url, **options)
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.strangers, page.dialogs, page.errors = [], [], []
    context.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
    context.on("request", lambda request: _note(page, served, request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    try:
        yield page
    finally:
        context.close()


def _note(page, served, url):
    if not url.startswith((served.url, "data:", "about:", "blob:")):
        page.strangers.append(url)


@pytest.fixture
def page(browser, served):
    with tab(browser, served) as found:
        yield found


@pytest.fixture(scope="module")
def shared_page(browser, served):
    with tab(browser, served) as found:
        yield found


@pytest.fixture
def viewer(shared_page):
    """A page for what only looks: the tests that do so share it, and each starts without what the others noticed."""
    shared_page.goto("about:blank")
    for noticed in (shared_page.strangers, shared_page.dialogs, shared_page.errors):
        noticed.clear()
    return shared_page


@pytest.fixture(scope="module")
def history(site, served):
    """The page of the hostile URL's history, once it is whole, and the addresses of its copy and its text."""
    from urllib.parse import quote

    address = f"/url?u={quote(site.hostile_url, safe='')}"
    deadline = time.monotonic() + 60
    while "Archived copy" not in (text := served.get(address).text) or "being read" in text:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    links = [link.replace("&amp;", "&") for link in re.findall(r'href="(/(?:copy|document)\?[^"]*)"', text)]
    copy, document = (
        next(link for link in links if link.startswith(kind)) for kind in ("/copy", "/document")
    )
    return address, copy, document


# Views


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_its_landmarks_and_no_error(viewer, view):
    page, said = viewer, []

    def note(message):
        said.append(message.text)

    page.on("console", note)
    page.goto(view)
    for role in ("banner", "main", "contentinfo", "navigation", "search"):
        assert page.get_by_role(role).count() >= 1, role
    assert page.get_by_role("heading", level=1).count() == 1
    assert (page.strangers, page.dialogs, page.errors) == ([], [], [])
    assert [line for line in said if "404" not in line and "username fields" not in line] == []
    page.remove_listener("console", note)


def test_the_first_page_leads_to_everything_else(viewer):
    page = viewer
    page.goto("/")
    page.get_by_role("link", name="main", exact=True).first.click()
    page.get_by_role("heading", name="main drained").wait_for()
    for name, heading in (("Hosts", "main hosts"), ("Errors", "main errors"), ("Log", "main log")):
        page.get_by_role("navigation", name="Crawl main").get_by_role("link", name=name).click()
        page.get_by_role("heading", name=heading).wait_for()
        page.go_back()
    for name in ("Storage", "Runs", "Manifests", "Actions"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        page.get_by_role("heading", level=1, name=name).wait_for()


def test_a_url_is_followed_from_its_discovery_to_the_text(page, site):
    page.goto("/")
    page.get_by_role("searchbox").fill(f"{site.server.url}/")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Archived copy").wait_for()
    page.get_by_role("link", name="Archived copy").click()
    frame = page.frame_locator("iframe")
    frame.get_by_text("The harbour lay quiet").first.wait_for()
    page.go_back()
    page.get_by_role("link", name="Text and verdict").click()
    assert "The harbour lay quiet" in page.get_by_role("region", name="Extracted text").inner_text()


@pytest.mark.parametrize(
    ("view", "scheme"),
    [
        ("/", "dark"),
        ("/crawls/main", "light"),
        ("/crawls/main/actions/settings", "light"),
        pytest.param("/", "light", marks=pytest.mark.slow),
        pytest.param("/crawls/main", "dark", marks=pytest.mark.slow),
        pytest.param("/crawls/main/actions/settings", "dark", marks=pytest.mark.slow),
    ],
)
def test_a_page_fits_on_a_phone(browser, served, view, scheme):
    with tab(browser, served, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        page.goto(view)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (
            sum(map(int, re.findall(r"\d+", back))) > 384
            if scheme == "light"
            else sum(map(int, re.findall(r"\d+", back))) < 384
        )


def test_the_figures_follow_the_crawl_without_a_reload(page, site, served):
    page.goto("/crawls/main")
    page.evaluate("window.loadedOnce = true")
    host = site.server.address
    served.post_json("/api/crawls/main/hold", {"host": host, "duration": "1h"})
    try:
        served.run(served.console.sample())
        page.get_by_role("table", name="Held hosts").get_by_text("held with").wait_for(timeout=30_000)
        assert page.evaluate("window.loadedOnce")
    finally:
        served.post_json("/api/crawls/main/resume", {"host": host})


# Actions, without a script


@pytest.fixture
def plain(browser, served):
    with tab(browser, served, java_script_enabled=False) as found:
        yield found


def last_action(served):
    return served.api("/api/actions").json[0]


def confirm(page, name, **values):
    for label, value in values.items():
        page.get_by_role("textbox", name=label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("button", name=name).click()


def test_a_host_is_paused_and_resumed(plain, site, served):
    host = site.server.address
    plain.goto("/crawls/main/actions/hold")
    confirm(plain, "Pause a host", Host=host, For="2d")
    plain.get_by_text(f"{host} is held for 2d").wait_for()
    record = last_action(served)
    assert (record["who"], record["address"], record["state"]) == ("local", "127.0.0.1", "done")
    assert record["values"] == {"host": host, "duration": "2d"}
    assert served.api(f"/api/crawls/main/hosts/{host}").json["hold"]["reason"] == "operator"
    plain.goto(f"/crawls/main/hosts?host={host}")
    plain.get_by_role("link", name=f"resume {host}").click()
    plain.get_by_role("button", name="Resume a host").click()
    plain.get_by_text(f"{host} is crawled again").wait_for()
    assert served.api(f"/api/crawls/main/hosts/{host}").json["hold"] is None


def test_what_is_typed_wrong_is_said_beside_the_form(plain, served):
    before = len(served.api("/api/actions").json)
    plain.goto("/crawls/main/actions/hold")
    confirm(plain, "Pause a host", Host="nobody.test", For="soon")
    assert "For:" in plain.get_by_role("alert").inner_text()
    assert len(served.api("/api/actions").json) == before
    confirm(plain, "Pause a host", For="1h")
    assert "knows no host 'nobody.test'" in plain.get_by_role("alert").inner_text()
    assert last_action(served)["state"] == "failed"


def test_a_host_is_dropped(plain, site, served):
    plain.goto("/crawls/main/actions/drop?scope=host:gone.test")
    plain.get_by_role("button", name="Drop a host, domain or prefix").click()
    plain.get_by_text("host:gone.test is barred, 0 waiting pages refused").wait_for()
    assert last_action(served)["values"] == {"scope": "host:gone.test"}


def test_a_delay_and_a_budget_are_changed_for_all_workers(plain, served):
    plain.goto("/crawls/main/actions/settings")
    assert plain.get_by_text("crawler.min_delay; now 0").is_visible()
    plain.get_by_label("Delay between two requests to one host").fill("2.5")
    plain.get_by_label("URLs of one host").fill("5000")
    plain.get_by_role("button", name="Change delays and budgets").click()
    plain.get_by_text("crawler.min_delay was 0, is 2.5 now").wait_for()
    settings = served.api("/api/crawls/main").json["settings"]
    assert (settings["min_delay_s"], settings["max_pages_per_host"]) == (2.5, 5000)
    again = served.post_json("/api/crawls/main/settings", {"min_delay_s": 0, "max_pages_per_host": 0})
    assert again.status == 200, again.text
    settings = served.api("/api/crawls/main").json["settings"]
    assert (settings["min_delay_s"], settings["max_pages_per_host"]) == (0, None)


def test_pages_are_fetched_again(plain, site, served):
    before = served.api("/api/crawls/main").json["urls"]["waiting"]
    plain.goto("/crawls/main/actions/rescrape")
    confirm(plain, "Fetch pages again", Domains=site.server.address, Pages_at_most="2")
    plain.get_by_text("2 pages to fetch again: 2 added").wait_for()
    assert served.api("/api/crawls/main").json["urls"]["waiting"] == before + 2


def test_a_fleet_that_never_was_cannot_be_paused(plain, served):
    plain.goto("/crawls/main/actions/pause-fleet")
    plain.get_by_role("button", name="Pause the fleet").click()
    assert "no fleet was ever started" in plain.get_by_role("alert").inner_text()


# What a crawled page can do: nothing


def attack_views(history):
    return [*history, "/crawls/main/errors", "/crawls/main/log", "/crawls/main", "/"]


def test_nothing_of_a_hostile_page_runs_in_any_view(browser, site, served, history):
    before = site.leaks()
    for script in (True, False):
        with tab(browser, served, java_script_enabled=script) as page:
            for view in attack_views(history):
                page.goto(view)
                page.wait_for_load_state("networkidle")
                if script:
                    assert page.evaluate("window.ran") is None
                for frame in page.frames:
                    assert "leak" not in frame.url
            assert (page.strangers, page.dialogs, page.errors) == ([], [], [])
    assert site.leaks() == before


def test_the_archived_copy_runs_and_loads_nothing_even_when_it_is_opened_alone(
    browser, site, served, history
):
    _, copy, _ = history
    before = site.leaks()
    with tab(browser, served) as page:
        answer = page.goto(copy.replace("/copy?", "/api/replay?"))
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        page.wait_for_timeout(300)
        page.get_by_text("A story of the harbour").wait_for()
        page.get_by_role("link", name="run").click()
        page.get_by_role("button", name="go").click()
        assert "/api/replay" in page.url
        assert (page.strangers, page.dialogs) == ([], [])
        assert page.evaluate("window.origin") == "null"
    assert site.leaks() == before


def test_a_link_of_the_archived_copy_leads_nowhere(browser, site, served, history):
    _, copy, _ = history
    before = site.leaks()
    with tab(browser, served) as page:
        page.goto(copy)
        frame = page.frame_locator("iframe")
        frame.get_by_text("A story of the harbour").wait_for()
        for name in ("run", "top"):
            frame.get_by_role("link", name=name).click()
        frame.get_by_role("button", name="go").click()
        page.wait_for_timeout(300)
        assert page.url.endswith(copy)
        assert (page.strangers, page.dialogs, page.errors) == ([], [], [])
    assert site.leaks() == before


def test_titles_headers_and_marks_of_direction_are_text(page, history):
    address, copy, document = history
    page.goto(address)
    assert "\\x1b[2J" in page.get_by_role("main").inner_text()
    assert "\u202e" not in page.content()
    page.goto(copy)
    headers = page.get_by_role("region", name="Headers", exact=True).inner_text()
    assert "<script>alert(1)</script>" in headers
    assert "\x1b" not in headers
    page.goto(document)
    assert "\x1b" not in page.content()
    assert page.context.cookies()[0]["value"] != "stolen"


def test_pictures_that_are_programs_are_shown_as_text(served, site, history):
    captures = {
        capture["url"].rpartition("/")[2]: capture
        for path in ("svg", "odd", "plain")
        for source in whole(served, f"{site.server.url}/{path}")["sources"]
        for capture in source["captures"]
    }
    assert set(captures) == {"svg", "odd", "plain"}
    for name, capture in captures.items():
        answer = served.get(f"/api/replay?file={capture['file']}&offset={capture['offset']}")
        assert answer.status == 200
        assert answer.headers["content-security-policy"].startswith("sandbox;")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] in {"text/plain; charset=utf-8", "text/html; charset=utf-8"}, (
            name
        )
        assert "set-cookie" not in answer.headers or "stolen" not in answer.headers["set-cookie"]
    assert captures["svg"]["mime"] == "image/svg+xml"


def whole(served, url):
    while (found := served.api(f"/api/url?u={url}").json)["is_searching"]:
        time.sleep(0.05)
    return found


# Accessibility


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_no_view_has_a_serious_fault_of_accessibility(browser, served, history, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core is not installed"
    ).Axe()
    with tab(browser, served, color_scheme=scheme) as page:
        for view in [*VIEWS, *history]:
            page.goto(view)
            found = axe.run(page, options={"iframes": False, "resultTypes": ["violations"]})
            serious = [
                f"{view}: {each['id']}: {each['nodes'][0]['html'][:200]}"
                for each in found.response["violations"]
                if each["impact"] in {"serious", "critical"}
            ]
            assert serious == []


def test_the_keyboard_reaches_the_content_at_once(page):
    page.goto("/crawls/main")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
