"""What workers report, and which of them are alive, in every frontier."""

from tests.frontier.contract import HOUR, MINUTE, SECOND
from thresher.frontier import CrawlFigures, Outage, WorkerFigures, WorkerReport


async def test_a_worker_without_a_heartbeat_in_time_is_not_alive(worker):
    await worker.frontier.workers.send_heartbeat("w", MINUTE, stalled_ms=SECOND)
    await worker.frontier.workers.send_heartbeat("v", HOUR)
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.frontier.workers.alive(["u", "v", "w"]) == {"v", "w"}
    assert await worker.frontier.workers.stalls() == [MINUTE - 1 + SECOND]
    await worker.crawl.skip(2)
    assert await worker.frontier.workers.alive(["u", "v", "w"]) == {"v"}
    assert await worker.frontier.workers.stalls() == []


async def test_a_worker_says_what_keeps_it_from_the_web_for_as_long_as_it_lives(crawl):
    frontier = crawl.frontier
    why = "no name server answers (192.0.2.53:53)"
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why=why, ms=5 * SECOND))
    await frontier.workers.send_heartbeat("v", MINUTE)
    await crawl.skip(SECOND)
    assert await frontier.workers.outages() == {"w": Outage(why=why, ms=6 * SECOND)}
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why="no route", ms=0))
    assert await frontier.workers.outages() == {"w": Outage(why="no route", ms=0)}
    await crawl.skip(MINUTE)
    assert await frontier.workers.outages() == {}
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why=why, ms=0))
    await frontier.workers.send_heartbeat("w", MINUTE)
    assert await frontier.workers.outages() == {}
    await frontier.workers.send_heartbeat("w", MINUTE, outage=Outage(why=why, ms=0))
    await frontier.workers.deregister("w")
    assert await frontier.workers.outages() == {}


def reported(kind="crawler", rss=7, **counters):
    return WorkerReport(kind=kind, rss_bytes=rss, figures=WorkerFigures(**counters))


async def test_sums_of_figures_never_fall_whoever_ends_or_dies(crawl):
    workers = crawl.frontier.workers
    assert await workers.figures() == CrawlFigures()
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=5, store_calls=(1, 0, 2, 0, 0, 0, 0)))
    await workers.send_heartbeat("v", HOUR, report=reported(requests=10**12, politeness_violations=1))
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=8, store_calls=(1, 4, 2, 0, 0, 0, 0)))
    expected = WorkerFigures(requests=10**12 + 8, politeness_violations=1, store_calls=(1, 4, 2, 0, 0, 0, 0))
    both = await workers.figures()
    assert both.sums == {"crawler": expected}
    assert both.workers["w"] == reported(requests=8, store_calls=(1, 4, 2, 0, 0, 0, 0))
    await crawl.skip(2 * MINUTE)  # w is not heard of any more
    assert await workers.figures() == CrawlFigures(
        sums={"crawler": expected}, workers={"v": both.workers["v"]}
    )
    await workers.send_heartbeat("u", MINUTE)  # the heartbeat of another one removes w
    await workers.deregister("v")
    assert await workers.figures() == CrawlFigures(sums={"crawler": expected})
    await workers.send_heartbeat("x", MINUTE, report=reported(requests=1))
    assert (await workers.figures()).sums["crawler"].requests == 10**12 + 9


async def test_a_report_that_comes_late_or_twice_is_counted_once(crawl):
    workers = crawl.frontier.workers
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=5))
    await crawl.skip(2 * MINUTE)
    await workers.send_heartbeat("v", MINUTE)
    for _ in range(2):
        await workers.send_heartbeat("w", MINUTE, report=reported(requests=6))
    assert (await workers.figures()).sums["crawler"].requests == 6


async def test_processors_and_exporters_report_without_a_heartbeat(crawl):
    workers = crawl.frontier.workers
    await workers.report_figures("p", reported("processor", parts=3, cpu_us=9), MINUTE)
    await workers.report_figures("e", reported("exporter", parts=1), HOUR)
    assert await workers.alive(["p", "e"]) == set()
    await crawl.skip(2 * MINUTE)
    found = await workers.figures()
    assert set(found.workers) == {"e"}
    assert found.sums["processor"].parts == 3
    await workers.report_figures("e", reported("exporter", parts=2), HOUR)
    await workers.deregister("e")
    later = await workers.figures()
    assert later.sums == {"processor": found.sums["processor"], "exporter": WorkerFigures(parts=2)}
    assert later.workers == {}
    assert later.progress_ms["exporter"] >= later.progress_ms["processor"]


async def test_progress_is_what_is_stored_and_not_what_is_tried(crawl):
    workers = crawl.frontier.workers
    await workers.send_heartbeat("w", HOUR, report=reported(requests=5, cpu_us=9))
    assert (await workers.figures()).progress_ms == {}
    await workers.send_heartbeat("w", HOUR, report=reported(requests=6, bytes_stored=1))
    first = (await workers.figures()).progress_ms["crawler"]
    await crawl.skip(MINUTE)
    await workers.send_heartbeat("w", HOUR, report=reported(requests=7, bytes_stored=1))
    assert (await workers.figures()).progress_ms["crawler"] == first
    await workers.send_heartbeat("w", HOUR, report=reported(requests=7, bytes_stored=2))
    assert (await workers.figures()).progress_ms["crawler"] >= first


async def test_the_age_of_the_backlog_is_what_its_follower_reports(crawl):
    await crawl.frontier.backlog.report(follower="p", backlog=5, limit=10, oldest_ms=7_000)
    assert (await crawl.frontier.backlog.gate_state()).oldest_ms == 7_000


async def test_a_crawl_that_is_forgotten_has_no_figures(crawl):
    workers = crawl.frontier.workers
    await workers.send_heartbeat("w", MINUTE, report=reported(requests=5))
    await crawl.frontier.crawl.forget()
    await crawl.frontier.crawl.open()
    assert await workers.figures() == CrawlFigures()
