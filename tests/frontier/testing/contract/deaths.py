"""How hosts die: the kinds of faults that they die of, and faults until they are dead."""

from tests.frontier.contract import HOUR
from thresher.frontier import Fault, Outcome
from thresher.frontier.lease import FAULT_DETAILS

KINDS = [
    ("", Fault.TLS, "dead_tls"),
    ("r", Fault.TLS, "dead_tls"),
    *((kind, Fault(kind.partition("_")[0]), f"dead_{kind}") for kind in sorted(FAULT_DETAILS) if "_" in kind),
    *((kind, Fault.CONNECT, f"dead_{kind}") for kind in ("refused", "unreachable")),
]
"""What a server says of a fault, the fault, and the reason of which its host is dead then."""


async def fail_until_dead(worker):
    """Fail pages of the only host until it is dead, and count them."""
    trips = 0
    while not (await worker.stats()).dead:
        await worker.crawl.skip(HOUR + 1)
        (page,) = await worker.pages(1)
        await worker.settle([page], Outcome.FAILED, fault=Fault.CONNECT)
        trips += 1
    return trips
