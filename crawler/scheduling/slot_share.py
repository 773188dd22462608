"""`SlotShares`: how many of a worker's slots the hosts of one registered domain may hold. Pure: the time is an
argument, in seconds.

A worker holds a slot, and the memory of a capture, for every open lease. A domain may have any number of host names,
and each may answer one byte at a time. Without a bound they would hold all slots until their time-outs, and no other
host would be requested.

1. A domain is admitted to a slot while it holds fewer than `SLOTS_PER_FREE_SLOT` times the slots that are free
   (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998). So one busy domain
   leaves a quarter of the slots free, two leave a seventh, and a domain that holds nothing is admitted while any slot
   is free. A worker with fewer than four slots has too few to share.
2. A domain that has not answered yet holds one slot, however many hosts it has. It has answered once a page of it
   arrives within `PATIENCE_S`.
3. A domain is slow while an exchange of it lasts longer than that, and for `SLOW_S` after one that did. All slow
   domains share half of the slots; beyond that they are admitted as one domain is by rule 1. So the others have half,
   however many the slow ones are.
4. A lease that is not admitted goes back, and its host waits. The hosts of a domain wait in one line, which moves as
   fast as the domain's slots become free: the domain's mean time to hold a slot, divided by the slots that it holds.
   So what is leased in vain is in proportion to what is fetched, however many hosts wait. Leases of one host, which a
   host without a delay has many of, wait for one turn together.
"""

from collections import deque
from dataclasses import dataclass, field
from math import inf

from thresher.frontier.urls.scope import registered_domain

SLOTS_PER_FREE_SLOT = 3
"""Slots that a domain may hold for each free one."""
PATIENCE_S = 5.0
"""Seconds. Most pages of the open web arrive within some tenths of a second. A domain that would hold a slot all the
time has to take it again after this time, and others may be quicker."""
SLOW_S = 600.0
"""Seconds: five times as long as an exchange may last (`wire.limits`, with the usual time-out). A domain that stalls
once is trusted again when the others had four fifths of the time."""
MIN_WAIT_S = 0.05
MAX_WAIT_S = 300.0
"""Seconds that a host waits at most, however many hosts of its domain wait: their servers may have become quicker."""
MAX_IDLE_DOMAINS = 10_000
"""Domains without an open lease whose speed is remembered."""
_SMOOTHING = 8
"""An exchange moves the mean by one part in so many, as RFC 6298 smooths round trips."""


@dataclass(slots=True)
class _Domain:
    slot_starts: deque[float] = field(default_factory=deque)
    """When the held slots were taken, oldest first. The mean does not depend on whose slot it was."""
    mean_s: float = 0.0
    waiting_host: str = ""
    """The host that was put off last."""
    next_turn_at: float = 0.0
    """When that host may come again."""
    answers: bool = False
    """Whether a page of the domain arrived in time."""
    slow_until: float = -inf

    def is_slow(self, now: float) -> bool:
        return now < self.slow_until or (bool(self.slot_starts) and now - self.slot_starts[0] > PATIENCE_S)


class SlotShares:
    """Counts the slots that each registered domain holds."""

    def __init__(self) -> None:
        self._domains: dict[str, _Domain] = {}
        self._held: dict[int, tuple[str, float]] = {}

    def admit(self, token: int, host: str, now: float, *, slots: int) -> float | None:
        """Return None if a lease takes a slot, and otherwise for how many seconds its host waits. `slots` are the
        worker's, taken and free.
        """
        name = registered_domain(host)
        domain = self._domains.pop(name, None) or _Domain()
        self._domains[name] = domain  # the one that was used last comes last
        if len(domain.slot_starts) < self._most(domain, now, slots):
            self._held[token] = (name, now)
            domain.slot_starts.append(now)
            return None
        if host == domain.waiting_host and domain.next_turn_at > now:
            return domain.next_turn_at - now
        domain.waiting_host = host
        oldest_s = now - domain.slot_starts[0] if domain.slot_starts else 0.0
        step_s = max(domain.mean_s, oldest_s / 2) / max(len(domain.slot_starts), 1)
        domain.next_turn_at = min(max(domain.next_turn_at, now) + max(step_s, MIN_WAIT_S), now + MAX_WAIT_S)
        return domain.next_turn_at - now

    def over(self, token: int, now: float, elapsed_s: float | None = None) -> None:
        """Note that the exchange of a lease is over. `elapsed_s` is how long the host of a page took to answer; None
        for a robots.txt, and without an answer.
        """
        name, since = self._held.get(token, ("", now))
        domain = self._domains.get(name)
        if domain is None:
            return
        if (now - since if elapsed_s is None else elapsed_s) > PATIENCE_S:
            domain.slow_until = now + SLOW_S
        elif elapsed_s is not None:
            domain.answers = True

    def release(self, token: int, now: float) -> None:
        """Take back the slot of a lease; nothing happens if it has none."""
        name, since = self._held.pop(token, ("", 0.0))
        domain = self._domains.get(name)
        if domain is None:
            return
        domain.slot_starts.remove(since)
        domain.mean_s += (now - since - domain.mean_s) / _SMOOTHING
        if len(self._domains) > MAX_IDLE_DOMAINS:
            self._forget()

    def _most(self, domain: _Domain, now: float, slots: int) -> int:
        """Return how many slots a domain may hold, the new one included."""
        most = SLOTS_PER_FREE_SLOT * (slots - len(self._held))
        if not domain.is_slow(now):
            return most if domain.answers else min(most, 1)
        names = {name for name, _ in self._held.values()}
        held = sum(len(each.slot_starts) for name in names if (each := self._domains[name]).is_slow(now))
        return min(most, max(slots // 2, most) - (held - len(domain.slot_starts)))

    def _forget(self) -> None:
        """Forget the domain that was used least recently, if it holds no slot."""
        name = next(iter(self._domains))
        if not self._domains[name].slot_starts:
            del self._domains[name]

    def __repr__(self) -> str:
        return f"<slot shares: {len(self._held)} slots of {len(self._domains)} domains>"
