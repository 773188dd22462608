"""What the crawler calls itself in its requests."""

from importlib.metadata import version

from thresher.core.product import PRODUCT_TOKEN


def user_agent(contact: str) -> str:
    """Return `thresher/VERSION (+contact)`."""
    return f"{PRODUCT_TOKEN}/{version(PRODUCT_TOKEN)} (+{contact})"
