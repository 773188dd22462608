"""The name by which sites address this crawler."""

PRODUCT_TOKEN = "thresher"  # noqa: S105 - the token of a User-Agent
"""Product token of robots.txt, X-Robots-Tag and <meta> (RFC 9309, section 2.2.1)."""
