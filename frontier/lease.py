"""The values that go into the frontier and come out of it.

A `Discovery` goes in. A `Lease` comes out: one URL promised to one worker until a deadline. A `Settlement`
ends the lease with an `Outcome`; `Exchange` says, mostly earlier, that the host is free again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Any, Self

from core import InputError, Url
from frontier.urls.scope import Scope

LEVELS = 1_000_000_000
"""Depths and priorities are at most so far from zero: their difference is ordered as a 32-bit number."""
LONGEST_NOTE = 4096
"""Bytes of a note."""
ATTEMPTS = 3
"""Times that a page is asked for under one discovery (Nutch: db.fetch.retry.max); `lua/verbs/settle.lua` counts them."""


class Kind(StrEnum):
    """What the worker is asked to fetch."""

    PAGE = "page"
    ROBOTS = "robots"


class Outcome(StrEnum):
    """How a page's lease ends."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"
    """The server says that it is as we have it (304), or it came as we have it."""
    REDIRECTED = "redirected"
    """The answer was another address; it is among the discoveries."""
    GONE = "gone"
    """The server says that there is no such page (404, 410)."""
    REFUSED = "refused"
    """Robots rules or a policy of ours forbid it; nothing was asked."""
    FAILED = "failed"
    """Given up."""
    RETRY = "retry"
    """Ask again later; at the third time the frontier counts it as failed."""


class Fault(StrEnum):
    """Why an exchange came to nothing, as far as it says something of the host; each has its own back-off."""

    DNS = "dns"
    """Its name leads nowhere."""
    CONNECT = "connect"
    """Nobody listens, or there is no way there."""
    RESET = "reset"
    """The connection broke."""
    TIMEOUT = "timeout"
    TLS = "tls"
    BUSY = "busy"
    """It asks us to come later (429, 503)."""
    SERVER = "server"
    """Another 5xx."""
    FORBIDDEN = "forbidden"
    """It refuses (403). It is an answer: many in a row mean that it keeps us out, a single one nothing."""


FAULT_DETAILS = frozenset(
    {
        *("dns_timeout", "refused", "unreachable", "timeout_connect", "timeout_first_byte", "timeout_tls"),
        *("tls_expired", "tls_self_signed", "tls_wrong_host"),
    }
)
"""Reasons that name the kind of a fault: a host that was given up says which it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """A URL that somebody found, with what the frontier must remember of it until it is settled."""

    url: Url
    scope: Scope
    depth: int = 0
    """Links followed from the seed; 0 is a seed."""
    max_depth: int | None = None
    """Links at this depth are not followed any more; None follows without end."""
    hops: int = 0
    """Redirects followed to come here."""
    referrer: str = ""
    """Address that led here: of a page, a redirect or a sitemap; empty for a seed."""
    priority: int = 0
    """Depths that this URL goes ahead by: priority 2 at depth 3 ties with priority 0 at depth 1."""
    generation: int = 0
    """A known URL waits once more for each generation: a re-scrape takes a number that no scrape had before. An unknown one
    is known from then on, whatever its generation."""
    interval_s: int = 0
    """How long after a visit the next one is due; 0 for never. Visits adapt it (`frontier.urls.revisit_interval`)."""
    listed: bool = False
    """Whether a list names it: seeds, a sitemap, a feed. Lists end, so the frontier never refuses it as a trap."""
    again: int = 0
    """Token of a lease whose answer redirected back to it. A known URL waits once more for each such token; 0 for none."""
    note: bytes = b""
    """What whoever fetches it wants to be told then; at most `LONGEST_NOTE` bytes, which mean nothing to the frontier."""
    notify: bool = False
    """Whether a lease is granted for it also when the frontier gives it up (`Lease.failure`), so that a worker hears of it."""

    def __post_init__(self) -> None:
        if min(self.hops, self.generation, self.interval_s, self.max_depth or 0) < 0:
            raise InputError(f"{self.url}: hops, generation, interval and depth are numbers from 0 on")
        if not (0 <= self.depth <= LEVELS and abs(self.priority) <= LEVELS):
            raise InputError(f"{self.url}: depth and priority must lie within ±{LEVELS:,}, depth not below 0")
        if len(self.note) > LONGEST_NOTE:
            raise InputError(
                f"{self.url}: its note has {len(self.note)} bytes; at most {LONGEST_NOTE} are kept"
            )


_OF_DISCOVERY = tuple(each.name for each in fields(Discovery))
_values = attrgetter(*_OF_DISCOVERY)


class Rank(IntEnum):
    """Hosts of a higher rank that may be asked are asked before all others."""

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
    """Fencing token: grows with every grant, so that an expired lease can settle nothing."""
    worker: str
    deadline_ms: int
    """By the clock of its partition, which runs from the epoch in milliseconds, and stands while nobody is at work."""
    scope: Scope
    depth: int
    max_depth: int | None
    hops: int
    priority: int
    generation: int
    interval_s: int
    listed: bool = False
    again: int = 0
    note: bytes
    """Of its discovery; of the last visit's settlement, where there was one."""
    attempt: int
    """Times that this was tried before; 0 is the first."""
    referrer: str = ""
    robots_version: int
    """Version of the robots record that is valid for the page; of the one to replace, for robots (0: none)."""
    is_recovered: bool = False
    """Whether a worker was not heard of again that held it, the page or the robots.txt: perhaps it is what killed that one."""
    notify: bool = False
    """Of its discovery."""
    failure: str = ""
    """Why the frontier gives the page up, as `outcome:reason`: its host is dead, it is in a trap, or too many workers died of
    it. Nothing is asked for such a lease; it ends with that outcome and reason, whatever its settlement says. Empty for every other."""
    held_until_ms: int = 0
    """Until when the host was held before; it may be its place in the line of its address (`Frontier.enter`)."""

    @classmethod
    def from_discovery(cls, discovery: Discovery, **given: Any) -> Self:
        """Return a lease that is granted of a discovery; `given` are the fields that a discovery does not have."""
        return cls(**dict(zip(_OF_DISCOVERY, _values(discovery), strict=True)), **given)

    @property
    def discovery(self) -> Discovery:
        """What was added that it was granted of."""
        return Discovery(**dict(zip(_OF_DISCOVERY, _values(self), strict=True)))

    @property
    def is_last_attempt(self) -> bool:
        """Whether a page that is to be asked for again after this has failed (`ATTEMPTS`)."""
        return self.attempt + 1 >= ATTEMPTS


class Leases(list[Lease]):
    """What one call has leased, and when to ask for more."""

    def __init__(self, leases: Iterable[Lease] = (), *, soonest_ms: int | None) -> None:
        super().__init__(leases)
        self.soonest_ms = soonest_ms
        """Milliseconds until something may be leased, as far as the frontier knows now: 0 if something may be at once;
        None if only an event brings more: a URL that is added, a lease that ends, a gate that opens.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRelease:
    """The end of what was under way with the host of a lease."""

    lease: Lease
    elapsed_ms: int | None = None
    """How long the host took to answer; None where it did not, or was not asked."""
    has_sent_request: bool = True
    """False where nothing was asked of the host: then it costs no delay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How a page's lease ended, and what was found there."""

    lease: Lease
    outcome: Outcome
    reason: str = ""
    """Reason code from a small set (each distinct one is counted for ever); empty where there is nothing to say."""
    discoveries: tuple[Discovery, ...] = ()
    retry_after_ms: int | None = None
    """For RETRY: how long this URL waits; None doubles from 30 s, or less where hosts are asked sooner."""
    hold_ms: int = 0
    """The whole host is asked nothing for so long (429, 503 with Retry-After)."""
    fault: Fault | None = None
    """What went wrong, where it tells of the host; None for an answer."""
    has_sent_request: bool = True
    """False if nothing was asked of the host: then the lease costs no delay and is no request."""
    sketch: int | None = None
    """32 bits of what the page said, the same for pages that say the same; None where that is not known."""
    note: bytes = b""
    """Of the next visit, where there is to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierSettlement:
    """A page that the frontier settled by itself, without a worker: its host was given up, or it is not wanted any more."""

    discovery: Discovery
    attempt: int
    """Times that it was tried before."""
    outcome: Outcome
    reason: str
    at_ms: int
    """When, by the server's TIME."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloggedBatch:
    """Conclusions that nobody has written down yet."""

    settlements: tuple[FrontierSettlement, ...]
    positions: tuple[tuple[int, bytes, int, int], ...]
    """Where they are: partition, life of its server, how many were logged there before, and how many of these are from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredPage:
    """A page that was settled by a frontier which is no longer there."""

    discovery: Discovery
    outcome: Outcome
    reason: str
    next_visit: Discovery | None = None
    due_in_ms: int = 0
    """Of its next visit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """What became of discoveries."""

    added: int
    """Were unknown and wait now."""
    known: int
    """Were there already, in whatever state; nothing changed."""
    discarded: Mapping[str, int] = field(default_factory=dict)
    """Were unknown and are so still, by reason: a budget is spent, or they lead into a trap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many URLs are let in at most; None for any number."""

    host: int | None = None
    """Of one host."""
    domain: int | None = None
    """Of one registered domain."""
    hosts: int = 4096
    """Host names of one registered domain: whoever has a wildcard in DNS has millions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """One moment of a crawl. `waiting + leased + later + sum(outcomes.values()) == seen`, always."""

    waiting: int
    """Pages that wait for their host's turn."""
    leased: int
    """Pages that workers hold."""
    later: int
    """Pages to be tried again, not yet due."""
    robots: int
    """Open leases of robots.txt, beside the pages."""
    hosts: int
    """Host names ever seen."""
    outcomes: Mapping[str, int]
    """Pages settled, by outcome value."""
    reasons: Mapping[str, int]
    """Pages settled with a reason, by `outcome:reason`."""
    seen: int
    """URLs ever made to wait; each visit anew counts."""
    tail: int = 0
    """Those of `waiting` that lie in storage."""
    scheduled: int = 0
    """Pages settled that are to be visited again at some time."""
    held: int = 0
    """Hosts whose circuit is open."""
    dead: int = 0
    """Hosts given up."""
    unlogged: int = 0
    """Pages that the frontier settled by itself and that are in no log yet (`Frontier.unlogged`)."""
    requests: int = 0
    """Exchanges for pages and robots.txt that workers began, whatever the answer; exchanges under way count."""
    discarded: Mapping[str, int] = field(default_factory=dict)
    """Discoveries that were not let in, by reason."""

    @property
    def is_drained(self) -> bool:
        """Whether nothing is left to be done: nothing waits, is leased or comes later."""
        return not (self.waiting or self.leased or self.later or self.robots)
