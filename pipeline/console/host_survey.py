"""`HostSurvey`: which hosts of a crawl are slowest or blocked, found by looking at some hosts at a time.

1. A round looks at every host once, some 1,000 with each call. The caller decides how many calls it makes at a time, so
   the cost does not depend on the number of hosts; only the length of a round does.
2. Memory is bounded: a round keeps `SHOWN` hosts of each kind, and a count for each reason.
3. The result is that of the last whole round, or of the first round as far as it has come.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from thresher.frontier import HostPage, HostState

SHOWN = 50
"""Hosts of each kind that a round keeps."""
GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyResult:
    """What a round found."""

    slowest: tuple[HostState, ...] = ()
    """Hosts that take longest to finish at their delay, the longest first."""
    held: tuple[HostState, ...] = ()
    """Hosts that are held, those with the most waiting pages first."""
    given_up: tuple[HostState, ...] = ()
    hosts: int = 0
    """Hosts that the round has looked at."""
    is_whole: bool = False
    """Whether it has looked at every host."""
    blocked_by_reason: Mapping[str, int] = field(default_factory=dict)
    """Held hosts, by the reason of the hold."""
    blocked_pages: int = 0
    """Pages that wait for held hosts."""


def seconds_to_finish(host: HostState) -> float:
    """Return how long the waiting pages of a host take at least, at its present delay."""
    hold_s = host.rest.ms / 1000 if host.rest else 0.0
    return hold_s + host.waiting * host.delay_ms / 1000


class HostSurvey:
    """The rounds of one crawl."""

    def __init__(self) -> None:
        self._last = SurveyResult()
        self.cursor = ""
        """Where the next page begins; pass it to `Inspection.host_page`."""
        self._begin()

    def _begin(self) -> None:
        self._slowest = _Largest(seconds_to_finish)
        self._held = _Largest(lambda host: host.waiting)
        self._given_up = _Largest(lambda host: host.open)
        self._hosts = self._blocked_pages = 0
        self._reasons: Counter[str] = Counter()

    def add(self, page: HostPage) -> None:
        """Take the page at `cursor`, and move the cursor on."""
        for host in page.hosts:
            self._add_host(host)
        self.cursor = page.cursor
        if not page.cursor:
            self._last = self._result(is_whole=True)
            self._begin()

    def restart(self) -> None:
        """Begin again: the crawl is another one, or its servers have changed."""
        self._last, self.cursor = SurveyResult(), ""
        self._begin()

    @property
    def result(self) -> SurveyResult:
        """The result of the last whole round, or of the first one as far as it has come."""
        return self._last if self._last.is_whole else self._result(is_whole=False)

    def _add_host(self, host: HostState) -> None:
        self._hosts += 1
        if host.dead_reason:
            self._given_up.add(host)
            self._reasons[GIVEN_UP] += 1
            return
        if host.rest:
            self._held.add(host)
            self._reasons[host.rest.reason] += 1
            self._blocked_pages += host.waiting
        if host.waiting and host.delay_ms:
            self._slowest.add(host)

    def _result(self, *, is_whole: bool) -> SurveyResult:
        return SurveyResult(
            slowest=self._slowest.hosts(),
            held=self._held.hosts(),
            given_up=self._given_up.hosts(),
            hosts=self._hosts,
            is_whole=is_whole,
            blocked_by_reason=dict(self._reasons),
            blocked_pages=self._blocked_pages,
        )

    def __repr__(self) -> str:
        return f"<survey of hosts at {self.cursor or 'the start'}>"


class _Largest:
    """The `SHOWN` hosts with the largest number."""

    def __init__(self, number: Callable[[HostState], float]) -> None:
        self._number = number
        self._heap: list[tuple[float, str]] = []
        self._hosts: dict[str, HostState] = {}

    def add(self, host: HostState) -> None:
        if host.host in self._hosts:  # it came twice, because hosts are added
            return
        entry = (self._number(host), host.host)
        if len(self._heap) < SHOWN:
            heapq.heappush(self._heap, entry)
        elif entry > self._heap[0]:
            del self._hosts[heapq.heapreplace(self._heap, entry)[1]]
        else:
            return
        self._hosts[host.host] = host

    def hosts(self) -> tuple[HostState, ...]:
        ordered: Iterable[tuple[float, str]] = sorted(self._heap, reverse=True)
        return tuple(self._hosts[name] for _, name in ordered)
