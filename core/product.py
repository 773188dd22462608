"""The name by which sites speak to us."""

PRODUCT = "thresher"
"""Product token of robots.txt, X-Robots-Tag and <meta> (RFC 9309, section 2.2.1)."""
