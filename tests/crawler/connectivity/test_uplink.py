"""What a worker does when its own side fails, and when that is over. The test chooses the results of its client and its
probes.
"""

import asyncio

import pytest

from thresher.core import Unavailable
from thresher.crawler.connectivity import uplink as module
from thresher.crawler.connectivity.uplink import TENTATIVE_LEASES, Uplink
from thresher.crawler.wire import FetchFailure, Postponement
from thresher.crawler.wire.network.probes import HostProbe
from thresher.frontier import canonicalize
from thresher.frontier.outage import Outage

URL = canonicalize("http://a.test/")
NO_PROXY = FetchFailure(reason="proxy", detail="the proxy: nobody there", symptom="no_proxy")
NO_NAMES = FetchFailure(reason="dns_timeout", detail="no name server answered", symptom="no_name_server")
SILENT = FetchFailure(reason="timeout_connect", detail="nobody answered", symptom="silent")
REFUSED = FetchFailure(reason="refused", detail="refused", symptom="answered")
DENIED = FetchFailure(reason="dns", detail="no such name", symptom="denied")


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


class Web:
    """A client, and the probes of our own side, with results that the test chooses."""

    def __init__(self, clock):
        self.clock, self.probes, self.resolved_at = clock, self, float("-inf")
        self.answer, self.took_s = REFUSED, 0.0
        self.problem = "no name server answers"
        self.speaks: FetchFailure | str = ""
        self.connects: FetchFailure | str = ""
        self.alive = {}
        self.asked = []
        self.held = asyncio.Event()
        self.held.set()

    async def get(self, url, enter, **_):
        await self.held.wait()
        self.clock.now += self.took_s
        return self.answer

    async def name_server_problem(self):
        self.asked.append("name servers")
        return self.problem

    async def proxy_problem(self, *, must_answer):
        self.asked.append("proxy")
        return self.speaks if must_answer else self.connects

    def route_problem(self, address=""):
        return ""

    async def address(self, url):
        return url.host

    async def probe_host(self, url):
        self.asked.append(url.host)
        return HostProbe(address=url.host, has_answered=self.alive[url.host])

    async def responsive(self, n):
        return [f"http://{host}" for host in self.alive]


class ObservedUplink(Uplink):
    """An uplink with the waits before its probes and the outages that it reports."""

    waits: list[int]
    reports: list[Outage | None]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def web(clock: Clock):
    return Web(clock)


@pytest.fixture
async def made(web: Web, clock: Clock, monkeypatch):
    """Return an uplink whose probes run at once; `waits` are the seconds that it would have waited before each."""
    waits, reports = [], []

    def wait_s(probes):
        waits.append(probes)
        return 0.0

    async def report():
        reports.append(uplink.outage)

    monkeypatch.setattr(module, "probe_delay_s", wait_s)
    uplink = ObservedUplink(web, web.responsive, report, clock=clock)  # type: ignore[arg-type]
    uplink.waits, uplink.reports = waits, reports
    yield uplink
    await uplink.close()


async def turns(count=10):
    for _ in range(count):
        await asyncio.sleep(0)


async def passed(uplink):
    async with asyncio.timeout(5):
        while uplink.outage is not None:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)


async def test_a_failure_of_the_host_is_the_hosts(made, web: Web):
    for answer in (REFUSED, DENIED):
        web.answer = answer
        assert await made.get(URL) is answer
    assert made.outage is None
    assert made.lease_limit(64) == 64


async def test_a_failure_of_our_side_counts_against_nobody_and_stops_the_worker_until_it_is_over(
    made, web, clock
):
    web.answer = web.connects = NO_PROXY
    assert isinstance(await made.get(URL), Postponement)
    clock.now += 7
    assert (made.outage.why, made.outage.ms) == (NO_PROXY.detail, 7_000)
    assert made.lease_limit(64) == 0
    web.connects = ""
    await passed(made)
    assert made.lease_limit(64) == TENTATIVE_LEASES
    assert [outage and outage.why for outage in made.reports] == [NO_PROXY.detail, None]
    web.answer = REFUSED
    clock.now += 1
    await made.get(URL)
    assert made.lease_limit(64) == 64


@pytest.mark.parametrize(
    ("reason", "asked"),
    [("timeout_first_byte", True), ("reset", True), ("timeout_connect", False), ("dns_timeout", False)],
)
async def test_a_host_that_may_have_received_the_request_has_a_delay_though_no_response_came(
    made, web, reason, asked
):
    web.answer = web.connects = NO_PROXY
    await made.get(URL)
    web.answer = FetchFailure(reason=reason, detail="no answer", symptom="silent")
    assert (await made.get(URL)).has_sent_request is asked


async def test_an_exchange_that_overlaps_an_outage_counts_for_nobody_however_it_ends(
    made, web: Web, clock: Clock
):
    web.answer = web.connects = NO_PROXY
    await made.get(URL)
    web.answer = REFUSED
    assert isinstance(await made.get(URL), Postponement)
    web.answer = DENIED
    assert await made.get(URL) is DENIED
    web.answer, web.held = SILENT, asyncio.Event()
    slow = asyncio.create_task(made.get(URL))
    await turns()
    web.connects = ""
    await passed(made)
    clock.now += 60
    web.held.set()
    assert isinstance(await slow, Postponement)


async def test_a_part_that_fails_again_before_any_response_is_probed_with_increasing_delays(made, web, clock):
    for _ in range(3):
        web.answer, web.connects = NO_PROXY, ""
        clock.now += 1
        assert isinstance(await made.get(URL), Postponement)
        await passed(made)
    assert made.waits == [0, 1, 2]
    web.answer = REFUSED
    clock.now += 1
    await made.get(URL)
    web.answer = NO_PROXY
    await made.get(URL)
    await passed(made)
    assert made.waits == [0, 1, 2, 0]


async def test_name_servers_are_checked_once_for_simultaneous_failures(made, web):
    web.answer = NO_NAMES
    found = await asyncio.gather(*(made.get(canonicalize(f"http://host{n}.test/")) for n in range(50)))
    assert all(isinstance(one, Postponement) for one in found)
    assert made.outage.why == web.problem
    assert web.asked[0] == "name servers"


async def test_a_name_server_that_never_worked_does_not_matter_while_hosts_answer(made, web, clock):
    web.alive = {"127.0.0.1": True}
    web.answer = NO_NAMES
    assert await made.get(URL) is NO_NAMES
    assert web.asked == ["name servers", "127.0.0.1"]
    web.resolved_at = clock.now - 60
    assert isinstance(await made.get(URL), Postponement)


async def test_a_silent_host_is_compared_with_others_of_other_domains_that_answered_before(
    made, web: Web, clock: Clock
):
    web.answer, web.took_s = SILENT, 10.0
    web.alive = {"b.test": False, "c.test": False, "d.test": True, "www.a.test": True}
    assert await made.get(URL) is SILENT
    assert set(web.asked) == {"b.test", "c.test", "d.test"}
    clock.now += 60
    web.alive = dict.fromkeys(("b.test", "c.test"), False)
    assert await made.get(URL) is SILENT  # too few hosts to decide
    clock.now += 60
    web.alive["e.test"] = False
    assert isinstance(await made.get(URL), Postponement)


async def test_any_response_ends_an_outage_of_silence(made, web, clock):
    web.answer, web.took_s = SILENT, 10.0
    web.alive = dict.fromkeys(("b.test", "c.test", "d.test"), False)
    assert isinstance(await made.get(URL), Postponement)
    assert made.outage.why == "nobody answers, neither a.test nor 3 others that did before"
    await turns()
    assert made.lease_limit(9) == 0
    web.answer = REFUSED
    await made.get(URL)
    await passed(made)
    assert made.lease_limit(9) == TENTATIVE_LEASES


async def test_a_probe_that_raises_ends_the_crawl(made, web):
    async def broken(*, must_answer):
        raise ZeroDivisionError

    web.answer, web.proxy_problem = NO_PROXY, broken
    await made.get(URL)
    await turns()
    with pytest.raises(ZeroDivisionError):
        made.lease_limit(9)


async def test_a_frontier_that_does_not_answer_does_not_end_the_probes(made, web: Web):
    async def away(n):
        raise Unavailable("away")

    web.answer, web.took_s = SILENT, 10.0
    web.alive = dict.fromkeys(("b.test", "c.test", "d.test"), False)
    await made.get(URL)
    made._responsive = away
    await turns()
    assert made.lease_limit(9) == 0
    made._responsive = lambda n: asyncio.sleep(0, [])
    await passed(made)
