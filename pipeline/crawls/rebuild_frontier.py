"""The rebuild command: make a lost frontier again from the archive and the log of its crawl.

1. Settled pages come first: from the log as it says, then archived pages that are in no log, from the indexes. Links of
   archived pages and pages to retry are added only after that. So no archived page waits, and every page that was
   found and not fetched does.
2. Nothing is leased until the frontier is complete (`Rebuild.start`). If the command is killed, the same
   command continues, because a log, index or archive file counts as done only when all of it is added. On a complete
   frontier the command changes nothing.
3. Worker processes share the files, on this machine or on the cluster of the project. A single worker is the command
   itself. Memory holds the names of all files and the lines of one.
4. What no archive has is not restored: seeds that were not fetched, pages that a user's spider has found, robots rules,
   holds, and the evidence about traps.
"""

import asyncio
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from thresher.core import InputError, ThresherError
from thresher.crawler.machine.activity import SupervisorChannel
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.replay import restore
from thresher.crawler.replay.restore import LinkScope
from thresher.frontier import Frontier, Stats
from thresher.frontier.crawl_settings import check_storage
from thresher.frontier.link.connect import connect
from thresher.pipeline import open_crawl
from thresher.pipeline.engine.local.crawl_worker import CrawlWorker, WorkerFactory, pickle_call
from thresher.pipeline.fleet.frontier_upkeep import recover_dead_workers
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.archive.open_files import INDEX_SUFFIX, WARC
from thresher.storage.crawllog.log_line import UNLOGGED
from thresher.storage.crawllog.log_writer import ARCHIVES, STEP_NAME, VISITS, reseal_unsealed
from thresher.storage.manifest import manifests
from thresher.storage.storage_id import read_storage_id
from thresher.storage.store import Store
from thresher.storage.warc.compression import compression_of

POLL_S = 0.2
PROGRESS_INTERVAL_S = 2.0
SYNC_INTERVAL_S = 2.0
"""A sync takes up to a second, so this much work lies between two syncs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildPlan:
    """Which frontier to make, and how."""

    crawl: str
    anew: bool = False
    """Whether the frontier first deletes what it has of the crawl."""
    reach: LinkScope = field(default_factory=LinkScope)
    """How far to follow the links of pages that are in no log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildSummary:
    """The frontier after the rebuild."""

    stats: Stats
    unlogged: int
    """Number of archived pages that are in no log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What every worker process gets."""

    store: Store
    redis: str
    options: PageOptions
    plan: RebuildPlan
    logs: Mapping[str, tuple[str, ...]]
    """The log files that list the pages of an archive file, by the name of the archive file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workers:
    """The worker processes of a rebuild."""

    start: WorkerFactory
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What every step of one rebuild gets."""

    frontier: Frontier
    workers: _Workers
    job: _Job
    progress: Progress
    done: Container[str]
    """Keys of the files that an earlier run has processed."""


_FileWork = Callable[[_Job, Frontier, str], Awaitable[None]]


def rebuild_frontier(
    project: OpenProject, plan: RebuildPlan, workers: int, progress: Progress, *, update: bool = False
) -> RebuildSummary:
    """Make the frontier with `workers` processes. Raise `InputError` if there is no archive to make it from."""
    with project.frontier_address() as address, project.worker_factory() as place:
        pool = _Workers(start=place, count=workers)
        return asyncio.run(_rebuild(project, address, pool, plan, progress, update=update))


async def _rebuild(
    project: OpenProject,
    address: str,
    workers: _Workers,
    plan: RebuildPlan,
    progress: Progress,
    *,
    update: bool,
) -> RebuildSummary:
    store, crawl = project.store, plan.crawl
    if not plan.anew and not open_crawl.has_archive(store, crawl):
        raise InputError(
            f"crawl {crawl!r}: the storage {store.uri} has no archive of it, so no frontier can be made from it;"
            f" seed the crawl again (`thresher seed FILE --crawl {crawl}`)"
        )
    link = await connect(address)
    try:
        lost = Frontier(link, crawl)
        if plan.anew:
            await _forget(lost, crawl, store)
        if not await lost.crawl.exists() or await lost.crawl.has_lost_partition():
            await (
                lost.rebuild.start()
            )  # first, because a kill later on must leave no frontier that seems complete
        frontier = await open_crawl.open_crawl(project, link, crawl, update=update, rebuild=True)
        done = await frontier.rebuild.start()
        await recover_dead_workers(project, frontier, crawl)
        reseal_unsealed(store, crawl)
        logs = _Logs.of(store, crawl)
        job = _Job(store=store, redis=address, options=project.page_options, plan=plan, logs=logs.by_archive)
        run = _Run(frontier=frontier, workers=workers, job=job, progress=progress, done=done)
        begin = partial(_process_all, run)
        await begin("log", _settled, logs.names)
        if logs.with_visits:
            await restore.schedule_visits(store, frontier, logs.with_visits)
        await begin("index", _archived, [name for name in _of_crawl(store, crawl) if _is_index(name)])
        await begin("links", _linked, [name for name in _of_crawl(store, crawl) if compression_of(name)])
        await begin("later", _pending, logs.names)
        await frontier.rebuild.finish()
        stats = await frontier.stats()
        unlogged = sum(count for name, count in stats.reasons.items() if name.endswith(f":{UNLOGGED}"))
        return RebuildSummary(stats=stats, unlogged=unlogged)
    finally:
        await link.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logs:
    """The sealed files of a crawl's log."""

    names: tuple[str, ...]
    with_visits: tuple[str, ...]
    """Files that list pages to be visited again."""
    by_archive: Mapping[str, tuple[str, ...]]
    """Files that list the pages of an archive file, by the name of the archive file."""

    @classmethod
    def of(cls, store: Store, crawl: str) -> "_Logs":
        names, visited = [], []
        of_archive: defaultdict[str, list[str]] = defaultdict(list)
        for manifest in manifests(store, STEP_NAME, crawl):
            name = manifest.outputs[0].name
            names.append(name)
            visited += [name] * bool(manifest.recipe[VISITS])
            archives = manifest.recipe[ARCHIVES]
            assert isinstance(archives, Sequence)
            for archive in archives:
                of_archive[str(archive)].append(name)
        return cls(
            names=tuple(names),
            with_visits=tuple(visited),
            by_archive={archive: tuple(logs) for archive, logs in of_archive.items()},
        )


async def _forget(frontier: Frontier, crawl: str, store: Store) -> None:
    """Delete the crawl's frontier. Raise `InputError` if it belongs to another storage, or if workers are alive."""
    if not await frontier.crawl.exists():
        return
    await frontier.open()
    if frontier.crawl.storage is not None and frontier.crawl.storage.uri != store.uri:
        check_storage(crawl, read_storage_id(store), store.uri, frontier.crawl.storage)
    if alive := await frontier.workers.alive(await frontier.workers.holders()):
        raise InputError(
            f"crawl {crawl!r}: {len(alive)} workers are at work on it; stop them before its frontier is made again"
        )
    await frontier.crawl.forget()


def _is_index(name: str) -> bool:
    return name.endswith(INDEX_SUFFIX)


def _of_crawl(store: Store, crawl: str) -> Iterator[str]:
    """List the files that the crawl itself has archived, without files that were ingested under its name."""
    return store.list(f"{WARC}/{crawl}/{crawl}-")


# Worker processes


async def _process_all(run: _Run, title: str, work: _FileWork, names: Iterable[str]) -> None:
    """Have every file that is not done processed by one of the workers. Raise the first error of a worker."""
    files = [name for name in names if _file_key(work, name) not in run.done]
    if not files:
        return
    run.progress.start(title, total=len(files))
    try:
        if run.workers.count == 1:
            await _process_files(run.job, work, files, run.progress.advance)
        else:
            await _process_in_workers(run, work, files)
    finally:
        run.progress.stop()


async def _process_in_workers(run: _Run, work: _FileWork, files: Sequence[str]) -> None:
    workers, rebuild = run.workers, run.frontier.rebuild
    shares = [files[first :: workers.count] for first in range(min(workers.count, len(files)))]
    running = [workers.start(pickle_call(_run_worker, run.job, work, share)) for share in shares]
    before, counted = len(await rebuild.start()), 0
    try:
        looked = time.monotonic()
        while running:
            await asyncio.sleep(POLL_S)
            running = [worker for worker in running if not _has_exited(worker)]
            if not running or time.monotonic() - looked >= PROGRESS_INTERVAL_S:
                looked, finished = time.monotonic(), len(await rebuild.start()) - before
                run.progress.advance(by=finished - counted)
                counted = finished
    finally:
        for worker in running:
            worker.signal(signal.SIGTERM)
        for worker in running:
            worker.wait()


def _has_exited(worker: CrawlWorker) -> bool:
    worker_exit = worker.poll()
    if worker_exit is not None and worker_exit.error is not None:
        raise worker_exit.error
    if worker_exit is not None and worker_exit.exitcode != 0:
        raise ThresherError(
            f"a process that makes the frontier died with exit code {worker_exit.exitcode}; type the same command again"
        )
    return worker_exit is not None


def _run_worker(job: _Job, work: _FileWork, files: Sequence[str], channel: SupervisorChannel) -> None:
    try:
        asyncio.run(_process_files(job, work, files))
    except ThresherError as error:
        channel.send_error(error)


async def _process_files(
    job: _Job,
    work: _FileWork,
    files: Sequence[str],
    done: Callable[[str], None] = lambda _: None,
) -> None:
    link = await connect(job.redis)
    try:
        frontier = await Frontier(link, job.plan.crawl).open()
        worked: list[str] = []
        synced = time.monotonic()
        for name in files:
            await work(job, frontier, name)
            worked.append(name)
            if time.monotonic() - synced >= SYNC_INTERVAL_S:
                await _mark_done(frontier, work, worked, done)
                synced = time.monotonic()
        await _mark_done(frontier, work, worked, done)
    finally:
        await link.aclose()


async def _mark_done(
    frontier: Frontier, work: _FileWork, worked: list[str], done: Callable[[str], None]
) -> None:
    """Mark files as done after a sync, because no server may forget their content while another knows they are done."""
    await frontier.crawl.sync()
    for name in worked:
        await frontier.rebuild.mark_done(_file_key(work, name))
        done(name)
    worked.clear()


def _file_key(work: _FileWork, name: str) -> str:
    """Return the key under which the frontier marks a file as done. It names the work, because one file has several."""
    return f"{work.__name__} {name}"


async def _settled(job: _Job, frontier: Frontier, name: str) -> None:
    await restore.settle_logged(job.store, frontier, name)


async def _archived(job: _Job, frontier: Frontier, name: str) -> None:
    await restore.settle_archived(job.store, frontier, name, job.plan.reach)


async def _linked(job: _Job, frontier: Frontier, name: str) -> None:
    logs = job.logs.get(name, ())
    await restore.add_links(job.store, frontier, name, logs, job.plan.reach, job.options)


async def _pending(job: _Job, frontier: Frontier, name: str) -> None:
    await restore.add_pending(job.store, frontier, name)
