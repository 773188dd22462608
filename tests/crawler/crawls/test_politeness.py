"""How a worker treats hosts and addresses, measured at the server."""

import asyncio
import time
from email.utils import formatdate
from itertools import pairwise

import pytest
from redis import Redis

from tests.crawler.clock_leaps import hurry
from tests.crawler.crawls.test_crawl import web
from tests.crawler.server import links, page, spelled
from thresher.crawler.worker import run_worker
from thresher.frontier import Budget


def noting(site, answer):
    """Send this response for every page. Return the growing list of the request times."""
    times = []

    def note(path):
        times.append(time.monotonic())
        return answer(path)

    site.fallback = note
    site.answers["/robots.txt"] = lambda raw, writer: _robots(times, writer)
    return times


async def _robots(times, writer):
    times.append(time.monotonic())
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def few(count):
    """Let the first page link to `count` others."""
    return lambda path: links(*(f"/{n}" for n in range(1, count + 1)), text=f"page {spelled(path[1:] or 0)}")


def test_hosts_that_share_an_address_are_requested_one_after_the_other(crawl, site, names):
    times = noting(site, few(3))
    names |= {"a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"], "c.test": ["127.0.0.1"]}
    delay = 0.2
    crawl.seed(*(f"http://{name}:{site.port}/" for name in names))
    run_worker(crawl.config("w", min_ip_delay_s=delay))
    assert crawl.stats.outcomes["fetched"] == 12
    assert len(times) == 15
    # A request may be late on its way; none is early.
    assert all(
        times[late] - times[early] >= (late - early - 1) * delay
        for early in range(15)
        for late in range(early, 15)
    )


def test_a_host_is_requested_when_its_delay_is_over_and_hardly_later(crawl, site):
    times = noting(site, few(0))
    crawl.seed(*(f"{site.url}/{n}" for n in range(16)))
    run_worker(crawl.config("w", min_delay_s=0.13))
    late = sorted(two - one - 0.13 for one, two in pairwise(times[1:]))
    assert len(late) == 15
    assert late[0] > -0.005  # the server records when a request came, not when its response was sent
    # A worker that polled every 100 ms would be 70 ms late each time; one that waits is sometimes in time on any machine.
    assert late[1] < 0.045


def test_a_worker_that_waits_for_a_host_seldom_calls_the_frontier(crawl, site):
    noting(site, few(0))
    crawl.seed(f"{site.url}/1", f"{site.url}/2")
    client = Redis.from_url(crawl.redis)

    def calls():
        stats = client.info("commandstats")
        return sum(stats.get(name, {}).get("calls", 0) for name in ("cmdstat_fcall", "cmdstat_fcall_ro"))

    before = calls()
    run_worker(crawl.config("w", min_delay_s=3.0))
    assert len(site.requests) == 3
    # It waits twice for 3 s; three exchanges, the start and the end need some 30 calls.
    assert calls() - before < 90
    client.close()


def test_an_address_is_the_same_however_it_is_written(crawl, site):
    times = noting(site, few(2))
    crawl.seed(f"http://127.0.0.1:{site.port}/", f"http://[::ffff:127.0.0.1]:{site.port}/")
    run_worker(crawl.config("w", min_ip_delay_s=0.2))
    assert len(times) == 8
    assert times[-1] - times[0] >= 6 * 0.2


def test_without_an_address_delay_no_request_waits(crawl, site, names):
    noting(site, few(2))
    names |= {"a.test": ["127.0.0.1"]}
    crawl.seed(f"http://a.test:{site.port}/")
    run_worker(crawl.config("w"))
    client = Redis.from_url(crawl.redis)
    assert not client.exists(f"thresher:{{{crawl.name}:0}}:ips")
    client.close()


@pytest.mark.parametrize(
    ("after", "rests"),
    [
        (lambda: "2", 2.0),
        (lambda: formatdate(time.time() + 3, usegmt=True), 2.0),
        (lambda: formatdate(time.time() - 99, usegmt=True), 1.0),
        (lambda: "0", 1.0),
    ],
    ids=["seconds", "date", "past", "zero"],
)
@pytest.mark.parametrize("status", ["429 Too Many", "503 Busy"])
def test_a_host_rests_as_long_as_its_retry_after_says(crawl, site, status, after, rests):
    busy = []

    def answer(path):
        if not busy:
            busy.append(path)
            return page("later", f"Retry-After: {after()}", status=status)
        return page(spelled(path[1:]))

    times = noting(site, answer)
    crawl.seed(*(f"{site.url}/{n}" for n in range(3)))
    run_worker(crawl.config("w", min_delay_s=0.01))
    assert crawl.stats.outcomes["fetched"] == 3
    assert times[2] - times[1] >= rests


@pytest.mark.parametrize("after", ["99999999999999999999", "Tue, 14 Nov 2133 22:13:20 GMT", "soon", "-5"])
def test_a_host_with_an_absurd_retry_after_rests_long_but_not_for_ever(crawl, site, after):
    answers = iter([page("later", f"Retry-After: {after}", status="429 Too Many")])
    noting(site, lambda path: next(answers, page("here")))
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", max_time_s=1.0))
    assert site.paths["/"] == 1
    assert crawl.stats.held == 1
    with hurry(crawl.redis, crawl.name, ms=600_000):
        run_worker(crawl.config("next", timeout_s=600.0))
    assert crawl.stats.outcomes["fetched"] == 1
    assert crawl.stats.held == 0


def test_a_slow_host_is_requested_slowly(crawl, site):
    took = 0.3

    def slow(path):
        made = few(3)(path)

        async def later(_, writer):
            await asyncio.sleep(took)
            writer.write(made)

        return later

    times = noting(site, slow)
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", min_delay_s=0.01))
    assert len(times) == 5
    pages = times[1:]
    assert all(later - before >= 2.9 * took for before, later in pairwise(pages))


@pytest.mark.parametrize("kind", ["reset", "refused", "dns"])
def test_a_dead_host_with_many_pages_costs_a_few_attempts(crawl, site, names, kind):
    async def hang_up(_, writer):
        writer.close()

    site.answers["/robots.txt"] = hang_up
    base = {"reset": site.url, "refused": "http://127.0.0.9:1", "dns": "http://nowhere.test"}[kind]
    crawl.seed(*(f"{base}/{spelled(n)}" for n in range(500)))
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w"))
    assert crawl.stats.reasons == {f"failed:dead_{kind}": 500}
    assert crawl.stats.dead == 1
    assert site.connections <= 6
    assert len(names.asked) <= 6
    assert (site.connections > 0, len(names.asked) > 0) == (kind == "reset", kind == "dns")


def test_a_closed_port_does_not_stop_another_port_of_its_host(crawl, site):
    noting(site, few(20))
    gone = [f"http://127.0.0.1:{port}/{n}" for port in (1, 9) for n in range(3)]
    crawl.seed(*gone, f"{site.url}/")
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w"))
    stats = crawl.stats
    assert stats.outcomes["fetched"] == 21
    assert stats.reasons == {"failed:dead_refused": 6}
    assert stats.dead == 0


def test_a_robots_txt_that_redirects_costs_a_delay_for_each_request(crawl, site):
    times = noting(site, lambda path: page("here"))

    async def moved(_, writer):
        times.append(time.monotonic())
        writer.write(b"HTTP/1.1 301 Moved\r\nLocation: /rules.txt\r\nContent-Length: 0\r\n\r\n")

    site.answers["/robots.txt"] = moved
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w", min_delay_s=0.3))
    assert len(times) == 3  # robots.txt, where it is, the page
    assert all(two - one >= 0.3 for one, two in pairwise(times))


def test_a_forbidden_page_costs_no_delay(crawl, site):
    site.answers["/robots.txt"] = page("User-agent: *\nDisallow: /x", kind="text/plain")
    site.fallback = few(0)
    crawl.seed(f"{site.url}/", *(f"{site.url}/x/{spelled(n)}" for n in range(50)))
    run_worker(crawl.config("w", min_delay_s=2.0, max_time_s=60))
    assert crawl.stats.reasons == {"refused:robots": 50}
    assert crawl.stats.outcomes["fetched"] == 1


def test_a_site_that_keeps_refusing_is_given_up(crawl, site):
    times = noting(site, lambda path: page("no", status="403 Forbidden"))
    crawl.seed(*(f"{site.url}/{spelled(n)}" for n in range(100)))
    run_worker(crawl.config("w", min_delay_s=0.01, max_time_s=10.0))
    assert len(times) == 9
    assert crawl.stats.held == 1


def test_a_host_that_fails_and_comes_back_is_crawled_whole(crawl, site):
    site.fallback = web(30)
    broken = iter(range(4))
    sound = site.fallback

    async def hang_up(_, writer):
        writer.close()

    site.fallback = lambda path: sound(path) if path == "/0" or next(broken, None) is None else hang_up
    crawl.seed(f"{site.url}/0")
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w"))
    assert crawl.stats.outcomes["fetched"] == 30
    assert crawl.stats.held == crawl.stats.dead == 0


def test_a_budget_bounds_admitted_urls_and_counts_the_others(crawl, site):
    site.fallback = web(200)
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w", budget=Budget(host=25)))
    stats = crawl.stats
    assert stats.is_drained
    assert stats.seen == stats.outcomes["fetched"] == 25
    assert set(stats.discarded) == {"host_budget"}
