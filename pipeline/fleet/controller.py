"""`Controller`: holds a fleet, and makes it what is wanted.

1. One controller at a time works. Others wait until its lease is over (`frontier.fleet_state`), and go on from the
   state in the frontier: what is wanted, and which members run. An order to stop the fleet ends those that wait too.
2. Once a second it observes the fleet and its crawl, decides (`pipeline.fleet.fleet_plan`), and does that. It remembers
   nothing that the next controller needs.
3. Dead members are replaced at once. Their work is recovered in the background, because that may take long.
4. A frontier or a storage that does not answer stops nothing: the controller tries again until it does.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from thresher.core import ThresherError, Unavailable
from thresher.frontier import FleetState, Frontier, Stats
from thresher.frontier.fleet_state import ControllerLease, MemberKind
from thresher.pipeline.fleet import fleet_plan, liveness
from thresher.pipeline.fleet.export_schedule import ExportProgress, is_export_due, is_processed, is_sealed
from thresher.pipeline.fleet.fleet_plan import Memory, Observed, Plan, Rules
from thresher.pipeline.fleet.frontier_upkeep import maintain_frontier, recover_dead_workers
from thresher.pipeline.fleet.local_members import Members
from thresher.pipeline.fleet.member_host import SPIDER_CLOSED, MemberTask
from thresher.pipeline.open_project import OpenProject

LOGGER = logging.getLogger(__name__)
RETRY_S = 2.0
"""Seconds before the next attempt if the frontier or the storage does not answer."""
COMPLETE_CHECK_S = 5.0
"""Seconds between two looks whether a drained crawl is processed, which lists the storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTimes:
    """How often members and controllers show that they live, in seconds."""

    tick_s: float = 1.0
    heartbeat_s: float = 2.0
    member_ttl_s: float = 15.0
    lease_ttl_s: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """The options of `thresher fleet start`."""

    name: str
    """Name of this controller; no other run has it."""
    version: str
    given: Mapping[MemberKind, int] = field(default_factory=dict)
    """Numbers of members that replace those of the running fleet."""
    until_drained: bool = False
    """Whether the fleet ends when the crawl is drained, processed and, if that is configured, exported."""
    keeps_members: bool = False
    """Whether a signal ends the controller alone."""
    times: FleetTimes = field(default_factory=FleetTimes)


@dataclass(slots=True, kw_only=True)
class StopSignal:
    """Whether the user wants this controller to end."""

    is_set: bool = False


class Controller:
    """The controller of one fleet."""

    def __init__(  # noqa: PLR0913 - the parts that `fleet_command` has opened
        self,
        project: OpenProject,
        frontier: Frontier,
        members: Members,
        make_task: Callable[[MemberKind, int], MemberTask],
        options: ControllerOptions,
        stop: StopSignal,
        say: Callable[[str], None],
    ) -> None:
        """`make_task` makes the task of a new member, given how many died in its place. `say` shows a line."""
        self._project, self._frontier, self._members, self._make_task = project, frontier, members, make_task
        self._options, self._stop, self._say = options, stop, say
        self._crawl = frontier.crawl.name
        self._memory = Memory()
        self._note = ""
        self._recovery: asyncio.Task[set[str]] | None = None
        self._recovered_s = float("-inf")
        self._exits: dict[str, bool] = {}
        self._is_complete = self._is_sealed = False
        self._checked_s = float("-inf")
        self._ends_by_itself = False
        self._given = options.given
        self._has_waited = False

    async def run(self) -> None:
        """Hold the fleet until it is stopped. Raise `Unavailable` if this machine can start no more members."""
        while (lease := await self._acquire()) is not None:
            closing = asyncio.Event()
            upkeep = asyncio.create_task(self._maintain(closing))
            try:
                is_done = await self._control(lease)
            finally:
                closing.set()
                await upkeep
            if is_done:
                return
            self._has_waited = True
            self._say(f"fleet {self._crawl}: another controller holds the fleet by now")

    async def _acquire(self) -> ControllerLease | None:
        """Return the lease of the fleet, once no other controller holds it; None if the user wants no more."""
        told = ""
        while not self._stop.is_set:
            try:
                lease = await self._frontier.fleet.begin(
                    self._options.name,
                    ttl_ms=round(self._options.times.lease_ttl_s * 1000),
                    version=self._options.version,
                    usual=self._project.config.fleet.numbers,
                    given=self._given,
                    has_waited=self._has_waited,
                )
            except Unavailable as error:
                LOGGER.warning("%s", error)
                await asyncio.sleep(RETRY_S)
                continue
            if lease.is_held:
                self._given = {}  # an operator may change them from now on
                return lease
            self._has_waited = True
            if told != lease.holder:
                told = lease.holder
                self._say(
                    f"fleet {self._crawl}: the controller {told} holds the fleet; this one takes over when that is gone"
                )
            await asyncio.sleep(min(self._options.times.tick_s, lease.left_ms / 1000))
        return None

    async def _control(self, lease: ControllerLease) -> bool:
        """Control the fleet until it is stopped; return False if another controller holds it."""
        while True:
            begun_s = time.monotonic()
            capacity = await self._members.capacity()
            try:
                ends = await self._tick(lease, capacity)
            except Unavailable as error:
                LOGGER.warning("%s", error)
                if self._stop.is_set:
                    self._members.drain()
                await asyncio.sleep(RETRY_S)
                continue
            if ends is not None:
                return ends
            await asyncio.sleep(max(self._options.times.tick_s - (time.monotonic() - begun_s), 0))

    async def _tick(self, lease: ControllerLease, capacity: int | None) -> bool | None:
        """Observe, decide and act once. Return True if the fleet has ended, False if another controller holds it."""
        fleet = self._frontier.fleet
        state = await fleet.state()
        stats = await self._frontier.stats()
        ttl_ms = round(self._options.times.lease_ttl_s * 1000)
        if state is None or not await fleet.renew(
            lease, ttl_ms=ttl_ms, note=self._note, is_drained=stats.is_drained
        ):
            return False
        if self._stop.is_set and self._options.keeps_members:
            await fleet.release(lease)
            return True
        is_complete = await self._check_complete(state, stats)
        if is_complete and self._options.until_drained and not await self._export_if_due(lease, state, stats):
            self._ends_by_itself = True
        if not state.wanted.is_stopping and any(each.reason == SPIDER_CLOSED for each in state.ended):
            await fleet.stop()
            state = replace(state, wanted=replace(state.wanted, is_stopping=True))
        was_asked = state.wanted.is_stopping
        if self._stop.is_set or self._ends_by_itself:
            state = replace(state, wanted=replace(state.wanted, is_stopping=True))
        if not state.wanted.is_stopping:
            await self._export_if_due(lease, state, stats)
        settings = self._project.config.fleet
        rules = Rules(
            limits=settings.limits,
            release_below=settings.release_below,
            release_after_s=settings.release_after,
            capacity=capacity,
        )
        decided = fleet_plan.plan(rules, await self._observe(state, stats), self._memory)
        await self._see_off_dead(lease, state)
        await self._act(lease, state, decided)
        self._memory = decided.memory
        self._note = decided.note
        if state.wanted.is_stopping and not state.members and not state.ended and self._recovery is None:
            await fleet.release(lease, forget_numbers=was_asked or self._ends_by_itself)
            return True
        return None

    async def _observe(self, state: FleetState, stats: Stats) -> Observed:
        gate = await self._frontier.backlog.gate_state()
        return Observed(
            now_s=time.monotonic(),
            state=state,
            is_drained=stats.is_drained,
            is_gate_open=gate is None or not gate.shut,
            ready_hosts=await self._frontier.fleet.ready_hosts(),
            leased=stats.leased + stats.robots,
            backlog=gate.estimate if gate is not None else 0,
            backlog_limit=gate.limit if gate is not None else 0,
        )

    async def _act(self, lease: ControllerLease, state: FleetState, decided: Plan) -> None:
        fleet = self._frontier.fleet
        for kind, number in decided.numbers.items():
            plural = "" if number == 1 else "s"
            self._say(f"fleet {self._crawl}: {number} {kind}{plural}, {state.wanted.number(kind)} before")
            await fleet.adjust(lease, kind, number)
        unplaced = {each.name: each for each in state.members if not each.node and each.state == "starting"}
        for name in decided.drains:
            self._say(f"fleet {self._crawl}: {_kind_of(state, name)} {name} drains")
            await fleet.drain_member(lease, name)
            if name in unplaced:
                await self._members.cancel(name)
        ttl_ms = round(self._options.times.member_ttl_s * 1000)
        for start in decided.starts:
            task = self._make_task(start.kind, start.restarts)
            self._say(f"fleet {self._crawl}: {task.kind} {task.name} starts")
            member = task.member("", "starting", time.time_ns() // 1_000_000)
            if await fleet.add_member(lease, member, ttl_ms=ttl_ms):
                await self._members.start(task)
        # A member that waits for room has nobody yet to send its heartbeats. It is lost if it waits no more.
        for name in await self._members.waiting(set(unplaced) - set(decided.drains)):
            await fleet.send_heartbeat(unplaced[name], ttl_ms=ttl_ms)

    async def _see_off_dead(self, lease: ControllerLease, state: FleetState) -> None:
        """Recover the work of dead crawlers in the background, and forget the dead once that is done."""
        dead = {each.name: each.kind for each in state.members if each.state == "lost"}
        for ended in state.ended:
            dead[ended.name] = ended.kind
            if ended.kind == "crawler":
                self._exits[ended.name] = ended.has_crashed
            if ended.reason and ended.name not in self._memory.seen_dead:
                self._say(f"fleet {self._crawl}: {ended.kind} {ended.name} ended: {ended.reason}")
        for each in state.members:
            if each.state == "lost" and each.name not in self._memory.seen_dead:
                self._say(f"fleet {self._crawl}: {each.kind} {each.name} is lost")
        if self._recovery is not None and self._recovery.done():
            names, self._recovery = self._recovery.result(), None
            await self._frontier.fleet.remove_members(lease, names)
            dead = {name: kind for name, kind in dead.items() if name not in names}
        is_due = time.monotonic() - self._recovered_s >= liveness.WORKER_TTL_S
        if "crawler" in dead.values() or is_due:
            if self._recovery is None:
                self._recovered_s = time.monotonic()
                self._recovery = asyncio.create_task(self._recover(set(dead)))
        elif self._recovery is None:
            await self._frontier.fleet.remove_members(lease, dead)

    async def _recover(self, dead: set[str]) -> set[str]:
        """Recover the work of dead workers, and return `dead`; nothing if the storage or the frontier does not answer,
        so that it is tried again.
        """
        try:
            await recover_dead_workers(self._project, self._frontier, self._crawl, dict(self._exits))
        except ThresherError as error:
            LOGGER.warning("%s", error)
            return set()
        for name in dead:
            self._exits.pop(name, None)
        return dead

    async def _check_complete(self, state: FleetState, stats: Stats) -> bool:
        """Return whether the crawl is drained and everything that it archived is processed."""
        if not stats.is_drained:
            self._is_complete = False
        elif not self._is_complete and time.monotonic() - self._checked_s >= COMPLETE_CHECK_S:
            self._checked_s = time.monotonic()
            crawlers = [each for each in state.members if each.kind == "crawler"]
            self._is_complete = not crawlers and await asyncio.to_thread(
                is_processed, self._project.store, self._crawl, self._project.config
            )
        return self._is_complete

    async def _has_sealed(self) -> bool:
        """Return whether the crawl has sealed an archive file. Once it has, the storage is asked no more."""
        if not self._is_sealed:
            self._is_sealed = await asyncio.to_thread(is_sealed, self._project.store, self._crawl)
        return self._is_sealed

    async def _export_if_due(self, lease: ControllerLease, state: FleetState, stats: Stats) -> bool:
        """Let an exporter start if an export is due. Return whether one is due or runs."""
        if state.wanted.exporters or any(each.kind == "exporter" for each in state.members):
            return True
        progress = ExportProgress(
            now_ms=state.now_ms,
            is_complete=self._is_complete,
            pages=sum(stats.outcomes.values()),
            exported_at_ms=state.exported_at_ms,
            exported_pages=state.exported_pages,
        )
        is_due = is_export_due(self._project.config.fleet, progress) and await self._has_sealed()
        if is_due:
            await self._frontier.fleet.adjust(lease, "exporter", 1)
        return is_due

    async def _maintain(self, closing: asyncio.Event) -> None:
        """Keep the frontier in order until `closing` is set, whatever fails meanwhile."""
        while True:
            try:
                async with maintain_frontier(self._project, self._frontier, self._crawl):
                    await closing.wait()
            except ThresherError as error:
                LOGGER.warning("%s", error)
                if closing.is_set():
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(closing.wait(), RETRY_S)
            else:
                return

    def __repr__(self) -> str:
        return f"<controller {self._options.name} of {self._crawl}>"


def _kind_of(state: FleetState, name: str) -> str:
    return next((each.kind for each in state.members if each.name == name), "member")
