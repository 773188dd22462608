"""Exchanges that are nearer to each other than the delay of their host are seen by every frontier."""

from tests.frontier.contract import MINUTE, SECOND
from thresher.frontier import ExchangeTimes


class Observers:
    """Workers that report exchanges with a host, in milliseconds from now."""

    def __init__(self, crawl):
        self.crawl = crawl

    async def report(self, start, end, host="a.test", delay=SECOND, error=1, clock=None):
        politeness = self.crawl.frontier.politeness
        now = await politeness.check_exchanges("", [])
        times = ExchangeTimes(
            host=host,
            started_ms=now.now_ms + start,
            ended_ms=now.now_ms + end,
            delay_ms=delay,
            error_ms=error,
        )
        checked = await politeness.check_exchanges(clock or now.clock, [times])
        return [(each.host, each.gap_ms, each.delay_ms) for each in checked.violations]


async def test_requests_at_the_delay_are_polite_and_nearer_ones_are_violations(crawl):
    seen = Observers(crawl)
    assert await seen.report(0, 100) == []
    assert await seen.report(1_100, 1_200) == []
    assert await seen.report(1_300, 1_400, host="b.test") == []
    assert await seen.report(1_300, 1_400) == [("a.test", 100, SECOND)]
    assert await seen.report(1_350, 1_500) == [("a.test", -50, SECOND)]


async def test_the_order_of_the_reports_does_not_matter_and_neither_does_a_second_report(crawl):
    seen = Observers(crawl)
    assert await seen.report(500, 600) == []
    assert await seen.report(0, 100) == [("a.test", 400, SECOND)]
    assert await seen.report(500, 600) == []
    assert await seen.report(500, 900) == []  # the same exchange, which went on
    assert await seen.report(1_800, 1_900) == [("a.test", 900, SECOND)]


async def test_the_shorter_delay_counts_and_the_errors_of_both_clocks(crawl):
    seen = Observers(crawl)
    await seen.report(0, 100, delay=10 * SECOND)
    assert await seen.report(1_100, 1_200, delay=SECOND) == []
    assert await seen.report(2_150, 2_200, delay=10 * SECOND, error=49) == []
    assert await seen.report(3_150, 3_200, error=1) == []
    assert await seen.report(4_197, 4_200, error=1) == [("a.test", 997, SECOND)]


async def test_an_exchange_is_watched_until_its_delay_is_long_over(crawl):
    seen = Observers(crawl)
    await seen.report(0, 0, delay=MINUTE)
    await crawl.skip(MINUTE - 1)
    assert await seen.report(-10, -5, delay=MINUTE) == [("a.test", MINUTE - 11, MINUTE)]
    await crawl.skip(3 * MINUTE)
    await seen.report(0, 0, host="b.test")
    assert await seen.report(-3 * MINUTE, -3 * MINUTE, delay=MINUTE) == []


async def test_times_of_another_clock_are_not_checked(crawl):
    seen = Observers(crawl)
    assert await seen.report(0, 100) == []
    assert await seen.report(200, 300, clock="of a server that restarted") == []
    assert await seen.report(1_100, 1_200) == []
