"""What is raised where a crawl is no longer in its server that was there."""

from core import CorruptData

LOST_REPLY_PREFIX = "NOFRONTIER"
"""How the refusal of a function begins whose partition, or home, nobody has made (`lua/state/clock.lua`)."""


def lost_frontier_error(crawl: str) -> CorruptData:
    """The Redis server is empty, or another one; or somebody has removed the crawl."""
    return CorruptData(
        f"crawl {crawl}: its frontier is gone: the Redis server has lost it, or somebody has removed it;"
        f" make it again from the archive with `thresher frontier rebuild {crawl}`"
    )


def stale_frontier_error(crawl: str) -> CorruptData:
    """The Redis server came back with a state that is older than what this process remembers to have told it."""
    return CorruptData(
        f"crawl {crawl}: its Redis server has restarted and lost more of the frontier than this process can tell it again;"
        f" let it sync its append-only file every second (appendfsync everysec), stop all workers, and make the frontier"
        f" again from the archive with `thresher frontier rebuild {crawl}`"
    )
