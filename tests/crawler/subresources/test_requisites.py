"""A crawl archives what its pages need to look as they do: politely, once, and counting what it leaves out."""

import multiprocessing
import os
import signal
from collections import Counter
from contextlib import ExitStack

import pytest

from tests.crawler.conftest import Crawl, redis  # noqa: F401 - a fixture
from tests.crawler.crawls.test_crawl import everybody
from tests.crawler.render.test_rendering import records
from tests.crawler.server import Server, page, redirect
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.capture_metadata import decode

FORK = multiprocessing.get_context("fork")
HTML = (
    '<!doctype html><title>t</title><link rel=stylesheet href=/a.css><script src=/a.js></script><body>{text}'
    '<img src=/a.png srcset="/b.png 2x"><iframe src=/frame></iframe><video src=/a.mp4></video>'
)  # fmt: skip
CSS = "@import '/b.css'; @font-face { font-family: x; src: url(/a.woff2) }"
PARTS = {
    "/a.css": page(CSS, kind="text/css"),
    "/b.css": page("b { background: url(/c.png) }", kind="text/css"),
    "/a.js": page("1", kind="text/javascript"),
    "/frame": page("<img src=/d.png>"),
    "/a.woff2": page("font", kind="font/woff2"),
    **{f"/{name}.png": page(name, kind="image/png") for name in "abcd"},
    "/a.mp4": page("film", kind="video/mp4"),
    "/favicon.ico": page("icon", kind="image/x-icon"),
}
KINDS = {
    "/a.css": "stylesheet",
    "/b.css": "stylesheet",
    "/a.js": "script",
    "/frame": "frame",
    "/a.woff2": "font",
    **{f"/{name}.png": "image" for name in "abcd"},
    "/a.mp4": "media",
    "/favicon.ico": "image",
}


@pytest.fixture
def site():
    with Server({"/": page(HTML.format(text="some text")), **PARTS}).in_thread() as server:
        yield server


def collected(crawl, *urls, depth=0, **options):
    """Crawl with requisites, and return the kinds of the archived parts, by URL."""
    crawl.seed(*urls, max_depth=depth)
    run_worker(crawl.config("w", requisites=True, **options))
    return {
        record.url: record.resource_type
        for record in records(crawl)
        if record.type in {"response", "revisit"} and record.resource_type
    }


def test_a_second_crawl_of_the_project_archives_again_only_what_changed(crawl, site):
    for path in ("/a.png", "/b.png", "/"):
        site.answers[path] = page(path * 2000, kind="text/html" if path == "/" else "image/png")
    site.answers["/"] = page(HTML.format(text="some text" * 200))
    collected(crawl, f"{site.url}/")
    site.answers["/b.png"] = page("other" * 2000, kind="image/png")
    second = Crawl(crawl.redis, f"{crawl.name}-2", crawl.root)
    collected(second, f"{site.url}/", revisits="project")
    found = {each.url.removeprefix(site.url): each for each in records(second) if each.resource_type}
    assert {path for path, each in found.items() if each.type == "revisit"} == {"/a.png"}
    assert found["/a.png"].revisit.file.startswith(f"warc/{crawl.name}/")
    assert [each.type for each in records(second) if each.url == f"{site.url}/"] == [
        "request",
        "metadata",
        "response",
    ]


def facts(crawl):
    """What the metadata record of the only page says of its parts."""
    (block,) = (record.payload for record in records(crawl) if b"parts: " in record.payload)
    return {key: value for key, value in decode(block)[0].items() if key.startswith(("parts", "refused"))}


def test_a_page_is_archived_with_all_that_its_markup_and_style_sheets_name(crawl, site):
    assert collected(crawl, f"{site.url}/") == {f"{site.url}{path}": kind for path, kind in KINDS.items()}
    assert facts(crawl) == {"parts": "11"}
    assert crawl.stats.outcomes["fetched"] == 1


def test_a_crawl_without_requisites_requests_none(crawl, site):
    crawl.seed(f"{site.url}/", max_depth=0)
    run_worker(crawl.config("w"))
    assert site.paths == Counter({"/robots.txt": 1, "/": 1})


def test_parts_that_pages_share_are_fetched_once(crawl, site):
    site.answers["/2"] = page(HTML.format(text="other text") + "<img src=/e.png>")
    site.answers["/"] = page(HTML.format(text="<a href=/2>2</a>"))
    collected(crawl, f"{site.url}/", depth=1)
    assert crawl.stats.outcomes["fetched"] == 3  # the frame is a link too
    assert {path: n for path, n in site.paths.items() if n != 1} == {"/frame": 2}
    assert site.paths["/e.png"] == 1


def test_robots_txt_applies_to_parts_and_the_rest_is_counted(crawl, site):
    site.answers["/robots.txt"] = page("User-agent: *\nDisallow: /a.", kind="text/plain")
    found = collected(crawl, f"{site.url}/")
    assert sorted(found) == sorted(
        f"{site.url}{path}" for path in ("/frame", "/b.png", "/d.png", "/favicon.ico")
    )
    assert facts(crawl) == {"parts": "4", "refused-robots": "4"}


def test_redirects_are_followed_and_each_hop_is_archived(crawl, site):
    site.answers["/"] = page("<img src=/old.png>")
    site.answers["/old.png"] = redirect("/a.png")
    site.answers["/favicon.ico"] = redirect("/favicon.ico")
    found = collected(crawl, f"{site.url}/")
    assert {f"{site.url}/old.png", f"{site.url}/a.png", f"{site.url}/favicon.ico"} == set(found)
    assert facts(crawl)["refused-too_many_hops"] == "1"


def test_a_redirect_without_a_target_ends_there(crawl, site):
    site.answers["/"] = page("<img src=/old.png>")
    site.answers["/old.png"] = page("", status="301 Moved")
    collected(crawl, f"{site.url}/")
    assert site.paths["/old.png"] == 1


def killed_before_the_page(config):
    """Run a worker that dies when it has archived the third part of a page, and not yet the page."""
    append, count = ArchiveWriter.append, 0

    def append_and_die(self, capture, record_id, **fields):
        nonlocal count
        ref = append(self, capture, record_id, **fields)
        count += bool(fields.get("resource_type"))
        if count == 3:
            self.commit()
            os.kill(os.getpid(), signal.SIGKILL)
        return ref

    ArchiveWriter.append = append_and_die  # type: ignore[method-assign]
    run_worker(config)


@pytest.mark.slow
@pytest.mark.usefixtures("quickly_recovered")
def test_killed_between_a_page_and_its_parts_the_page_is_archived_once_with_all_of_them(crawl, site):
    crawl.seed(f"{site.url}/", max_depth=0)
    dying = FORK.Process(target=killed_before_the_page, args=(crawl.config("dying", requisites=True),))
    dying.start()
    dying.join()
    assert dying.exitcode == -signal.SIGKILL
    crawl.ask(lambda frontier: recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name))
    run_worker(crawl.config("next", requisites=True))
    found = [record for record in records(crawl) if record.type in {"response", "revisit"}]
    assert [record.url for record in found if not record.resource_type].count(f"{site.url}/") == 1
    assert {record.url for record in found if record.resource_type} >= {f"{site.url}{path}" for path in KINDS}
    ids = Counter(record.record_id for record in records(crawl))
    assert {name: count for name, count in ids.items() if count > 1} == {}
    assert crawl.stats.outcomes["fetched"] == 1


def test_parts_lie_one_step_away_from_the_site_and_no_further(crawl, site):
    answers = {
        "/far.css": page("a { background: url(far.png) }", kind="text/css"),
        "/far.png": page("png", kind="image/png"),
        "/far": page("<img src=further.png>"),
    }
    with Server(answers, "127.0.0.2").in_thread() as other:
        site.answers["/"] = page(
            f"<link rel=stylesheet href={other.url}/far.css><iframe src={other.url}/far></iframe>"
        )
        collected(crawl, f"{site.url}/")
    assert other.paths == Counter({"/robots.txt": 1, "/far.css": 1, "/far.png": 1, "/far": 1})
    assert facts(crawl)["refused-off_site"] == "2"  # its picture and its icon


def test_a_page_that_names_many_hosts_reaches_few(crawl, site, monkeypatch):
    monkeypatch.setattr("thresher.crawler.subresources.subresource_fetcher.MAX_EXCHANGES", 12)
    with ExitStack() as stack:
        others = [stack.enter_context(Server({}, f"127.0.1.{n}").in_thread()) for n in range(1, 25)]
        site.answers["/"] = page("".join(f"<img src={other.url}/a.png>" for other in others))
        collected(crawl, f"{site.url}/")
        assert sum(sum(other.paths.values()) for other in others) <= 12
    assert int(facts(crawl)["refused-too_many"]) >= 24 - 6


def test_frames_within_frames_end(crawl, site):
    site.fallback = lambda path: page(f"<iframe src={path}x></iframe>")
    site.answers["/"] = page("<iframe src=/f></iframe>")
    collected(crawl, f"{site.url}/")
    assert {path for path in site.paths if path.startswith("/f")} == {"/f", "/fx", "/favicon.ico"}
    assert facts(crawl)["refused-too_deep"] == "1"


def test_a_part_that_is_too_long_is_archived_in_part_and_counted(crawl, site):
    site.answers["/"] = page("<video src=/a.mp4></video>")
    site.answers["/a.mp4"] = page("x" * 3_000, kind="video/mp4")
    collected(crawl, f"{site.url}/", max_body=1_000)
    assert facts(crawl)["refused-cut"] == "1"


def test_a_missing_part_is_archived_as_it_was_answered(crawl, site):
    site.answers["/"] = page("<img src=/none.png>")
    found = collected(crawl, f"{site.url}/")
    assert f"{site.url}/none.png" in found
    assert "refused-unreachable" not in facts(crawl)


def test_the_host_rests_for_its_parts(crawl, site):
    collected(crawl, f"{site.url}/", min_delay_s=2.0)
    (host,) = crawl.ask(resting)
    assert host.rest.ms > 1_000 * 2.0 * len(PARTS) / 2


async def resting(frontier):
    return [host async for host in frontier.inspection.hosts(is_held=True)]


def test_another_host_hears_of_the_pages_origin_alone_after_a_redirect_too(crawl, site):
    with Server({"/far.png": page("png", kind="image/png")}, "127.0.0.2").in_thread() as other:
        site.answers["/private?token=secret"] = page("<img src=/r>")
        site.answers["/r"] = redirect(f"{other.url}/far.png")
        collected(crawl, f"{site.url}/private?token=secret")
    (raw,) = (raw for raw in other.requests if raw.startswith(b"GET /far.png "))
    assert b"secret" not in raw
    assert b"\r\nReferer: " + site.url.encode() + b"/\r\n" in raw


def drop_first(capture, *_, **__):
    return "mine" if capture.url.endswith("/1") else None


def test_parts_of_a_page_that_is_not_archived_are_archived_with_the_next(crawl, site):
    for path in ("/1", "/2"):
        site.answers[path] = page(f"<link rel=stylesheet href=/a.css><a href=/2>{path}</a>")
    found = collected(crawl, f"{site.url}/1", depth=1, archive_filter=drop_first)
    assert {f"{site.url}/a.css", f"{site.url}/b.css", f"{site.url}/c.png"} <= found.keys()


@pytest.mark.parametrize("lives", [1, 2])
def test_a_page_is_no_revisit_of_a_frame(crawl, site, lives):
    site.answers["/frame"] = page("<p>" + "words of a page that is a frame as well " * 60)
    site.answers["/"] = page("<iframe src=/frame></iframe>")
    collected(crawl, f"{site.url}/", depth=0)
    if lives == 1:
        site.answers["/more"] = page("<iframe src=/frame></iframe><a href=/frame>f</a>")
        crawl.seed(f"{site.url}/more", max_depth=1)
    else:
        crawl.seed(f"{site.url}/frame", max_depth=0)
    run_worker(crawl.config("w2", requisites=True))
    found = [
        (record.type, record.resource_type) for record in records(crawl) if record.url == f"{site.url}/frame"
    ]
    assert ("response", "") in found
    assert ("revisit", "") not in found


def test_browsers_headers_are_sent(crawl, site):
    collected(crawl, f"{site.url}/")
    (raw,) = (raw for raw in site.requests if raw.startswith(b"GET /a.css "))
    assert b"\r\nAccept: text/css,*/*;q=0.1\r\n" in raw
    assert b"\r\nReferer: " + site.url.encode() + b"/\r\n" in raw
