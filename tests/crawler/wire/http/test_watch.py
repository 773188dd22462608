"""The clock of an exchange."""

import asyncio
import time
from contextlib import suppress

import pytest

from thresher.crawler.wire.http.exchange import STALL_S, ExchangeTimer
from thresher.crawler.wire.limits import Limits
from thresher.crawler.wire.network.timeout import time_limit


class Loop:
    """The timers of an event loop, and a clock that stands. Due timers run in `turn`, not in
    `busy`.
    """

    def __init__(self):
        self.now, self.timers = 0.0, []

    def time(self):
        return self.now

    def call_at(self, when, callback, *args):
        timer = asyncio.TimerHandle(when, callback, args, self)  # type: ignore[arg-type]
        self.timers.append(timer)
        return timer

    def call_later(self, wait_s, callback, *args):
        return self.call_at(self.now + wait_s, callback, *args)

    def get_debug(self):
        return False

    def _timer_handle_cancelled(self, timer):
        """asyncio calls it on its loop; does nothing."""

    def busy(self, for_s):
        self.now += for_s

    def turn(self, for_s):
        until = self.now + for_s
        while due := [timer for timer in self.timers if timer.when() <= until and not timer.cancelled()]:
            timer = min(due)
            self.timers.remove(timer)
            self.now = max(self.now, timer.when())
            timer._run()
        self.now = until


def ended(then):
    loop, ends = Loop(), []
    watch = ExchangeTimer(loop, Limits(max_body=1, timeout_s=STALL_S), 60.0, ends.append)  # type: ignore[arg-type]
    then(loop, watch)
    loop.turn(3.5 * STALL_S)
    watch.cancel()
    return ends


def test_a_silent_server_times_out():
    assert ended(lambda *_: None) == ["first_byte"]


def test_bytes_that_came_while_the_loop_was_busy_are_in_time():
    def stall(loop, watch):
        loop.busy(4 * STALL_S)
        loop.call_later(STALL_S, watch.add_bytes, 10_000)

    assert ended(stall) == []


def test_a_busy_loop_postpones_the_check_only_once():
    assert ended(lambda loop, _: loop.busy(3 * STALL_S)) == ["first_byte"]


async def limited(wait_s):
    """Return whether a task of this length is done in time."""
    with suppress(TimeoutError):
        async with time_limit(STALL_S):
            asyncio.get_running_loop().call_soon(time.sleep, 3 * STALL_S) if wait_s is None else None
            await asyncio.sleep(STALL_S / 2 if wait_s is None else wait_s)
            await asyncio.sleep(0)
            return True
    return False


@pytest.mark.parametrize(("wait_s", "done"), [(None, True), (0.0, True), (4 * STALL_S, False)])
async def test_a_limit_of_time_is_not_used_up_by_a_busy_loop(wait_s, done):
    assert await limited(wait_s) is done
