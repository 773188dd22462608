"""`plausible`: whether a settlement from a confined process is one that the page of a lease can have. Pure.

The page may have taken over the process. Then it can lie about itself: about its links, its outcome, and the state of
its next visit, which `frontier.request_state` cuts to its size. It must not

1. name anything but canonical URLs, because bytes of a URL go into requests to other hosts;
2. name URLs out of the scope of its lease, or ask for a priority, a depth or an interval that its lease does not allow;
3. make up reasons that cannot be shown, or hold its host for longer than a server may ask for.
"""

from thresher.crawler.reading.outcome import MAX_WAIT_MS
from thresher.crawler.reading.sitemap_discoveries import may_read_sitemap
from thresher.frontier import Discovery, InvalidUrl, Lease, Settlement, canonicalize
from thresher.storage.warc.dropped import REASON

SKETCHES = 1 << 32


def plausible(lease: Lease, settlement: Settlement) -> bool:
    """Return whether a settlement may end a lease. The lease in the settlement itself is ignored."""
    waits = (settlement.retry_after_ms or 0, settlement.hold_ms)
    return (
        (not settlement.reason or REASON.fullmatch(settlement.reason) is not None)
        and settlement.has_sent_request
        and 0 <= (settlement.sketch or 0) < SKETCHES
        and all(0 <= wait <= MAX_WAIT_MS for wait in waits)
        and all(_is_discovery_of(lease, each) for each in settlement.discoveries)
    )


def _is_discovery_of(lease: Lease, found: Discovery) -> bool:
    is_list = lease.state.is_list or lease.listed
    try:
        is_url = canonicalize(found.url.wire) == found.url
    except InvalidUrl:
        return False
    return (
        is_url
        and found.scope == lease.scope
        and (may_read_sitemap(lease, found.url) if is_list else lease.scope.admits(found.url))
        and lease.depth <= found.depth <= lease.depth + 1
        and found.max_depth == lease.max_depth
        and found.hops <= lease.hops + 1
        and found.priority in {0, lease.priority}
        and found.generation in {0, lease.generation}
        and found.interval_s == lease.interval_s
        and found.again in {0, lease.token}
        and (is_list or not found.listed)
        and not found.notify
        and found.referrer in {lease.url.wire, f"{lease.url.origin}/robots.txt"}
    )
