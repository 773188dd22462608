"""If a worker may have been taken over, its exchanges end at once, because others may request the same hosts from then on."""

import asyncio
from types import SimpleNamespace

from crawler.decode_budget import DecodeBudget
from crawler.lease_handler import LeaseHandler
from crawler.machine.activity import Activity
from crawler.wire import acquire_at_once
from frontier import TakeoverError
from tests.crawler.leases import lease


class Slow:
    """A client whose servers never end their responses."""

    def __init__(self):
        self.asked, self.broken_off = asyncio.Event(), False

    def add_cookies(self, cookies):
        """Do nothing."""

    async def get(self, url, enter, headers=()):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.broken_off = True


async def test_an_exchange_is_aborted_when_its_worker_is_taken_over():
    client, stopped = Slow(), []
    lease_handler = LeaseHandler(
        None,  # type: ignore[arg-type]
        crawl="c",
        worker="w",
        client=client,  # type: ignore[arg-type]
        address_limiter=SimpleNamespace(acquire_for=lambda _: acquire_at_once),  # type: ignore[arg-type]
        scheduler=SimpleNamespace(stop=lambda: stopped.append(True)),  # type: ignore[arg-type]
        queue=SimpleNamespace(),  # type: ignore[arg-type]
        archive_filter=None,
        renderer=None,
        activity=Activity.make(),
        decode_budget=DecodeBudget(),
    )
    exchange = asyncio.create_task(lease_handler.exchange(lease()))
    await client.asked.wait()
    error = TakeoverError("not heard of")
    lease_handler.abort(error)
    async with asyncio.timeout(1):
        await exchange
    assert client.broken_off
    assert stopped
    assert lease_handler.error is error
