"""`simulate`: one run of one seed, from the first seed URL to the judgement."""

import gc
import logging
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redis import Redis

from tests.simulator import invariants
from tests.simulator.faults import ALL, UNSUPPORTED, FaultPlan
from tests.simulator.fleet import TTL_S, Fleet
from tests.simulator.modelserver import ModelServer
from tests.simulator.object_store import ObjectStore
from tests.simulator.redisserver import RedisServer
from tests.simulator.simulated_server import Server
from tests.simulator.simulated_web import Web
from tests.simulator.world import DeadlockError, World
from thresher.frontier import CrawlSettings, Discovery, Scope, canonicalize

LIMIT_S = 4_000.0
"""Virtual: leases of the lost expire within minutes, robots.txt of the unreachable within an hour."""
SHM = Path("/dev/shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """What a seed came to."""

    seed: int
    kinds: tuple[str, ...]
    """Of faults that it was allowed."""
    broken: tuple[str, ...]
    """Promises that did not hold, and by what."""
    hash: str
    """Of everything that happened."""
    trace: tuple[str, ...]
    """The end of it."""
    seconds: float
    """Virtual."""
    events: int
    server: str
    """What the frontier's server was: `model` or `redis`."""

    def __str__(self) -> str:
        """What broke, how to see it again, and what happened before."""
        said = "\n".join(f"  {each}" for each in self.broken)
        kinds = ",".join(self.kinds)
        again = f"python bench/crawler/simulate.py --seed {self.seed} --server {self.server} --kinds {kinds} --trace"
        return f"seed {self.seed} breaks a promise:\n{said}\nsee it again: {again}"


def usual(server: str) -> tuple[str, ...]:
    """Return the faults that break no promise where the frontier's server is the `model`, or `redis`."""
    return tuple(kind for kind in ALL if server == "redis" or kind not in UNSUPPORTED)


def simulate(seed: int, kinds: Iterable[str] | None = None, redis: Redis | None = None) -> SeedResult:
    """Run a seed with faults of these kinds; where none are named, with those that break no promise. The frontier is the model in
    memory, or the Lua functions on a server that is there for nothing else: `redis` is emptied.
    """
    server = "model" if redis is None else "redis"
    kinds = usual(server) if kinds is None else tuple(kinds)
    staging = Path(tempfile.mkdtemp(prefix="simulator-", dir=SHM if SHM.is_dir() else None))
    gc.disable()  # what it finds it finds at moments that no seed decides
    logging.disable()
    world = World(seed)
    try:
        broken = _run(world, FaultPlan(kinds=kinds), staging, redis)
    finally:
        for process in world.processes:
            process.discard()
        gc.enable()
        logging.disable(logging.NOTSET)
        shutil.rmtree(staging)
    return SeedResult(
        seed=seed,
        kinds=kinds,
        broken=tuple(broken),
        hash=world.hash,
        trace=tuple(world.trace),
        seconds=world.now,
        events=world.events,
        server=server,
    )


def _run(world: World, plan: FaultPlan, staging: Path, redis: Redis | None) -> list[str]:
    random = world.random
    web, objects = Web(world, random), ObjectStore(world, staging)
    server: Server = (
        ModelServer(world)
        if redis is None
        else RedisServer(world, redis, partitions=random.choice([1, 1, 3]))
    )
    settings = CrawlSettings(
        contact="mailto:crawl@example.org",
        min_delay_ms=random.choice([100, 200, 500]),
        min_ip_delay_ms=random.choice([0, 0, 50]),
    )
    urls = [canonicalize(url) for url in web.seeds]
    server.begin(settings, [Discovery(url=url, scope=Scope.of("host", url)) for url in urls])
    fleet = Fleet(world, server, objects, web, machines=random.choice([1, 2, 2, 3]))
    for machine in fleet.machines:
        fleet.start(machine)
        world.after(1.0, partial(fleet.keep_running, machine))
    plan.schedule(fleet)
    world.at(plan.within_s + 2.0, fleet.end_faults)
    try:
        world.run(lambda: fleet.is_calm and fleet.is_over, LIMIT_S)
        # What a machine left that nobody looked after again is taken up by the next command, when nobody is taken for living.
        world.after(2 * TTL_S, lambda: fleet.start(fleet.machines[0]))
        ended = len(world.processes)
        world.run(lambda: len(world.processes) > ended and fleet.is_over, 2 * LIMIT_S)
    except DeadlockError as stuck:
        return [f"the crawl does not come to its end: {stuck}", *fleet.errors]
    return [*fleet.errors, *invariants.violations(fleet)]
