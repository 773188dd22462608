"""Who waits for whom, as one line."""

import pytest

from frontier import Flow, Stats
from pipeline.status import waits

MIB = 1 << 20


def stats(*, waiting=0):
    return Stats(
        waiting=waiting, leased=0, later=0, robots=0, hosts=1, seen=1, outcomes={"fetched": 1}, reasons={}
    )


def flow(backlog, *, shut=False):
    return Flow(follower="p", backlog=backlog, limit=4 * MIB, estimate=backlog, reported_ms=0, shut=shut)


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
    assert waits(stats(waiting=waiting), following, stalls) == said
