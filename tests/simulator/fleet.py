"""`Fleet`: machines that each run the crawl command, until the crawl is at its end.

A command does what `pipeline.fleet.crawl_command` does, on the same parts: it takes up what dead workers left, starts a worker, keeps the
log of what the frontier settles by itself, takes up again now and then, and replaces a worker that died without a word. A worker
that names an error ends its command; somebody types it again, a little later.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from tests.simulator.object_store import ObjectStore, ProcessStore
from tests.simulator.process import Machine, Process
from tests.simulator.simulated_server import Server
from tests.simulator.simulated_web import Web
from tests.simulator.wire import InlineProcess, SimulatedClient
from tests.simulator.world import World
from thresher.core import ThresherError
from thresher.crawler.archive_settings import ArchiveSettings
from thresher.crawler.machine.activity import Activity
from thresher.crawler.machine.system import System
from thresher.crawler.replay.outbox import OutboxRelay
from thresher.crawler.replay.replay import recover
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.wire import WireSettings
from thresher.crawler.worker import crawl
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import Frontier, TakeoverError

CRAWL = "main"
TTL_S = 3.0
"""How long a worker is taken for living after it was heard of: a tenth of the command's own, for shorter runs."""
POLL_S = 0.5
AGAIN_S = 2.0
"""After which somebody types a command again that ended with an error."""


class NoTail:
    """The model keeps all in memory."""

    async def refill_outbox(self) -> int:
        return 0


class Fleet:
    """What runs, and where."""

    def __init__(self, world: World, server: Server, objects: ObjectStore, web: Web, machines: int) -> None:
        self.world, self.server, self.objects, self.web = world, server, objects, web
        self.machines = [Machine(name=f"m{number}") for number in range(machines)]
        self.commands: dict[str, Process] = {}
        self.workers: dict[str, Process] = {}
        """By name, all that ever were."""
        self.given_up: dict[str, float] = {}
        """Workers that were taken for dead and were not, and when."""
        self.helpless: dict[str, float] = {}
        """Those of them that stood still."""
        self.clocks_differ = False
        """Whether somebody has set one."""
        self.is_calm = False
        self.errors: list[str] = []
        """What processes ended with that they should never end with."""

    def start(self, machine: Machine) -> None:
        """Type the command there."""
        machine.lives += 1
        process = Process(self.world, machine, f"{machine.name}/command{machine.lives}")  # type: ignore[abstract]
        self.commands[machine.name] = process
        process.start(self._command(process))

    @property
    def is_over(self) -> bool:
        """Whether the crawl is at its end, and nobody works on it."""
        return all(process.has_exited for process in self.commands.values()) and all(
            process.has_exited for process in self.workers.values()
        )

    def keep_running(self, machine: Machine) -> None:
        """Type the command again there if it ended without coming to an end, now and for as long as the run lasts."""
        process = self.commands[machine.name]
        if process.has_exited and not self._is_done(process):
            self.start(machine)
        self.world.after(AGAIN_S, lambda: self.keep_running(machine))

    def end_faults(self) -> None:
        """No fault comes any more, and none lasts."""
        self.is_calm = True
        self.server.away_until = self.objects.away_until = self.world.now
        self.objects.traps.clear()
        self.web.traps.clear()

    def running(self) -> list[Process]:
        """Workers."""
        return [process for process in self.workers.values() if not process.has_exited]

    def _is_done(self, process: Process) -> bool:
        if process.main is None or not process.main.done():
            return False
        return process.main.exception() is None and process.main.result()

    def system(self, process: Process) -> System:
        """What a process takes from its machine."""
        return System(
            clock=process.time,
            boot_clock=process.boottime,
            clock_ms=process.wall_ms,
            client=partial(SimulatedClient, self.web, process, lambda: self.is_calm),  # type: ignore[arg-type]
            page_process=InlineProcess,  # type: ignore[arg-type]
            unique_name=lambda: f"{self.world.random.getrandbits(64):016x}",
        )

    async def _command(self, process: Process) -> bool:
        """Whether it came to an end."""
        try:
            return await self._watch(process)
        except ThresherError as error:
            self.world.note(process.name, f"ends: {error}")
            return False
        except Exception as error:
            self.errors.append(f"{process.name} ends with {error!r}")
            raise

    async def _watch(self, process: Process) -> bool:
        machine, store = process.machine, ProcessStore(self.objects, process)
        frontier = self.server.frontier(process)
        await frontier.open()
        ended: set[str] = set()
        await self._take_up(process, frontier, ended)
        relay = OutboxRelay(frontier, NoTail(), store, CRAWL, self.system(process))  # type: ignore[arg-type]
        keeping = asyncio.create_task(_keep(relay))
        worker = self._worker(machine)
        taken_up = process.time()
        try:
            while True:
                await asyncio.sleep(POLL_S)
                if keeping.done():
                    keeping.result()
                if process.time() - taken_up >= TTL_S:
                    await self._take_up(process, frontier, ended)
                    taken_up = process.time()
                if not worker.has_exited:
                    continue
                ended.add(worker.name)
                assert worker.main
                if worker.main.done():
                    try:
                        worker.main.result()
                        break
                    except TakeoverError:
                        pass
                await self._take_up(process, frontier, ended)
                worker = self._worker(machine)
        finally:
            keeping.cancel()
            if not worker.has_exited:
                worker.signal(15)
        await relay.log_all()
        return True

    def _worker(self, machine: Machine) -> Process:
        machine.lives += 1
        name = f"{machine.name}-{machine.lives:04d}"
        process = Process(self.world, machine, name)  # type: ignore[abstract]
        self.workers[name] = process
        store = ProcessStore(self.objects, process)
        config = WorkerConfig(
            crawl=CRAWL,
            worker=name,
            redis="",
            user_agent="thresher/0 (+mailto:crawl@example.org)",
            store=store,
            wire=WireSettings(timeout=2.0),
            scheduling=SchedulingSettings(concurrency=8),
            archive=ArchiveSettings(
                warc_bytes=self.world.random.choice([4_000, 20_000, 1 << 30]),
                warc_age=self.world.random.choice([1, 5, 3600]),
            ),
            ttl_s=TTL_S,
        )
        process.start(self._work(process, config))
        return process

    async def _work(self, process: Process, config: WorkerConfig) -> bool:
        try:
            return await crawl(config, self.server.frontier(process), Activity.make(), self.system(process))
        except ThresherError as error:
            self.world.note(process.name, f"ends: {error}")
            raise
        except Exception as error:
            self.errors.append(f"{process.name} ends with {error!r}")
            raise

    async def _take_up(self, process: Process, frontier: Frontier, ended: set[str]) -> None:
        async def dead(workers: set[str]) -> set[str]:
            """As `pipeline.fleet.liveness`: those of this machine by their processes, others by what the frontier hears."""
            home = {name for name in workers if name.startswith(f"{process.machine.name}-")}
            gone = {name for name in home if name in ended or self.workers[name].has_exited}
            found = gone | (workers - home) - await frontier.workers.alive(workers - home)
            for worker in (self.workers[name] for name in sorted(found)):
                if not worker.has_exited:
                    self.given_up.setdefault(worker.name, self.world.now)
                    if worker.frozen_until > self.world.now:
                        self.helpless.setdefault(worker.name, self.world.now)
            return found

        store = ProcessStore(self.objects, process)
        await recover(store, frontier, dead, crawl=CRAWL, system=self.system(process))


async def _keep(relay: OutboxRelay) -> None:
    while True:
        await relay.log_due()
        await asyncio.sleep(0.25)


Fault = Callable[[Fleet], None]
