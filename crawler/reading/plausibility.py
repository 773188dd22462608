"""`plausible`: whether what a confined process says of a page is something that the page of a lease can come to. Pure.

The page may have taken the process over, and then it is the page that speaks. It may lie about itself: about its
links, its outcome, its notes. It may not

1. name what is no canonical URL: bytes of a URL go into requests to other hosts;
2. name URLs out of the scope of its lease, or ask for a priority, a depth, an interval or a note that its lease does
   not give;
3. make up reasons that cannot be shown, or hold its host for longer than a server may ask for.
"""

from crawler.reading.outcome import LONGEST_WAIT_MS
from crawler.reading.sitemap_discoveries import may_read_sitemap
from frontier import Discovery, InvalidUrl, Lease, Settlement, canonicalize
from storage.warc.dropped import REASON

SKETCHES = 1 << 32


def plausible(lease: Lease, ended: Settlement) -> bool:
    """Return whether a settlement that was said to end the lease may end it. The lease that it names itself does not
    count.
    """
    waits = (ended.retry_after_ms or 0, ended.hold_ms)
    return (
        (not ended.reason or REASON.fullmatch(ended.reason) is not None)
        and ended.has_sent_request
        and 0 <= (ended.sketch or 0) < SKETCHES
        and all(0 <= wait <= LONGEST_WAIT_MS for wait in waits)
        and all(_is_found(lease, each) for each in ended.discoveries)
    )


def _is_found(lease: Lease, found: Discovery) -> bool:
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
