"""`FleetMembers`: the fleet of a crawl without a server. The rules are those of `frontier.fleet_state`."""

from dataclasses import dataclass, field

from thresher.frontier.fleet_state import ControllerLease, Member, MemberEnd


@dataclass(slots=True, kw_only=True)
class KnownMember:
    """A member, and what was ordered. Times are milliseconds of the frontier's clock."""

    member: Member
    alive_until: int
    is_drain_ordered: bool = False
    end: MemberEnd | None = None

    def is_alive(self, now: int) -> bool:
        """Return whether its last heartbeat counts and it has not ended."""
        return self.end is None and now < self.alive_until


@dataclass(slots=True)
class FleetMembers:
    """What is wanted, who controls the fleet, and its members."""

    wanted: dict[str, int] = field(default_factory=dict)
    version: str = ""
    note: str = ""
    controller: str = ""
    token: int = 0
    held_until: int = 0
    seen_at_ms: int = 0
    exported: tuple[int, int] = (0, 0)
    last_exporter: str = ""
    is_drained: bool = False
    members: dict[str, KnownMember] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """Whether a controller ever held the fleet."""
        return self.token > 0

    @property
    def is_paused(self) -> bool:
        """Whether nothing is leased."""
        return bool(self.wanted.get("paused"))

    def is_held_by(self, lease: ControllerLease) -> bool:
        """Return whether a lease is that of the controller that holds the fleet."""
        return (self.controller, self.token) == (lease.controller, lease.token) and self.token > 0

    def holder(self, part: str, now: int) -> str | None:
        """Return the live member that has claimed a part."""
        name = self.claims.get(part, "")
        return name if name in self.members and self.members[name].is_alive(now) else None
