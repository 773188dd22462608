"""A request that came before its host's delay was over is counted and logged, whatever planned it."""

import asyncio
import logging
import time

import pytest

from tests.crawler.server import page
from thresher.core import Unavailable
from thresher.crawler.connectivity.politeness_audit import PolitenessAudit
from thresher.crawler.machine.worker_counters import WorkerCounters
from thresher.crawler.wire import SentExchange, WireSettings
from thresher.crawler.wire.client import Client
from thresher.frontier import CrawlSettings, ExchangeCheck, canonicalize
from thresher.frontier.testing import MemoryFrontier

DELAY_MS = 400
EARLY = "politeness violated: 127.0.0.1 was requested"


def now_ms():
    return int(time.monotonic() * 1000)


@pytest.fixture
async def frontier():
    return await MemoryFrontier(clock=now_ms).open(CrawlSettings(min_delay_ms=DELAY_MS))


def sent(started_at, ended_at, *, host="a.test", in_burst=False):
    return SentExchange(
        host=host, started_at=started_at, ended_at=ended_at, requests=1, bytes_received=9, in_burst=in_burst
    )


class Auditor:
    """A worker's audit, and what it counts."""

    def __init__(self, frontier, **more):
        self.counters = WorkerCounters()
        self.audit = PolitenessAudit(frontier, self.counters, **more)

    async def see(self, *exchanges):
        for exchange in exchanges:
            self.audit.add_exchange(exchange)
        await self.audit.report_exchanges()
        return self.counters.politeness_violations


def test_a_worker_that_ignores_its_turn_is_counted_though_no_lease_knows_of_it(crawl, site, caplog):
    """Two real workers' clients, a real server and a real frontier; the second client asks for no turn."""
    site.fallback = lambda _: page("x")
    url = canonicalize(f"{site.url}/")

    async def run(frontier):
        await frontier.crawl.update_settings(CrawlSettings(min_delay_ms=DELAY_MS, min_ip_delay_ms=0))
        polite, rogue = Auditor(frontier), Auditor(frontier)
        for worker, wait_s in ((polite, 0.0), (polite, 0.5), (rogue, 0.1), (polite, 0.5)):
            await asyncio.sleep(wait_s)
            client = Client(
                user_agent="x",
                settings=WireSettings(allow_networks=("127.0.0.0/8",)),
                on_exchange=worker.audit.add_exchange,
            )
            await client.get(url)
            await client.close()
            await worker.audit.report_exchanges()
        return polite.counters.politeness_violations, rogue.counters.politeness_violations

    with caplog.at_level(logging.WARNING):
        assert crawl.ask(run) == (0, 1)
    (line,) = [record.message for record in caplog.records if record.message.startswith(EARLY)]
    assert "its delay is 400 ms" in line


async def test_two_workers_see_each_other(frontier):
    one, other, start = Auditor(frontier), Auditor(frontier), time.monotonic()
    assert await one.see(sent(start, start + 0.1), sent(start, start + 0.1, host="b.test")) == 0
    assert await other.see(sent(start + 0.2, start + 0.3)) == 1
    assert await one.see(sent(start + 0.8, start + 0.9)) == 0


async def test_the_burst_of_a_rendered_page_prolongs_its_exchange(frontier):
    worker, start = Auditor(frontier), time.monotonic()
    burst = [sent(start + 0.1 * n, start + 0.1 * n + 0.05, in_burst=True) for n in range(1, 5)]
    assert await worker.see(sent(start, start + 0.05), *burst) == 0
    assert await worker.see(sent(start + 0.6, start + 0.7)) == 1, "the delay begins at the end of the burst"


async def test_a_crawl_without_a_delay_is_not_checked(frontier):
    await frontier.crawl.update_settings(CrawlSettings(min_delay_ms=0))
    worker, start = Auditor(frontier), time.monotonic()
    assert await worker.see(sent(start, start + 0.1), sent(start, start + 0.1)) == 0
    assert frontier.crawl.last_exchanges == {}


class FailingLink:
    """A frontier whose reply is lost once: the call has arrived."""

    def __init__(self, frontier):
        self.frontier, self.crawl, self.politeness = frontier, frontier.crawl, self
        self.lost = 1
        self.calls = []

    async def check_exchanges(self, clock, exchanges):
        self.calls.append(list(exchanges))
        found = await self.frontier.politeness.check_exchanges(clock, exchanges)
        if exchanges and self.lost:
            self.lost -= 1
            raise Unavailable("gone")
        return found


async def test_a_call_that_is_repeated_repeats_the_same_times(frontier):
    link, start = FailingLink(frontier), time.monotonic()
    worker = Auditor(link)
    with pytest.raises(Unavailable):
        await worker.see(sent(start, start + 0.1))
    assert await worker.see() == 0
    assert link.calls[-1] == link.calls[-2] != []


class RestartedServer(FailingLink):
    """A frontier whose clock changes: it is another life of the server, or an administrator has set it."""

    def __init__(self, frontier):
        super().__init__(frontier)
        self.offset_ms, self.name = 0, "first"

    async def check_exchanges(self, clock, exchanges):
        self.calls.append((clock, list(exchanges)))
        return ExchangeCheck(clock=self.name, now_ms=now_ms() + self.offset_ms)


@pytest.mark.parametrize("name", ["first", "second"])
async def test_a_clock_that_leaps_is_measured_anew(frontier, name):
    server, start = RestartedServer(frontier), time.monotonic()
    worker = Auditor(server)
    await worker.see(sent(start, start + 0.1))
    server.offset_ms, server.name = 100_000, name
    await worker.see(sent(start, start + 0.1))  # notices
    await worker.see(sent(start, start + 0.1))
    clock, (last,) = server.calls[-1]
    assert clock == name
    assert abs(last.started_ms - (start * 1000 + 100_000)) < 1_000


async def test_exchanges_beyond_the_bound_are_dropped_the_oldest_first(frontier):
    worker, start = Auditor(frontier), time.monotonic()
    for number in range(10_001):
        worker.audit.add_exchange(sent(start, start, host=f"{number}.test"))
    await worker.see()
    assert "0.test" not in frontier.crawl.last_exchanges
    assert "10000.test" in frontier.crawl.last_exchanges
