"""`World`: virtual time, and whose turn it is.

1. Nothing here sleeps, and nothing is asked what time it is but the world: time is the moment of the event that is next.
2. Everything that is left to chance is drawn from one generator, so a seed is a run: who is first where several are ready,
   how long a message takes, when a fault comes.
3. What happens is written into a trace, and the trace is hashed: two runs of one seed have one hash.
"""

import hashlib
import heapq
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulator.process import Process

EPOCH_MS = 1_760_000_000_000
"""When every run begins, by clocks that are right: some day in October 2025."""
FOREVER = float("inf")


class DeadlockError(Exception):
    """There is something to wait for, and nothing will ever happen."""


class World:
    """Its processes take turns, one callback at a time."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.now = 0.0
        """Seconds since the beginning."""
        self.events = 0
        self.processes: list[Process] = []
        """All that ever were."""
        self.living: list[Process] = []
        self.trace: deque[str] = deque(maxlen=4_000)
        self._hash = hashlib.blake2b(digest_size=16)
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    @property
    def hash(self) -> str:
        """Of all that was noted so far."""
        return self._hash.hexdigest()

    def note(self, who: str, what: str) -> None:
        """Something happened."""
        line = f"{self.now:.6f} {who}: {what}"
        self._hash.update(line.encode())
        self.trace.append(line)

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Have something happen that is no process's doing."""
        heapq.heappush(self._heap, (max(when, self.now), next(self._number), what))

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        """The same, after so long."""
        self.at(self.now + seconds, what)

    def latency(self) -> float:
        """How long a message takes: a millisecond mostly, a second seldom."""
        spread = self.random.random()
        return 0.0002 / (1.0002 - spread) if spread < 0.999 else self.random.uniform(0.2, 1.0)

    def run(self, until: Callable[[], bool], limit_s: float) -> None:
        """Let things happen until something is so. Raises `DeadlockError` where it is not after so long."""
        while not until():
            at, process = self._heap[0][0] if self._heap else FOREVER, None
            for each in self.living:
                due = each.due()
                if due < at or (due == at < FOREVER and self.random.random() < 0.5):
                    at, process = due, each
            if at > limit_s:
                raise DeadlockError(f"after {limit_s:.0f} s" if at < FOREVER else "nothing is left to happen")
            self.now, self.events = max(self.now, at), self.events + 1
            if process is not None:
                process.step()
            else:
                heapq.heappop(self._heap)[2]()
