"""`RayBerth`: a crawl worker on a Ray cluster."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from core import ThresherError
from pipeline.engine.local.crawl_worker import Left, Place
from pipeline.engine.ray.actors import Seat, Terms, build, machine
from pipeline.engine.ray.ray_cluster import PATIENCE_S, POLL_S, cannot_begin, connected, cpus, no_room
from storage.directory_store import Files
from storage.store import Store


class RayBerth:
    """One crawl worker, in a process beside an actor with one CPU of some node."""

    def __init__(self, ray: ModuleType, terms: Terms, told: bytes, patience_s: float = PATIENCE_S) -> None:
        """Ask for the actor; the worker begins where and when there is room."""
        self._ray = ray
        self._actor = (
            ray.remote(Seat)
            .options(num_cpus=1, max_restarts=0, max_concurrency=2, scheduling_strategy="SPREAD")
            .remote()
        )
        self._taken = self._actor.taken.remote()
        self._stay = self._actor.stay.remote(terms, told)
        self._waits = True
        self._left: Left | None = None
        self._until = time.monotonic() + patience_s
        self._patience_s = patience_s

    def left(self) -> Left | None:
        """How it ended, or None while it lives or waits for room."""
        return self._look(timeout_s=0)

    def wait(self) -> Left:
        """Wait until it has ended."""
        while (left := self._look(timeout_s=POLL_S)) is None:
            pass
        return left

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal. A worker that has no room yet never begins."""
        if self._look(timeout_s=0) is not None:
            return
        if self._waits:
            self._leave(Left(exitcode=0, said=None))
        else:
            self._actor.signal.remote(int(signum))

    def _look(self, timeout_s: float) -> Left | None:
        """Bring what is known up to date, waiting for news no longer than that."""
        if self._left is None and self._ready(self._stay, timeout_s):
            try:
                self._leave(self._ray.get(self._stay))
            except self._ray.exceptions.RayError as error:
                self._leave(Left(exitcode=None, said=self._why(error)))
        if self._waits and self._left is None:
            self._waits = not self._ready(self._taken, 0)
            if self._waits and time.monotonic() > self._until:
                self._leave(Left(exitcode=None, said=no_room(self._ray, 0, self._patience_s)))
        return self._left

    def _why(self, error: Exception) -> ThresherError | None:
        """What is to be said of an actor that died; nothing where another can take its place."""
        if getattr(error, "actor_init_failed", False):
            return cannot_begin(error)
        try:
            cpus(self._ray)
        except ThresherError as gone:
            return gone
        return None

    def _ready(self, ref: Any, timeout_s: float) -> bool:
        ready, _ = self._ray.wait([ref], timeout=timeout_s)
        return bool(ready)

    def _leave(self, left: Left) -> None:
        self._left = left
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)

    def __repr__(self) -> str:
        state = "left" if self._left else "waits for room" if self._waits else "works"
        return f"<berth on Ray: {state}>"


@contextmanager
def ray_berths(address: str, store: Store, *, one_machine: bool) -> Iterator[Place]:
    """A place for crawl workers on the cluster, for the time of the context. `one_machine`: they must all be on the
    driver's, for what they talk to is reached from there alone.
    """
    with connected(address) as ray, _witness(store) as witness:
        terms = Terms(build=build(), sees=witness, machine=machine() if one_machine else None)
        yield lambda told: RayBerth(ray, terms, told)


@contextmanager
def _witness(store: Store) -> Iterator[Path | None]:
    """A file that whoever shares the storage must see; None where the storage is no directory."""
    if not isinstance(store, Files):
        yield None
        return
    with store.stage("witness") as staged:
        yield staged.path
