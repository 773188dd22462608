"""The ids of the records of a lease. Whoever recovers the files of a dead worker can tell by them what is archived."""

from uuid import NAMESPACE_URL, UUID, uuid5


def record_id(crawl: str, worker: str, token: int, hop: int = 0) -> UUID:
    """Return the id of the response record of a lease: always the same for the same worker and fencing token. `hop`
    counts the redirects of a robots.txt; a page has none.
    """
    return uuid5(NAMESPACE_URL, f"thresher:{crawl}/{worker}/{token}/{hop}")


def spider_record_id(crawl: str, worker: str, token: int) -> UUID:
    """Return the id of the response record of a page that a user's spider reads (`crawler.spiders`).

    A recovery does not look for this id: the output of the spider is not in the archive, so a page whose lease a dead
    worker held is fetched again.
    """
    return record_id(crawl, f"{worker}/guest", token)
