"""The User-Agent of a crawl, and the ids of the records that it archives."""

from importlib.metadata import version
from uuid import NAMESPACE_URL, UUID, uuid5

from core.product import PRODUCT_TOKEN


def user_agent(contact: str) -> str:
    """Return `thresher/VERSION (+contact)`."""
    return f"{PRODUCT_TOKEN}/{version(PRODUCT_TOKEN)} (+{contact})"


def record_id(crawl: str, worker: str, token: int, hop: int = 0) -> UUID:
    """Return the id of the response record of a lease: always the same one.

    So the recovery of a dead worker can tell which of its leases are archived already. `hop` counts the redirects that
    led from the leased robots.txt to this response; a page has 0.
    """
    return uuid5(NAMESPACE_URL, f"thresher:{crawl}/{worker}/{token}/{hop}")


def spider_record_id(crawl: str, worker: str, token: int) -> UUID:
    """Return the id of the response record of a page that a user's spider reads (`crawler.spiders`).

    `crawler.replay.replay` does not look for this id. The archive does not have what the spider makes of a page, so a
    page whose worker died is fetched again.
    """
    return record_id(crawl, f"{worker}/guest", token)
