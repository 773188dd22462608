"""`FleetState`: what a crawl's fleet should be, and which of its members run.

1. A fleet is named like its crawl. It exists from the first `Fleet.begin` until the crawl is forgotten.
2. One controller at a time holds the fleet, for as long as it renews its lease. A lease has a number that grows with
   each new holder. Calls with another number are refused, so a controller that was thought dead changes nothing.
3. A member is one run of one worker. It sends heartbeats itself, and the reply is its order. A member whose heartbeat
   is too old is lost. Its name is never used again: the replacement has a name of its own.
4. While the fleet is paused, the gate of the crawl is shut for every worker of the crawl: nothing is leased, and no
   part is claimed.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

MemberKind: TypeAlias = Literal["crawler", "processor", "exporter"]
MemberState: TypeAlias = Literal["starting", "running", "paused", "draining", "lost"]
Order: TypeAlias = Literal["run", "pause", "drain", "gone"]
"""What a member is to do: `gone` means that it was given up and that another does its work."""
KINDS: tuple[MemberKind, ...] = ("crawler", "processor", "exporter")

MAX_MEMBERS = 100_000
"""The largest number of members of a kind that may be wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the fleet should be."""

    crawlers: int
    processors: int
    exporters: int
    is_paused: bool
    is_stopping: bool
    version: str
    """Version of the code and the configuration that members should have: that of the controller."""

    def number(self, kind: MemberKind) -> int:
        """Return how many members of a kind should run."""
        return {"crawler": self.crawlers, "processor": self.processors, "exporter": self.exporters}[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One run of one worker of a fleet."""

    name: str
    """For a crawler, the name of its worker in the frontier."""
    kind: MemberKind
    node: str
    """The machine, or the node of a Ray cluster; empty while it waits for room."""
    state: MemberState
    started_at_ms: int
    """Milliseconds since the epoch, as `seen_at_ms`: the time of its last heartbeat by the server's clock."""
    seen_at_ms: int
    restarts: int
    """How many members died before it in its place."""
    cpu_seconds: float
    rss_bytes: int
    """CPU time and resident memory of all its processes."""
    version: str
    is_drain_ordered: bool = False
    """Whether it was ordered to drain; it may not know yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberEnd:
    """A member that has ended, and that the controller has not seen off yet."""

    name: str
    kind: MemberKind
    restarts: int
    has_crashed: bool
    """Whether its process died by itself."""
    reason: str
    """One line; empty if it ended as it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetState:
    """The fleet of one crawl at one moment."""

    controller: str | None
    """The controller that holds the fleet; None if there is none, or if its lease is over."""
    controller_seen_at_ms: int
    """When a controller renewed its lease last: milliseconds since the epoch; 0 if none ever did."""
    wanted: Wanted
    members: tuple[Member, ...]
    """Ordered by kind, start and name. A lost member stays until a controller has recovered its work."""
    ended: tuple[MemberEnd, ...] = ()
    note: str = ""
    """One line of the controller: why fewer members run than wanted; empty if all is well."""
    now_ms: int = 0
    """The time of the server: milliseconds since the epoch."""
    exported_at_ms: int = 0
    """When the last export was complete; 0 if none was."""
    exported_pages: int = 0
    """How many pages were settled when that export began."""
    is_drained: bool = False
    """Whether the frontier was drained when the controller looked last."""

    def expected(self, kind: MemberKind) -> int:
        """Return how many members of a kind should run now: none if the fleet stops, no crawler if nothing waits."""
        if self.wanted.is_stopping or (kind == "crawler" and self.is_drained):
            return 0
        return self.wanted.number(kind)

    def running(self, kind: MemberKind) -> int:
        """Return how many members of a kind have started and are not lost."""
        return sum(each.kind == kind and each.state not in {"starting", "lost"} for each in self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerLease:
    """The lease of a controller."""

    controller: str
    token: int
    """The number of the lease; 0 if another controller holds the fleet."""
    holder: str
    """The controller that holds the fleet."""
    left_ms: int
    """Milliseconds until the holder's lease ends, unless it is renewed."""

    @property
    def is_held(self) -> bool:
        """Whether the caller holds the fleet."""
        return self.token > 0


def encode_member(member: Member) -> str:
    """Return what a member says about itself, as the frontier keeps it."""
    facts = asdict(member)
    for decided_by_the_frontier in ("name", "seen_at_ms", "is_drain_ordered"):
        del facts[decided_by_the_frontier]
    return json.dumps(facts, separators=(",", ":"))


def decode_member(name: str, facts: str, *, seen_at_ms: int, is_alive: bool, order: str) -> Member:
    """Return the member, given what it said about itself and what the frontier knows."""
    said = json.loads(facts)
    said["state"] = "lost" if not is_alive else "draining" if order == "drain" else said["state"]
    return Member(name=name, seen_at_ms=seen_at_ms, is_drain_ordered=order == "drain", **said)


def encode_end(end: MemberEnd) -> str:
    """Return the end of a member as the frontier keeps it."""
    facts = asdict(end)
    del facts["name"]
    return json.dumps(facts, separators=(",", ":"))


def decode_end(name: str, facts: str) -> MemberEnd:
    """Return the end of a member."""
    return MemberEnd(name=name, **json.loads(facts))


def member_order(member: Member) -> tuple[int, int, str]:
    """Return the key by which members are listed."""
    return KINDS.index(member.kind), member.started_at_ms, member.name
