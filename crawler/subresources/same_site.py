"""Which URLs are the same site as a page, and which pages may read a response to a request with credentials. Pure.

1. The site of a URL is its scheme and its registered domain, whatever the port: schemeful same-site, as browsers have
   it (HTML standard, section 7.1.1). An IP address is a site of its own.
2. A response to a request with credentials is for another origin only if the server names that origin and allows
   credentials (Fetch standard, section 4.10): `*` is not enough.
"""

from thresher.core import Url
from thresher.crawler.wire import Headers
from thresher.frontier.urls.scope import registered_domain


def site(url: Url) -> str:
    """Return the site of a URL: `scheme://registered-domain`."""
    return f"{url.origin.partition('://')[0]}://{registered_domain(url.host)}"


def allows_credentialed_read(headers: Headers, origin: str) -> bool:
    """Return whether pages of `origin` may read a response although its request carried credentials."""
    return [_values(headers, name) for name in ("allow-origin", "allow-credentials")] == [[origin], ["true"]]


def _values(headers: Headers, name: str) -> list[str]:
    return [value.strip() for key, value in headers if key.lower() == f"access-control-{name}"]
