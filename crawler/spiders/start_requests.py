"""What a guest's spider begins with goes into the frontier: the work of a process of its own, begun once for a command.

Who begins that process imports this module, and not Scrapy.
"""

import asyncio

from core import ThresherError
from crawler.machine.activity import SupervisorChannel
from crawler.spiders.spider_spec import SpiderSpec
from frontier import Frontier
from frontier.link.connect import connect
from storage.store import Store

BATCH = 1000


def add_start_requests(
    spec: SpiderSpec, crawl: str, redis: str, store: Store, channel: SupervisorChannel
) -> None:
    """Add it all to a crawl that is there. What is wrong is sent to `channel`."""
    try:
        asyncio.run(_add(spec, crawl, redis, store))
    except ThresherError as error:
        channel.send_error(error)


async def _add(guest: SpiderSpec, crawl: str, redis: str, store: Store) -> None:
    from crawler.spiders.start_discoveries import start_discoveries  # noqa: PLC0415 - Scrapy, for guests alone

    link = await connect(redis)
    try:
        frontier = Frontier(link, crawl)
        await frontier.open()
        tail = frontier.tail(store)
        batch = []
        async for found in start_discoveries(guest):
            batch.append(found)
            if len(batch) >= BATCH:
                await frontier.add(batch)
                await tail.spill()
                batch.clear()
        await frontier.add(batch)
        await frontier.crawl.sync()
    finally:
        await link.aclose()
