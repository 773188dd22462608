"""The frontier: which URLs a crawl knows, which come next, and when their hosts may be asked.

**The life of a URL.** A URL is *unknown* until somebody adds it. A seed or a link makes it a `Discovery`. `add` looks
up its fingerprint (`frontier.page_key`). If the fingerprint is new, the budgets have room and no trap is suspected
(`frontier.urls.novelty`), the URL is *waiting* in the queue of its host, behind the URLs that are nearer to the seeds
or have more priority. If too many URLs wait for memory, some wait in storage (`frontier.verbs.queue_tail`). When its
turn comes, the URL is *leased*: promised to one worker until a deadline, under a token that no other grant ever has.
The worker ends the lease with a `Settlement` once the page that it fetched is durable, and the URL is *settled*:
fetched, unchanged, redirected (its target was added before), gone, refused or failed. A settled URL never becomes
unknown again, so no URL is crawled twice, unless somebody asks for it anew: by another `generation`, or because it has
an interval after which it is visited again and which each visit adapts (`frontier.urls.revisit_interval`). Two ways
lead back to the queue. A settlement may ask to try again; then the URL waits until *later*, three attempts in all. And
a lease expires if its worker sends no heartbeat or renewal by the deadline; then the URL waits as before. A URL that
outlives five workers' deadlines fails, because it is likely what kills them. Some URLs are settled without a worker,
because their host was given up or they are not wanted any more; the frontier reports these until somebody has written
them to a log (`unlogged_batch`).

**The life of a host.** A host name enters with its first URL. It stands in line with all other hosts of its rank that
may be asked now, the longest waiting first; a host that is granted a lease goes to the end. A host with a delay has at
most one request under way, and the next starts no sooner than the delay after the end of the last. The worker ends a
request (`release`, when the bytes are in), or else the lease's deadline does. The delay is the crawl's own, the delay
that robots rules ask for, or twice the time that the host takes to answer, whichever is longest. Before the first page
of an origin, and again when the answer is stale, the frontier leases its robots.txt like a page (`Kind.ROBOTS`), and
the host waits for `settle_robots` or `retry_robots` (`origins`). A worker that asks a host without a lease of it (for a
part of a page, or along a redirect of a robots.txt) does so in a turn that is as far from every lease (`reserve_turn`,
`end_turn`). Under the lease of a page, the page's own host allows a burst of such requests, and their delays are paid
afterwards. Hosts that share an IP address share its delay as well (`acquire_address`, `restart_address_delays`). A host
whose requests fail with a `Fault` is left alone for a time, which doubles, and is then tried with one request: any
answer ends its trouble. A host that never answers is given up, and the URLs that waited for it fail. Politeness is the
frontier's alone: it holds for the whole fleet and after any crash, because it is kept where the queue is kept.

**The gate.** Processing may be slower than the crawl. Whoever follows the crawl reports how many archived bytes are
still to be processed (`backlog.report`); settlements add the bytes that are archived from then on. Above the follower's
limit the gate is shut, and `lease` grants nothing to anybody until a report says that there is room again
(`GateState`).

**The life of a worker.** A worker sends a heartbeat (`workers.send_heartbeat`) before its first lease and several times
as often as it must. A worker without a heartbeat in time is not `workers.alive`, and another may recover its work once
it has taken over its name (`workers.take_over`). If the first worker lives after all, everything that it asks for under
that name is refused (`TakeoverError`). A worker that a fault on its own side keeps from the web says so with its
heartbeat (`Outage`): it leases nothing and gives back its leases, and the others go on. With its heartbeat a worker
also reports its figures (`frontier.worker_figures`), whose sums never fall. And it reports when its requests truly were
(`politeness.check_exchanges`): the frontier counts every one that came before its host's delay was over, whatever
planned it.

**The life of a crawl.** The first to open a crawl makes it, with the settings and the storage that hold for all who
come later (`frontier.crawl_settings`). A frontier that was lost is made again (`rebuild`) by telling it which URLs were
settled (`restore`) and which were found; nothing is leased until that is finished.

`Frontier` adds, leases and settles URLs, and has one client each for the rest: `crawl` (the crawl as a whole),
`politeness` (turns of hosts and addresses), `origins` (robots.txt), `workers`, `backlog`, `rebuild`, `operator` (hold,
resume, prefer, drop), `inspection` (hosts, find) and `fleet` (what runs on which machine). Everything lives in Redis or
Valkey, on one server or a cluster (`frontier.link.call`). A crawl is spread over partitions
(`frontier.link.partition`), and the functions in `lua/` are the only writers, each atomic and of one partition. Time is
the server's (`lua/state/clock.lua`). `link.embedded` runs such a server for one machine. `testing.MemoryFrontier` is
the same frontier for one process, without a server: its promises in plain Python.
"""

if __name__ != "thresher.frontier":
    raise ImportError("import thresher.frontier: `frontier` is its folder in a checkout")

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.frontier.crawl_frontier import Frontier
    from thresher.frontier.crawl_settings import CrawlSettings, StorageId
    from thresher.frontier.exchange_times import ExchangeCheck, ExchangeTimes, Violation
    from thresher.frontier.fleet_state import FleetState, Member, Wanted
    from thresher.frontier.gate_state import GateState
    from thresher.frontier.lease import (
        AddResult,
        Budget,
        Discovery,
        Fault,
        FrontierSettlement,
        HostRelease,
        Kind,
        Lease,
        Leases,
        Outcome,
        Rank,
        RestoredPage,
        Settlement,
        Stats,
        UnloggedBatch,
    )
    from thresher.frontier.outage import Outage
    from thresher.frontier.policy import HostSwitch, UrlPolicy
    from thresher.frontier.robots_record import RobotsRecord
    from thresher.frontier.takeover import TakeoverError
    from thresher.frontier.urls.canonical import InvalidUrl, canonicalize
    from thresher.frontier.urls.scope import Scope
    from thresher.frontier.verbs.crawl import crawl_names
    from thresher.frontier.verbs.inspection import Hold, HostPage, HostState, UrlState
    from thresher.frontier.worker_figures import CrawlFigures, WorkerFigures, WorkerKind, WorkerReport

__all__ = [
    "AddResult",
    "Budget",
    "CrawlFigures",
    "CrawlSettings",
    "Discovery",
    "ExchangeCheck",
    "ExchangeTimes",
    "Fault",
    "FleetState",
    "Frontier",
    "FrontierSettlement",
    "GateState",
    "Hold",
    "HostPage",
    "HostRelease",
    "HostState",
    "HostSwitch",
    "InvalidUrl",
    "Kind",
    "Lease",
    "Leases",
    "Member",
    "Outage",
    "Outcome",
    "Rank",
    "RestoredPage",
    "RobotsRecord",
    "Scope",
    "Settlement",
    "Stats",
    "StorageId",
    "TakeoverError",
    "UnloggedBatch",
    "UrlPolicy",
    "UrlState",
    "Violation",
    "Wanted",
    "WorkerFigures",
    "WorkerKind",
    "WorkerReport",
    "canonicalize",
    "crawl_names",
]

_MODULES = {
    "Frontier": "thresher.frontier.crawl_frontier",
    **dict.fromkeys(("CrawlSettings", "StorageId"), "thresher.frontier.crawl_settings"),
    **dict.fromkeys(("ExchangeCheck", "ExchangeTimes", "Violation"), "thresher.frontier.exchange_times"),
    **dict.fromkeys(("FleetState", "Member", "Wanted"), "thresher.frontier.fleet_state"),
    "GateState": "thresher.frontier.gate_state",
    **dict.fromkeys(
        (
            "AddResult",
            "Budget",
            "Discovery",
            "Fault",
            "FrontierSettlement",
            "HostRelease",
            "Kind",
            "Lease",
            "Leases",
            "Outcome",
            "Rank",
            "RestoredPage",
            "Settlement",
            "Stats",
            "UnloggedBatch",
        ),
        "thresher.frontier.lease",
    ),
    "Outage": "thresher.frontier.outage",
    **dict.fromkeys(("HostSwitch", "UrlPolicy"), "thresher.frontier.policy"),
    "RobotsRecord": "thresher.frontier.robots_record",
    "TakeoverError": "thresher.frontier.takeover",
    **dict.fromkeys(("InvalidUrl", "canonicalize"), "thresher.frontier.urls.canonical"),
    "Scope": "thresher.frontier.urls.scope",
    "crawl_names": "thresher.frontier.verbs.crawl",
    **dict.fromkeys(("Hold", "HostPage", "HostState", "UrlState"), "thresher.frontier.verbs.inspection"),
    **dict.fromkeys(
        ("CrawlFigures", "WorkerFigures", "WorkerKind", "WorkerReport"), "thresher.frontier.worker_figures"
    ),
}
"""The module of each name. A module is imported when one of its names is used, because the configuration needs few of
them, and commands that do not touch the frontier none.
"""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
