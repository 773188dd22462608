"""`judge`: check what the workers of a fleet saw against what the frontier promises.

1. The judge trusts the frontier in nothing that can be known from outside. A call takes effect between its start and
   its reply by CLOCK_MONOTONIC, which all processes of a machine share. Every bound below relies on that alone.
2. A server that lost power has forgotten the calls of the last moments before its death. Such a call may happen again
   without a violation. Politeness, and the rule that no two grants have the same token, hold for these calls too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.frontier.facts import ROW, Fact, Kind, Span

_MS = 1_000_000
_FAR = 10**9
_NEVER = np.iinfo(np.int64).max
_SHOWN = 3
_TYPE = np.dtype(
    [
        *((name, "u1") for name in ("kind", "final")),
        *((name, "u4") for name in ("version", "worker", "host", "wait")),
        *((name, "i8") for name in ("url", "token", "at", "before", "after")),
    ]
)


def read(paths: Iterable[Path]) -> NDArray[np.void]:
    """Return the facts in some files. An incomplete row at the end was cut off by a kill: its call was never made."""
    parts = []
    for path in paths:
        text = path.read_bytes()
        parts.append(np.frombuffer(text[: len(text) // ROW.size * ROW.size], _TYPE))
    return np.concatenate(parts)


def facts(rows: Iterable[Fact]) -> NDArray[np.void]:
    """Return facts as `read` does."""
    return np.array([tuple(row) for row in rows], _TYPE)


@dataclass(kw_only=True)
class Findings:
    """The figures, and the violations of promises."""

    figures: dict[str, int | float] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def add_violations(self, rule: str, broken: NDArray[Any], rows: NDArray[np.void]) -> None:
        """Add a violation of `rule` if `broken` is true for any of `rows`."""
        if count := int(np.count_nonzero(broken)):
            shown = "; ".join(
                str(dict(zip(_TYPE.names or (), row, strict=True))) for row in rows[broken][:_SHOWN]
            )
            self.violations.append(f"{rule}: {count} times, such as {shown}")


def judge(
    observations: NDArray[np.void],
    *,
    lease_ms: int,
    partitions: int = 1,
    breaks: Sequence[int] = (),
    losses: Sequence[Span] = (),
    leaps_ns: int = 0,
) -> Findings:
    """Return what the workers' observations show about the frontier's promises.

    `breaks` are the times at which a server died, came back, or had its clock moved: between two of them the clock of a
    partition and CLOCK_MONOTONIC run alike. Each of `losses` reaches from the first forgotten moment of a server to its
    death. `leaps_ns` is how far the servers' clock was set forward in steps that the frontier takes for time: delays
    may be shorter by as much.
    """
    verdict = Findings()
    grants = _by(observations[observations["kind"] == Kind.GRANT], "host", "token")
    _check_tokens(verdict, grants)
    ends = _exchange_ends(verdict, observations, grants, lease_ms, losses)
    moments = _grant_times(grants, partitions, breaks) + leaps_ns
    _check_gaps(verdict, observations, grants, ends, moments, losses)
    _check_holds(verdict, observations, grants, losses, leaps_ns)
    _check_settled_once(verdict, observations, grants, losses)
    _check_addresses(verdict, observations, leaps_ns)
    verdict.figures |= {"postponed": int(np.count_nonzero(observations["kind"] == Kind.POSTPONE))}
    verdict.figures |= {"deaths": int(np.count_nonzero(observations["kind"] == Kind.DEATH))}
    return verdict


def _check_tokens(verdict: Findings, grants: NDArray[np.void]) -> None:
    ordered = _by(grants, "token")
    same = np.zeros(len(ordered), bool)
    same[1:] = ordered["token"][1:] == ordered["token"][:-1]
    verdict.add_violations("a token was granted twice", same, ordered)
    pages = grants["url"][grants["url"] >= 0]
    verdict.figures |= {
        "grants": len(grants),
        "grants_pages": len(pages),
        "grants_again": len(pages) - len(np.unique(pages)),
    }


def _exchange_ends(
    verdict: Findings,
    observations: NDArray[np.void],
    grants: NDArray[np.void],
    lease_ms: int,
    losses: Sequence[Span],
) -> NDArray[np.int64]:
    """Return the earliest end of each grant's exchange: a worker reported it, or its deadline passed."""
    order = np.argsort(grants["token"], kind="stable")
    tokens = grants["token"][order]
    earliest = grants["before"][order] + lease_ms * _MS
    ended = observations[np.isin(observations["kind"], (Kind.END, Kind.SETTLE, Kind.POSTPONE))]
    place = np.minimum(np.searchsorted(tokens, ended["token"]), max(len(tokens) - 1, 0))
    verdict.add_violations("a token was ended that was never granted", tokens[place] != ended["token"], ended)
    np.minimum.at(earliest, place, ended["before"])
    reclaims = observations[observations["kind"] == Kind.RECLAIM]
    if len(reclaims):
        first = np.full(int(max(reclaims["worker"].max(), grants["worker"].max())) + 1, _NEVER)
        np.minimum.at(first, reclaims["worker"], reclaims["before"])
        earliest = np.minimum(earliest, first[grants["worker"][order]])
    for loss in losses:  # the restarted server does not know these exchanges, but knows that it was away
        forgotten = (grants["after"][order] >= loss.begin) & (grants["before"][order] <= loss.end)
        earliest[forgotten] = np.minimum(earliest[forgotten], loss.end)
    ends = np.empty(len(grants), np.int64)
    ends[order] = np.maximum(earliest, grants["before"][order])
    return ends


def _grant_times(grants: NDArray[np.void], partitions: int, breaks: Sequence[int]) -> NDArray[np.int64]:
    """Return the latest time at which each grant was made.

    A grant was made before its reply came. Between two breaks the clock of a partition is ahead of CLOCK_MONOTONIC by a
    constant. Each grant's reply gives a lower bound of that constant, and the quickest reply gives the best one.
    """
    marks = np.sort(np.array(breaks, np.int64))
    stretch = np.searchsorted(marks, grants["before"])
    whole = stretch == np.searchsorted(marks, grants["after"])
    stretch = stretch * partitions + grants["token"] % partitions
    ahead = np.full((len(marks) + 1) * partitions, np.iinfo(np.int64).min)
    np.maximum.at(ahead, stretch[whole], (grants["at"] * _MS - grants["after"])[whole])
    latest = grants["after"].copy()
    latest[whole] = np.minimum(latest, (grants["at"] + 1) * _MS - ahead[stretch])[whole]
    return latest


def _check_gaps(
    verdict: Findings,
    observations: NDArray[np.void],
    grants: NDArray[np.void],
    ends: NDArray[np.int64],
    moments: NDArray[np.int64],
    losses: Sequence[Span],
) -> None:
    # A grant that was postponed unused keeps its distance from the grant before it; no later grant is measured from it.
    used = ~np.isin(grants["token"], observations["token"][observations["kind"] == Kind.POSTPONE])
    before = np.roll(np.maximum.accumulate(np.where(used, np.arange(len(grants)), -1)), 1)
    later = np.flatnonzero((before >= 0) & (np.arange(len(grants)) > 0))
    later = later[grants["host"][later] == grants["host"][before[later]]]
    earlier = before[later]
    pace = grants["wait"][later].astype(np.int64)
    reported = grants["at"][later] - grants["at"][earlier] - pace
    reported[_lost_with_power(grants[earlier], losses)] = (
        _FAR  # the loss sets the frontier's clock back as well
    )
    seen = moments[later] - ends[earlier] - pace * _MS
    verdict.add_violations(
        "two grants of a host came within its delay, by the frontier's clock", reported < 0, grants[later]
    )
    verdict.add_violations(
        "a host was granted within its delay after an exchange, by the workers' clock",
        seen < 0,
        grants[later],
    )
    if len(later):
        verdict.figures |= {
            "gaps": len(later),
            "hosts": len(np.unique(grants["host"])),
            "gap_slack_min_ms_frontier": int(reported.min()),
            "gap_slack_min_ms_workers": round(float(seen.min()) / _MS, 3),
            "gaps_within_1ms_of_the_delay": int(np.count_nonzero(seen < _MS)),
        }


def _check_holds(
    verdict: Findings,
    observations: NDArray[np.void],
    grants: NDArray[np.void],
    losses: Sequence[Span],
    leaps_ns: int,
) -> None:
    held = observations[(observations["kind"] == Kind.ACCEPTED) & (observations["wait"] > 0)]
    held = held[~_lost_with_power(held, losses)]
    hosts, begun, ended = (np.ascontiguousarray(grants[name]) for name in ("host", "before", "after"))
    early = np.zeros(len(grants), bool)
    first = np.searchsorted(hosts, held["host"], "left")
    last = np.searchsorted(hosts, held["host"], "right")
    for fact, of_host in zip(held, map(slice, first, last), strict=True):
        until = fact["before"] + fact["wait"] * np.int64(_MS) - leaps_ns
        early[of_host] |= (begun[of_host] > fact["after"]) & (ended[of_host] < until)
    verdict.add_violations("a host was granted while it was held", early, grants)
    verdict.figures |= {"holds": len(held)}


def _check_settled_once(
    verdict: Findings, observations: NDArray[np.void], grants: NDArray[np.void], losses: Sequence[Span]
) -> None:
    """Check that no URL has two settlements that end its life, nor a grant after the first of them."""
    last = observations[(observations["kind"] == Kind.ACCEPTED) & (observations["final"] == 1)]
    last = _by(last, "url", "after")
    twice = np.zeros(len(last), bool)
    twice[1:] = last["url"][1:] == last["url"][:-1]
    excused = _lost_with_power(last, losses)
    verdict.add_violations("a URL was settled twice", twice & ~np.roll(excused, 1), last)
    certain = last[~excused]
    urls, index = np.unique(certain["url"], return_index=True)
    if len(urls):
        pages = grants[grants["url"] >= 0]
        place = np.minimum(np.searchsorted(urls, pages["url"]), len(urls) - 1)
        after = np.where(urls[place] == pages["url"], certain["after"][index][place], _NEVER)
        verdict.add_violations("a URL was granted after it was settled", pages["before"] > after, pages)
    tried = np.unique(
        observations["url"][(observations["kind"] == Kind.SETTLE) & (observations["final"] == 1)]
    )
    verdict.figures |= {
        "settles": int(np.count_nonzero(observations["kind"] == Kind.SETTLE)),
        "settles_accepted": int(np.count_nonzero(observations["kind"] == Kind.ACCEPTED)),
        "urls_settled": len(np.unique(last["url"])),
        "urls_settled_untold": len(np.setdiff1d(tried, last["url"])),
        "urls_settled_twice_after_loss": int(np.count_nonzero(twice)),
    }


def _check_addresses(verdict: Findings, observations: NDArray[np.void], leaps_ns: int) -> None:
    entered = _by(observations[observations["kind"] == Kind.ENTER], "host", "before")
    if not len(entered):
        return
    next_of = entered["host"][1:] == entered["host"][:-1]
    # If two calls overlap, nobody knows which was first: it is enough if one order keeps the delay.
    forth = entered["after"][1:] - entered["before"][:-1]
    back = entered["after"][:-1] - entered["before"][1:]
    slack = np.maximum(forth, back) - entered["wait"][1:] * np.int64(_MS) + leaps_ns
    verdict.add_violations(
        "an address was entered twice within its delay", (slack < 0) & next_of, entered[1:]
    )
    verdict.figures |= {
        "enters": len(entered),
        "enter_slack_min_ms": round(float(slack[next_of].min(initial=_NEVER)) / _MS, 3),
    }


def _lost_with_power(calls: NDArray[np.void], losses: Sequence[Span]) -> NDArray[np.bool_]:
    """Return which calls a server that lost power may have forgotten."""
    forgotten = np.zeros(len(calls), bool)
    for loss in losses:
        forgotten |= (calls["after"] >= loss.begin) & (calls["before"] <= loss.end)
    return forgotten


def _by(rows: NDArray[np.void], *names: str) -> NDArray[np.void]:
    """Return the rows sorted by fields. `lexsort` is ten times as fast as numpy's sort of rows by their fields."""
    return rows[np.lexsort([rows[name] for name in reversed(names)])]
