"""`lease_for_token`: the `Lease` that a worker gets for an open lease of the model."""

from frontier.lease import Discovery, Lease
from frontier.testing.crawl import CrawlState
from frontier.urls.canonical import canonicalize
from frontier.urls.scope import Scope


def lease_for_token(crawl: CrawlState, token: int, slot: int = 0) -> Lease:
    """Return the lease of a token that is held; `slot` is until when its host was held, 0 for not at all."""
    promise = crawl.open_leases[token]
    origin = crawl.origins[promise.origin]
    if promise.page is not None:
        found, attempt = promise.page.discovery, promise.page.attempt
    else:
        url = canonicalize("/robots.txt", promise.origin)
        found, attempt = Discovery(url=url, scope=Scope(kind="any", anchor="")), origin.attempt
    held = promise.page or origin
    return Lease.from_discovery(
        found,
        kind=promise.kind,
        token=token,
        worker=promise.worker,
        deadline_ms=promise.deadline,
        attempt=attempt,
        robots_version=origin.version,
        held_until_ms=slot,
        failure=promise.failure,
        is_recovered=held.is_recovered or held.expiries > 0,
    )
