"""The clock of an exchange."""

import asyncio
import time

from crawler.wire.heard import LATE_S, Watch
from crawler.wire.limits import Limits


async def ended(then):
    loop, ends = asyncio.get_running_loop(), []
    watch = Watch(loop, Limits(max_body=1, timeout_s=LATE_S), 60.0, ends.append)
    then(loop, watch)
    await asyncio.sleep(4 * LATE_S)
    watch.end()
    return ends


async def test_who_says_nothing_is_given_up():
    assert await ended(lambda *_: None) == ["first_byte"]


async def test_what_came_while_the_loop_was_busy_is_not_too_late():
    def stall(loop, watch):
        time.sleep(4 * LATE_S)
        loop.call_later(LATE_S, watch.heard, 10_000)

    assert await ended(stall) == []


async def test_a_loop_that_was_busy_puts_it_off_but_once():
    def stall(*_):
        time.sleep(3 * LATE_S)

    assert await ended(stall) == ["first_byte"]
