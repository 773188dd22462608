"""The frontier: which URLs a crawl knows, which come next, and when their hosts may be asked.

**The life of a URL.** Before anybody adds it, a URL is *unknown*. A seed or a link makes it a `Discovery`;
`add` looks it up by its canonical text, and if it is new it is *waiting*, in the queue of its host, behind
what is nearer to the seeds or has more priority. When its turn comes it is *leased*: promised to one worker
until a deadline, under a token that no other grant ever has. The worker ends the promise with a `Settlement`,
once what it fetched is durable, and the URL is *settled*: fetched, redirected (its target was added by the
same settlement), refused or failed. It never becomes unknown again, so no URL is crawled twice. Two ways
lead back: a settlement may ask to try again, and the URL waits until *later*, three attempts in all; and a
lease whose worker was not heard of by the deadline expires, and the URL waits as before. One that outlives
five workers' deadlines is failed, for it is likely what kills them.

**The life of a host.** A host name is born with its first URL. It stands in line with all other hosts that
may be asked now, the longest waiting first; one that is granted a lease goes to the end. While one exchange
with a host that has a delay is open there is no second, and the next begins no sooner than the delay after
the end of the last. Who ends it is the worker (`release`, when the bytes are in) or the lease's deadline.
The delay is the crawl's own or what robots rules ask for, the slower of the two. Before the first page of an
origin, and again when the answer has gone stale, its robots.txt is leased like a page (`Kind.ROBOTS`) and
its host waits for `settle_robots` or `retry_robots`. Nobody but the frontier knows about politeness: it
holds for the whole fleet, because there is one line for all.

**The gate.** What comes after the crawl may be slower than the crawl. Whoever follows it reports how many archived
bytes are still to be processed (`follow`); what is archived from then on is added by the settlements. Beyond the
follower's limit the gate is shut, and `lease` grants nothing to anybody, until a report says that there is room
again (`Flow`).

**The life of a worker.** It says that it lives (`beat`) before its first lease and several times as often as it must;
who was not heard of for a time is not `alive`, and another may take up what it left. Should it live after all, its
tokens are worth nothing any more.

Everything lives in one Redis or Valkey; `lua/` is the only writer, one atomic function a verb, and
the server's clock is the only clock. `server.embedded` runs such a server for one machine.
"""

from frontier.canonical import NotAUrl, canonical
from frontier.flow import Flow
from frontier.frontier import Frontier
from frontier.lease import (
    Added,
    Budget,
    Discovery,
    Exchange,
    Fault,
    Kind,
    Lease,
    Outcome,
    Rank,
    Settlement,
    Stats,
)
from frontier.robots import RobotsRecord
from frontier.scope import Scope

__all__ = [
    "Added",
    "Budget",
    "Discovery",
    "Exchange",
    "Fault",
    "Flow",
    "Frontier",
    "Kind",
    "Lease",
    "NotAUrl",
    "Outcome",
    "Rank",
    "RobotsRecord",
    "Scope",
    "Settlement",
    "Stats",
    "canonical",
]
