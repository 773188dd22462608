"""`plan`: what a fleet's controller does next, given what is wanted and what it observes. Pure.

1. A kind has as many members as wanted: missing ones are started, surplus ones drained, the youngest first.
2. If a kind has limits, the controller changes the wanted number, one at a time, and never beyond the limits. Crawlers:
   one more if a whole crawler's worth of hosts has been ready for `GROW_AFTER_S`; one less if the others could do the
   work below the utilisation bound for the time that the user sets. Processors: one more while unprocessed bytes fill a
   quarter of the backlog limit; one less while there are none. Between the two conditions nothing changes, and a
   condition counts only if it held all the time since the last change. So the number does not flap.
3. A drained crawl needs no crawlers. A fleet that stops needs nothing, but its exports end by themselves.
4. Crawlers and processors give way to an export. They are drained until it has room. An export is never drained.
5. A crashed member is replaced after a wait that doubles with each crash in a row, and so is one that died before its
   first heartbeat. A member whose machine is lost is replaced at once.
6. If all members run, one that has another version than the fleet is drained; its place is taken as in rule 1. So a
   fleet changes its version one member at a time, and only while no member crashes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from thresher.frontier.fleet_state import KINDS, FleetState, Member, MemberKind
from thresher.pipeline.fleet_settings import Limits

PREEMPTIBLE: tuple[MemberKind, ...] = ("crawler", "processor")
CONCURRENCY = 64
"""Leases of one crawler (`crawler.scheduling.scheduling_settings`); a test holds the two together."""
GROW_AFTER_S = 10.0
BACKLOG_SHARE = 0.25
"""Share of the backlog limit above which one more processor is started: far below the limit, where the crawl waits."""
MAX_STARTS = 32
"""Members of a kind that start at a time, once a second. A mistyped number does not bury the machine before it can be
corrected, and no tick outlasts the controller's lease."""
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 300.0
NEVER_SEEN = "died before its first heartbeat"
CRASHES_FORGOTTEN_S = 120.0
"""Seconds without a crash, after the last wait, after which the next wait is the first one again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the configuration says, and the size of the machines."""

    limits: Mapping[MemberKind, Limits] = field(default_factory=dict)
    release_below: float = 0.5
    release_after_s: float = 60.0
    capacity: int | None = None
    """How many members the machines have CPUs for; None if it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One moment of the fleet and its crawl."""

    now_s: float
    """Seconds of a clock that never goes back."""
    state: FleetState
    is_drained: bool = False
    is_gate_open: bool = True
    ready_hosts: int = 0
    """Hosts with waiting URLs that may be asked now."""
    leased: int = 0
    backlog: int = 0
    """Archived bytes that wait to be processed."""
    backlog_limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashes:
    """The crashes of a kind in a row."""

    number: int = 0
    last_s: float = float("-inf")
    reason: str = ""

    @property
    def next_start_s(self) -> float:
        """When the next member of the kind may start."""
        if not self.number:
            return float("-inf")
        return self.last_s + min(FIRST_WAIT_S * 2.0 ** min(self.number - 1, 32), MAX_WAIT_S)

    def after(self, reasons: list[str], now_s: float) -> "Crashes":
        """Return the crashes with those that were seen now, each by its reason."""
        if reasons:
            return Crashes(number=self.number + len(reasons), last_s=now_s, reason=reasons[-1])
        return Crashes() if now_s - self.next_start_s > CRASHES_FORGOTTEN_S else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the controller remembers between two plans. A new controller begins with an empty memory."""

    growing_since_s: Mapping[MemberKind, float] = field(default_factory=dict)
    shrinking_since_s: Mapping[MemberKind, float] = field(default_factory=dict)
    crashes: Mapping[MemberKind, Crashes] = field(default_factory=dict)
    seen_dead: frozenset[str] = frozenset()
    owed: Mapping[MemberKind, tuple[int, ...]] = field(default_factory=dict)
    """For each member that died and is not replaced yet, how many died in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A member to be started."""

    kind: MemberKind
    restarts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do now. `numbers` are new wanted numbers, `note` says why fewer members run than wanted."""

    starts: tuple[Start, ...] = ()
    drains: tuple[str, ...] = ()
    numbers: Mapping[MemberKind, int] = field(default_factory=dict)
    note: str = ""
    memory: Memory


def plan(rules: Rules, observed: Observed, memory: Memory) -> Plan:
    """Return what the controller does now, and what it remembers."""
    memory = _count_deaths(observed, memory)
    numbers, memory = _scale(rules, observed, memory)
    state = observed.state
    wanted = {kind: numbers.get(kind, state.wanted.number(kind)) for kind in KINDS}
    targets = _targets(rules, observed, wanted)
    starts: list[Start] = []
    drains: list[str] = []
    owed = dict(memory.owed)
    for kind in KINDS:
        active = _active(state, kind)
        surplus = len(active) - targets[kind]
        drains += [each.name for each in _least_useful(active, state.wanted.version)[: max(surplus, 0)]]
        restarts = owed.get(kind, ())
        number = _startable(-surplus, memory.crashes.get(kind, Crashes()), observed.now_s)
        starts += [Start(kind=kind, restarts=each) for each in (*restarts, *[0] * number)[:number]]
        # A place that is not wanted any more is not owed.
        owed[kind] = restarts[number : max(-surplus, 0)]
    if not starts and not drains and (outdated := _outdated(state, memory)) is not None:
        drains.append(outdated.name)
    return Plan(
        starts=tuple(starts),
        drains=tuple(drains),
        numbers=numbers,
        note=_note(observed, memory, wanted, targets),
        memory=replace(memory, owed=owed),
    )


def _count_deaths(observed: Observed, memory: Memory) -> Memory:
    """Count crashes, and remember what is to be replaced."""
    state = observed.state
    lost = [each for each in state.members if each.state == "lost" and each.name not in memory.seen_dead]
    ended = [each for each in state.ended if each.name not in memory.seen_dead]
    owed = dict(memory.owed)
    crashes: dict[MemberKind, Crashes] = {}
    for kind in KINDS:
        died = [
            each.restarts + 1 for each in ended if each.kind == kind and (each.has_crashed or each.reason)
        ]
        died += [each.restarts + 1 for each in lost if each.kind == kind]
        owed[kind] = (*owed.get(kind, ()), *died)
        crashed = [each.reason for each in ended if each.kind == kind and each.has_crashed]
        # A member gets its machine with its first heartbeat.
        crashed += [NEVER_SEEN for each in lost if each.kind == kind and not each.node]
        crashes[kind] = memory.crashes.get(kind, Crashes()).after(crashed, observed.now_s)
    dead = [each.name for each in state.members if each.state == "lost"]
    seen_dead = frozenset({*dead, *(each.name for each in state.ended)})
    return replace(memory, crashes=crashes, owed=owed, seen_dead=seen_dead)


def _scale(rules: Rules, observed: Observed, memory: Memory) -> tuple[dict[MemberKind, int], Memory]:
    """Return new wanted numbers of the kinds with limits."""
    numbers: dict[MemberKind, int] = {}
    growing, shrinking = dict(memory.growing_since_s), dict(memory.shrinking_since_s)
    wanted, now_s = observed.state.wanted, observed.now_s
    for kind, limits in rules.limits.items():
        number = wanted.number(kind)
        is_steady = not wanted.is_paused and not wanted.is_stopping
        needs_more, needs_less = _needs(rules, observed, kind) if is_steady else (False, False)
        for since, holds in ((growing, needs_more), (shrinking, needs_less)):
            if holds:
                since.setdefault(kind, now_s)
            else:
                since.pop(kind, None)
        changed = limits.clamp(number)
        if kind in growing and now_s - growing[kind] >= GROW_AFTER_S:
            changed = limits.clamp(number + 1)
        elif kind in shrinking and now_s - shrinking[kind] >= rules.release_after_s:
            changed = limits.clamp(number - 1)
        if changed != number:
            numbers[kind] = changed
            growing.pop(kind, None)
            shrinking.pop(kind, None)
    return numbers, replace(memory, growing_since_s=growing, shrinking_since_s=shrinking)


def _needs(rules: Rules, observed: Observed, kind: MemberKind) -> tuple[bool, bool]:
    """Return whether one more member is needed, and whether one can be released."""
    state = observed.state
    number, running = state.wanted.number(kind), state.running(kind)
    is_complete = running >= number
    if kind == "processor":
        more = is_complete and observed.backlog > BACKLOG_SHARE * observed.backlog_limit > 0
        return more or (number == 0 and observed.backlog > 0), number > 0 and observed.backlog == 0
    if observed.is_drained:
        return False, False  # no crawler runs anyway, and the number is there when URLs are added
    ready = observed.ready_hosts if observed.is_gate_open else 0
    more = is_complete and (ready >= CONCURRENCY or (number == 0 and ready > 0))
    capacity_of_others = CONCURRENCY * (number - 1)
    less = number > 0 and observed.leased + ready <= rules.release_below * capacity_of_others
    return more, less and not more


def _targets(rules: Rules, observed: Observed, wanted: Mapping[MemberKind, int]) -> dict[MemberKind, int]:
    """Return how many members of each kind should run now."""
    state = observed.state
    if state.wanted.is_stopping:
        return {"crawler": 0, "processor": 0, "exporter": len(_placed(state, "exporter"))}
    targets = dict(wanted)
    if observed.is_drained:
        targets["crawler"] = 0
    # An export that runs ends by itself, whatever is wanted by now.
    targets["exporter"] = max(wanted["exporter"], len(_placed(state, "exporter")))
    if targets["exporter"]:
        _give_way(rules, state, targets)
    return targets


def _give_way(rules: Rules, state: FleetState, targets: dict[MemberKind, int]) -> None:
    """Lower the numbers of preemptible members until exports have room."""
    room = sum(targets[kind] for kind in PREEMPTIBLE)
    if rules.capacity is not None:
        room = max(rules.capacity - targets["exporter"], 0)
    if waiting := len(_active(state, "exporter")) - len(_placed(state, "exporter")):
        # Others use the machines too: every waiting export takes the place of one member that runs.
        room = min(room, max(sum(len(_placed(state, kind)) for kind in PREEMPTIBLE) - waiting, 0))
    while sum(targets[kind] for kind in PREEMPTIBLE) > room:
        largest = max(PREEMPTIBLE, key=lambda kind: (targets[kind], kind == "crawler"))
        targets[largest] -= 1


def _active(state: FleetState, kind: MemberKind) -> list[Member]:
    """Return the members of a kind that run, or start, and will go on."""
    return [
        each
        for each in state.members
        if each.kind == kind and each.state != "lost" and not each.is_drain_ordered
    ]


def _placed(state: FleetState, kind: MemberKind) -> list[Member]:
    """Return the members of a kind that have a machine."""
    return [each for each in _active(state, kind) if each.node]


def _least_useful(members: list[Member], version: str) -> list[Member]:
    """Return members in the order in which they are drained: no machine yet, an old version, the youngest."""
    return sorted(
        members, key=lambda each: (bool(each.node), each.version == version, -each.started_at_ms, each.name)
    )


def _startable(missing: int, crashes: Crashes, now_s: float) -> int:
    """Return how many members may start now: one at a time while members crash, `MAX_STARTS` otherwise."""
    if missing <= 0 or now_s < crashes.next_start_s:
        return 0
    return min(missing, MAX_STARTS) if not crashes.number else 1


def _outdated(state: FleetState, memory: Memory) -> Member | None:
    """Return the member that changes its version next."""
    is_settled = all(
        each.state in {"running", "paused"} and not each.is_drain_ordered
        for each in state.members
        if each.kind in PREEMPTIBLE
    )
    if not is_settled or any(each.number for each in memory.crashes.values()):
        return None
    old = [
        each for each in state.members if each.kind in PREEMPTIBLE and each.version != state.wanted.version
    ]
    return min(old, key=lambda each: (each.started_at_ms, each.name), default=None)


def _note(
    observed: Observed, memory: Memory, wanted: Mapping[MemberKind, int], targets: Mapping[MemberKind, int]
) -> str:
    state, reasons = observed.state, []
    if state.wanted.is_stopping:
        return "the fleet stops"
    for kind in KINDS:
        crashes = memory.crashes.get(kind, Crashes())
        if crashes.number and len(_active(state, kind)) < targets[kind]:
            wait_s = max(crashes.next_start_s - observed.now_s, 0)
            reasons.append(
                f"{crashes.number} {kind}{'s' if crashes.number > 1 else ''} crashed in a row"
                f" ({crashes.reason}), next start in {wait_s:.0f} s"
            )
        if waiting := len(_active(state, kind)) - len(_placed(state, kind)):
            reasons.append(f"{waiting} {kind}{'s wait' if waiting > 1 else ' waits'} for room")
    if observed.is_drained and wanted["crawler"]:
        reasons.append("the frontier is drained, so no crawler is needed")
    elif any(targets[kind] < wanted[kind] for kind in PREEMPTIBLE):
        reasons.append("crawlers and processors make room for an export")
    return "; ".join(reasons)
