"""How often a worker reads the gate, and when it seals a file that is not full."""

import pytest

from thresher.crawler.gate_monitor import GateMonitor
from thresher.crawler.rotation import Rotation
from thresher.frontier import GateState

PLAIN = Rotation(max_bytes=1 << 30, max_age_ms=3_600_000)
MIB = 1 << 20


def flow(*, shut=False, limit=1 << 40):
    return GateState(follower="p", backlog=0, limit=limit, estimate=0, reported_ms=0, shut=shut)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def asked():
    return []


def gate(asked, told, clock):
    async def ask():
        asked.append(clock())
        return told[0]

    return GateMonitor(ask, clock)


async def test_an_open_gate_always_admits_and_is_read_once_a_second(asked):
    clock = Clock()
    made = gate(asked, [None], clock)
    for _ in range(25):
        assert await made.may_lease()
        clock.now += 0.1
    assert len(asked) == 3


async def test_a_shut_gate_admits_one_call_a_second(asked):
    clock, told = Clock(), [flow(shut=True)]
    made = gate(asked, told, clock)
    assert [await made.may_lease() for _ in range(3)] == [True, False, False]
    assert made.is_shut
    clock.now += 1
    told[0] = flow()
    assert [await made.may_lease() for _ in range(3)] == [True, True, True]
    assert not made.is_shut


@pytest.mark.parametrize(
    ("size", "age_ms", "following", "due"),
    [
        (MIB, 3_599_999, None, False),
        (1 << 30, 0, None, True),
        (1, 3_600_000, None, True),
        (64 * MIB - 1, 59_999, flow(), False),
        (64 * MIB, 0, flow(), True),
        (MIB - 1, 0, flow(limit=8 * MIB), False),
        (MIB, 0, flow(limit=8 * MIB), True),
        (1, 60_000, flow(), True),
        (1, 2_999, flow(shut=True), False),
        (1, 3_000, flow(shut=True), True),
        (64 * MIB, 0, flow(shut=True), True),
    ],
)
def test_a_file_of_a_followed_crawl_is_sealed_sooner(size, age_ms, following, due):
    assert PLAIN.is_due(size=size, age_ms=age_ms, gate_state=following) is due


def test_smaller_limits_hold_in_a_followed_crawl_too():
    small = Rotation(max_bytes=1000, max_age_ms=1000)
    assert small.is_due(size=1000, age_ms=0, gate_state=flow())
    assert small.is_due(size=0, age_ms=1000, gate_state=flow())
