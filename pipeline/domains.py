"""`domain_of`: under which registered domain reports count a document."""

from thresher.core import ThresherError
from thresher.frontier import canonicalize
from thresher.frontier.urls.scope import registered_domain

NO_DOMAIN = "(no domain)"
"""Documents whose URL has no host, such as those of ingested files (`file:more.jsonl#line=7`)."""


def domain_of(url: str) -> str:
    """Return the registered domain of a URL, or `NO_DOMAIN` if it is not the URL of a page of the web."""
    try:
        return registered_domain(canonicalize(url).host)
    except (ThresherError, ValueError):
        return NO_DOMAIN
