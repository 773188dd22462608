"""The line of a lease has a time at which its worker was certainly alive."""

from types import SimpleNamespace

from tests.crawler.leases import lease
from thresher.crawler.lease_result import LeaseResult, settlement_for
from thresher.crawler.reading.outcome import READING_FAILED
from thresher.crawler.scheduling.lease_queue import LeaseQueue
from thresher.crawler.settler import Settler

HOUR = 3_600_000


class Clock:
    """A clock that stands, unless the test moves it."""

    def __init__(self):
        self.now_ms = 1_000

    def __call__(self):
        return self.now_ms


async def test_a_line_that_is_written_late_has_the_time_at_which_its_batch_began():
    """Its writer may have slept while others fetched the page: their line must be the later one."""
    clock, lines = Clock(), []

    async def settle(settlements, **_):
        return len(settlements)

    def stand_still():
        clock.now_ms += HOUR

    queue = LeaseQueue()
    queue.open_leases([lease()], slots=1)
    settler = Settler(
        SimpleNamespace(appended=0, open_file=None, commit=lambda: None, seal=lambda: None),  # type: ignore[arg-type]
        SimpleNamespace(settle=settle),  # type: ignore[arg-type]
        queue,
        log=SimpleNamespace(append=lines.append, commit=lambda: None, seal=lambda: None, is_due=False),  # type: ignore[arg-type]
        gate=SimpleNamespace(state=None),  # type: ignore[arg-type]
        heartbeat=SimpleNamespace(check=lambda: None),  # type: ignore[arg-type]
        rotation=SimpleNamespace(),  # type: ignore[arg-type]
        clock_ms=clock,
        before_batch=stand_still,
    )
    queue.add_result(LeaseResult(lease=lease(), decision=settlement_for(lease(), READING_FAILED)))
    queue.finish()
    await settler.run()
    assert [line.time_ms for line in lines] == [1_000]
    assert not len(queue)
    assert clock.now_ms == 1_000 + HOUR
