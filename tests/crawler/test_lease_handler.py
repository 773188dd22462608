"""What a lease handler shows its supervisor, and that its exchanges end at once if its worker may have been taken over: others may
request the same hosts from then on."""

import asyncio
from types import SimpleNamespace

import pytest

from tests.crawler.leases import lease
from thresher.core import Failure
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.lease_handler import LeaseHandler
from thresher.crawler.machine.activity import NO_PAGE, SPIDER, Activity
from thresher.crawler.wire import acquire_at_once
from thresher.frontier import TakeoverError


class Slow:
    """A client whose servers never end their responses."""

    def __init__(self):
        self.asked, self.broken_off = asyncio.Event(), False

    def add_cookies(self, cookies):
        """Do nothing."""

    async def get(self, url, enter, headers=(), session=None):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.broken_off = True


def lease_handler(client=None, scheduler=None, activity=None):
    return LeaseHandler(
        None,  # type: ignore[arg-type]
        crawl="c",
        worker="w",
        client=client,
        address_limiter=SimpleNamespace(acquire_for=lambda _: acquire_at_once),  # type: ignore[arg-type]
        scheduler=scheduler,
        queue=SimpleNamespace(),  # type: ignore[arg-type]
        archive_filter=None,
        renderer=None,
        activity=activity or Activity.make(),
        decode_budget=DecodeBudget(),
    )


@pytest.mark.parametrize("idle", [NO_PAGE, SPIDER])
def test_the_supervisor_sees_which_page_is_read_until_it_is_read_or_its_reading_raises(idle):
    activity = Activity.make()
    activity.page_token = idle
    handler = lease_handler(activity=activity)
    with handler.reading_page(lease(token=7)):
        assert activity.page_token == 7
    assert activity.page_token == idle
    with pytest.raises(Failure), handler.reading_page(lease(token=8)):
        raise ValueError
    assert activity.page_token == idle


async def test_an_exchange_is_aborted_when_its_worker_is_taken_over():
    client, stopped = Slow(), []
    handler = lease_handler(client, SimpleNamespace(stop=lambda: stopped.append(True)))
    exchange = asyncio.create_task(handler.exchange(lease()))
    await client.asked.wait()
    error = TakeoverError("not heard of")
    handler.abort(error)
    async with asyncio.timeout(1):
        await exchange
    assert client.broken_off
    assert stopped
    assert handler.error is error
