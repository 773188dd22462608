"""The values that go into the frontier and come out of it.

A `Discovery` goes in. A `Lease` comes out: one URL promised to one worker until a deadline. A `Settlement` ends the
lease with an `Outcome`. A `HostRelease`, mostly earlier, says that the host is free again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Any, Self

from thresher.core import InputError, Url
from thresher.frontier.request_state import EMPTY_STATE, RequestState
from thresher.frontier.urls.scope import Scope

LEVELS = 1_000_000_000
"""Largest distance of depths and priorities from zero: their difference is ordered as a 32-bit number."""
ATTEMPTS = 3
"""Attempts to fetch a page under one discovery (Nutch: db.fetch.retry.max); `lua/verbs/settle.lua` counts them."""


class Kind(StrEnum):
    """What the worker is to fetch."""

    PAGE = "page"
    ROBOTS = "robots"


class Outcome(StrEnum):
    """How a page's lease ends."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"
    """The server says that the page has not changed (304), or sent the same bytes as before."""
    REDIRECTED = "redirected"
    """The answer was another address, which is among the discoveries."""
    GONE = "gone"
    """The server says that there is no such page (404, 410)."""
    REFUSED = "refused"
    """Robots rules or a policy of ours forbid the page; no request was made."""
    FAILED = "failed"
    """The page was given up."""
    RETRY = "retry"
    """Request the page again later; at the third attempt (`ATTEMPTS`) the frontier counts it as failed."""


class Fault(StrEnum):
    """Why a request failed, as far as the failure says something of the host; each has its own back-off."""

    DNS = "dns"
    """The host name has no address."""
    CONNECT = "connect"
    """Nothing listens at the address, or no route leads there."""
    RESET = "reset"
    """The connection broke."""
    TIMEOUT = "timeout"
    TLS = "tls"
    BUSY = "busy"
    """The host asks us to come later (429, 503)."""
    SERVER = "server"
    """Another status 5xx."""
    FORBIDDEN = "forbidden"
    """The host refuses (403). It is an answer: many in a row mean that the host keeps us out, a single one means
    nothing.
    """


FAULT_DETAILS = frozenset(
    {
        *("dns_timeout", "refused", "unreachable", "timeout_connect", "timeout_first_byte", "timeout_tls"),
        *("tls_expired", "tls_self_signed", "tls_wrong_host"),
    }
)
"""Reasons that name the kind of a fault; the reason of a host that was given up names it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """A URL that somebody found, with all that the frontier must remember of it until it is settled."""

    url: Url
    scope: Scope
    depth: int = 0
    """Links followed from the seed; 0 is a seed."""
    max_depth: int | None = None
    """Links of pages at this depth are not followed; None follows without end."""
    hops: int = 0
    """Redirects that led to this URL."""
    referrer: str = ""
    """Address of the page, redirect or sitemap that led here; empty for a seed."""
    priority: int = 0
    """Number of depths by which this URL moves ahead: priority 2 at depth 3 ties with priority 0 at depth 1."""
    generation: int = 0
    """A known URL waits once more for each generation: a re-scrape takes a number that no scrape had before. An unknown
    URL is known from then on, whatever its generation.
    """
    interval_s: int = 0
    """Seconds from a visit to the next; 0 for no further visit. Visits adapt it (`frontier.urls.revisit_interval`)."""
    listed: bool = False
    """Whether a list names the URL: seeds, a sitemap or a feed. Lists end, so the frontier never refuses the URL as a
    trap.
    """
    again: int = 0
    """Token of a lease whose answer redirected back to it; 0 for none. A known URL waits once more for each token."""
    state: RequestState = EMPTY_STATE
    """What the worker that fetches the URL is to know; it changes nothing in the frontier."""
    notify: bool = False
    """Whether the frontier grants a lease for the URL even when it gives it up (`Lease.failure`), so that a worker
    learns of it.
    """

    def __post_init__(self) -> None:
        if min(self.hops, self.generation, self.interval_s, self.max_depth or 0) < 0:
            raise InputError(f"{self.url}: hops, generation, interval and depth are numbers from 0 on")
        if not (0 <= self.depth <= LEVELS and abs(self.priority) <= LEVELS):
            raise InputError(f"{self.url}: depth and priority must lie within ±{LEVELS:,}, depth not below 0")


_DISCOVERY_FIELDS = tuple(each.name for each in fields(Discovery))
_discovery_values = attrgetter(*_DISCOVERY_FIELDS)


class Rank(IntEnum):
    """How hosts are ordered: of the hosts that may be asked, those of a higher rank come first. `Operator.prefer` sets
    the rank of a domain.
    """

    LAST = 0
    USUAL = 1
    RICH = 2
    FIRST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One URL promised to one worker until a deadline."""

    url: Url
    kind: Kind
    token: int
    """Fencing token: it grows with every grant, so an expired lease can settle nothing."""
    worker: str
    deadline_ms: int
    """Milliseconds since the epoch by the clock of its partition, which stops while no worker calls it."""
    scope: Scope
    depth: int
    max_depth: int | None
    hops: int
    priority: int
    generation: int
    interval_s: int
    listed: bool = False
    again: int = 0
    state: RequestState = EMPTY_STATE
    """The state of the discovery, or of the last visit's settlement if there was one; decoded when the lease is
    granted.
    """
    attempt: int
    """Number of earlier attempts; 0 is the first."""
    referrer: str = ""
    robots_version: int
    """Version of the robots record that is valid for the page; for a robots lease, the version to replace (0: none)."""
    is_recovered: bool = False
    """Whether a worker that held the page or the robots.txt was lost: perhaps the response killed it."""
    notify: bool = False
    """`notify` of the discovery."""
    failure: str = ""
    """Why the frontier gives the page up, as `outcome:reason`: its host is dead, it is in a trap, or too many workers
    died of it. No request is made for such a lease; it ends with that outcome and reason, whatever its settlement
    says. Empty for every other lease.
    """
    held_until_ms: int = 0
    """Until when the host was held before, in milliseconds by the same clock; it may be the host's place in the line of
    its address (`Politeness.acquire_address`).
    """

    @classmethod
    def from_discovery(cls, discovery: Discovery, **others: Any) -> Self:
        """Return a lease of a discovery; `others` are the fields that a discovery does not have."""
        return cls(**dict(zip(_DISCOVERY_FIELDS, _discovery_values(discovery), strict=True)), **others)

    @property
    def discovery(self) -> Discovery:
        """The discovery that the lease was granted for."""
        return Discovery(**dict(zip(_DISCOVERY_FIELDS, _discovery_values(self), strict=True)))

    @property
    def follows_links(self) -> bool:
        """Whether links of the page are followed."""
        return self.max_depth is None or self.depth < self.max_depth

    @property
    def is_seed(self) -> bool:
        """Whether the URL is a seed, and its response may list further seeds."""
        return self.listed and not self.depth and not self.state.is_list

    @property
    def is_last_attempt(self) -> bool:
        """Whether the page fails if this attempt asks for another (`ATTEMPTS`)."""
        return self.attempt + 1 >= ATTEMPTS


class Leases(list[Lease]):
    """The leases of one call, and when to ask for more."""

    def __init__(self, leases: Iterable[Lease] = (), *, soonest_ms: int | None) -> None:
        super().__init__(leases)
        self.soonest_ms = soonest_ms
        """Milliseconds until something may be leased, as far as the frontier knows now: 0 if something may be at once;
        None if only an event brings more: a URL that is added, a lease that ends, a gate that opens.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRelease:
    """The end of the request to the host of a lease."""

    lease: Lease
    elapsed_ms: int | None = None
    """Milliseconds that the host took to answer; None if it did not answer or was not asked."""
    has_sent_request: bool = True
    """Whether a request was sent; without one, the lease costs no delay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How a page's lease ended, and what was found on the page."""

    lease: Lease
    outcome: Outcome
    reason: str = ""
    """Reason code from a small set (each distinct one is counted for ever); empty if there is nothing to say."""
    discoveries: tuple[Discovery, ...] = ()
    retry_after_ms: int | None = None
    """For RETRY: milliseconds that this URL waits; None doubles from 30 s, or less if the crawl's delay is below a
    second.
    """
    hold_ms: int = 0
    """Milliseconds during which no request is sent to the host (429, 503 with Retry-After)."""
    fault: Fault | None = None
    """What went wrong, if it says something of the host; None for an answer."""
    has_sent_request: bool = True
    """Whether a request was sent; without one, the lease costs no delay and counts as no request."""
    sketch: int | None = None
    """32 bits of the page's content, equal for pages that say the same; None if they are not known."""
    next_state: RequestState = EMPTY_STATE
    """The state of the next visit, if there is to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierSettlement:
    """A page that the frontier settled by itself, without a worker: its host was given up, or it is not wanted any
    more.
    """

    discovery: Discovery
    attempt: int
    """Number of earlier attempts."""
    outcome: Outcome
    reason: str
    at_ms: int
    """When it was settled: milliseconds since the epoch, by the server's TIME."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloggedBatch:
    """Settlements that nobody has written to a log yet."""

    settlements: tuple[FrontierSettlement, ...]
    positions: tuple[tuple[int, bytes, int, int], ...]
    """For each partition: its number, the life of its server, how many of its settlements were logged before, and how
    many of these are its own.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredPage:
    """A page that an earlier frontier, which is lost, had settled."""

    discovery: Discovery
    outcome: Outcome
    reason: str
    next_visit: Discovery | None = None
    due_in_ms: int = 0
    """Milliseconds until its next visit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """What became of discoveries."""

    added: int
    """Number that were unknown and wait now."""
    known: int
    """Number that were known, in whatever state; nothing changed."""
    discarded: Mapping[str, int] = field(default_factory=dict)
    """Number that were unknown and stay so, by reason: a budget is spent, or they lead into a trap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many URLs are let in at most; None for no limit."""

    host: int | None = None
    """URLs of one host."""
    domain: int | None = None
    """URLs of one registered domain."""
    hosts: int = 4096
    """Host names of one registered domain: a domain with a wildcard in DNS has millions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """One moment of a crawl. `waiting + leased + later + sum(outcomes.values()) == seen`, always."""

    waiting: int
    """Pages that wait for their host's turn."""
    leased: int
    """Pages that workers hold."""
    later: int
    """Pages to be tried again that are not yet due."""
    robots: int
    """Open leases of robots.txt, which `leased` does not count."""
    hosts: int
    """Host names ever seen."""
    outcomes: Mapping[str, int]
    """Pages settled, by outcome value."""
    reasons: Mapping[str, int]
    """Pages settled with a reason, by `outcome:reason`."""
    seen: int
    """URLs ever made to wait; each further visit counts."""
    tail: int = 0
    """Pages among `waiting` that lie in storage."""
    scheduled: int = 0
    """Settled pages that are to be visited again."""
    held: int = 0
    """Hosts whose circuit is open."""
    dead: int = 0
    """Hosts given up."""
    unlogged: int = 0
    """Pages that the frontier settled by itself and that are in no log yet (`Frontier.unlogged_batch`)."""
    requests: int = 0
    """Requests for pages and robots.txt that workers started, whatever the answer; requests under way count."""
    discarded: Mapping[str, int] = field(default_factory=dict)
    """Discoveries that were not let in, by reason."""

    @property
    def is_drained(self) -> bool:
        """Whether nothing is left to do: nothing waits, is leased or comes later."""
        return not (self.waiting or self.leased or self.later or self.robots)
