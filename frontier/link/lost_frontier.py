"""The errors for a crawl whose frontier was in its server and is lost."""

from core import CorruptData

LOST_REPLY_PREFIX = "NOFRONTIER"
"""The beginning of a function's refusal when nobody has made its partition or home (`lua/state/clock.lua`)."""


def lost_frontier_error(crawl: str) -> CorruptData:
    """Return the error for a Redis server that is empty or another one, or from which somebody has
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
