"""What is under way when a worker is given up ends at once: others may ask the same host from then on."""

import asyncio
from types import SimpleNamespace

from crawler.decode_budget import DecodedBytes
from crawler.lease_handler import Steward
from crawler.machine.activity import Activity
from crawler.wire import at_once
from frontier import GivenUp
from tests.crawler.leases import lease


class Slow:
    """A client whose servers never come to an end."""

    def __init__(self):
        self.asked, self.broken_off = asyncio.Event(), False

    def learn(self, cookies):
        """None are told."""

    async def get(self, url, enter, headers=()):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.broken_off = True


async def test_an_exchange_is_broken_off_when_its_worker_is_given_up():
    client, stopped = Slow(), []
    steward = Steward(
        crawl="c",
        worker="w",
        client=client,
        entrance=SimpleNamespace(of=lambda _: at_once),
        loop=SimpleNamespace(stop=lambda: stopped.append(True)),
        settler=SimpleNamespace(),
        screen=None,
        renderer=None,
        activity=Activity.make(),
        decoded=DecodedBytes(),
    )
    exchange = asyncio.create_task(steward.exchange(lease()))
    await client.asked.wait()
    error = GivenUp("not heard of")
    steward.give_up(error)
    async with asyncio.timeout(1):
        await exchange
    assert client.broken_off
    assert stopped
    assert steward.error is error
