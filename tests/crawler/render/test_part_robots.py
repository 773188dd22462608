"""Subresources are fetched if the robots.txt of their own origin allows it, when it is their host's turn."""

import time
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.crawler.conftest import redis  # noqa: F401 - a fixture
from tests.crawler.leases import lease, robots_frontier
from tests.crawler.render.test_rendering import records
from tests.crawler.render.test_tab import shell
from tests.crawler.server import Server, page
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.crawler.reading.outcome import Judgement
from thresher.crawler.robots.robots_txt import (
    CACHE_TTL_MS,
    RobotsCache,
    RobotsFetch,
    RobotsRetry,
    RobotsRuling,
    with_timestamp,
)
from thresher.crawler.subresources.page_lease import BURST, PageLease
from thresher.crawler.subresources.subresource_robots import RETRY_MS, Permission, SubresourceRobots
from thresher.crawler.worker import run_worker
from thresher.frontier import CrawlSettings, Outcome, RobotsRecord, canonicalize

NOW = 1_700_000_000_000
RULES = b"User-agent: *\nDisallow: /private\nCrawl-delay: 7"
ALLOW = RobotsRuling(rule="allow")


class Robots:
    """The robots.txt files of a web, as the frontier has them and as a fetch would return them."""

    def __init__(self, answer=ALLOW, record=None):
        self.answer, self.record, self.asked, self.now = answer, record, [], NOW
        self.rules = SubresourceRobots(self.read, lambda: self.now)

    async def read(self, origin):
        return self.record

    async def fetch(self, url):
        self.asked.append(url.text)
        return self.answer if isinstance(self.answer, str) else RobotsFetch(captures=(), decision=self.answer)

    async def permission(self, url="http://cdn.test/a.js"):
        return await self.rules.permission(canonicalize(url), self.fetch)


def record(rule="rules", body=RULES, read_ms=NOW):
    return RobotsRecord(origin="http://cdn.test", version=1, rule=rule, body=with_timestamp(body, read_ms))


async def test_the_rules_of_another_origin_are_requested_once_and_obeyed():
    robots = Robots(RobotsRuling(rule="rules", body=with_timestamp(RULES, NOW)))
    assert await robots.permission() == Permission(delay_ms=7_000)
    assert await robots.permission("http://cdn.test/private/a.js") == Permission(refusal="robots")
    assert robots.asked == ["http://cdn.test/robots.txt"]
    robots.now += CACHE_TTL_MS
    await robots.permission()
    assert len(robots.asked) == 2


async def test_without_rules_everything_may_be_fetched():
    assert await Robots(ALLOW).permission() == Permission()


async def test_fresh_rules_of_the_frontier_are_not_requested_again():
    robots = Robots(record=record())
    assert await robots.permission("http://cdn.test/private/") == Permission(refusal="robots")
    assert robots.asked == []
    robots.now += CACHE_TTL_MS
    await robots.permission()
    assert len(robots.asked) == 1


@pytest.mark.parametrize("found", [record("allow", b""), record("disallow", b""), None])
async def test_records_of_unknown_age_are_requested_again(found):
    robots = Robots(record=found)
    assert await robots.permission() == Permission()
    assert len(robots.asked) == 1


@pytest.mark.parametrize("answer", [RobotsRetry(retry_after_ms=None), RobotsRuling(rule="disallow")])
async def test_if_rules_cannot_be_fetched_nothing_is_fetched_for_some_minutes(answer):
    robots = Robots(answer)
    for _ in range(2):
        assert await robots.permission() == Permission(refusal="robots_unreachable")
    assert len(robots.asked) == 1
    robots.now, robots.answer = NOW + RETRY_MS, ALLOW
    assert await robots.permission() == Permission()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("not_its_turn", "not_its_turn"),
        (RobotsRuling(rule="disallow", body=b"address_blocked"), "address_blocked"),
    ],
)
async def test_rules_that_one_page_could_not_request_are_requested_for_the_next(answer, why):
    robots = Robots(answer)
    assert await robots.permission() == Permission(refusal=why)
    robots.answer = ALLOW
    assert await robots.permission() == Permission()


async def test_rules_of_many_origins_are_cached_up_to_a_number(monkeypatch):
    monkeypatch.setattr("thresher.crawler.subresources.subresource_robots._MAX_ENTRIES", 2)
    robots = Robots(ALLOW)
    for name in "abca":
        await robots.permission(f"http://{name}.test/")
    assert len(robots.asked) == 4
    assert repr(robots.rules) == "<subresource robots: 2 origins>"


class Turns:
    """A frontier that grants each turn at once, and records the calls."""

    def __init__(self, delay_ms):
        self.crawl = SimpleNamespace(settings=CrawlSettings(min_delay_ms=delay_ms))
        self.told, self.politeness = [], self

    async def reserve_turn(self, host, *, max_wait_ms, delay_ms, since_ms, ahead):
        self.told.append((host, delay_ms, since_ms, ahead))
        return 0

    async def end_turn(self, host, *, delay_ms, has_lease, busy, hold_ms):
        self.told.append(("end", host, delay_ms, has_lease, busy, hold_ms))


def under(frontier, clock, rules=RULES):
    async def read(_):
        return record(body=rules)

    return PageLease(
        lease("http://a.test/page"),
        address_limiter=AddressLimiter(frontier),
        robots_cache=RobotsCache(robots_frontier(read)),
        subresource_robots=SubresourceRobots(read, lambda: NOW),
        clock=clock,
    )


async def test_turns_at_the_pages_own_host_count_from_the_page_itself_and_may_be_a_burst():
    frontier, now = Turns(1_000), 50.0
    held = under(frontier, lambda: now)
    now += 0.4
    await held.reserve_turn("a.test", delay_ms=0, max_wait_ms=9_000, may_burst=True)
    await held.reserve_turn("a.test", delay_ms=7_000, max_wait_ms=9_000, may_burst=False)
    await held.reserve_turn("b.test", delay_ms=0, max_wait_ms=9_000, may_burst=True)
    busy = Judgement(outcome=Outcome.RETRY, reason="status_429", hold_ms=5_000)
    await held.end_turn("a.test", delay_ms=7_000, answer=busy)
    await held.end_turn("b.test", delay_ms=0)
    assert frontier.told == [
        ("a.test", 0, 400, BURST),
        ("a.test", 7_000, 400, 0),
        ("b.test", 0, None, 0),
        ("end", "a.test", 7_000, True, "status_429", 5_000),
        ("end", "b.test", 0, False, "", 0),
    ]


async def test_the_rules_of_the_pages_own_origin_are_those_of_its_lease():
    async def fetch(_):
        raise AssertionError

    held = under(Turns(0), lambda: 0.0)
    assert await held.permission(canonicalize("http://a.test/x"), fetch) == Permission(delay_ms=7_000)
    assert await held.permission(canonicalize("http://a.test/private"), fetch) == Permission(refusal="robots")


def robots_txt(text):
    return page(text, kind="text/plain")


class Asked(Server):
    """A server that records when each path was requested."""

    def __init__(self, answers, address):
        super().__init__(answers, address)
        self.times = []
        self.fallback = self.answer

    def answer(self, path):
        self.times.append(time.monotonic())
        return page("x", "Access-Control-Allow-Origin: *", kind="text/plain")


def flood(server, n):
    calls = "".join(f"fetch('{server.url}/{number}').catch(() => 0);" for number in range(n))
    return shell(f"{calls} document.body.append('done')")


def crawled(crawl, site, other, n, **options):
    site.answers["/"] = flood(other, n)
    crawl.seed(f"{site.url}/", max_depth=0)
    run_worker(crawl.config("w", **{"render": "always", "timeout_s": 30, **options}))
    assert crawl.stats.outcomes["fetched"] == 1
    return noted(crawl)


def noted(crawl):
    notes = [record.payload for record in records(crawl) if record.type == "metadata"]
    (note,) = (payload for payload in notes if payload.startswith(b"rendering: "))
    return dict(line.split(": ", 1) for line in note.decode().splitlines())


@pytest.mark.usefixtures("chromium")
def test_a_host_that_forbids_it_receives_no_request_for_subresources(crawl, site):
    rules = {"/robots.txt": robots_txt("User-agent: *\nDisallow: /\nCrawl-delay: 60")}
    with Asked(rules, "127.0.0.2").in_thread() as other:
        note = crawled(crawl, site, other, 20)
    assert other.paths == Counter({"/robots.txt": 1})
    assert note["refused-robots"] == "20"
    kept = [record for record in records(crawl) if record.url == f"{other.url}/robots.txt"]
    assert {record.resource_type for record in kept if record.type == "response"} == {"other"}


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_subresources_are_requested_at_their_hosts_pace_and_late_ones_are_left_out(crawl, site):
    with Asked({}, "127.0.0.2").in_thread() as other:
        note = crawled(crawl, site, other, 20, min_delay_s=0.8, timeout_s=8)
    gaps = [b - a for a, b in pairwise(other.times)]
    assert 1 <= len(gaps) <= 8
    assert min(gaps) >= 0.8
    assert int(note["refused-not_its_turn"]) + len(other.times) == 20
    assert other.paths["/robots.txt"] == 1


@pytest.mark.usefixtures("chromium")
@pytest.mark.slow
def test_a_crawl_delay_beyond_the_pages_time_leaves_all_subresources_out(crawl, site):
    with Asked(
        {"/robots.txt": robots_txt("User-agent: *\nCrawl-delay: 60")}, "127.0.0.2"
    ).in_thread() as other:
        note = crawled(crawl, site, other, 5)
    assert other.paths == Counter({"/robots.txt": 1})
    assert note["refused-not_its_turn"] == "5"


@pytest.mark.usefixtures("chromium")
def test_a_page_with_many_subresources_of_its_own_host_is_complete_and_its_host_rests_for_all_of_them(crawl):
    with Asked({}, "127.0.0.1").in_thread() as site:
        note = crawled(crawl, site, site, 40, min_delay_s=0.5)
        (host,) = crawl.ask(resting)
        since_s = time.monotonic() - site.times[0]
    assert not [key for key in note if key.startswith("refused")]
    assert len(site.times) == 40
    assert host.rest.ms / 1000 + since_s >= 40 * 0.5


async def resting(frontier):
    return [host async for host in frontier.inspection.hosts(is_held=True)]


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_a_page_gets_one_burst_from_its_own_host_and_then_what_the_delay_allows(crawl):
    with Asked({}, "127.0.0.1").in_thread() as site:
        note = crawled(crawl, site, site, 180, min_delay_s=12.0, timeout_s=40)
    assert BURST <= len(site.times) <= BURST + 4
    assert int(note["refused-not_its_turn"]) == 180 - len(site.times)


@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize("own", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_host_that_answers_429_to_a_subresource_receives_no_more_requests(crawl, site, own):
    busy = page("x", "Retry-After: 60", kind="text/plain", status="429 Too Many Requests")
    with Server({f"/{n}": busy for n in range(20)}, "127.0.0.2").in_thread() as other:
        asked = site if own else other
        asked.answers |= {f"/{n}": busy for n in range(20)}
        note = crawled(crawl, site, asked, 20)
    assert sum(asked.paths[f"/{n}"] for n in range(20)) == 1
    assert note["refused-not_its_turn"] == "19"
