"""The crawl command: worker processes over one frontier, watched until it drains.

Rules
1. Before workers start, what dead workers left is taken up: open archive files are cut to their last whole
   record, sealed and settled, and the leases nobody will settle go back to the frontier.
   Workers of other machines that die meanwhile are taken up as well (`pipeline.fleet.liveness`), by whoever notices.
2. Whether a worker lives is said by its lock, or, of one elsewhere, by its heartbeat in the frontier.
3. The first SIGINT or SIGTERM drains: no new lease, what is in flight is archived and settled, files are
   sealed. A second stops at once; nothing is lost by it but open leases.
4. A worker that dies, or may have been given up by others, is recovered and replaced; one that names an error
   ends the crawl with that error.
5. What a user's spider begins with is added before any worker starts (`pipeline.fleet.spider_seeds`), by every command: what is
   known changes nothing.
6. The crawl is opened first (`pipeline.open_crawl`): from another storage, or with settings that are not the crawl's, no worker starts.
7. What the frontier settles by itself is brought into the crawl's log while the command runs, and all of it when it ends
   (`crawler.replay.outbox`).
"""

import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast
from uuid import uuid4

from core import ThresherError
from crawler.machine.activity import NO_PAGE, SupervisorChannel
from crawler.render.chromium.program import find_browser
from crawler.replay.outbox import OutboxRelay
from crawler.replay.replay import recover
from crawler.spiders import SpiderSpec
from crawler.worker import STOPPED_AT_ONCE, WorkerConfig, run_worker
from frontier import Frontier, Stats, TakeoverError
from frontier.link.connect import connect
from pipeline import open_crawl
from pipeline.engine.local.crawl_worker import CrawlWorker, WorkerExit, WorkerFactory, pickle_call
from pipeline.fleet import liveness
from pipeline.fleet.crawl_progress import CrawlProgress
from pipeline.fleet.crawl_summary import CrawlSummary
from pipeline.fleet.spider_seeds import add_start_requests
from pipeline.project import Project
from pipeline.terminal.progress import Progress
from storage.crawllog.log_reader import LogFollower
from storage.warc.compression import require_compression

POLL_S = 0.5
MAX_REPLACEMENTS = 5
"""Workers that may die without a word in one run before the run is given up."""
EXIT_PRESUMED_DEAD = 75
"""Exit code of a worker that others may have taken for dead (EX_TEMPFAIL of sysexits.h)."""
EXIT_SPIDER_CLOSED = 3
"""Exit code of a worker whose spider has had enough of the crawl: the others end as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLimits:
    """When a crawl stops before its frontier drains."""

    workers: int = 1
    max_pages: int | None = None
    """Pages fetched: what was settled as `fetched`."""
    max_requests: int | None = None
    """Requests, of pages and of robots.txt, whatever came (`Stats.requests`)."""
    is_cumulative: bool = False
    """Whether these two count what earlier commands asked for too."""
    max_time_s: float | None = None


@dataclass(slots=True, kw_only=True)
class _FleetWorker:
    name: str
    handle: CrawlWorker


@dataclass(slots=True, kw_only=True)
class _Interrupts:
    """How often the user asked to stop."""

    count: int = 0
    unsent: list[int] = field(default_factory=list)

    def handle(self, signum: int, _: object) -> None:
        self.count += 1
        self.unsent.append(signum)

    def forward(self, workers: list[_FleetWorker]) -> None:
        """Tell the workers of every time that is news to them."""
        for _ in self.unsent:
            _signal(workers, signal.SIGTERM)
        self.unsent.clear()


def crawl(
    project: Project,
    name: str,
    limits: CrawlLimits,
    progress: Progress,
    spider: SpiderSpec | None = None,
    *,
    update: bool = False,
    verbose: bool = False,
) -> CrawlSummary:
    """Crawl until the frontier drains, a limit is reached or a signal asks for an end; with a user's spider, if given.

    `update` replaces the crawl's settings by the project's. With `verbose` every line of the crawl's log is shown.
    """
    _ = project.config.contact
    with project.frontier_address() as address, project.worker_factory() as place:
        asyncio.run(_check_crawl(project, name, address, update=update, can_create=spider is not None))
        if spider is not None:
            add_start_requests(project, name, address, spider)
        return asyncio.run(_crawl(project, name, address, place, limits, progress, spider, verbose=verbose))


async def _check_crawl(project: Project, name: str, address: str, *, update: bool, can_create: bool) -> None:
    """Make sure of the crawl, before anything of the user's runs; `can_create` where it need not be seeded."""
    link = await connect(address)
    try:
        await (open_crawl.open_crawl if can_create else open_crawl.open_seeded_crawl)(
            project, link, name, update=update
        )
    finally:
        await link.aclose()


async def _crawl(
    project: Project,
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
        begun = await frontier.stats()
        goals = _absolute_limits(limits, begun)
        config = _worker_config(project, name, address, goals, spider)
        shown = CrawlProgress(
            frontier, progress, follower, max_pages=goals.max_pages, max_requests=goals.max_requests
        )
        with _interrupts() as interrupts:
            start = partial(_start_worker, project, config, worker_factory)
            async with _maintain_frontier(project, frontier, name):
                await _supervise(project, frontier, name, start, limits.workers, interrupts, shown)
        if interrupts.count > 1:
            liveness.remove_stale_locks(
                project.state_directory, name
            )  # who is stopped at once leaves its lock as if it had crashed
        await shown.print_log()  # what was sealed at the end
        stats = await frontier.stats()
        holds = await _holds_by_reason(frontier) if not stats.is_drained else {}
        return CrawlSummary(
            before=begun, stats=stats, interrupted=interrupts.count > 0, holds=holds, outage=shown.outage
        )
    finally:
        await link.aclose()


@asynccontextmanager
async def _maintain_frontier(project: Project, frontier: Frontier, name: str) -> AsyncIterator[None]:
    """Keep tail and log for the time of the context. What goes wrong with them ends the context, and is raised."""
    tail = frontier.tail(project.store)
    log = OutboxRelay(frontier, tail, project.store, name)
    try:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(tail.run(f"keeper-{uuid4()}", log.log_due))
            yield
            keeping.cancel()
    except* ThresherError as errors:
        raise errors.exceptions[0] from None
    await log.log_all()


async def _supervise(
    project: Project,
    frontier: Frontier,
    name: str,
    start: Callable[[], _FleetWorker],
    workers: int,
    interrupts: _Interrupts,
    crawl_progress: CrawlProgress,
) -> None:
    running = [start() for _ in range(workers)]
    ended: dict[str, bool] = {}
    taken_up = time.monotonic()
    replaced = 0
    await crawl_progress.start()
    error: ThresherError | None = None
    try:
        while running:
            await asyncio.sleep(POLL_S)
            interrupts.forward(running)
            await crawl_progress.update()
            if time.monotonic() - taken_up >= liveness.WORKER_TTL_S:
                await recover_dead_workers(project, frontier, name, ended)
                taken_up = time.monotonic()
            for worker, left in [
                (each, left) for each in running if (left := each.handle.poll()) is not None
            ]:
                running.remove(worker)
                died = left.error is None and left.exitcode not in {0, EXIT_SPIDER_CLOSED}
                if (
                    left.exitcode is not None
                ):  # else its machine is lost, and it may live on there for a while
                    ended[worker.name] = died and left.exitcode not in {EXIT_PRESUMED_DEAD, STOPPED_AT_ONCE}
                if died and (interrupts.count or error is not None):
                    continue
                # One that slept, and was given up, is no sign that something is wrong with the crawl. A page whose reading kills
                # is read aside from then on: it kills no second worker.
                replaced += (
                    died
                    and left.exitcode != EXIT_PRESUMED_DEAD
                    and not await _was_killed_by_page(frontier, worker.name, left, crawl_progress)
                )
                error = error or _fault(name, left, replaced)
                if error is not None or left.exitcode == EXIT_SPIDER_CLOSED:
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
    """Hosts that are asked nothing for a time, by reason; those that wait for their address's turn apart."""
    resting = [host.rest.reason async for host in frontier.inspection.hosts(is_held=True) if host.rest]
    return dict(Counter(reason for reason in resting if reason != "address"))


def _fault(name: str, worker_exit: WorkerExit, died: int) -> ThresherError | None:
    """Why the end of a worker ends the crawl, if it does: what it said, or that too many have died."""
    if worker_exit.error is None and died > MAX_REPLACEMENTS:
        return ThresherError(
            f"crawl {name}: {died} workers died, the last with exit code {worker_exit.exitcode}; mend what their output above "
            "names, and run the same command again"
        )
    return worker_exit.error


async def _was_killed_by_page(
    frontier: Frontier, worker: str, worker_exit: WorkerExit, crawl_progress: CrawlProgress
) -> bool:
    """Whether a worker died while it read a page. Show of what it died, if that is known."""
    page = ""
    if worker_exit.page_token > NO_PAGE:
        held = await frontier.workers.leases(worker)
        page = next((lease.url.wire for lease in held if lease.token == worker_exit.page_token), "")
    line = f"worker {worker} died with exit code {worker_exit.exitcode}"
    if worker_exit.stalled_s is not None:
        line = f"worker {worker} is ended: its event loop stood still for {worker_exit.stalled_s:.0f} s"
    if page:
        line += f", while it read {page}: that is read in a process of its own from now on"
    if page or worker_exit.stalled_s is not None:
        crawl_progress.print_line(line)
    return bool(page)


async def recover_dead_workers(
    project: Project,
    frontier: Frontier,
    name: str,
    exits: Mapping[str, bool] = MappingProxyType({}),
) -> None:
    """What dead workers left: archived pages are settled, other leases go back, locks are removed. `ended` are those whose
    processes were seen to end, and whether they crashed.
    """

    async def dead(workers: set[str]) -> set[str]:
        return await liveness.dead_workers(frontier, project.state_directory, name, workers, set(exits))

    await recover(
        project.store,
        frontier,
        dead,
        crawl=name,
        options=project.page_options,
        crashed_workers={worker for worker, has_crashed in exits.items() if has_crashed}
        | liveness.crashed_workers(project.state_directory, name),
    )
    liveness.remove_stale_locks(project.state_directory, name)


def _absolute_limits(limits: CrawlLimits, initial_stats: Stats) -> CrawlLimits:
    """The limits, counted from the beginning of the crawl."""
    pages = 0 if limits.is_cumulative else initial_stats.outcomes.get("fetched", 0)
    requests = 0 if limits.is_cumulative else initial_stats.requests
    return replace(
        limits,
        max_pages=None if limits.max_pages is None else pages + limits.max_pages,
        max_requests=None if limits.max_requests is None else requests + limits.max_requests,
    )


def _worker_config(
    project: Project,
    name: str,
    address: str,
    goals: CrawlLimits,
    spider: SpiderSpec | None,
) -> Callable[[str], WorkerConfig]:
    settings = project.config.crawler
    if settings.render != "never" and project.config.project.cluster is None:
        find_browser(settings.browser)  # says at once what is missing on this machine
    screen = None
    if settings.archive == "kept":
        from pipeline.steps.page_filter import PageFilter  # noqa: PLC0415 - what reads text takes a fifth of a second, and no other crawl needs it

        screen = PageFilter(languages=project.config.filters.languages)

    def config(worker: str) -> WorkerConfig:
        return WorkerConfig(
            crawl=name,
            worker=worker,
            redis=address,
            store=project.store,
            max_body=settings.max_body_bytes,
            timeout_s=settings.timeout,
            allow_networks=settings.allow_networks,
            verify_tls=settings.verify_tls,
            nameservers=settings.nameservers,
            proxy=settings.proxy,
            cookies=settings.cookies,
            auth=settings.auth,
            max_pages=goals.max_pages,
            max_requests=goals.max_requests,
            max_time_s=goals.max_time_s,
            archive_filter=screen,
            sitemaps=settings.sitemaps,
            obey=settings.obey,
            spider=spider,
            render=cast("Literal['never', 'auto', 'always']", settings.render),
            browser=settings.browser,
            browser_sandbox=settings.browser_sandbox,
            compression=require_compression(settings.compression),
            ttl_s=liveness.WORKER_TTL_S,
        )

    return config


def _start_worker(
    project: Project, config: Callable[[str], WorkerConfig], worker_factory: WorkerFactory
) -> _FleetWorker:
    if project.config.project.cluster is None:
        state: Path | None = project.state_directory
        name = liveness.new_worker_id(project.state_directory)
    else:
        state, name = None, liveness.new_cluster_worker_id()
    return _FleetWorker(name=name, handle=worker_factory(pickle_call(_run_worker, config(name), state)))


def _run_worker(config: WorkerConfig, state: Path | None, channel: SupervisorChannel) -> None:
    with nullcontext() if state is None else liveness.hold_worker_lock(state, config.crawl, config.worker):
        try:
            enough = run_worker(config, channel.activity)
        except TakeoverError:
            sys.exit(EXIT_PRESUMED_DEAD)
        except ThresherError as error:
            channel.send_error(error)
        except OSError as error:
            channel.send_error(ThresherError(f"crawl {config.crawl}: {error}"))
        else:
            if enough:
                sys.exit(EXIT_SPIDER_CLOSED)


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
