"""The clock of an exchange."""

import asyncio
import time
from contextlib import suppress

import pytest

from crawler.wire.heard import LATE_S, Watch
from crawler.wire.limits import Limits
from crawler.wire.timeout import at_most


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


async def limited(wait_s):
    """Whether what takes so long is done in time."""
    with suppress(TimeoutError):
        async with at_most(LATE_S):
            asyncio.get_running_loop().call_soon(time.sleep, 3 * LATE_S) if wait_s is None else None
            await asyncio.sleep(LATE_S / 2 if wait_s is None else wait_s)
            await asyncio.sleep(0)
            return True
    return False


@pytest.mark.parametrize(("wait_s", "done"), [(None, True), (0.0, True), (4 * LATE_S, False)])
async def test_a_limit_of_time_is_not_used_up_by_a_busy_loop(wait_s, done):
    assert await limited(wait_s) is done
