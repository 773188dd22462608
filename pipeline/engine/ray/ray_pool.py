"""`RayCrew`: the hands of a Ray cluster.

Rules
1. A hand is an actor with one CPU of some node, and works in a cell of its own: what crashes there ends as it does on
   one machine. The death of an actor or of its node is somebody else's doing, and costs the part one attempt.
2. As many hands are asked for as tasks are under way, up to what was asked for; those that have no room yet wait in
   the cluster, where an autoscaler sees them. Hands that were idle for `IDLE_S` are given back.
3. A cluster that has no room for a single one for a while ends the run, in one line.
4. What a node has sealed counts when it is seen here: a directory that is not shared is an error, not a loss.
5. Nothing outlives the driver: actors are its own, and end with it.
"""

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from core import InputError, ThresherError
from pipeline.engine.ray.actors import Hand, Terms, build
from pipeline.engine.ray.ray_cluster import PATIENCE_S, POLL_S, cannot_begin, connected, cpus, line, no_room
from pipeline.engine.task import Died, Ended, Raised, Sealed, Task
from pipeline.terminal.output import warn
from storage.manifest import manifest_name

IDLE_S = 10.0
"""Long enough for what the driver does between two steps, short beside what others wait for."""
STILLBORN = 5
"""Actors in a row that may die before they can begin; nodes die, but not all of them."""
VISIBLE_S = 90.0
"""For how long a network file system may keep an old view of a directory (60 s, nfs(5) `acdirmax`), and some."""


class RayCrew:
    """Actors on a cluster, one for each hand. For one thread."""

    def __init__(self, ray: ModuleType, hands: int | None, patience_s: float = PATIENCE_S) -> None:
        """`ray` is connected; `hands` is how many may be asked for, or None for one for each CPU there is."""
        self._ray = ray
        self._limit = hands
        self._patience_s = patience_s
        self._terms = Terms(build=build())
        self._memory = 0
        self._waiting: deque[Task] = deque()
        self._idle: list[_Hand] = []
        self._coming: dict[Any, _Hand] = {}
        self._busy: dict[Any, tuple[_Hand, Task]] = {}
        self._stillborn = 0
        self._said: set[str] = set()
        self._last_placed = time.monotonic()
        self._cpus = _Gauge(lambda: cpus(ray))

    @property
    def hands(self) -> int:
        """How many the cluster has room for, other jobs apart, up to what was asked for; at least 1."""
        room = self._cpus.read()
        return max(1, room if self._limit is None else min(room, self._limit))

    def begin(self, task: Task) -> None:
        """Take a task. Hands that have too little memory for its step are given back."""
        if task.step.memory != self._memory:
            self._memory = task.step.memory
            for hand in [hand for hand in self._idle if hand.memory < self._memory]:
                self._give_back(hand)
        self._waiting.append(task)

    def ended(self) -> tuple[Task, Ended]:
        """Wait until some task has ended. Raises `Unavailable` and `InputError` where the cluster will not do."""
        while True:
            self._assign()
            self._staff()
            ready, _ = self._ray.wait([*self._busy, *self._coming], num_returns=1, timeout=POLL_S)
            for ref in ready:
                if ref in self._busy:
                    return self._finished(ref)
                self._arrived(ref)
            self._lose_patience()

    def close(self) -> None:
        """End all hands, at once: what was being made is made again some day."""
        for hand in (*self._idle, *self._coming.values(), *(hand for hand, _ in self._busy.values())):
            self._kill(hand)
        for each in (self._idle, self._coming, self._busy, self._waiting):
            each.clear()

    def _assign(self) -> None:
        while self._waiting and self._idle:
            hand, task = self._idle.pop(), self._waiting.popleft()
            self._busy[hand.actor.make.remote(pickle.dumps(task.assignment()))] = hand, task

    def _staff(self) -> None:
        """Ask for the hands that are missing, give back those that nothing waits for."""
        room = self._cpus.read()
        most = max(1, room) if self._limit is None else self._limit
        missing = min(len(self._waiting), most - len(self._busy)) - len(self._coming)
        for _ in range(missing):
            self._ask()
        for ref in list(self._coming)[: max(0, -missing)]:
            self._kill(self._coming.pop(ref))
        for hand in [hand for hand in self._idle if time.monotonic() - hand.idle_since > IDLE_S]:
            self._give_back(hand)

    def _ask(self) -> None:
        actor = (
            self._ray.remote(Hand)
            .options(num_cpus=1, memory=self._memory or None, max_restarts=0, scheduling_strategy="SPREAD")
            .remote(self._memory)
        )
        self._coming[actor.hello.remote(self._terms)] = _Hand(actor=actor, memory=self._memory)

    def _arrived(self, ref: Any) -> None:
        hand = self._coming.pop(ref)
        try:
            unmet, lacks = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._kill(hand)
            self._stillborn += 1
            if self._stillborn >= STILLBORN or getattr(error, "actor_init_failed", False):
                raise cannot_begin(error) from None
            return
        if unmet:
            raise InputError(f"project.engine: {unmet}")
        for lack in lacks:
            if lack not in self._said:
                warn(f"isolation: {lack}; see docs/security.md")
        self._said.update(lacks)
        self._stillborn = 0
        self._take_back(hand)

    def _finished(self, ref: Any) -> tuple[Task, Ended]:
        hand, task = self._busy.pop(ref)
        try:
            ended: Ended = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:  # a defect of ours; the actor lives
            self._take_back(hand)
            return task, Raised(error=ThresherError(line(error)), detail=str(error))
        except self._ray.exceptions.RayError:
            self._kill(hand)  # it may only be out of reach
            return task, Died(exitcode=None, item=None)
        self._take_back(hand)
        if isinstance(ended, Sealed):
            _require_visible(task)
        return task, ended

    def _take_back(self, hand: "_Hand") -> None:
        if hand.memory < self._memory:
            self._kill(hand)
            return
        hand.idle_since = self._last_placed = time.monotonic()
        self._idle.append(hand)

    def _give_back(self, hand: "_Hand") -> None:
        self._idle.remove(hand)
        self._kill(hand)

    def _kill(self, hand: "_Hand") -> None:
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(hand.actor)

    def _lose_patience(self) -> None:
        if self._busy or self._idle:
            self._last_placed = time.monotonic()
        if time.monotonic() - self._last_placed > self._patience_s:
            raise no_room(self._ray, self._memory, self._patience_s)

    def __repr__(self) -> str:
        return f"<crew on Ray: {len(self._busy)} busy, {len(self._idle)} idle, {len(self._coming)} asked for>"


@dataclass(slots=True, kw_only=True, eq=False)
class _Hand:
    actor: Any
    memory: int
    idle_since: float = 0.0


@dataclass(slots=True)
class _Gauge:
    """A number that is read anew when it is older than `POLL_S`."""

    measure: Callable[[], int]
    _value: int = 0
    _at: float = field(default=float("-inf"))

    def read(self) -> int:
        if time.monotonic() - self._at > POLL_S:
            self._value, self._at = self.measure(), time.monotonic()
        return self._value


@contextmanager
def ray_crew(address: str, hands: int | None) -> Iterator[RayCrew]:
    """A crew for the time of the context. `address` is `HOST:PORT`, or empty for RAY_ADDRESS or this machine's."""
    with connected(address) as ray:
        crew = RayCrew(ray, hands)
        try:
            yield crew
        finally:
            crew.close()


def _require_visible(task: Task) -> None:
    name = manifest_name(task.step.name, task.part.name)
    until = time.monotonic() + VISIBLE_S
    while not task.store.exists(name):
        if time.monotonic() > until:
            raise InputError(
                f"{name} was sealed on a node and is not in {task.store.uri} here; share that directory among the "
                "machines of the cluster, or use s3:"
            )
        time.sleep(POLL_S)
