"""What is logged of a lease bears a time at which its worker was certainly not given up."""

from types import SimpleNamespace

from crawler.reading.outcome import READING_FAILED
from crawler.reading.page_reading import settlement_for
from crawler.settler import LeaseResult, Settler
from tests.crawler.leases import lease

HOUR = 3_600_000


class Clock:
    """Stands, but for what is told to take its time."""

    def __init__(self):
        self.now_ms = 1_000

    def __call__(self):
        return self.now_ms


async def test_a_line_that_is_written_late_has_the_time_at_which_its_batch_began():
    """Its writer may have stood still, and others asked for the page: their line is the later one."""
    clock, lines = Clock(), []

    async def settle(settlements, **_):
        return len(settlements)

    def stand_still():
        clock.now_ms += HOUR

    settler = Settler(
        SimpleNamespace(appended=0, open_file=None, commit=lambda: None, seal=lambda: None),  # type: ignore[arg-type]
        SimpleNamespace(settle=settle),  # type: ignore[arg-type]
        lambda _: None,
        log=SimpleNamespace(append=lines.append, commit=lambda: None, seal=lambda: None, is_due=False),  # type: ignore[arg-type]
        gate=SimpleNamespace(state=None),  # type: ignore[arg-type]
        heartbeat=SimpleNamespace(check=lambda: None),  # type: ignore[arg-type]
        rotation=SimpleNamespace(),  # type: ignore[arg-type]
        clock_ms=clock,
        before_batch=stand_still,
    )
    settler.add(LeaseResult(lease=lease(), decision=settlement_for(lease(), READING_FAILED)))
    settler.close()
    await settler.run()
    assert [line.time_ms for line in lines] == [1_000]
    assert clock.now_ms == 1_000 + HOUR
