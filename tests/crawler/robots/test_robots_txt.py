"""robots.txt by RFC 9309; the numbers in the names are its sections."""

import asyncio
from types import SimpleNamespace

import pytest

from tests.crawler.flat_settings import wire_client
from tests.crawler.leases import lease, robots_frontier
from tests.crawler.reading.test_page_reading import capture
from tests.crawler.server import Server, page, redirect
from tests.expect import expect
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.crawler.reading.outcome import MAX_WAIT_MS
from thresher.crawler.robots.robots_rules import MAX_ROBOTS_BYTES, parse_rules
from thresher.crawler.robots.robots_txt import (
    ATTEMPTS,
    STALE_MS,
    UNREACHABLE_MS,
    RobotsCache,
    RobotsFetch,
    RobotsRetry,
    RobotsRuling,
    decide_response,
    delay_ms,
    fetch_robots,
    split_timestamp,
    use_stale_rules,
    with_timestamp,
)
from thresher.crawler.wire import Postponement
from thresher.frontier import CrawlSettings, Fault, Kind, RobotsRecord, canonicalize

NOW = 1_700_000_000_000


def rules(text, *headers):
    return page(text, *headers, kind="text/plain")


class AddressTurns:
    """A frontier that returns these waits for addresses, one for each call."""

    def __init__(self, *waits, ip_delay_ms=250, delay_ms=0):
        self.waits, self.asked, self.ended = list(waits), [], []
        self.politeness = self
        self.crawl = SimpleNamespace(
            settings=CrawlSettings(min_ip_delay_ms=ip_delay_ms, min_delay_ms=delay_ms)
        )

    async def acquire_addresses(self, asked):
        self.asked += [(address, lease.held_until_ms) for lease, address in asked]
        return [self._wait() for _ in asked]

    async def reserve_turn(self, host, *, max_wait_ms, delay_ms, since_ms, ahead):
        assert (delay_ms, since_ms, ahead) == (0, None, 0)
        self.asked.append(host)
        return self._wait()

    async def end_turn(self, host, *, delay_ms, has_lease, busy, hold_ms):
        self.ended.append((host, busy, hold_ms) if busy else host)

    def _wait(self):
        return self.waits.pop(0) if self.waits else 0


async def fetched(client, under, turns):
    limiter = AddressLimiter(turns)
    return expect(RobotsFetch, await fetch_robots(client, under, limiter))


async def event(answers, attempt=0, allow=("127.0.0.0/8",), turns=None):
    async with Server(answers).serve() as server:
        client = wire_client("t", max_body=1_000_000, timeout=0.5, allow_networks=tuple(allow))
        try:
            under = lease(server.url + "/robots.txt", kind=Kind.ROBOTS, attempt=attempt)
            limiter = AddressLimiter(turns or AddressTurns(ip_delay_ms=0))  # type: ignore[arg-type]
            return await fetch_robots(client, under, limiter), server
        finally:
            await client.close()


def record(rule="rules", body=b""):
    return RobotsRecord(origin="http://example.org", version=1, rule=rule, body=body)


def ruled(status, body=b"", truncated=None, attempt=0, wait=None):
    under = lease(attempt=attempt)
    return decide_response(under, status=status, body=body, truncated=truncated, retry_after=wait, now_ms=NOW)


async def refused(record, url, version=1):
    async def read(_):
        return record

    page = lease(url, robots_version=version)
    found = (await RobotsCache(robots_frontier(read)).rules(page)).refusal(page.url)
    return found and (str(found.outcome), found.reason)


async def test_rules_are_those_of_the_response():
    found, _ = await event({"/robots.txt": rules("User-agent: *\nDisallow: /private\nCrawl-delay: 2")})
    assert expect(RobotsRuling, found.decision).rule == "rules"
    assert found.decision.delay_ms == 2_000
    assert len(found.captures) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_2_3_1_3_unavailable_means_that_all_is_allowed(status):
    assert ruled(status).rule == "allow"


@pytest.mark.parametrize(
    ("status", "fault"),
    [(429, Fault.BUSY), (500, Fault.SERVER), (503, Fault.BUSY), (599, Fault.SERVER)],
)
def test_2_3_1_4_unreachable_means_retry_and_finally_that_all_is_disallowed(status, fault):
    waits = [ruled(status, attempt=attempt) for attempt in range(ATTEMPTS)]
    assert [type(one) for one in waits] == [RobotsRetry, RobotsRetry, RobotsRuling]
    assert waits[0].retry_after_ms is waits[1].retry_after_ms is None
    assert waits[2].rule == "disallow"
    assert waits[0].fault is fault
    assert ruled(status, wait=5_000).retry_after_ms == 5_000
    assert ruled(status, wait=0).retry_after_ms == 1_000


def test_rules_that_broke_off_are_not_rules():
    assert ruled(200, b"User-agent: *", truncated="disconnect").fault is Fault.RESET
    assert ruled(200, b"User-agent: *", truncated="time").fault is Fault.TIMEOUT
    assert ruled(200, b"User-agent: *", truncated="length").rule == "rules"


async def test_a_robots_txt_without_a_response_is_retried():
    async def silent(_, writer):
        writer.close()

    found, _ = await event({"/robots.txt": silent})
    assert found.decision == RobotsRetry(retry_after_ms=None, fault=Fault.RESET, reason="reset")
    assert found.captures == ()


async def test_the_frontier_gives_up_a_host_that_never_answers():
    async def silent(_, writer):
        writer.close()

    found, _ = await event({"/robots.txt": silent}, attempt=200)
    assert found.decision == RobotsRetry(retry_after_ms=None, fault=Fault.RESET, reason="reset")


async def test_no_request_precedes_the_turn_of_its_address():
    turns = AddressTurns(700)
    found, server = await event({"/robots.txt": rules("")}, turns=turns)
    assert found == Postponement(wait_ms=700)
    assert turns.asked == [("127.0.0.1", 0)]
    assert server.connections == 0


async def test_each_hop_acquires_its_address_and_waits_for_its_turn():
    turns = AddressTurns(0, 20, 0)
    found, _ = await event({"/robots.txt": redirect("/1"), "/1": rules("")}, turns=turns)
    assert len(found.captures) == 2
    assert turns.asked == [("127.0.0.1", 0), ("127.0.0.1", 0), ("127.0.0.1", 1)]


async def test_a_hop_to_another_host_waits_for_its_turn():
    keeper = AddressTurns(10, ip_delay_ms=0, delay_ms=30)
    async with (
        Server({"/r": rules("")}, address="127.0.0.2").serve() as other,
        Server({"/robots.txt": redirect(f"{other.url}/r")}).serve() as server,
    ):
        client = wire_client("t", max_body=1_000_000, timeout=2, allow_networks=("127.0.0.0/8",))
        try:
            under = lease(server.url + "/robots.txt", kind=Kind.ROBOTS)
            found = await fetched(client, under, keeper)
        finally:
            await client.close()
    assert (expect(RobotsRuling, found.decision).rule, len(found.captures)) == ("rules", 2)
    assert keeper.asked == ["127.0.0.2"]
    assert keeper.ended == ["127.0.0.2"]


async def test_a_hop_whose_turn_is_far_away_is_postponed():
    hops = {"/robots.txt": redirect("/1"), "/1": rules("")}
    found, server = await event(hops, turns=AddressTurns(0, 90_000))
    assert found.decision == RobotsRetry(retry_after_ms=90_000, is_failure=False)
    assert len(server.requests) == len(found.captures) == 1


async def test_a_hop_that_our_own_side_lost_is_postponed_and_its_host_has_a_delay():
    keeper = AddressTurns(ip_delay_ms=0, delay_ms=10)

    class Lost:
        """A client whose second request fails."""

        async def get(self, url, *_, **__):
            if url.host == "b.test":
                return Postponement(wait_ms=1_000, has_sent_request=True)
            return capture(b"", ("Location", "http://b.test/robots.txt"), status=301, url=url.text)

    under = lease("http://a.test/robots.txt", kind=Kind.ROBOTS)
    found = await fetched(Lost(), under, keeper)
    assert found.decision == RobotsRetry(retry_after_ms=1_000, is_failure=False)
    assert len(found.captures) == 1
    assert keeper.ended == ["b.test"]


async def test_a_host_that_the_guard_blocks_is_disallowed_at_once():
    found, server = await event({"/robots.txt": rules("")}, allow=())
    ruling = expect(RobotsRuling, found.decision)
    assert (ruling.rule, ruling.body) == ("disallow", b"address_blocked")
    assert server.connections == 0


async def test_2_3_1_2_five_redirects_are_followed_each_with_a_record():
    hops = {f"/{hop}": redirect(f"/{hop + 1}") for hop in range(1, 5)}
    found, server = await event(
        {"/robots.txt": redirect("/1"), **hops, "/5": rules("User-agent: *\nDisallow: /")}
    )
    assert expect(RobotsRuling, found.decision).rule == "rules"
    assert [one.status for one in found.captures] == [301] * 5 + [200]
    assert len(server.requests) == 6


async def test_redirects_elsewhere_are_followed_however_long_the_delay_of_hosts_is(monkeypatch):
    delay_ms, slept, pause = 60_000, [], asyncio.sleep

    async def sleep(seconds):
        if seconds < 1:  # whatever else runs in this process
            await pause(seconds)
        else:
            slept.append(seconds)

    monkeypatch.setattr("thresher.crawler.robots.robots_txt.asyncio.sleep", sleep)
    async with Server({"/third": rules("User-agent: *\nDisallow: /private")}).serve() as server:
        elsewhere = server.url.replace("127.0.0.1", "localhost")
        server.answers["/robots.txt"] = redirect(f"{elsewhere}/second")
        server.answers["/second"] = redirect(f"{elsewhere}/third")
        client = wire_client("t", max_body=1_000_000, timeout=5, allow_networks=("127.0.0.0/8", "::1/128"))
        try:
            under = lease(server.url + "/robots.txt", kind=Kind.ROBOTS)
            waits = (2 * delay_ms, 2 * delay_ms)
            found = await fetched(client, under, AddressTurns(*waits, ip_delay_ms=0, delay_ms=delay_ms))
        finally:
            await client.close()
    assert expect(RobotsRuling, found.decision).rule == "rules"
    assert [capture.status for capture in found.captures] == [301, 301, 200]
    assert slept == [2 * delay_ms / 1000] * 2


async def test_2_3_1_2_more_redirects_mean_that_all_is_allowed():
    found, server = await event({"/robots.txt": redirect("/robots.txt")})
    assert expect(RobotsRuling, found.decision).rule == "allow"
    assert len(server.requests) == 6


async def test_a_redirect_to_a_blocked_address_is_not_followed():
    found, _ = await event({"/robots.txt": redirect("http://10.1.2.3/robots.txt")})
    ruling = expect(RobotsRuling, found.decision)
    assert (ruling.rule, ruling.body) == ("disallow", b"address_blocked")
    assert len(found.captures) == 1


async def test_a_redirect_that_leads_nowhere_means_that_all_is_allowed():
    found, _ = await event({"/robots.txt": redirect("javascript:alert(1)")})
    assert expect(RobotsRuling, found.decision).rule == "allow"


def test_2_5_the_first_500_kib_are_read():
    found = ruled(200, b"User-agent: *\nDisallow: /a\n" + b"#" * MAX_ROBOTS_BYTES + b"\nDisallow: /b\n")
    body, read_ms = split_timestamp(found.body)
    assert (body, read_ms) == (b"user-agent: thresher\ndisallow: /a\n", NOW)


def test_2_5_truncated_rules_lack_the_line_that_was_cut():
    found = ruled(200, b"User-agent: *\nDisallow: /a\nDisallow: /", truncated="length")
    assert split_timestamp(found.body)[0] == b"user-agent: thresher\ndisallow: /a\n"


BUSY = RobotsRetry(retry_after_ms=7_000, fault=Fault.BUSY)
DOWN = RobotsRetry(retry_after_ms=30_000, fault=Fault.SERVER)
KNOWN = with_timestamp(b"User-agent: *\nDisallow: /x\nCrawl-delay: 3", NOW - STALE_MS // 2)


def test_2_3_1_4_if_rules_cannot_be_fetched_again_the_old_rules_hold():
    found = expect(RobotsRuling, use_stale_rules(DOWN, record(body=KNOWN), NOW))
    assert (found.rule, found.body, found.ttl_ms, found.delay_ms) == ("rules", KNOWN, UNREACHABLE_MS, 3_000)
    assert (found.fault, found.hold_ms) == (Fault.SERVER, 0)


def test_a_host_with_known_rules_rests_if_it_asks_for_that():
    assert expect(RobotsRuling, use_stale_rules(BUSY, record(body=KNOWN), NOW)).hold_ms == 7_000
    assert MAX_WAIT_MS <= STALE_MS


@pytest.mark.parametrize(
    "before",
    [
        None,
        record("allow"),
        record("disallow"),
        record(body=b"User-agent: *\nDisallow: /x"),
        record(body=with_timestamp(b"", NOW - STALE_MS)),
        record(body=with_timestamp(b"", NOW + 1)),
    ],
)
def test_2_4_rules_older_than_a_week_or_of_unknown_age_do_not_hold(before):
    assert use_stale_rules(DOWN, before, NOW) is DOWN


def test_a_postponed_fetch_makes_no_rules_stale():
    later = RobotsRetry(retry_after_ms=90_000, is_failure=False)
    assert use_stale_rules(later, record(body=KNOWN), NOW) is later


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("User-agent: *\nDisallow: /private", "/private/x", "robots"),
        ("User-agent: *\nDisallow: /private", "/public", None),
        ("User-agent: thresher\nDisallow:\n\nUser-agent: *\nDisallow: /", "/x", None),
        ("User-agent: Thresher\nDisallow: /x\n\nUser-agent: *\nAllow: /", "/x", "robots"),
        ("User-agent: *\nDisallow: /\nAllow: /ok", "/ok/page", None),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf", "robots"),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x", None),
        ("\ufeffUser-agent: *\nDisallow: /", "/x", "robots"),
        ("User-agent: *\rDisallow: /", "/x", "robots"),
        ("<html>not a robots.txt</html>", "/x", None),
        ("", "/x", None),
    ],
)
async def test_pages_are_judged_by_the_rules(text, path, reason):
    found = await refused(record(body=with_timestamp(text.encode(), 1)), f"http://example.org{path}")
    assert found == (None if reason is None else ("refused", reason))


async def test_a_missing_record_allows_nothing():
    assert await refused(record("rules", b""), "http://example.org/x") == ("failed", "robots_unreachable")


async def test_a_record_without_rules_holds_for_the_whole_origin():
    assert await refused(record("allow"), "http://example.org/x") is None
    assert await refused(record("disallow"), "http://example.org/x") == ("failed", "robots_unreachable")
    for reason in ("address_blocked", "name_blocked", "port_blocked"):
        blocked = record("disallow", reason.encode())
        assert await refused(blocked, "http://example.org/x") == ("refused", reason)


async def test_a_record_is_read_and_parsed_once_for_each_version():
    read = []

    async def reading(origin):
        read.append(origin)
        return record(body=b"User-agent: *\nDisallow: /x")

    book = RobotsCache(robots_frontier(reading))
    for version in (1, 1, 2):
        page = lease("http://example.org/x", robots_version=version)
        assert (await book.rules(page)).refusal(page.url)
    assert len(read) == 2


async def test_the_sitemaps_of_an_origin_are_returned_once():
    async def reading(_):
        return record(body=with_timestamp(b"Sitemap: /s.xml\nSitemap: http://other.org/s", NOW))

    book = RobotsCache(robots_frontier(reading))
    page = lease("http://example.org/x")
    assert (await book.rules(page)).take_sitemaps() == ("/s.xml", "http://other.org/s")
    assert (await book.rules(lease("http://example.org/y"))).take_sitemaps() == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", 500),
        ("3600", 300_000),
        ("-5", None),
        ("0", None),
        ("soon", None),
        ("nan", None),
        ("1e9", 300_000),
    ],
)
def test_a_crawl_delay_is_clamped(text, expected):
    rules = parse_rules(f"User-agent: *\nCrawl-delay: {text}\nDisallow: /x".encode(), "thresher")
    assert delay_ms(rules) == expected


async def test_rules_of_many_hosts_are_cached_up_to_a_size_and_read_again(monkeypatch):
    monkeypatch.setattr("thresher.crawler.robots.robots_txt._MAX_BYTES", 50_000)
    body = with_timestamp(
        parse_rules(
            b"User-agent: *\n" + b"".join(b"Disallow: /*%d\n" % n for n in range(1_000)), "thresher"
        ).body("thresher"),
        NOW,
    )
    read = []

    async def reads(origin):
        read.append(origin)
        return record(body=body)

    book = RobotsCache(robots_frontier(reads))
    for number in range(20):
        rules = await book.rules(lease(f"http://{number}.test/x"))
        assert rules.refusal(canonicalize(f"http://{number}.test/x5")) is not None
        assert rules.refusal(canonicalize(f"http://{number}.test/x")) is None
    assert len(read) == 20, "the newest is kept"
    assert len(book._entries) < 10
    assert book._size <= 50_000
