"""The state of a fleet for people and for programs. Pure."""

from dataclasses import asdict
from typing import Any

from rich.table import Table

from thresher.frontier import FleetState, Member
from thresher.frontier.fleet_state import KINDS, MemberKind
from thresher.pipeline.terminal.byte_text import byte_text
from thresher.pipeline.terminal.rate import format_duration


def is_as_wanted(state: FleetState) -> bool:
    """Return whether a controller holds the fleet and no member is missing."""
    return state.controller is not None and all(state.running(kind) >= state.expected(kind) for kind in KINDS)


def body(state: FleetState) -> dict[str, Any]:
    """Return the state for programs."""
    return {
        **asdict(state),
        "expected": {kind: state.expected(kind) for kind in KINDS},
        "running": {kind: state.running(kind) for kind in KINDS},
        "as_wanted": is_as_wanted(state),
    }


def lines(crawl: str, state: FleetState) -> list[str]:
    """Return the state for people. The first line alone says whether all is well."""
    parts = [_number(state, kind) for kind in KINDS if state.expected(kind) or state.running(kind)]
    found = [f"{crawl}: {', '.join(parts) or 'nothing runs'}{'; paused' if state.wanted.is_paused else ''}"]
    if state.controller is None:
        seen = (
            f"; the last one was seen {_age(state, state.controller_seen_at_ms)} ago"
            if state.controller_seen_at_ms
            else ""
        )
        found.append(f"  no controller runs{seen}; run `thresher fleet start {crawl}`")
    else:
        found.append(f"  controller {state.controller}, version {state.wanted.version}")
    if state.note:
        found.append(f"  {state.note}")
    found += [f"  {each.kind} {each.name} ended: {each.reason}" for each in state.ended if each.reason]
    return found


def member_table(state: FleetState) -> Table:
    """Return a table with a row for each member."""
    table = Table(box=None, pad_edge=False)
    for column in ("member", "kind", "node", "state", "seen", "restarts", "CPU", "memory", "version"):
        is_number = column in {"seen", "restarts", "CPU", "memory"}
        table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
    for each in state.members:
        table.add_row(*_cells(state, each))
    return table


def _cells(state: FleetState, member: Member) -> list[str]:
    is_old = member.version != state.wanted.version
    return [
        member.name,
        member.kind,
        member.node or "(waits)",
        member.state,
        f"{_age(state, member.seen_at_ms)} ago",
        str(member.restarts),
        format_duration(member.cpu_seconds),
        byte_text(member.rss_bytes),
        f"{member.version} (old)" if is_old else member.version,
    ]


def _number(state: FleetState, kind: MemberKind) -> str:
    running, expected = state.running(kind), state.expected(kind)
    return f"{running} of {expected} {kind}{'' if expected == 1 else 's'}"


def _age(state: FleetState, at_ms: int) -> str:
    return format_duration(max(state.now_ms - at_ms, 0) / 1000)
