"""The faults that a run may suffer, each a kind of its own; when they come is drawn from the seed.

A kind that is known to break a promise on the model in memory is switched off in `UNSUPPORTED`, with the reason: runs that must
hold leave it out, and a test shows that a run with it finds the broken promise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulator.fleet import Fleet
    from tests.simulator.process import Machine, Process

SHORT_S = 2.0
"""A worker that stands still for so long is not given up."""


def kill(fleet: "Fleet") -> None:
    """A worker is killed."""
    if worker := _one(fleet, fleet.running()):
        _kill(fleet, worker)


def kill_at_write(fleet: "Fleet") -> None:
    """Whoever writes to storage is killed, a few writes from now, between the write and hearing of it."""
    _at_write(fleet, _kill)


def pause_at_write(fleet: "Fleet") -> None:
    """Whoever writes to storage stands still there, a few writes from now, for as long as others need to give it up, and longer."""
    _at_write(
        fleet, lambda fleet, process: _freeze(fleet, process, fleet.world.random.uniform(SHORT_S, 15.0))
    )


def burn(fleet: "Fleet") -> None:
    """A machine is lost with all that runs there, and starts again under its old name."""
    machine = fleet.world.random.choice(fleet.machines)
    _note(fleet, machine.name, "lost")
    for process in _on(fleet, machine):
        process.kill()


def pause(fleet: "Fleet") -> None:
    """A worker stands still for a moment (SIGSTOP, a full swap): not for long enough to be given up."""
    if worker := _one(fleet, fleet.running()):
        _freeze(fleet, worker, fleet.world.random.uniform(0.05, SHORT_S))


def long_pause(fleet: "Fleet") -> None:
    """A worker stands still for as long as others need to give it up, and longer."""
    if worker := _one(fleet, fleet.running()):
        _freeze(fleet, worker, fleet.world.random.uniform(SHORT_S, 15.0))


def pause_at_request(fleet: "Fleet") -> None:
    """A worker stands still when all it has still to do is to send, a few requests from now, until others have given it up."""
    random = fleet.world.random

    def stand(process: "Process") -> None:
        _freeze(fleet, process, random.uniform(SHORT_S, 15.0))

    fleet.web.traps.append([random.randint(1, 8), stand])


def suspend(fleet: "Fleet") -> None:
    """A machine sleeps: its processes stand still, and so does the clock that they measure by."""
    machine, seconds = fleet.world.random.choice(fleet.machines), fleet.world.random.uniform(SHORT_S, 15.0)
    _note(fleet, machine.name, f"sleeps for {seconds:.3f} s")
    for process in _on(fleet, machine):
        process.freeze(seconds)
    machine.slept_s += seconds


def step_clock(fleet: "Fleet") -> None:
    """Somebody sets a machine's clock."""
    machine = fleet.world.random.choice(fleet.machines)
    machine.skew_ms += fleet.world.random.choice([-86_400_000, -5_000, 5_000, 3_600_000])
    fleet.clocks_differ = True
    _note(fleet, machine.name, f"clock is off by {machine.skew_ms} ms")


def repeat(fleet: "Fleet") -> None:
    """For a while replies of the frontier's server are lost, and calls made twice."""
    fleet.server.repeats = 0.2
    _note(fleet, "server", "loses replies")
    fleet.world.after(fleet.world.random.uniform(0.2, 3.0), lambda: setattr(fleet.server, "repeats", 0.0))


def leave(fleet: "Fleet") -> None:
    """The frontier's server does not answer for a while."""
    fleet.server.away_until = fleet.world.now + fleet.world.random.uniform(0.1, 6.0)
    _note(fleet, "server", "is away")


def lose_tail(fleet: "Fleet") -> None:
    """The frontier's server is killed, and comes back without its last moments."""
    world, server = fleet.world, fleet.server
    snapshot, life = server.snapshot(), server.life

    def lose() -> None:
        if server.life != life:  # what it came back with lies on its disk
            return
        server.lose(snapshot)
        server.away_until = world.now + world.random.uniform(0.01, 0.5)
        _note(fleet, "server", "has lost its tail")

    world.after(world.random.uniform(0.05, 1.0), lose)


def store_away(fleet: "Fleet") -> None:
    """The storage answers 503, and takes what it is given or not."""
    fleet.objects.away_until = fleet.world.now + fleet.world.random.uniform(0.01, 1.0)
    _note(fleet, "storage", "is away")


def drain(fleet: "Fleet") -> None:
    """Somebody ends a worker with SIGTERM."""
    if worker := _one(fleet, fleet.running()):
        _note(fleet, worker.name, "is told to end")
        worker.signal(15)


Fault = Callable[["Fleet"], None]
ALL: dict[str, Fault] = {
    each.__name__: each
    for each in (
        kill,
        kill_at_write,
        burn,
        pause,
        long_pause,
        pause_at_write,
        pause_at_request,
        suspend,
        step_clock,
        repeat,
        leave,
        lose_tail,
        store_away,
        drain,
    )
}
UNSUPPORTED: dict[str, str] = {
    "lose_tail": "the model in memory has no client that tells it again what it forgot; a Redis server has",
}
"""Kinds that break a promise where the frontier's server is the model, and why. On a Redis server none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """What befalls a run."""

    kinds: tuple[str, ...]
    most: int = 8
    within_s: float = 12.0
    """The last comes by then; most crawls take some ten seconds."""

    def schedule(self, fleet: "Fleet") -> None:
        """Have the faults happen."""
        random = fleet.world.random
        for _ in range(random.randint(0, self.most) if self.kinds else 0):
            kind = random.choice(self.kinds)
            fleet.world.at(random.uniform(0.0, self.within_s), partial(ALL[kind], fleet))


def _one(fleet: "Fleet", found: "list[Process]") -> "Process | None":
    return fleet.world.random.choice(found) if found else None


def _on(fleet: "Fleet", machine: "Machine") -> "list[Process]":
    return [each for each in fleet.world.processes if each.machine is machine and not each.has_exited]


def _kill(fleet: "Fleet", process: "Process") -> None:
    _note(fleet, process.name, "killed")
    process.kill()


def _at_write(fleet: "Fleet", what: "Callable[[Fleet, Process], None]") -> None:
    fleet.objects.traps.append([fleet.world.random.randint(1, 12), lambda process: what(fleet, process)])


def _freeze(fleet: "Fleet", process: "Process", seconds: float) -> None:
    _note(fleet, process.name, f"stands still for {seconds:.3f} s")
    process.freeze(seconds)


def _note(fleet: "Fleet", who: str, what: str) -> None:
    fleet.world.note("fault", f"{who} {what}")
