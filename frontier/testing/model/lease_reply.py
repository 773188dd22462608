"""`lease_for_token`: the `Lease` that a worker gets for an open lease of the model."""

from thresher.frontier.lease import Discovery, Lease
from thresher.frontier.testing.model.crawl_state import CrawlState
from thresher.frontier.urls.canonical import canonicalize
from thresher.frontier.urls.scope import Scope


def lease_for_token(crawl: CrawlState, token: int, slot: int = 0) -> Lease:
    """Return the lease of a token that is held; `slot` is until when its host was held, 0 for not at all."""
    open_lease = crawl.open_leases[token]
    origin = crawl.origins[open_lease.origin]
    if open_lease.page is not None:
        found, attempt = open_lease.page.discovery, open_lease.page.attempt
    else:
        url = canonicalize("/robots.txt", open_lease.origin)
        found, attempt = Discovery(url=url, scope=Scope(kind="any", anchor="")), origin.attempt
    subject = open_lease.page or origin
    return Lease.from_discovery(
        found,
        kind=open_lease.kind,
        token=token,
        worker=open_lease.worker,
        deadline_ms=open_lease.deadline,
        attempt=attempt,
        robots_version=origin.version,
        held_until_ms=slot,
        failure=open_lease.failure,
        is_recovered=subject.is_recovered or subject.expiries > 0,
    )
