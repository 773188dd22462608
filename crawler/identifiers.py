"""What the crawler calls itself, and what it calls the records it makes."""

from importlib.metadata import version
from uuid import NAMESPACE_URL, UUID, uuid5

from core.product import PRODUCT_TOKEN


def user_agent(contact: str) -> str:
    """`thresher/VERSION (+contact)`."""
    return f"{PRODUCT_TOKEN}/{version(PRODUCT_TOKEN)} (+{contact})"


def record_id(crawl: str, worker: str, token: int, hop: int = 0) -> UUID:
    """Return the id of the response record that a lease yields: always the same one.

    So a worker that takes up what a dead one left can tell which leases are archived already. `hop` counts the
    redirects that a robots.txt was followed through; a page has none.
    """
    return uuid5(NAMESPACE_URL, f"thresher:{crawl}/{worker}/{token}/{hop}")


def spider_record_id(crawl: str, worker: str, token: int) -> UUID:
    """Return the id of the response record of a page that a user's spider reads (`crawler.spiders`).

    It is none that `crawler.replay.replay` looks for: what the spider makes of a page is not in the archive, so a
    page whose lease a dead worker held is fetched again.
    """
    return record_id(crawl, f"{worker}/guest", token)
