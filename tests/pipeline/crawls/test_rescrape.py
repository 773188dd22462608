"""`thresher rescrape`: archived pages are requested again, once for each capture, and only changed pages are stored."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.crawler.server import Server, links, page
from thresher.core import InputError
from thresher.frontier import Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.pipeline.crawls.rescrape import RescrapePlan, add_rescrapes
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import LineProgress

TOML = """
[project]
contact = "mailto:test@example.org"
[crawler]
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
"""
STAYS = "<html><body>" + "words that stay as they are, " * 100 + "</body></html>"


class Site:
    """Five pages: two whose server knows whether they changed, one whose server does not, one that changes, one that goes."""

    def __init__(self):
        self.server = Server()
        self.version = 1
        self.asked = []
        for path in ("/", "/etag", "/dated", "/plain", "/changes", "/goes", "/new"):
            self.server.answers[path] = self.answer

    async def answer(self, raw, writer):
        head = raw.decode().lower()
        path = raw.split(b" ")[1].decode()
        self.asked.append((path, "if-none-match" in head, "if-modified-since" in head))
        writer.write(self.said(path, head))

    def said(self, path, head):
        match path:
            case "/":
                return links("/etag", "/dated", "/plain", "/changes", "/goes", *["/new"] * (self.version > 1))
            case "/etag" if 'if-none-match: "v1"' in head:
                return b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
            case "/etag":
                return page(STAYS, 'ETag: "v1"')
            case "/dated" if "if-modified-since: sat, 01 nov 2025 00:00:00 gmt" in head:
                return b"HTTP/1.1 304 Not Modified\r\n\r\n"
            case "/dated":
                return page(STAYS + "<p>dated", "Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT")
            case "/changes":
                return page(STAYS + f"<p>version {self.version}", f'ETag: "v{self.version}"')
            case "/goes" if self.version > 1:
                return page("gone", status="404 Not Found")
        return page(STAYS + f"<p>{path}")


@pytest.fixture
def site():
    site = Site()
    with site.server.in_thread():
        yield site


@pytest.fixture
def project(tmp_path, site: Site):
    return crawled(tmp_path, site)


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """A project whose archive is only looked at."""
    site = Site()
    with site.server.in_thread():
        yield crawled(tmp_path_factory.mktemp("archived"), site)


def crawled(directory, site):
    (directory / "thresher.toml").write_text(TOML)
    project = OpenProject.at(directory)
    seed = canonicalize(f"{site.server.url}/")
    asyncio.run(with_frontier(project, lambda frontier: frontier.add([found(seed)])))
    run(project)
    return project


def found(url):
    return Discovery(url=url, scope=Scope.of("host", url))


async def with_frontier(project, question):
    with project.frontier_address() as address:
        link = await connect(address)
        try:
            frontier = Frontier(link, "docs")
            await frontier.open()
            return await question(frontier)
        finally:
            await link.aclose()


async def every_lease(frontier):
    # the host is held by no robots.txt: that of the crawl is still valid
    leases = []
    while more := await frontier.lease(9, worker="w", lease_ms=60_000):
        leases += more
    return leases


def run(project):
    return crawl(project, "docs", CrawlLimits(), LineProgress()).stats


def records(project, kind):
    found = []
    for name in project.store.list("warc/docs/"):
        if name.endswith(".warc.gz"):
            with project.store.open(name) as file:
                found += [
                    (record.rec_headers, record.content_stream().read())
                    for record in ArchiveIterator(file)
                    if record.rec_type == kind
                ]
    return found


def test_unchanged_pages_leave_revisits_and_new_ones_are_followed(project, site: Site):
    site.version = 2
    site.asked.clear()
    assert add_rescrapes(project, RescrapePlan(crawl="docs")).added == 6
    stats = run(project)
    asked = {path: (etag, dated) for path, etag, dated in site.asked}
    assert asked["/etag"] == (True, False)
    assert asked["/dated"] == (False, True)
    assert asked["/plain"] == (False, False)
    assert sorted(path for path, _, _ in site.asked) == [
        "/",
        "/changes",
        "/dated",
        "/etag",
        "/goes",
        "/new",
        "/plain",
    ]
    assert (stats.outcomes["unchanged"], stats.outcomes["gone"]) == (3, 1)
    profiles = {
        headers["WARC-Target-URI"].rpartition("/")[2]: headers["WARC-Profile"].rpartition("/")[2]
        for headers, _ in records(project, "revisit")
    }
    assert profiles == {
        "etag": "server-not-modified",
        "dated": "server-not-modified",
        "plain": "identical-payload-digest",
    }
    assert verify_storage(project.store, LineProgress()).damage == ()


@pytest.mark.slow
def test_a_revisit_refers_to_the_capture_that_has_the_payload_however_often_it_comes(project):
    first = {
        headers["WARC-Target-URI"]: (headers["WARC-Date"], headers["WARC-Record-ID"])
        for headers, _ in records(project, "response")
    }
    for _ in range(2):
        add_rescrapes(project, RescrapePlan(crawl="docs"))
        run(project)
    revisits = [headers for headers, _ in records(project, "revisit")]
    assert len(revisits) == 12
    for headers in revisits:
        assert headers["WARC-Refers-To-Target-URI"] == headers["WARC-Target-URI"]
        assert (headers["WARC-Refers-To-Date"], headers["WARC-Refers-To"]) == first[
            headers["WARC-Target-URI"]
        ]


@pytest.mark.slow
def test_a_capture_is_followed_by_one_rescrape(project, site: Site):
    plan = RescrapePlan(crawl="docs")
    assert add_rescrapes(project, plan).added == 6
    again = add_rescrapes(project, plan)
    assert (again.added, again.known) == (0, 6)
    site.asked.clear()
    run(project)
    assert len(site.asked) == 6
    assert add_rescrapes(project, plan).added == 6


def test_a_page_keeps_the_reach_that_it_has_in_the_crawl(tmp_path):
    """A list without depth is a list again, and new pages are followed no further than the old ones were."""
    chain = {f"/{n}": links(f"/{n + 1}", f"/new{n}") for n in range(4)}
    with Server({path: links(f"/{int(path[1:]) + 1}") for path in chain}).in_thread() as server:
        (tmp_path / "thresher.toml").write_text(TOML)
        project = OpenProject.at(tmp_path)
        seeds = [
            Discovery(
                url=url, scope=Scope.of("prefix", url), max_depth=depth, priority=2, interval_s=interval
            )
            for path, depth, interval in (("/0", 1, 0), ("/3", 0, 86_400))
            for url in [canonicalize(f"{server.url}{path}")]
        ]
        asyncio.run(with_frontier(project, lambda frontier: frontier.add(seeds)))
        run(project)
        assert server.paths.keys() - {"/robots.txt"} == {"/0", "/1", "/3"}
        server.answers.update(chain)
        add_rescrapes(project, RescrapePlan(crawl="docs"))
        assert run(project).scheduled == 1, "the next visit of a page that is visited again and again, once"
        assert server.paths.keys() - {"/robots.txt"} == {"/0", "/1", "/3", "/new0"}
        add_rescrapes(project, RescrapePlan(crawl="docs"))
        reach = {
            lease.url.text.rpartition("/")[2]: (
                lease.scope.kind,
                lease.depth,
                lease.max_depth,
                lease.priority,
            )
            for lease in asyncio.run(with_frontier(project, every_lease))
        }
        assert reach == {
            "0": ("prefix", 0, 1, 2),
            "1": ("prefix", 1, 1, 0),
            "3": ("prefix", 0, 0, 2),
        }


def test_another_scope_and_depth_are_counted_from_each_page(project, site: Site):
    add_rescrapes(project, RescrapePlan(crawl="docs", scope="domain", max_depth=3))
    leases = asyncio.run(with_frontier(project, every_lease))
    assert {(str(lease.scope), lease.depth, lease.max_depth) for lease in leases} == {
        ("domain:127.0.0.1", 0, 3)
    }


@pytest.mark.slow
def test_links_of_pages_that_the_log_does_not_know_are_not_followed(project, site: Site):
    for name in list(project.store.list("log/")):
        project.store.delete(name)
    add_rescrapes(project, RescrapePlan(crawl="docs"))
    assert {lease.max_depth for lease in asyncio.run(with_frontier(project, every_lease))} == {0}


def test_a_budget_takes_those_that_were_captured_longest_ago(archived):
    assert add_rescrapes(archived, RescrapePlan(crawl="docs", budget=2)).pages == 2


def test_only_the_domains_that_are_named_are_asked(archived):
    assert add_rescrapes(archived, RescrapePlan(crawl="docs", domains=("127.0.0.1",))).pages == 6
    with pytest.raises(InputError, match=r"no capture of example.org"):
        add_rescrapes(archived, RescrapePlan(crawl="docs", domains=("example.org",)))


def test_what_was_captured_within_the_age_is_left_as_it_is(archived):
    with pytest.raises(InputError, match="give a smaller --max-age"):
        add_rescrapes(archived, RescrapePlan(crawl="docs", older_than_s=3600))


def test_without_a_yield_there_is_no_report_to_go_by(archived):
    with pytest.raises(InputError, match="process it first"):
        add_rescrapes(archived, RescrapePlan(crawl="docs", from_report=True))


@pytest.mark.slow
def test_what_is_gone_is_not_asked_for_again(project, site: Site):
    site.version = 2
    add_rescrapes(project, RescrapePlan(crawl="docs"))
    run(project)
    site.asked.clear()
    add_rescrapes(project, RescrapePlan(crawl="docs"))
    run(project)
    assert "/goes" not in {path for path, _, _ in site.asked}


def test_a_url_waits_with_what_its_server_said_of_it(archived):
    add_rescrapes(archived, RescrapePlan(crawl="docs"))

    leases = asyncio.run(with_frontier(archived, every_lease))
    told = {lease.url.text.rpartition("/")[2]: lease.state for lease in leases}
    assert told["etag"].etag == '"v1"'
    assert told["dated"].last_modified == "Sat, 01 Nov 2025 00:00:00 GMT"
    dates = {
        headers["WARC-Target-URI"].rpartition("/")[2]: headers["WARC-Date"]
        for headers, _ in records(archived, "response")
    }
    for name, note in told.items():
        assert note.date_ms == round(datetime.fromisoformat(dates[name]).timestamp() * 1000)


@pytest.mark.slow
def test_a_page_behind_a_cookie_gate_is_asked_for_again_though_both_of_its_captures_are_of_one_second(
    tmp_path,
):
    gate = page("", "Location: /", "Set-Cookie: seen=1", status="302 Found")

    async def answer(raw, writer):
        writer.write(page(STAYS) if b"seen=1" in raw else gate)

    with Server({"/": answer}).in_thread() as server:
        (tmp_path / "thresher.toml").write_text(f"{TOML}cookies = true\n")
        project = OpenProject.at(tmp_path)
        url = canonicalize(f"{server.url}/")
        asyncio.run(with_frontier(project, lambda frontier: frontier.add([found(url)])))
        assert run(project).outcomes["fetched"] == 1
        assert add_rescrapes(project, RescrapePlan(crawl="docs")).pages == 1
        run(project)
        assert server.paths["/"] == 4


def test_spellings_of_one_page_are_one_page_to_ask_for_again(tmp_path):
    with Server({"/q?b=1&a=2": page(STAYS), "/q?a=2&b=1": page(STAYS)}).in_thread() as server:
        (tmp_path / "thresher.toml").write_text(f"{TOML}query_order = true\n")
        apart = OpenProject.at(tmp_path)
        urls = [canonicalize(f"{server.url}{path}") for path in ("/q?b=1&a=2", "/q?a=2&b=1")]

        async def add(frontier):
            for generation, url in enumerate(urls):
                await frontier.add([replace(found(url), generation=generation)])

        asyncio.run(with_frontier(apart, add))
        run(apart)
        assert add_rescrapes(apart, RescrapePlan(crawl="docs")).pages == 2
        (tmp_path / "thresher.toml").write_text(TOML)
        assert add_rescrapes(OpenProject.at(tmp_path), RescrapePlan(crawl="docs"), update=True).pages == 1
