"""An event loop in a thread of its own, for the client of Common Crawl."""

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from thresher.storage.loop_thread import LoopThread


async def answer(value):
    return value, threading.current_thread().name


def test_the_thread_starts_with_the_first_work_and_serves_all_callers():
    loop = LoopThread("of a test")
    assert "of a test" not in [thread.name for thread in threading.enumerate()]
    futures = [loop.submit(answer(number)) for number in range(3)]
    assert [future.result(10) for future in futures] == [(number, "of a test") for number in range(3)]
    loop.close(nothing)


async def nothing():
    """There is no client to close."""


def test_closing_cancels_what_runs_then_closes_the_client_then_takes_no_work():
    loop, events = LoopThread("of a test"), []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            events.append("cancelled")

    async def close_client():
        events.append("client closed")

    running = loop.submit(work())
    loop.submit(answer(1)).result(10)
    loop.close(close_client)
    assert events == ["cancelled", "client closed"]
    with pytest.raises(CancelledError):
        running.result(10)
    with pytest.raises(ValueError, match="was closed: open a new one"):
        loop.submit(answer(2))
    loop.close(close_client)
    assert events == ["cancelled", "client closed"]


def test_closing_a_loop_that_never_started_does_nothing():
    events = []

    async def close_client():
        events.append("client closed")

    LoopThread("of a test").close(close_client)
    assert events == []
