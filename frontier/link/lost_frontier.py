"""The errors for a crawl whose frontier its server has lost."""

from thresher.core import CorruptData

LOST_REPLY_PREFIX = "NOFRONTIER"
"""The beginning of a function's refusal when its partition or its crawl does not exist (`lua/state/clock.lua`)."""


def lost_frontier_error(crawl: str) -> CorruptData:
    """Return the error for a Redis server that does not have the crawl: it is empty, it is another one, or somebody has
    removed the crawl.
    """
    return CorruptData(
        f"crawl {crawl}: its frontier is gone: the Redis server has lost it, or somebody has removed it;"
        f" make it again from the archive with `thresher frontier rebuild {crawl}`"
    )


def stale_frontier_error(crawl: str) -> CorruptData:
    """Return the error for a Redis server that came back with an older state than this process can repair from its
    journal.
    """
    return CorruptData(
        f"crawl {crawl}: its Redis server has restarted and lost more of the frontier than this process can tell it"
        " again; let it sync its append-only file every second (appendfsync everysec), stop all workers, and make the"
        f" frontier again from the archive with `thresher frontier rebuild {crawl}`"
    )
