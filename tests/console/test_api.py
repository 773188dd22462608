"""The JSON API says what the command line says, and refuses what it cannot answer in one line."""

import threading
import time

import pytest

from tests.console.served import served_console
from thresher.core import InputError
from thresher.pipeline.console import live_console
from thresher.pipeline.console.models.crawl_models import CrawlView, PolitenessView
from thresher.pipeline.console.models.storage_models import StorageView
from thresher.pipeline.console.models.url_models import UrlView
from thresher.pipeline.console.url_search import UrlSearches
from thresher.pipeline.console.url_view import source_view
from thresher.pipeline.console.web.console_app import api_app
from thresher.pipeline.open_project import OpenProject


def whole_url(served, url):
    """The history of a URL, once all of it is read."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = served.api(f"/api/url?u={url}").json
        if not found["is_searching"]:
            return UrlView.model_validate(found)
        time.sleep(0.05)
    raise AssertionError("the search never ended")


@pytest.fixture(scope="module")
def history(site, served):
    return whole_url(served, f"{site.server.url}/")


def test_every_crawl_has_its_figures(served):
    (crawl,) = (CrawlView.model_validate(each) for each in served.api("/api/crawls").json)
    assert crawl.name == "main"
    assert crawl.health == "drained"
    assert crawl.outcomes["fetched"] >= 4
    assert crawl.urls.settled == sum(crawl.outcomes.values()) == crawl.urls.known
    assert crawl.archived_bytes > 1000
    assert crawl == CrawlView.model_validate(served.api("/api/crawls/main").json)


@pytest.mark.parametrize("part", ["", "/workers", "/politeness", "/hosts", "/errors", "/log"])
def test_an_unknown_crawl_is_not_found(served, part):
    answer = served.api(f"/api/crawls/nobody{part}")
    assert answer.status == 404
    assert "there is no crawl of this name" in answer.json["error"]


def test_hosts_come_page_by_page(site, served):
    page = served.api("/api/crawls/main/hosts").json
    assert [host["host"] for host in page["hosts"]] == [site.server.address]
    assert page["cursor"] == ""
    assert served.api(f"/api/crawls/main/hosts/{site.server.address}").json == page["hosts"][0]
    assert served.api("/api/crawls/main/hosts/nobody.test").status == 404
    answer = served.api("/api/crawls/main/hosts?cursor=nonsense")
    assert (answer.status, "is no cursor" in answer.json["error"]) == (400, True)


def test_politeness_names_the_hosts_that_wait_and_why(site, served):
    served.post_json("/api/crawls/main/hold", {"host": site.server.address, "duration": "1h"})
    try:
        served.run(served.console.sample())
        found = PolitenessView.model_validate(served.api("/api/crawls/main/politeness").json)
        (held,) = found.held
        assert held.host == site.server.address
        assert held.hold is not None
        assert held.hold.reason == "operator"
        assert 3_500_000 < held.hold.ends_in_ms <= 3_600_001
    finally:
        served.post_json("/api/crawls/main/resume", {"host": site.server.address})
    # The survey is some seconds old; how a host stands is not.
    assert served.api("/api/crawls/main/politeness").json["held"] == []


def test_errors_have_examples(site, served):
    errors = {(each["outcome"], each["reason"]): each for each in served.api("/api/crawls/main/errors").json}
    missing = errors["gone", "status_404"]
    assert missing["description"] == "HTTP 404 Not Found"
    deadline = time.monotonic() + 30
    while not missing["examples"] and time.monotonic() < deadline:
        time.sleep(0.05)
        found = served.api("/api/crawls/main/errors").json
        missing = next(each for each in found if each["reason"] == "status_404")
    assert f"{site.server.url}/missing" in missing["examples"]


def test_the_log_has_the_newest_lines_and_those_since(served):
    found = served.api("/api/crawls/main/log?limit=3").json
    assert len(found["lines"]) == 3
    assert not found["is_complete"]
    last = found["lines"][-1]["serial"]
    assert served.api(f"/api/crawls/main/log?after={last}").json == {"lines": [], "is_complete": True}
    assert served.api("/api/crawls/main/log?limit=100000").status == 400


def test_the_storage_the_funnel_and_the_yield_are_those_of_the_catalog(site, served):
    storage = served.api("/api/storage").json
    (source,) = storage["sources"]
    totals = site.project.catalog.totals("process", "main")
    assert source["kept"] == totals["keep.documents"]
    cost = served.api("/api/cost").json
    assert {"process", "dedup", "export"} <= {step["name"] for step in cost["steps"]}
    assert cost["total"]["cpu_s"] > 0
    assert (cost["has_prices"], cost["per_million_tokens"]) == (False, None)
    funnel = served.api("/api/sources/main/funnel").json
    assert sum(stage["records"] for stage in funnel["stages"]) == funnel["records"]
    yields = served.api("/api/sources/main/yields").json
    assert (yields["parts"], yields["all_parts"]) == (1, 1)
    assert [domain["domain"] for domain in yields["domains"]] == [site.server.address]
    assert 0 < yields["domains"][0]["kept"] <= yields["domains"][0]["documents"]


def test_a_damaged_manifest_is_named_beside_the_figures_of_everything_else(tmp_path, redis):
    (tmp_path / "thresher.toml").write_text(
        f'[project]\ncontact = "mailto:a@example.org"\nredis = "{redis}"\n'
    )
    project = OpenProject.at(tmp_path, shows_damage=True)
    project.store.put("manifests/process/main/damaged.json", b"{")
    with served_console(project) as served:
        found = StorageView.model_validate(served.api("/api/storage").json)
        assert "manifests/process/main/damaged.json is no Manifest" in found.damage[0]
        assert "manifests/process/main/damaged.json is no Manifest" in served.get("/storage").text
        assert served.get("/metrics").status == 200


def test_runs_and_manifests_are_listed_and_shown(served):
    runs = served.api("/api/runs").json
    assert [run["step"] for run in runs["runs"]] == ["export", "dedup", "process"]
    assert runs["cursor"] == ""
    assert [run["step"] for run in served.api("/api/runs?step=dedup").json["runs"]] == ["dedup"]
    manifests = served.api("/api/manifests?step=process").json["manifests"]
    shown = served.api(f"/api/manifest?name={manifests[0]['manifest']}").json
    assert shown["part"] == manifests[0]["part"]
    folders = {"documents", "measurements", "verdicts", "signatures", "dropped_signatures"}
    assert {each["name"].partition("/")[0] for each in shown["outputs"]} == folders
    (export,) = served.api("/api/exports").json
    assert export["sources"] == ["main"]


def test_a_url_has_its_history_from_the_frontier_to_the_export(served, history):
    assert history.places["main"].state == "settled"
    (source,) = history.sources
    assert [line.outcome for line in source.log] == ["fetched"]
    (capture,) = source.captures
    assert capture.keep
    (export,) = served.api("/api/exports").json
    assert capture.exports == [export["id"]]


def test_a_search_that_ends_while_its_findings_are_shown_is_to_be_asked_again(served, site, monkeypatch):
    """What came meanwhile is not in the answer, so the answer does not say that it is all."""
    console, found = served.console, threading.Event()
    history, view = console._searches._history, source_view

    def slow_history(url):
        yield from history(url)
        assert found.wait(60)

    def slow_view(*values):
        found.set()
        (search,) = searches._searches.values()
        while not search.is_done:
            time.sleep(0.01)
        return view(*values)

    searches = UrlSearches(slow_history)
    monkeypatch.setattr(console, "_searches", searches)
    monkeypatch.setattr(live_console, "source_view", slow_view)
    address = f"/api/url?u={site.server.url}/plain"
    while not (answer := served.api(address).json)["sources"]:
        time.sleep(0.01)
    assert answer["is_searching"]
    assert not served.api(address).json["is_searching"]
    searches.close()


def test_a_document_has_its_text_and_its_verdict(served, history):
    (capture,) = history.sources[0].captures
    document = served.api(f"/api/document?part={capture.part}&id={capture.document}").json
    assert "The harbour lay quiet in the morning" in document["text"]
    assert document["keep"]
    answer = served.api(f"/api/document?part={capture.part}&id=nobody")
    assert (answer.status, "has no document" in answer.json["error"]) == (400, True)


def test_the_metrics_are_those_of_the_status_command(served):
    answer = served.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'thresher_settled_urls_total{outcome="fetched",source="main"}' in answer.text


def test_metrics_that_cannot_be_read_are_refused_and_not_shown_as_they_once_were(served, monkeypatch):
    """A scrape with old figures looks like a project in which all is well."""
    from thresher.core import Unavailable
    from thresher.pipeline.console.web import api_routes

    assert served.api("/metrics").status == 200
    with monkeypatch.context() as stuck:
        stuck.setattr(api_routes, "MAX_METRICS_READ_S", -1.0)
        old = served.api("/metrics")
    assert (old.status, "old" in old.json["error"]) == (503, True)

    def fail():
        raise Unavailable("the storage does not answer")

    reading = served.console._readings["metrics", ""]
    monkeypatch.setattr(served.console.stored, "refresh", fail)
    deadline = time.monotonic() + 30
    while (answer := served.api("/metrics")).status == 200 and time.monotonic() < deadline:
        reading.expire()
    assert (answer.status, answer.json["error"]) == (503, "the storage does not answer")
    monkeypatch.undo()
    reading.expire()
    while served.api("/metrics").status != 200:
        assert time.monotonic() < deadline
        reading.expire()


def test_health_says_whether_the_frontier_and_the_storage_respond(served):
    assert served.get("/healthz").json == {"status": "ok", "frontier": "ok", "storage": "ok"}


@pytest.mark.parametrize(
    "path",
    [
        "/api/manifest?name=../../etc/passwd",
        "/api/manifest?name=/etc/passwd",
        "/api/manifest?name=thresher.toml",
        "/api/manifest?name=storage.json",
        "/api/manifest?name=manifests/process/../../storage.json",
        "/api/document?part=../../../etc/passwd&id=x",
        "/api/document?part=main/x%00y&id=x",
        "/api/replay?file=../thresher.toml&offset=0",
        "/api/replay?file=/etc/passwd&offset=0",
        "/api/replay?file=storage.json&offset=0",
        "/api/replay?file=warc/main/../../storage.json&offset=0",
    ],
)
def test_a_name_from_outside_never_becomes_a_path(served, path):
    answer = served.api(path)
    assert answer.status == 400
    assert "root:" not in answer.text
    assert "there is no" in answer.json["error"]


@pytest.mark.parametrize(
    "path", ["/static/../console_app.py", "/static/%2e%2e/console_app.py", "/static/..%2fx"]
)
def test_static_files_are_those_of_one_folder(served, path):
    assert served.get(path).status == 404


def test_an_offset_within_a_record_shows_no_other_file(served, history):
    (capture,) = history.sources[0].captures
    assert served.api(f"/api/replay?file={capture.file}&offset=7").status in {200, 400}
    assert served.api(f"/api/replay?file={capture.file}&offset={1 << 61}").status == 400
    assert served.api(f"/api/replay?file={capture.file}&offset=-1").status == 400


@pytest.mark.parametrize(
    "text", ["nonsense://x", "http://", "x" * 4001, "http://a b/", "http://a.test/%00\x00"]
)
def test_what_is_no_url_is_refused_or_unknown(served, text):
    from urllib.parse import quote

    assert served.api(f"/api/url?u={quote(text)}").status in {200, 400}


def test_the_description_covers_every_route_and_every_field():
    schema = api_app().openapi()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path}"
            assert "200" in operation["responses"]
    for name in ("CrawlView", "HostView", "UrlView", "FleetView", "StorageView"):
        assert schema["components"]["schemas"][name]["description"]


def test_a_value_that_is_read_for_the_first_time_is_announced(site):
    import asyncio
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    from thresher.pipeline.console.slow_reading import SlowReading

    async def play():
        go, reads = Event(), []

        def read():
            go.wait(30)
            reads.append(1)
            if len(reads) == 2:
                raise InputError("it is gone")
            return "value"

        with ThreadPoolExecutor(1) as executor:
            now = [0.0]
            reading = SlowReading(read, executor, clock=lambda: now[0])
            first = await reading.get(wait_s=0.01)
            assert first.is_pending
            now[0] = 3.0
            assert (await reading.get(wait_s=0.01)).attempt_s == 3.0
            now[0] = 0.0
            go.set()
            assert (await reading.get(wait_s=30)).value == "value"
            now[0] = 4.0
            assert (await reading.get()).age_s == 4.0
            assert (await reading.get()).attempt_s == 0.0
            assert len(reads) == 1
            now[0] = 6.0
            while not (found := await reading.get()).error:  # noqa: ASYNC110 - the thread ends at its own time
                await asyncio.sleep(0.001)
            assert (found.value, found.error) == ("value", "it is gone")
            assert len(reads) == 2

    asyncio.run(play())


def test_what_fails_unexpectedly_in_the_background_is_said(site, served, monkeypatch):
    """Neither an endless 'is being read' nor a search that seems to have found nothing."""
    from pyarrow import ArrowInvalid

    from thresher.pipeline.console.slow_reading import UNEXPECTED, SlowReading

    def fail(*_, **__):
        raise ArrowInvalid("not a Parquet file")

    async def read():
        return await SlowReading(fail, served.console._executor).get(wait_s=30)

    assert served.run(read()).error == UNEXPECTED
    monkeypatch.setattr(served.console._searches, "_history", fail)
    assert served.api("/api/url?u=https://never-searched.test/").json["error"] == UNEXPECTED


def test_the_console_goes_on_to_sample_after_an_unexpected_error(served, monkeypatch):
    import asyncio

    from thresher.pipeline.console import live_console

    async def play():
        again = asyncio.Event()
        calls = []

        async def sample():
            if asyncio.current_task() is not running:  # the console's own loop
                return
            calls.append(1)
            if len(calls) == 1:
                raise KeyError("nobody expected it")
            again.set()

        monkeypatch.setattr(live_console, "PERIOD_S", 0.0)
        monkeypatch.setattr(served.console, "sample", sample)
        running = asyncio.create_task(served.console.run())
        try:
            await asyncio.wait_for(again.wait(), 30)
        finally:
            running.cancel()

    served.run(play())


def test_a_storage_that_hangs_holds_one_thread_however_often_health_is_asked_for(served, monkeypatch):
    import asyncio
    import threading

    from thresher.storage.directory_store import DirectoryStore

    go, asked = threading.Event(), []

    def hang(self, name):
        asked.append(name)
        go.wait(60)
        return True

    async def play():
        return await asyncio.gather(*(served.console.health() for _ in range(20)))

    monkeypatch.setattr(DirectoryStore, "exists", hang)
    try:
        answers = served.run(play())
    finally:
        go.set()
    assert {each.storage for each in answers} == {"no response within 3 s"}
    assert len(asked) == 1
