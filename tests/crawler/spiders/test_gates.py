"""Servers that redirect requests without a cookie, or under another spelling: a worker fetches their pages
nevertheless.
"""

from dataclasses import replace

import pytest

from tests.crawler.reading.test_page_reading import capture
from tests.crawler.server import Server, links, page, redirect
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.frontier import Discovery, Scope, canonicalize
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.archive.record_ids import record_id
from thresher.storage.directory_store import DirectoryStore


def gated(cookie="seen=1; Path=/", way="{path}"):
    """Return a server whose pages need a cookie; other requests are redirected to `way`, which sets it."""

    async def answer(raw, writer):
        path = raw.split(b" ")[1].decode()
        if path.startswith("/gate"):
            back = path.partition("=")[2]
            writer.write(page("", f"Location: {back}", f"Set-Cookie: {cookie}", status="302 Found"))
        elif b"seen=1" in raw.lower():
            writer.write(links("/one", "/two") if path == "/" else page(path))
        else:
            given = () if "/gate" in way else (f"Set-Cookie: {cookie}",)
            writer.write(page("", f"Location: {way.format(path=path)}", *given, status="302 Found"))

    return answer


@pytest.mark.parametrize("way", ["{path}", "/gate?back={path}"])
def test_pages_behind_a_cookie_gate_are_fetched_if_cookies_are_stored(crawl, site, way):
    site.fallback = lambda _: gated(way=way)
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", cookies=True))
    assert crawl.stats.outcomes["fetched"] == 3
    assert crawl.stats.is_drained
    assert site.paths["/"] == 2  # once to receive the cookie, which the requests for the other pages carry
    assert site.paths["/one"] == site.paths["/two"] == 1


@pytest.mark.parametrize("way", ["{path}", "/gate?back={path}"])
def test_without_cookies_the_reason_says_so(crawl, site, way):
    site.fallback = lambda _: gated(way=way)
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert crawl.stats.reasons == {"redirected:needs_cookie": 1}
    assert crawl.stats.is_drained


def test_a_worker_finds_the_cookie_of_another_worker_with_the_url(crawl, site):
    """A cookie that one worker received travels with the URL to another worker, which sends it."""
    site.fallback = lambda _: gated()
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("first", cookies=True, max_requests=2))  # robots.txt, and the gate
    assert dict(crawl.stats.reasons) == {}
    assert crawl.stats.outcomes["redirected"] == 1
    run_worker(crawl.config("second", cookies=True))
    assert (crawl.stats.outcomes["fetched"], crawl.stats.outcomes["redirected"]) == (3, 1)


def test_a_gate_that_never_opens_is_given_up_after_three_requests(crawl, site):
    site.answers["/"] = page("", "Location: /", "Set-Cookie: a=1", status="302 Found")
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", cookies=True))
    assert site.paths["/"] == 3
    assert crawl.stats.reasons == {"redirected:to_itself": 1}


@pytest.mark.parametrize(
    ("linked", "wanted"),
    [("/%7Eann", "/~ann"), ("/q?b=1&a=2", "/q?a=2&b=1"), ("/q?utm_source=x&a=1", "/q?a=1")],
)
def test_a_page_whose_server_wants_another_spelling_is_fetched(crawl, site, linked, wanted):
    site.answers |= {"/": links(linked), linked: redirect(wanted), wanted: page("there")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert (site.paths[linked], site.paths[wanted]) == (1, 1)
    assert crawl.stats.outcomes["fetched"] == 2
    assert crawl.stats.reasons == {}


def test_one_page_under_three_spellings_is_requested_once_in_the_first_spelling(crawl, site):
    spellings = ["/q?b=2&a=%7e", "/q?a=~&b=2", "/q?b=2&a=%7E"]
    site.answers["/"] = links(*spellings)
    site.fallback = page
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert [path for path in site.paths if path.startswith("/q")] == spellings[:1]


def test_every_request_counts_and_the_allowed_number_is_not_exceeded(crawl, site):
    site.answers["/"] = links(*(f"/{number}" for number in range(40)))
    for limit in (8, 20):
        crawl.seed(f"{site.url}/")
        run_worker(crawl.config(f"w{limit}", max_requests=limit))
        assert sum(site.paths.values()) == crawl.stats.requests == limit
    assert crawl.stats.outcomes["gone"] == 18


def test_a_forbidden_page_does_not_count_as_a_request(crawl, site):
    site.answers |= {
        "/robots.txt": page("User-agent: *\nDisallow: /no", kind="text/plain"),
        "/": links(*(f"/no/{number}" for number in range(40)), "/yes"),
        "/yes": page("yes"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", max_requests=3))
    assert sum(site.paths.values()) == crawl.stats.requests == 3
    assert crawl.stats.outcomes["fetched"] == 2


def test_a_list_of_one_template_is_had_whole_and_links_beside_it_are_no_worse_off(crawl, site):
    """Return fifteen hundred listed pages of one template, which all have the same text."""
    with Server(address="127.0.0.2").in_thread() as other:
        other.fallback = lambda path: links("/more", text="<h1>Widget</h1><p>Out of stock.")
        crawl.seed(*(f"{other.url}/item?id={number}" for number in range(300)), max_depth=0, listed=True)
        run_worker(crawl.config("w"))
    assert crawl.stats.outcomes["fetched"] == 300
    assert crawl.stats.reasons == {}


def test_a_sitemaps_pages_are_all_fetched_however_similar_they_are(crawl, site):
    pages = [f"/item?id={number}" for number in range(300)]
    site.answers |= {
        "/robots.txt": page("Sitemap: /sitemap.txt", kind="text/plain"),
        "/sitemap.txt": page("\n".join(site.url + path for path in pages), kind="text/plain"),
    }
    site.fallback = lambda path: links(*pages[:20], text="<h1>Widget</h1><p>Out of stock.")
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert set(pages) <= set(site.paths)
    assert crawl.stats.reasons == {}


async def everybody(workers):
    return workers


def test_a_gates_page_is_recovered_with_the_cookie_that_a_dead_worker_archived(crawl):
    url = canonicalize("http://a.test/")

    async def die(frontier):
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url))])
        (asked,) = await frontier.lease(1, worker="dead", lease_ms=60_000)
        await frontier.origins.settle_robots(asked, rule="allow", body=b"", ttl_ms=60_000, delay_ms=None)
        (held,) = await frontier.lease(1, worker="dead", lease_ms=60_000)
        archive = ArchiveWriter(DirectoryStore(crawl.root), crawl.name, writer="dead", user_agent="t")
        lines = ("Location: /", "Set-Cookie: seen=1")
        head = page("", *lines, status="302 Found")
        made = replace(
            capture(b"", *(tuple(line.split(": ")) for line in lines), status=302, url=url.text),
            request=b"GET / HTTP/1.1\r\n\r\n",
            response=head,
            head_length=len(head),
            peer="127.0.0.1",
        )
        archive.append(made, record_id(crawl.name, "dead", held.token))
        archive.commit()
        archive.seal()
        options = PageOptions(cookies=True)
        assert (
            await recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name, options=options)
            == 1
        )
        (again,) = await frontier.lease(1, worker="w", lease_ms=60_000)
        assert (again.url, again.again) == (url, held.token)
        assert again.state.cookies == (("http://a.test/", "seen=1"),)

    crawl.ask(die)
