"""`Fleet`: the verbs of a crawl's fleet: what is wanted, who controls it, which members run (`frontier.fleet_state`).

Operators call `state`, `scale`, `pause`, `resume` and `stop`, a controller the verbs that take its lease, and a member
`send_heartbeat`, `end`, `claim`, `release_claims` and `record_export`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from thresher.core import InputError
from thresher.frontier.fleet_state import (
    KINDS,
    ControllerLease,
    FleetState,
    Member,
    MemberEnd,
    MemberKind,
    Order,
    Wanted,
    decode_end,
    decode_member,
    encode_end,
    encode_member,
    member_order,
)
from thresher.frontier.verbs.crawl import Crawl

UNSET = -1
ORDER_ENDED = "ended"


class Fleet:
    """The fleet of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def state(self) -> FleetState | None:
        """Return what is wanted and what runs; None if the crawl never had a fleet."""
        reply = await self._crawl.call("fleet")
        return decode_fleet(reply) if reply else None

    # Operators

    async def scale(self, kind: MemberKind, n: int) -> None:
        """Set how many members of a kind should run. Raise `InputError` if the crawl never had a fleet."""
        await self._set({f"{kind}s": n})

    async def pause(self) -> None:
        """Shut the gate of the crawl: no worker leases anything. Members stay. Raise `InputError` as `scale` does."""
        await self._set({"paused": 1})

    async def resume(self) -> None:
        """Open the gate of the crawl again. Raise `InputError` as `scale` does."""
        await self._set({"paused": 0})

    async def stop(self) -> None:
        """Ask the controller to drain every member, and to end. Raise `InputError` as `scale` does."""
        await self._set({"stopping": 1})

    # Controllers

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
        """Take the fleet for `ttl_ms`, or return the lease of its holder.

        `given` sets how many members should run, for some kinds. For others, `usual` holds if no number is set yet. A
        controller that holds the fleet already keeps the number of its lease. One that `has_waited` for another takes
        over the order to stop, if there is one; the fleet that a user starts anew is not stopped by an old order.
        """
        numbers = [n for kind in KINDS for n in ((given or {}).get(kind, UNSET), usual[kind])]
        token, holder, left_ms = await self._crawl.call(
            "fleet_begin", controller, ttl_ms, version, *numbers, int(has_waited)
        )
        return ControllerLease(controller=controller, token=token, holder=holder.decode(), left_ms=left_ms)

    async def renew(
        self, lease: ControllerLease, *, ttl_ms: int, note: str = "", is_drained: bool = False
    ) -> bool:
        """Hold the fleet for `ttl_ms` from now, and say why fewer members run than wanted. Return False, as the other
        verbs of controllers do, if another holds the fleet.
        """
        return await self._controlled("fleet_renew", lease, ttl_ms, note, int(is_drained))

    async def release(self, lease: ControllerLease, *, forget_numbers: bool = False) -> bool:
        """Give the fleet back. With `forget_numbers`, the next controller sets its own numbers of members."""
        return await self._controlled("fleet_release", lease, int(forget_numbers))

    async def adjust(self, lease: ControllerLease, kind: MemberKind, n: int) -> bool:
        """Do as `scale` does, for a controller."""
        return await self._controlled("fleet_set", lease, f"{kind}s", n)

    async def add_member(self, lease: ControllerLease, member: Member, *, ttl_ms: int) -> bool:
        """Add a member. It is lost if it sends no heartbeat within `ttl_ms`. A known member stays as it is."""
        return await self._controlled("member_add", lease, member.name, ttl_ms, encode_member(member))

    async def drain_member(self, lease: ControllerLease, name: str) -> bool:
        """Order a member to finish what it has begun, and to end."""
        return await self._controlled("member_order", lease, name, "drain")

    async def remove_members(self, lease: ControllerLease, names: Collection[str]) -> bool:
        """Forget those of some members that have ended or are lost. If one sends a heartbeat after that, its order is
        `gone`; one that has sent a heartbeat before stays.
        """
        return await self._controlled("member_remove", lease, *names) if names else True

    async def ready_hosts(self) -> int:
        """Return how many hosts with waiting URLs may be asked now."""
        return sum(await self._crawl.link.call(self._crawl.partitions.calls("ready_hosts")))

    # Members

    async def send_heartbeat(self, member: Member, *, ttl_ms: int) -> Order:
        """Count a member as alive for `ttl_ms` from now, and return what it is to do."""
        reply = await self._crawl.call("member_beat", member.name, ttl_ms, encode_member(member))
        return cast("Order", reply.decode())

    async def end(self, ended: MemberEnd) -> None:
        """Say how a member ended."""
        await self._crawl.call("member_end", ended.name, encode_end(ended))

    async def record_export(self, exporter: str, *, pages: int) -> None:
        """Say that a member has completed an export, which began at `pages` settled pages: one less is wanted."""
        await self._crawl.call("exported", exporter, pages)

    async def claim(self, member: str, parts: Sequence[str], n: int) -> set[str]:
        """Return at most `n` of the parts: no other member claims them while this one lives and has not released them.
        Parts that it has claimed already come back too. While the fleet is paused, none does.
        """
        if not parts:
            return set()
        return {part.decode() for part in await self._crawl.call("claim", member, n, *parts)}

    async def release_claims(self, member: str, parts: Collection[str]) -> None:
        """Release parts that a member has claimed."""
        if parts:
            await self._crawl.call("unclaim", member, *parts)

    async def _set(self, fields: Mapping[str, int]) -> None:
        pairs = [each for pair in fields.items() for each in pair]
        if not await self._crawl.call("fleet_set", "", 0, *pairs):
            raise no_fleet_error(self._crawl.name)

    async def _controlled(self, verb: str, lease: ControllerLease, *args: str | int) -> bool:
        return bool(await self._crawl.call(verb, lease.controller, lease.token, *args))


def no_fleet_error(crawl: str) -> InputError:
    """Return the error for a crawl that never had a fleet."""
    return InputError(
        f"crawl {crawl!r}: no fleet was ever started for it; run `thresher fleet start {crawl}`"
    )


def decode_fleet(reply: Sequence[Any]) -> FleetState:
    """Return the state in a reply of `fleet`."""
    now_ms, *texts = reply[:13]
    controller, seen, note, exported, exported_pages, drained, *wanted = (each.decode() for each in texts)
    crawlers, processors, exporters, paused, stopping, version = wanted
    rows = [
        (name.decode(), seen_ms, alive, order.decode(), facts.decode())
        for name, seen_ms, alive, order, facts in reply[13:]
    ]
    members = [
        decode_member(name, facts, seen_at_ms=seen_ms, is_alive=bool(alive), order=order)
        for name, seen_ms, alive, order, facts in rows
        if order != ORDER_ENDED
    ]
    return FleetState(
        controller=controller or None,
        controller_seen_at_ms=int(seen or 0),
        wanted=Wanted(
            crawlers=int(crawlers or 0),
            processors=int(processors or 0),
            exporters=int(exporters or 0),
            is_paused=paused == "1",
            is_stopping=stopping == "1",
            version=version,
        ),
        members=tuple(sorted(members, key=member_order)),
        ended=tuple(
            decode_end(name, facts) for name, _, _, order, facts in sorted(rows) if order == ORDER_ENDED
        ),
        note=note,
        now_ms=now_ms,
        exported_at_ms=int(exported or 0),
        exported_pages=int(exported_pages or 0),
        is_drained=drained == "1",
    )
