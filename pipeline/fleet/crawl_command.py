"""The crawl command: worker processes over one frontier, supervised until it drains.

Rules
1. Before workers start, the work of dead workers is recovered: open archive files are cut to their last complete
   record, sealed and settled, and leases that nobody will settle go back to the frontier. Workers of other machines
   that die during the crawl are recovered as well (`pipeline.fleet.liveness`), by any command that notices.
2. A lock tells whether a worker of this machine is alive; a heartbeat in the frontier tells it of any other.
3. The first SIGINT or SIGTERM drains: no new lease; requests in flight are archived and settled; files are sealed. A
   second one stops at once, and only open leases are lost.
4. A worker that dies, or that others may have taken for dead, is recovered and replaced. A worker that reports an error
   ends the crawl with that error.
5. Every command adds the start requests of a user's spider before any worker starts (`pipeline.fleet.spider_seeds`).
   Known URLs change nothing.
6. The crawl is opened first (`pipeline.open_crawl`). No worker starts if the storage or the settings are not those of
   the crawl.
7. Results that the frontier settles by itself go into the crawl's log while the command runs, and all of them at its
   end (`crawler.replay.outbox`).
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from thresher.core import ThresherError
from thresher.crawler.machine.activity import NO_PAGE
from thresher.crawler.spiders import SpiderSpec
from thresher.crawler.worker_config import STOPPED_AT_ONCE, WorkerConfig
from thresher.frontier import Frontier, Stats
from thresher.frontier.link.connect import connect
from thresher.pipeline import open_crawl
from thresher.pipeline.engine.local.crawl_worker import CrawlWorker, WorkerExit, WorkerFactory, pickle_call
from thresher.pipeline.fleet import liveness
from thresher.pipeline.fleet.crawl_call import (
    EXIT_PRESUMED_DEAD,
    EXIT_SPIDER_CLOSED,
    CrawlLimits,
    run_crawl_worker,
    worker_config,
)
from thresher.pipeline.fleet.crawl_progress import CrawlProgress
from thresher.pipeline.fleet.crawl_summary import CrawlSummary
from thresher.pipeline.fleet.frontier_upkeep import maintain_frontier, recover_dead_workers
from thresher.pipeline.fleet.spider_seeds import add_start_requests
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.crawllog.log_reader import LogFollower

POLL_S = 0.5
MAX_REPLACEMENTS = 5
"""Number of workers that may die without an error in one run before the run is given up."""


@dataclass(slots=True, kw_only=True)
class _FleetWorker:
    name: str
    handle: CrawlWorker


@dataclass(slots=True, kw_only=True)
class _Interrupts:
    """Counts the signals of the user that ask to stop."""

    count: int = 0
    unsent: list[int] = field(default_factory=list)

    def handle(self, signum: int, _: object) -> None:
        self.count += 1
        self.unsent.append(signum)

    def forward(self, workers: list[_FleetWorker]) -> None:
        """Send the workers one SIGTERM for each new signal."""
        for _ in self.unsent:
            _signal(workers, signal.SIGTERM)
        self.unsent.clear()


def crawl(  # noqa: PLR0913 - the options of the command
    project: OpenProject,
    name: str,
    limits: CrawlLimits,
    progress: Progress,
    spider: SpiderSpec | None = None,
    *,
    update: bool = False,
    verbose: bool = False,
) -> CrawlSummary:
    """Crawl until the frontier drains, a limit is reached or a signal asks for an end. `spider` is a user's spider.

    `update` replaces the crawl's settings with those of the project. `verbose` shows every line of the crawl's log.
    """
    _ = project.config.contact  # raises if none is set, before anything is started
    # The factory first: while this process has one thread, it finds out fast how workers are confined.
    with project.worker_factory() as factory, project.frontier_address() as address:
        asyncio.run(_check_crawl(project, name, address, update=update, can_create=spider is not None))
        if spider is not None:
            add_start_requests(project, name, address, spider)
        return asyncio.run(_crawl(project, name, address, factory, limits, progress, spider, verbose=verbose))


async def _check_crawl(
    project: OpenProject, name: str, address: str, *, update: bool, can_create: bool
) -> None:
    """Check the crawl before user code runs. Raise `InputError` if it has no seeds, unless `can_create` is set."""
    link = await connect(address)
    try:
        await (open_crawl.open_crawl if can_create else open_crawl.open_seeded_crawl)(
            project, link, name, update=update
        )
    finally:
        await link.aclose()


async def _crawl(  # noqa: PLR0913 - the options of the command, and what serves it
    project: OpenProject,
    name: str,
    address: str,
    worker_factory: WorkerFactory,
    limits: CrawlLimits,
    progress: Progress,
    spider: SpiderSpec | None,
    *,
    verbose: bool,
) -> CrawlSummary:
    link = await connect(address)
    try:
        frontier = await open_crawl.open_seeded_crawl(project, link, name)
        follower = LogFollower(project.store, name) if verbose else None
        await recover_dead_workers(project, frontier, name)
        initial_stats = await frontier.stats()
        goals = _absolute_limits(limits, initial_stats)
        config = worker_config(project, name, address, goals, spider)
        crawl_progress = CrawlProgress(
            frontier, progress, follower, max_pages=goals.max_pages, max_requests=goals.max_requests
        )
        with _interrupts() as interrupts:
            start = partial(_start_worker, project, config, worker_factory)
            async with maintain_frontier(project, frontier, name):
                await _supervise(project, frontier, name, start, limits.workers, interrupts, crawl_progress)
        if interrupts.count > 1:
            # A worker that was stopped at once leaves its lock like a crashed one.
            liveness.remove_stale_locks(project.state_directory, name)
        await crawl_progress.print_log()  # lines that were sealed at the end
        stats = await frontier.stats()
        holds = await _holds_by_reason(frontier) if not stats.is_drained else {}
        return CrawlSummary(
            before=initial_stats,
            stats=stats,
            interrupted=interrupts.count > 0,
            holds=holds,
            outage=crawl_progress.outage,
        )
    finally:
        await link.aclose()


async def _supervise(  # noqa: PLR0913 - the parts that `_crawl` has started
    project: OpenProject,
    frontier: Frontier,
    name: str,
    start: Callable[[], _FleetWorker],
    workers: int,
    interrupts: _Interrupts,
    crawl_progress: CrawlProgress,
) -> None:
    running = [start() for _ in range(workers)]
    ended: dict[str, bool] = {}
    recovered_s = time.monotonic()
    replaced = 0
    await crawl_progress.start()
    error: ThresherError | None = None
    try:
        while running:
            await asyncio.sleep(POLL_S)
            interrupts.forward(running)
            await crawl_progress.update()
            if time.monotonic() - recovered_s >= liveness.WORKER_TTL_S:
                await recover_dead_workers(project, frontier, name, ended)
                recovered_s = time.monotonic()
            for worker, worker_exit in [
                (worker, worker_exit)
                for worker in running
                if (worker_exit := worker.handle.poll()) is not None
            ]:
                running.remove(worker)
                died = worker_exit.error is None and worker_exit.exitcode not in {0, EXIT_SPIDER_CLOSED}
                # Without an exit code its machine is lost, and the worker may live on there for a while.
                if worker_exit.exitcode is not None:
                    is_crash = worker_exit.exitcode not in {EXIT_PRESUMED_DEAD, STOPPED_AT_ONCE}
                    ended[worker.name] = died and is_crash
                if died and (interrupts.count or error is not None):
                    continue
                # A worker that slept and was taken for dead is no sign of a fault. Neither is a page that kills its
                # reader, because the page is read in a process of its own from then on and kills no second worker.
                replaced += (
                    died
                    and worker_exit.exitcode != EXIT_PRESUMED_DEAD
                    and not await _was_killed_by_page(frontier, worker.name, worker_exit, crawl_progress)
                )
                error = error or _fault(name, worker_exit, replaced)
                if error is not None or worker_exit.exitcode == EXIT_SPIDER_CLOSED:
                    _signal(running, signal.SIGTERM)
                elif died:
                    await recover_dead_workers(project, frontier, name, ended)
                    running.append(start())
    finally:
        _signal(running, signal.SIGTERM)
        for worker in running:
            worker.handle.wait()
        crawl_progress.stop()
    if error is not None:
        raise error


async def _holds_by_reason(frontier: Frontier) -> dict[str, int]:
    """Return the held hosts by reason, without those that wait for the turn of their address."""
    resting = [host.rest.reason async for host in frontier.inspection.hosts(is_held=True) if host.rest]
    return dict(Counter(reason for reason in resting if reason != "address"))


def _fault(name: str, worker_exit: WorkerExit, replaced: int) -> ThresherError | None:
    """Return the error that ends the crawl, if any: the one that a worker reported, or that too many died."""
    if worker_exit.error is None and replaced > MAX_REPLACEMENTS:
        return ThresherError(
            f"crawl {name}: {replaced} workers died, the last with exit code {worker_exit.exitcode}; fix what their"
            " output above names, and run the same command again"
        )
    return worker_exit.error


async def _was_killed_by_page(
    frontier: Frontier, worker: str, worker_exit: WorkerExit, crawl_progress: CrawlProgress
) -> bool:
    """Return whether a worker died while it read a page. Show the cause of its death, if it is known."""
    page = ""
    if worker_exit.page_token > NO_PAGE:
        leases = await frontier.workers.leases(worker)
        page = next((lease.url.wire for lease in leases if lease.token == worker_exit.page_token), "")
    line = f"worker {worker} died with exit code {worker_exit.exitcode}"
    if worker_exit.stalled_s is not None:
        line = f"worker {worker} was ended: its event loop was stalled for {worker_exit.stalled_s:.0f} s"
    if page:
        line += f", while it read {page}: this page is read in a process of its own from now on"
    if page or worker_exit.stalled_s is not None:
        crawl_progress.print_line(line)
    return bool(page)


def _absolute_limits(limits: CrawlLimits, initial_stats: Stats) -> CrawlLimits:
    """Return the limits, counted from the start of the crawl."""
    pages = 0 if limits.is_cumulative else initial_stats.outcomes.get("fetched", 0)
    requests = 0 if limits.is_cumulative else initial_stats.requests
    return replace(
        limits,
        max_pages=None if limits.max_pages is None else pages + limits.max_pages,
        max_requests=None if limits.max_requests is None else requests + limits.max_requests,
    )


def _start_worker(
    project: OpenProject, config: Callable[[str], WorkerConfig], worker_factory: WorkerFactory
) -> _FleetWorker:
    if project.config.project.cluster is None:
        state: Path | None = project.state_directory
        name = liveness.new_worker_id(project.state_directory)
    else:
        state, name = None, liveness.new_cluster_worker_id()
    return _FleetWorker(name=name, handle=worker_factory(pickle_call(run_crawl_worker, config(name), state)))


def _signal(workers: list[_FleetWorker], signum: signal.Signals) -> None:
    for worker in workers:
        worker.handle.signal(signum)


@contextmanager
def _interrupts() -> Iterator[_Interrupts]:
    interrupts = _Interrupts()
    before = {signum: signal.signal(signum, interrupts.handle) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupts
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
