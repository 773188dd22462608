"""Origins of one host that fail or answer, in every frontier."""

from itertools import pairwise

import pytest

from tests.frontier.contract import DAY, HOUR, SECOND
from tests.frontier.testing.contract.deaths import KINDS
from thresher.frontier import Fault, Kind, Outcome

DEAD, GOOD = "http://a.test:9", "http://a.test:8080"


async def fail_robots(worker, fault=Fault.CONNECT, reason=""):
    """Whatever origin's robots.txt is asked for cannot be had, but for the good one; the pages that are granted."""
    pages = []
    for lease in await worker.take(delay=SECOND):
        if lease.kind is Kind.PAGE:
            pages.append(lease)
        elif lease.url.origin == GOOD:
            await worker.allow(lease)
        else:
            await worker.frontier.origins.retry_robots(lease, after_ms=None, fault=fault, reason=reason)
    return pages


@pytest.mark.parametrize(("reason", "fault", "died"), [kind for kind in KINDS if kind[1] is not Fault.DNS])
async def test_an_origin_that_is_given_up_says_so_in_its_record(worker, found, reason, fault, died):
    await worker.frontier.add([found(f"{DEAD}/1"), found(f"{GOOD}/1"), found(f"{GOOD}/2")])
    while (record := await worker.frontier.origins.robots(DEAD)) is None:
        await fail_robots(worker, fault, reason)
        await worker.crawl.skip(HOUR)
    assert (record.rule, record.body) == ("disallow", died.encode())


@pytest.mark.parametrize(
    "fault", [Fault.CONNECT, Fault.TLS, Fault.RESET, Fault.TIMEOUT, Fault.SERVER, Fault.BUSY]
)
async def test_an_origin_that_cannot_be_had_holds_no_other_of_its_host(worker, found, fault):
    await worker.frontier.add([found(f"{origin}/{i}") for i in range(10) for origin in (DEAD, GOOD)])
    done, asked = 0, 0
    for _ in range(14):
        pages = await fail_robots(worker, fault)
        asked += not pages
        assert all(page.url.origin == GOOD for page in pages)
        done += await worker.settle(pages)
        await worker.crawl.skip(SECOND + 1)
    assert (done, asked) == (10, 4)  # the robots.txt of both, and once more nothing was there to be asked
    stats = await worker.stats()
    assert (stats.held, stats.dead, stats.waiting) == (0, 0, 10)


async def test_an_origin_that_never_answers_is_given_up_alone(worker, found):
    everything = [found(f"{origin}/{i}", depth=origin == GOOD) for i in range(10) for origin in (DEAD, GOOD)]
    await worker.frontier.add(everything)
    times = []
    while not (await worker.frontier.origins.robots(DEAD)):
        for lease in await worker.take(delay=SECOND):
            if lease.kind is Kind.PAGE:
                await worker.settle([lease])
            elif lease.url.origin == GOOD:
                await worker.allow(lease)
            else:
                times.append(worker.crawl.clock.now)
                await worker.frontier.origins.retry_robots(lease, after_ms=None, fault=Fault.CONNECT)
        await worker.crawl.skip(SECOND + 1)
    gaps = [late - early for early, late in pairwise(times)]
    assert len(gaps) == 2
    assert 30 * SECOND < gaps[0] <= 32 * SECOND
    assert 60 * SECOND < gaps[1] <= 62 * SECOND
    record = await worker.frontier.origins.robots(DEAD)
    assert (record.rule, record.version) == ("disallow", 1)
    pages = await worker.pages(delay=SECOND)
    assert {page.url.origin for page in pages} == {DEAD}
    stats = await worker.stats()
    assert (stats.held, stats.dead, stats.outcomes["fetched"]) == (0, 0, 10)


async def test_any_number_of_origins_that_are_gone_does_not_bury_the_one_that_answers(worker, found):
    gone = [found(f"http://a.test:{port}/") for port in range(1, 20)]
    await worker.frontier.add([*gone, *(found(f"{GOOD}/{i}", depth=1) for i in range(5))])
    done = 0
    for _ in range(200):
        done += await worker.settle([page for page in await fail_robots(worker) if page.url.origin == GOOD])
        await worker.crawl.skip(SECOND + 1)
    assert done == 5
    assert (await worker.stats()).dead == 0


async def test_a_host_waits_where_all_of_its_origins_rest_and_not_for_what_comes_then(worker, found):
    await worker.frontier.add([found(f"{DEAD}/1"), found("https://a.test/1")])
    assert await fail_robots(worker) == []
    await worker.crawl.skip(SECOND + 1)
    assert await fail_robots(worker) == []
    await worker.crawl.skip(SECOND + 1)
    assert await worker.take(delay=SECOND) == []
    await worker.frontier.add([found(f"{GOOD}/1")])
    (robots,) = await worker.take(delay=SECOND)
    assert robots.url.origin == GOOD
    await worker.allow(robots)
    await worker.crawl.skip(SECOND + 1)
    await worker.settle(await worker.take(delay=SECOND))
    await worker.crawl.skip(28 * SECOND)
    (robots,) = await worker.take(delay=SECOND)
    assert (robots.url.origin != GOOD, robots.attempt) == (True, 1)


async def test_an_origin_that_stops_answering_rests_and_its_host_goes_on(worker, found):
    await worker.frontier.add([found(f"{origin}/{i}") for i in range(20) for origin in (DEAD, GOOD)])
    done, tries = 0, 0
    for _ in range(60):
        for page in await worker.pages(1, delay=SECOND):
            if page.url.origin == GOOD:
                done += await worker.settle([page])
            else:
                tries += 1
                await worker.settle([page], Outcome.RETRY, fault=Fault.CONNECT, reason="refused")
        await worker.crawl.skip(SECOND + 1)
    assert (done, tries) == (20, 2)
    while (record := await worker.frontier.origins.robots(DEAD)).version == 1:
        await worker.crawl.skip(HOUR)
        for page in await worker.take(1, delay=SECOND):
            tries += await worker.settle([page], Outcome.FAILED, fault=Fault.CONNECT, reason="refused")
    assert (record.rule, tries) == ("disallow", 8)
    assert (await worker.stats()).dead == 0


async def test_an_answer_ends_the_faults_of_its_origin(worker, found):
    await worker.frontier.add([found(f"{origin}/{i}") for i in range(20) for origin in (DEAD, GOOD)])
    for _ in range(12):
        for page in await worker.pages(1, delay=SECOND):
            await worker.settle([page], Outcome.RETRY, retry_after_ms=0, fault=Fault.TIMEOUT)
            await worker.crawl.skip(HOUR)
            await worker.settle(await worker.take(1, delay=SECOND))
            await worker.settle(await worker.take(1, delay=SECOND))
            await worker.crawl.skip(HOUR)
    assert (await worker.frontier.origins.robots(DEAD)).rule == "allow"


async def test_a_name_that_leads_nowhere_is_the_hosts_own_fault(worker, found):
    await worker.frontier.add([found(f"{DEAD}/1"), found("https://a.test/1")])
    for _ in range(3):
        (robots,) = await worker.take(delay=SECOND)
        await worker.frontier.origins.retry_robots(robots, after_ms=None, fault=Fault.DNS)
        await worker.crawl.skip(HOUR)
    assert (await worker.stats()).reasons == {"failed:dead_dns": 2}


async def test_a_resumed_host_has_no_origin_that_rests(worker, found):
    await worker.frontier.add([found(f"{DEAD}/1"), found("https://a.test/1")])
    for _ in range(2):
        await fail_robots(worker)
        await worker.crawl.skip(SECOND + 1)
    assert await worker.take(delay=SECOND) == []
    await worker.frontier.operator.resume("a.test")
    assert len(await worker.take(delay=SECOND)) == 1


async def test_origins_that_have_answered_are_named(worker, found):
    frontier = worker.frontier
    assert await frontier.origins.responsive(100) == []
    places = (
        "http://a.test:81/",
        "https://b.test/",
        "http://c.test/",
        "http://d.test/",
        "http://[2001:db8::1]/",
    )
    await frontier.add([found(place) for place in places])
    leases = {lease.url.host: lease for lease in await worker.take()}
    assert await frontier.origins.responsive(100) == []
    given_up = leases.pop("d.test")
    await frontier.origins.settle_robots(given_up, rule="disallow", body=b"x", ttl_ms=DAY, delay_ms=None)
    for lease in leases.values():
        await worker.allow(lease)
    answered = {place.rstrip("/") for place in places} - {"http://d.test"}
    assert set(await frontier.origins.responsive(100)) == answered
    assert set(await frontier.origins.responsive(4)) <= answered
    (page,) = [lease for lease in await worker.take() if lease.url.host == "b.test"]
    await worker.settle([page], Outcome.RETRY, fault=Fault.CONNECT)
    again = await frontier.origins.responsive(100)
    assert (set(again), again[-1]) == (answered, "https://b.test")
