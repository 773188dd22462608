"""`status` says in one line who waits for whom."""

import pytest

from thresher.frontier import GateState, Outage, Stats
from thresher.pipeline.reports.status import frontier_line, wait_reason
from thresher.pipeline.terminal.outage_line import outage_line

MIB = 1 << 20


def stats(*, waiting=0, leased=0, held=0):
    return Stats(
        waiting=waiting,
        leased=leased,
        later=0,
        robots=0,
        hosts=1,
        seen=1,
        outcomes={"fetched": 1},
        reasons={},
        held=held,
    )


def flow(backlog, *, shut=False):
    return GateState(follower="p", backlog=backlog, limit=4 * MIB, estimate=backlog, reported_ms=0, shut=shut)


@pytest.mark.parametrize(
    ("waiting", "following", "stalls", "said"),
    [
        (1, None, [], ""),
        (1, flow(0), [], "process for crawl"),
        (0, flow(0), [], ""),
        (1, flow(MIB), [], ""),
        (1, flow(5 * MIB, shut=True), [], "crawl for process (5.0 of 4.0 MiB unprocessed)"),
        (1, flow(5 * MIB, shut=True), [2_000, 61_000], "crawl for storage (2 workers, 61 s)"),
    ],
)
def test_who_waits_for_whom(waiting, following, stalls, said):
    assert wait_reason(stats(waiting=waiting), following, stalls) == said


@pytest.mark.parametrize(
    ("told", "following", "said"),
    [
        ({"waiting": 1, "held": 3}, None, "crawl for hosts (3 held: they did not respond, or asked to wait)"),
        (
            {"waiting": 1, "held": 3},
            flow(0),
            "crawl for hosts (3 held: they did not respond, or asked to wait)",
        ),
        ({"waiting": 1, "held": 3, "leased": 1}, None, ""),
        ({"waiting": 0, "held": 3}, None, ""),
        (
            {"waiting": 1, "held": 3},
            flow(5 * MIB, shut=True),
            "crawl for process (5.0 of 4.0 MiB unprocessed)",
        ),
    ],
)
def test_a_crawl_that_can_ask_nobody_waits_for_the_hosts_that_are_held(told, following, said):
    assert wait_reason(stats(**told), following, []) == said


def test_a_crawl_that_is_kept_from_the_web_says_by_what():
    gone = "no name server answers (192.0.2.53:53)"
    kept = outage_line(
        {
            "v": Outage(why=gone, ms=4_000),
            "w": Outage(why=gone, ms=1_234_567),
            "x": Outage(why="no route", ms=0),
        }
    )
    assert kept == f"{gone}, for 1,235 s, 2 workers; no route, for 0 s"
    assert wait_reason(stats(waiting=1), flow(0), [], kept) == f"crawl for the web ({kept})"
    assert outage_line({}) == ""


def test_what_is_unusual_of_a_frontier_is_one_line():
    usual = {"held": 0, "dead": 0, "tail": 0, "scheduled": 0, "discarded": {}}
    assert frontier_line(usual) == ""
    assert frontier_line(usual | {"held": 2, "dead": 1}) == "2 hosts held; 1 host dead"
    assert (
        frontier_line(usual | {"discarded": {"trap": 5, "host_budget": 9}})
        == "not let in: 9 host_budget, 5 trap"
    )
