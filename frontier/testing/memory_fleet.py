"""`MemoryFleet`: the verbs of `frontier.verbs.fleet` on the state of a `MemoryCrawl`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from thresher.frontier.fleet_state import (
    KINDS,
    ControllerLease,
    FleetState,
    Member,
    MemberEnd,
    MemberKind,
    Order,
    Wanted,
    member_order,
)
from thresher.frontier.testing.memory_crawl import MemoryCrawl
from thresher.frontier.testing.model.fleet_members import FleetMembers, KnownMember
from thresher.frontier.verbs.fleet import no_fleet_error


class MemoryFleet:
    """Promises what `Fleet` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    @property
    def _fleet(self) -> FleetMembers:
        return self._crawl.fleet_members

    async def state(self) -> FleetState | None:
        """As `Fleet.state`."""
        fleet, now = self._fleet, self._crawl.clock()
        if not fleet.exists:
            return None
        wanted = fleet.wanted
        members = [self._shown(known, now) for known in fleet.members.values() if known.end is None]
        return FleetState(
            controller=fleet.controller if fleet.controller and now < fleet.held_until else None,
            controller_seen_at_ms=fleet.seen_at_ms,
            wanted=Wanted(
                crawlers=wanted.get("crawlers", 0),
                processors=wanted.get("processors", 0),
                exporters=wanted.get("exporters", 0),
                is_paused=fleet.is_paused,
                is_stopping=bool(wanted.get("stopping")),
                version=fleet.version,
            ),
            members=tuple(sorted(members, key=member_order)),
            ended=tuple(known.end for _, known in sorted(fleet.members.items()) if known.end is not None),
            note=fleet.note,
            now_ms=now,
            exported_at_ms=fleet.exported[0],
            exported_pages=fleet.exported[1],
            is_drained=fleet.is_drained,
        )

    def _shown(self, known: KnownMember, now: int) -> Member:
        is_draining = known.is_drain_ordered
        state = "lost" if not known.is_alive(now) else "draining" if is_draining else known.member.state
        return replace(known.member, state=state, is_drain_ordered=is_draining)

    async def scale(self, kind: MemberKind, n: int) -> None:
        """As `Fleet.scale`."""
        self._set(f"{kind}s", n)

    async def pause(self) -> None:
        """As `Fleet.pause`."""
        self._set("paused", 1)

    async def resume(self) -> None:
        """As `Fleet.resume`."""
        self._set("paused", 0)

    async def stop(self) -> None:
        """As `Fleet.stop`."""
        self._set("stopping", 1)

    async def begin(
        self,
        controller: str,
        *,
        ttl_ms: int,
        version: str,
        usual: Mapping[MemberKind, int],
        given: Mapping[MemberKind, int] | None = None,
        has_waited: bool = False,
    ) -> ControllerLease:
        """As `Fleet.begin`."""
        fleet, now = self._fleet, self._crawl.clock()
        is_free = not fleet.controller or now >= fleet.held_until
        if fleet.controller != controller and not is_free:
            return ControllerLease(
                controller=controller, token=0, holder=fleet.controller, left_ms=fleet.held_until - now
            )
        if fleet.controller != controller or is_free:
            fleet.token += 1
            if not has_waited:
                fleet.wanted["stopping"] = 0
        for kind in KINDS:
            if given and kind in given:
                fleet.wanted[f"{kind}s"] = given[kind]
            fleet.wanted.setdefault(f"{kind}s", usual[kind])
        fleet.controller, fleet.held_until, fleet.seen_at_ms = controller, now + ttl_ms, now
        fleet.version, fleet.note = version, ""
        return ControllerLease(controller=controller, token=fleet.token, holder=controller, left_ms=ttl_ms)

    async def renew(
        self, lease: ControllerLease, *, ttl_ms: int, note: str = "", is_drained: bool = False
    ) -> bool:
        """As `Fleet.renew`."""
        if is_held := self._fleet.is_held_by(lease):
            now, self._fleet.is_drained = self._crawl.clock(), is_drained
            self._fleet.held_until, self._fleet.seen_at_ms, self._fleet.note = now + ttl_ms, now, note
        return is_held

    async def release(self, lease: ControllerLease, *, forget_numbers: bool = False) -> bool:
        """As `Fleet.release`."""
        if is_held := self._fleet.is_held_by(lease):
            self._fleet.controller, self._fleet.held_until, self._fleet.note = "", 0, ""
            for kind in KINDS if forget_numbers else ():
                self._fleet.wanted.pop(f"{kind}s", None)
        return is_held

    async def adjust(self, lease: ControllerLease, kind: MemberKind, n: int) -> bool:
        """As `Fleet.adjust`."""
        if is_held := self._fleet.is_held_by(lease):
            self._fleet.wanted[f"{kind}s"] = n
        return is_held

    async def add_member(self, lease: ControllerLease, member: Member, *, ttl_ms: int) -> bool:
        """As `Fleet.add_member`."""
        if is_held := self._fleet.is_held_by(lease):
            now = self._crawl.clock()
            known = KnownMember(member=replace(member, seen_at_ms=now), alive_until=now + ttl_ms)
            self._fleet.members.setdefault(member.name, known)
        return is_held

    async def drain_member(self, lease: ControllerLease, name: str) -> bool:
        """As `Fleet.drain_member`."""
        if (is_held := self._fleet.is_held_by(lease)) and name in self._fleet.members:
            self._fleet.members[name].is_drain_ordered = True
        return is_held

    async def remove_members(self, lease: ControllerLease, names: Collection[str]) -> bool:
        """As `Fleet.remove_members`."""
        if not names:
            return True
        if is_held := self._fleet.is_held_by(lease):
            now, members = self._crawl.clock(), self._fleet.members
            gone = {name for name in names if name not in members or not members[name].is_alive(now)}
            for name in gone:
                members.pop(name, None)
            kept = {part: holder for part, holder in self._fleet.claims.items() if holder not in gone}
            self._fleet.claims = kept
        return is_held

    async def ready_hosts(self) -> int:
        """As `Fleet.ready_hosts`."""
        now = self._crawl.clock()
        return sum(host.turn is not None and host.turn <= now for host in self._crawl.state.hosts.values())

    async def send_heartbeat(self, member: Member, *, ttl_ms: int) -> Order:
        """As `Fleet.send_heartbeat`."""
        known, now = self._fleet.members.get(member.name), self._crawl.clock()
        if known is None or known.end is not None:
            return "gone"
        known.member, known.alive_until = replace(member, seen_at_ms=now), now + ttl_ms
        if known.is_drain_ordered:
            return "drain"
        return "pause" if self._fleet.is_paused else "run"

    async def end(self, ended: MemberEnd) -> None:
        """As `Fleet.end`."""
        if ended.name in self._fleet.members:
            self._fleet.members[ended.name].end = ended

    async def record_export(self, exporter: str, *, pages: int) -> None:
        """As `Fleet.record_export`."""
        fleet = self._fleet
        if exporter in fleet.members and exporter != fleet.last_exporter:
            fleet.exported, fleet.last_exporter = (self._crawl.clock(), pages), exporter
            fleet.wanted["exporters"] = max(fleet.wanted["exporters"] - 1, 0)

    async def claim(self, member: str, parts: Sequence[str], n: int) -> set[str]:
        """As `Fleet.claim`."""
        if self._fleet.is_paused:
            return set()
        free = [part for part in parts if self._fleet.holder(part, self._crawl.clock()) in {None, member}][:n]
        self._fleet.claims.update(dict.fromkeys(free, member))
        return set(free)

    async def release_claims(self, member: str, parts: Collection[str]) -> None:
        """As `Fleet.release_claims`."""
        for part in parts:
            if self._fleet.claims.get(part) == member:
                del self._fleet.claims[part]

    def _set(self, field: str, value: int) -> None:
        if not self._fleet.exists:
            raise no_fleet_error("in memory")
        self._fleet.wanted[field] = value
