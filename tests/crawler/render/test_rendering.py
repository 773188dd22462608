"""A crawl that renders: a real worker, frontier, archive and Chromium."""

import asyncio
import multiprocessing
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.crawler.conftest import Crawl, redis  # noqa: F401 - a fixture
from tests.crawler.render.dying_worker import die_before_settling
from tests.crawler.render.test_tab import FROM_JSON, script, shell
from tests.crawler.server import Server, page
from tests.storage.reading import read
from thresher.crawler.reading.rendered_page import dom_id, report_id
from thresher.crawler.render.chromium.processes import kill, process_tree
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.steps.process import parts, step, work
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.archive.record_ids import record_id
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests

SPAWN = multiprocessing.get_context("spawn")
pytestmark = pytest.mark.usefixtures("chromium")

APP = {
    "/": page("<!doctype html><div id=root></div><script src=/app.js></script>"),
    "/app.js": script(FROM_JSON),
    "/data.json": page('{"text": "said by a script"}', kind="application/json"),
    "/deep": page(
        "<p>" + "plain words that need no script at all " * 40 + "<script>document.title = 1</script>"
    ),
}


def records(crawl):
    for path in sorted((crawl.root / "warc" / crawl.name).glob("*.warc.gz")):
        yield from read(path)


@pytest.mark.slow
def test_links_that_scripts_make_are_followed_and_every_exchange_is_archived(crawl, site):
    site.answers |= APP
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", render="auto", timeout_s=30))
    assert crawl.stats.is_drained
    assert crawl.stats.outcomes["fetched"] == 2
    assert site.paths == Counter({"/robots.txt": 1, **dict.fromkeys(APP, 1)})
    found = list(records(crawl))
    kinds = [record.type for record in found if record.type != "warcinfo"]
    # robots.txt; the subresources of the page, the report, the DOM, the page; the page that was not rendered
    page_ = ["request", "metadata", "response"]
    assert kinds == [*["request", "response"] * 3, "metadata", "conversion", *page_, *page_]
    dom = next(record for record in found if record.type == "conversion")
    assert b"<h1>said by a script</h1>" in dom.payload
    assert (dom.url, dom.mime) == (f"urn:dom:{site.url}/", "text/html")
    assert [record.resource_type for record in found if record.type == "response"] == [
        "",
        "script",
        "xhr",
        "",
        "",
    ]
    assert sorted(
        record.payload for record in found if record.type == "response" and record.status == 200
    ) == sorted(answer.partition(b"\r\n\r\n")[2] for answer in APP.values())


def test_text_comes_from_the_dom_and_subresources_are_no_documents(crawl, site):
    told = " ".join(["The text that only a script can tell has many words."] * 20)
    site.answers |= {**APP, "/data.json": page(f'{{"text": "{told}"}}', kind="application/json")}
    site.answers["/other"] = site.answers["/"]  # one shell for every page, as in web applications
    crawl.seed(f"{site.url}/", f"{site.url}/other", max_depth=0)
    run_worker(crawl.config("w", render="always", timeout_s=30))
    rows, store = list(processed(crawl)), DirectoryStore(crawl.root)
    assert {row["url"] for row in rows} == {f"{site.url}/", f"{site.url}/other"}
    assert all("that only a script can tell" in row["text"] for row in rows)
    fates = sum((Counter(one.counts) for one in manifests(store, "process")), Counter())
    assert {name: count for name, count in fates.items() if name.endswith(".documents")} == {
        "keep.documents": 2,
        "early/status.documents": 1,  # robots.txt
        "early/page_part.documents": site.paths["/app.js"]
        + site.paths["/data.json"],  # two tabs may both request a script
        "early/conversion.documents": 2,
    }


@pytest.mark.slow
def test_a_page_of_web_components_is_crawled_and_its_text_extracted(crawl, site):
    told = " ".join(["What is in a shadow root is text of the page like any other."] * 10)
    code = f"""
      customElements.define('x-app', class extends HTMLElement {{
        connectedCallback() {{
          history.replaceState({{}}, '', '/en/home');
          this.attachShadow({{mode: 'closed'}}).innerHTML = '<article><p>{told}</p><a href=next>x</a></article>';
        }}
      }});"""
    site.answers |= {"/": shell(code, "<x-app></x-app>"), "/en/next": page("<p>next")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", render="auto", timeout_s=30))
    assert site.paths == Counter({"/robots.txt": 1, "/": 1, "/en/next": 1})
    assert any(told in row["text"] for row in processed(crawl))


def processed(crawl):
    """Return the documents that are made of the archived pages."""
    store, filters = DirectoryStore(crawl.root), FiltersConfig(preset="none", languages=())
    with local_worker_pool(1) as pool:
        run_step.run_step(
            store, step(filters), parts(store, crawl.name, filters), work, pool=pool, progress=LineProgress()
        )
    for name in store.list("documents/"):
        yield from documents(store, name)


def documents(store, name):
    import pyarrow.parquet as parquet

    with store.open(name) as file:
        return parquet.read_table(file).to_pylist()


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (("127.0.0.1/32", "127.0.0.2/32"), {"/own"}),
        pytest.param(("127.0.0.0/8",), {"/own", "/other"}, marks=pytest.mark.slow),
    ],
)
def test_a_page_reaches_the_private_network_that_it_came_from_and_no_other(crawl, site, allowed, expected):
    """Return two private networks, or one that contains both servers."""
    everybody = page("secret", "Access-Control-Allow-Origin: *", kind="text/plain")
    with Server({"/other": everybody}, "127.0.0.2").in_thread() as other:
        wanted = [f"{site.url}/own", f"{other.url}/other"]
        site.answers |= {
            "/": shell("".join(f"fetch('{url}').catch(() => 0);" for url in wanted)),
            "/own": everybody,
        }
        crawl.seed(f"{site.url}/", max_depth=0)
        run_worker(crawl.config("w", render="always", timeout_s=30, allow_networks=allowed))
    assert {*site.paths, *other.paths} - {"/", "/robots.txt"} == expected


@pytest.mark.slow
def test_a_page_that_hangs_is_settled_with_its_reason_and_its_own_links(crawl, site):
    site.answers |= {"/": shell("while (true) {}", "<a href=/plain>x</a>"), "/plain": page("plain")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", render="always", timeout_s=3))
    assert crawl.stats.reasons == {"fetched:render_timeout": 1}
    assert crawl.stats.outcomes["fetched"] == 2
    assert site.paths["/plain"] == 1


def _slowly(answer, seconds):
    async def later(_, writer):
        await asyncio.sleep(seconds)
        writer.write(answer)

    return later


def _children(pid, name):
    return [one.pid for one in process_tree(pid) if name in _command(one.pid)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


@pytest.mark.slow
def test_a_browser_that_is_killed_is_replaced_and_its_page_rendered_again(crawl, site):
    site.answers |= {**APP, "/data.json": _slowly(APP["/data.json"], 1.0)}
    crawl.seed(f"{site.url}/")
    worker = SPAWN.Process(target=run_worker, args=(crawl.config("w", render="auto", timeout_s=30),))
    worker.start()
    _until(lambda: site.paths["/data.json"])
    browser = _children(worker.pid, b"--remote-debugging-pipe")[0]
    kill(browser)
    worker.join(60)
    assert worker.exitcode == 0
    assert crawl.stats.outcomes["fetched"] == 2
    assert not crawl.stats.reasons
    assert site.paths["/"] == 1
    assert not any(b"chromium" in _command(one.pid) for one in process_tree(browser))


@pytest.mark.parametrize("code", [pytest.param("fetch('/never')", marks=pytest.mark.slow), "while (true) {}"])
def test_nothing_of_the_browser_outlives_a_worker_that_is_killed(crawl, site, code):
    site.answers |= {
        "/": shell(f"fetch('/begun'); setTimeout(() => {{ {code} }}, 300)"),
        "/never": _slowly(b"", 60),
    }
    crawl.seed(f"{site.url}/")
    worker = SPAWN.Process(target=run_worker, args=(crawl.config("w", render="always", timeout_s=30),))
    worker.start()
    assert worker.pid
    _until(lambda: site.paths["/begun"])
    time.sleep(0.7)
    family = [one.pid for one in process_tree(worker.pid) if one.pid != worker.pid]
    assert any(b"--type=renderer" in _command(pid) for pid in family)
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(10)
    _until(lambda: not any(_command(pid) for pid in family))


@pytest.mark.slow
def test_a_rendered_page_of_a_dead_worker_is_settled_as_its_worker_would_have(crawl, site):
    site.answers |= {
        **APP,
        "/": shell(FROM_JSON + "; setTimeout(() => location = '/went', 2000)"),
        "/went": page("went"),
    }
    crawl.seed(f"{site.url}/")

    worker = SPAWN.Process(target=die_before_settling, args=(crawl.config("w", render="auto", timeout_s=30),))
    worker.start()
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL
    (lease,) = crawl.ask(lambda frontier: frontier.workers.leases("w"))
    page_id = record_id(crawl.name, "w", lease.token)
    left = [record.record_id for record in unsealed(crawl)]
    assert left[-5:-3] == [report_id(page_id).urn, dom_id(page_id).urn]
    assert left[-1] == page_id.urn

    async def everybody(workers):
        return workers

    assert (
        crawl.ask(lambda frontier: recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name))
        == 1
    )
    run_worker(crawl.config("v"))
    assert site.paths == Counter({"/robots.txt": 1, "/": 1, "/data.json": 1, "/deep": 1, "/went": 1})


def unsealed(crawl):
    for path in (crawl.root / "warc" / crawl.name / ".open").glob("*.warc.gz*"):
        yield from read(path)


@pytest.mark.slow
def test_old_browsers_are_replaced(crawl, site, monkeypatch):
    monkeypatch.setattr("thresher.crawler.render.renderer.PAGES_A_BROWSER", 2)
    others = _children(os.getpid(), b"--remote-debugging-pipe")  # browsers of other tests
    site.fallback = lambda path: shell(f"document.body.append('{path}')") if path[1:].isdigit() else None
    crawl.seed(*(f"{site.url}/{number}" for number in range(5)))
    run_worker(crawl.config("w", render="always", timeout_s=30))
    doms = [record.payload for record in records(crawl) if record.type == "conversion"]
    assert len(doms) == 5
    # A browser that did not end by itself was killed, and may take its time to go.
    assert _until(lambda: _children(os.getpid(), b"--remote-debugging-pipe") == others)
