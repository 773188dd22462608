"""What is under way when a worker is given up ends at once: others may ask the same host from then on."""

import asyncio
from types import SimpleNamespace

from crawler.decode_budget import DecodeBudget
from crawler.lease_handler import LeaseHandler
from crawler.machine.activity import Activity
from crawler.wire import acquire_at_once
from frontier import TakeoverError
from tests.crawler.leases import lease


class Slow:
    """A client whose servers never come to an end."""

    def __init__(self):
        self.asked, self.broken_off = asyncio.Event(), False

    def add_cookies(self, cookies):
        """None are told."""

    async def get(self, url, enter, headers=()):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.broken_off = True


async def test_an_exchange_is_broken_off_when_its_worker_is_given_up():
    client, stopped = Slow(), []
    steward = LeaseHandler(
        crawl="c",
        worker="w",
        client=client,  # type: ignore[arg-type]
        address_limiter=SimpleNamespace(acquire_for=lambda _: acquire_at_once),  # type: ignore[arg-type]
        scheduler=SimpleNamespace(stop=lambda: stopped.append(True)),  # type: ignore[arg-type]
        settler=SimpleNamespace(),  # type: ignore[arg-type]
        archive_filter=None,
        renderer=None,
        activity=Activity.make(),
        decode_budget=DecodeBudget(),
    )
    exchange = asyncio.create_task(steward.exchange(lease()))
    await client.asked.wait()
    error = TakeoverError("not heard of")
    steward.abort(error)
    async with asyncio.timeout(1):
        await exchange
    assert client.broken_off
    assert stopped
    assert steward.error is error
