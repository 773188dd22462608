"""What a user's spider begins with is added to its crawl's frontier, before the crawl has any worker.

The spider's code runs in a process of its own, as it does in the workers, so nothing of it is in the process that watches
them. Known URLs change nothing: a crawl that is run again goes on.
"""

import asyncio
from multiprocessing.connection import Connection

from core import ThresherError
from crawler.guest import Guest
from crawler.guest.start import starts
from frontier import Budget, Frontier
from frontier.connect import connect
from pipeline.berth import LocalBerth, told
from pipeline.project import Project
from pipeline.seed import BATCH
from storage.store import Store


def sow(project: Project, crawl: str, address: str, guest: Guest) -> None:
    """Add them all; returns when they are in. Raises what is wrong with the spider, as an `InputError`."""
    left = LocalBerth(told(_begin, guest, crawl, address, project.budget, project.store)).wait()
    if left.said is not None:
        raise left.said
    if left.exitcode:
        raise ThresherError(
            f"crawl {crawl}: the process that starts spider {guest.spider} died with exit code {left.exitcode}"
        )


def _begin(
    guest: Guest, crawl: str, address: str, budget: Budget, store: Store, complaint: Connection
) -> None:
    try:
        asyncio.run(_add(guest, crawl, address, budget, store))
    except ThresherError as error:
        complaint.send(error)


async def _add(guest: Guest, crawl: str, address: str, budget: Budget, store: Store) -> None:
    link = await connect(address)
    try:
        frontier = Frontier(link, crawl, budget=budget)
        await frontier.open()
        tail = frontier.tail(store)
        batch = []
        async for found in starts(guest):
            batch.append(found)
            if len(batch) >= BATCH:
                await frontier.add(batch)
                await tail.spill()
                batch.clear()
        await frontier.add(batch)
    finally:
        await link.aclose()
