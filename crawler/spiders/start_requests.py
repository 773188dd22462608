"""Add the start requests of a spider to the frontier. A process of its own does this once for a command.

The parent process imports this module, and does not import Scrapy.
"""

import asyncio

from thresher.core import ThresherError
from thresher.crawler.machine.activity import SupervisorChannel
from thresher.crawler.spiders.spider_spec import SpiderSpec
from thresher.frontier import Frontier
from thresher.frontier.link.connect import connect
from thresher.storage.store import Store

BATCH = 1000


def add_start_requests(
    spec: SpiderSpec, crawl: str, redis: str, store: Store, channel: SupervisorChannel
) -> None:
    """Add all start requests to an existing crawl. Send an error to `channel`."""
    try:
        asyncio.run(_add(spec, crawl, redis, store))
    except ThresherError as error:
        channel.send_error(error)


async def _add(spec: SpiderSpec, crawl: str, redis: str, store: Store) -> None:
    from thresher.crawler.spiders.start_discoveries import start_discoveries  # noqa: PLC0415 - only spiders need Scrapy

    link = await connect(redis)
    try:
        frontier = Frontier(link, crawl)
        await frontier.open()
        tail = frontier.tail(store)
        batch = []
        async for found in start_discoveries(spec):
            batch.append(found)
            if len(batch) >= BATCH:
                await frontier.add(batch)
                await tail.spill()
                batch.clear()
        await frontier.add(batch)
        await frontier.crawl.sync()
    finally:
        await link.aclose()
