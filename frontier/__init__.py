"""The frontier: which URLs a crawl knows, which come next, and when their hosts may be asked.

**The life of a URL.** Before anybody adds it, a URL is *unknown*. A seed or a link makes it a `Discovery`; `add` looks up
its fingerprint (`frontier.page_key`), and if that is new, the budgets have room and no trap is suspected (`frontier.urls.novelty`),
it is *waiting*,
in the queue of its host, behind what is nearer to the seeds or has more priority; where too much waits for memory, in
storage (`frontier.verbs.queue_tail`). When its turn comes it is *leased*: promised to one worker until a deadline, under a token
that no other grant ever has. The worker ends the promise with a `Settlement`, once what it fetched is durable, and the URL
is *settled*: fetched, unchanged, redirected (its target was added before), gone, refused or failed. It never becomes
unknown again, so no URL is crawled twice, unless it is asked for anew: by another `generation`, or because it was to be
visited again after an interval, which each visit adapts (`frontier.urls.revisit_interval`). Two ways lead back: a settlement may ask to
try again, and the URL waits until *later*, three attempts in all; and a lease whose worker was not heard of by the
deadline expires, and the URL waits as before. One that outlives five workers' deadlines is failed, for it is likely what
kills them. What no worker settles, because its host was given up or it is not wanted any more, is told until somebody has written
it down (`unlogged`): nothing of it is left here.

**The life of a host.** A host name is born with its first URL. It stands in line with all other hosts of its rank that may
be asked now, the longest waiting first; one that is granted a lease goes to the end. While one exchange with a host that
has a delay is open there is no second, and the next begins no sooner than the delay after the end of the last. Who ends
it is the worker (`release`, when the bytes are in) or the lease's deadline. The delay is the crawl's own, what robots rules
ask for, or twice what the host takes to answer, whichever is slowest. Before the first page of an origin, and again when
the answer has gone stale, its robots.txt is leased like a page (`Kind.ROBOTS`) and its host waits for `settle_robots` or
`retry_robots`. Who asks a host without a lease of it (for a part of a page, along a redirect of a robots.txt) does so in a turn
that is as far from every lease (`turn`, `end_turn`); under the lease of a page its own host gives a burst, which is owed. Hosts that share an IP address share its delay as well (`enter`, `asked`). A host whose exchanges come to nothing, by
`Fault`, is left alone for a while, which doubles, and is then tried with one exchange: any answer makes all well. One that
never answers is given up, and what waited for it has failed. Nobody but the frontier knows about politeness: it holds for
the whole fleet, and after any crash, because it is kept where the queue is kept.

**The gate.** What comes after the crawl may be slower than the crawl. Whoever follows it reports how many archived
bytes are still to be processed (`follow`); what is archived from then on is added by the settlements. Beyond the
follower's limit the gate is shut, and `lease` grants nothing to anybody, until a report says that there is room
again (`Flow`).

**The life of a worker.** It says that it lives (`beat`) before its first lease and several times as often as it must;
who was not heard of for a time is not `alive`, and another may take up what it left, once it has taken over its name
(`take_over`). Should the worker live after all, whatever it asks for under that name is refused (`GivenUp`). One that is kept from the web by a fault on its own side says so with its heartbeat
(`Outage`): it leases nothing and gives back what it has, and the others go on.

**The life of a crawl.** It is made by whoever opens it first, with the settings and the storage that hold for all who come later
(`frontier.settings`). A frontier that was lost is made again by telling it what was settled (`restore`) and what was found; until
that is `complete`, nothing is leased.

Everything lives in Redis or Valkey, one server or a cluster (`frontier.link.link`): a crawl is spread over partitions
(`frontier.link.partition`), and the functions in `lua/` are the only writers, each atomic and of one partition. Time is the
server's (`lua/state/clock.lua`). `server.embedded` runs such a server for one machine; `memory` is the same frontier for one
process, without a server: what is promised, in plain Python.
"""

from frontier.frontier import Frontier
from frontier.gate_state import GateState
from frontier.lease import (
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
from frontier.outage import Outage
from frontier.policy import HostSwitch, UrlPolicy
from frontier.robots_record import RobotsRecord
from frontier.settings import CrawlSettings, StorageId
from frontier.takeover import TakeoverError
from frontier.urls.canonical import InvalidUrl, canonicalize
from frontier.urls.scope import Scope
from frontier.verbs.crawl import crawl_names
from frontier.verbs.inspection import Hold, HostState, UrlState

__all__ = [
    "AddResult",
    "Budget",
    "CrawlSettings",
    "Discovery",
    "Fault",
    "Frontier",
    "FrontierSettlement",
    "GateState",
    "Hold",
    "HostRelease",
    "HostState",
    "HostSwitch",
    "InvalidUrl",
    "Kind",
    "Lease",
    "Leases",
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
    "canonicalize",
    "crawl_names",
]
