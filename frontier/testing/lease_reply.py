"""`told`: what a worker is told of a lease."""

from frontier.lease import Discovery, Lease
from frontier.testing.crawl import Crawl
from frontier.urls.canonical import canonical
from frontier.urls.scope import Scope


def told(crawl: Crawl, token: int, slot: int = 0) -> Lease:
    """Return the lease of a token that is held; `slot` is until when its host was held, 0 for not at all."""
    promise = crawl.promises[token]
    origin = crawl.origins[promise.origin]
    if promise.page is not None:
        found, attempt = promise.page.found, promise.page.attempt
    else:
        url = canonical("/robots.txt", promise.origin)
        found, attempt = Discovery(url=url, scope=Scope(kind="any", anchor="")), origin.attempt
    held = promise.page or origin
    return Lease.of(
        found,
        kind=promise.kind,
        token=token,
        worker=promise.worker,
        deadline_ms=promise.deadline,
        attempt=attempt,
        robots_version=origin.version,
        slot_ms=slot,
        failure=promise.failure,
        orphan=held.died or held.expiries > 0,
    )
