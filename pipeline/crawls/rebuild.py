"""The rebuild command: a frontier that was lost is made again from the archive and the log of its crawl.

1. First all that was settled is settled as it was, from the log; then what is archived and in no log, from the indexes. Only then
   are the links of archived pages added, and what was to be tried again: so nothing that is archived waits, and what was found
   and not fetched does.
2. Until all of it is in, nothing is leased (`Frontier.rebuild`). Killed and typed again, the command goes on where it was, for a
   file of log, index or archive counts as done when all of it is in. On a frontier that has everything already it changes
   nothing.
3. The work falls into files, which worker processes share, on this machine or on the cluster of the project; one worker is the
   command itself. Memory holds the names of all files and the lines of one.
4. What no archive has is not made again: seeds that were not fetched, what a user's spider has found, robots rules, holds and
   the standings of traps.
"""

import asyncio
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from core import InputError, ThresherError
from crawler.machine.activity import Channel
from crawler.reading.page_options import PageOptions
from crawler.replay import restore
from crawler.replay.restore import UNLOGGED, Reach
from frontier import Frontier, Stats
from frontier.link.connect import connect
from frontier.settings import check_storage
from pipeline import open_crawl
from pipeline.engine.local.crawl_worker import Berth, Place, told
from pipeline.fleet.crawl_command import take_up
from pipeline.project import Project
from pipeline.terminal.progress import Progress
from storage.archive.open_files import INDEX_SUFFIX, WARC
from storage.crawllog.log_writer import ARCHIVES, STEP_NAME, VISITS, seal_lost
from storage.manifest import manifests
from storage.storage_id import identity
from storage.store import Store
from storage.warc.compression import compression_of

POLL_S = 0.2
SHOWN_EVERY_S = 2.0
SYNC_EVERY_S = 2.0
"""A sync takes up to a second: files are worked on for longer than is waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which frontier is made, and from what."""

    crawl: str
    anew: bool = False
    """Whether what the frontier has of the crawl is forgotten first."""
    reach: Reach = field(default_factory=Reach)
    """How far links are followed of pages of which the log says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What the frontier has afterwards."""

    stats: Stats
    unlogged: int
    """Pages that are archived, and in no log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What every worker process is told."""

    store: Store
    redis: str
    options: PageOptions
    plan: Plan
    logs: Mapping[str, tuple[str, ...]]
    """The files of the log that tell of the pages of an archive file."""


_Work = Callable[[_Job, Frontier, str], Awaitable[None]]


def rebuild(
    project: Project, plan: Plan, workers: int, progress: Progress, *, update: bool = False
) -> Rebuilt:
    """Make the frontier; `workers` is how many processes do so. Raises `InputError` where there is nothing to make it from."""
    with project.frontier_address() as address, project.berths() as place:
        return asyncio.run(_rebuild(project, address, place, plan, workers, progress, update=update))


async def _rebuild(
    project: Project,
    address: str,
    place: Place,
    plan: Plan,
    workers: int,
    progress: Progress,
    *,
    update: bool,
) -> Rebuilt:
    store, crawl = project.store, plan.crawl
    if not plan.anew and not open_crawl.has_archive(store, crawl):
        raise InputError(
            f"crawl {crawl!r}: the storage {store.uri} has no archive of it, so there is nothing to make a frontier from;"
            f" seed it anew (`thresher seed FILE --crawl {crawl}`)"
        )
    link = await connect(address)
    try:
        lost = Frontier(link, crawl)
        if plan.anew:
            await _forget(lost, crawl, store)
        if not await lost.exists() or await lost.torn():
            await lost.rebuild()  # first: whoever is killed in between leaves none that seems complete
        frontier = await open_crawl.open_crawl(project, link, crawl, update=update, rebuild=True)
        done = await frontier.rebuild()
        await take_up(project, frontier, crawl)
        seal_lost(store, crawl)
        logs = _Logs.of(store, crawl)
        job = _Job(store=store, redis=address, options=project.page_options, plan=plan, logs=logs.of_archive)
        begin = partial(_all, frontier, place, job, workers, progress, done)
        await begin("log", _settled, logs.names)
        if logs.visited:
            await restore.schedule_visits(store, frontier, logs.visited)
        await begin("index", _archived, [name for name in _of_crawl(store, crawl) if _is_index(name)])
        await begin("links", _linked, [name for name in _of_crawl(store, crawl) if compression_of(name)])
        await begin("later", _pending, logs.names)
        await frontier.complete()
        stats = await frontier.stats()
        unlogged = sum(count for name, count in stats.reasons.items() if name.endswith(f":{UNLOGGED}"))
        return Rebuilt(stats=stats, unlogged=unlogged)
    finally:
        await link.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logs:
    """The sealed files of a crawl's log."""

    names: tuple[str, ...]
    visited: tuple[str, ...]
    """Those that tell of pages which are to be visited again."""
    of_archive: Mapping[str, tuple[str, ...]]
    """Those that tell of the pages of an archive file."""

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
            visited=tuple(visited),
            of_archive={archive: tuple(logs) for archive, logs in of_archive.items()},
        )


async def _forget(frontier: Frontier, crawl: str, store: Store) -> None:
    """Forget the crawl, unless it is another storage's, or somebody is at work on it."""
    if not await frontier.exists():
        return
    await frontier.open()
    if frontier.storage is not None and frontier.storage.uri != store.uri:
        check_storage(crawl, identity(store), store.uri, frontier.storage)
    if alive := await frontier.alive(await frontier.holders()):
        raise InputError(
            f"crawl {crawl!r}: {len(alive)} workers are at work on it; stop them before its frontier is made anew"
        )
    await frontier.forget()


def _is_index(name: str) -> bool:
    return name.endswith(INDEX_SUFFIX)


def _of_crawl(store: Store, crawl: str) -> Iterator[str]:
    """Names of what the crawl itself has archived; what was brought in under its name is none of it."""
    return store.list(f"{WARC}/{crawl}/{crawl}-")


# Worker processes


async def _all(
    frontier: Frontier,
    place: Place,
    job: _Job,
    workers: int,
    progress: Progress,
    done: Container[str],
    title: str,
    work: _Work,
    names: Iterable[str],
) -> None:
    """Have every file worked on that is not `done`, each by one of so many processes. Raises what went wrong with the first."""
    files = [name for name in names if _part(work, name) not in done]
    if not files:
        return
    progress.start(title, total=len(files))
    try:
        if workers == 1:
            await _each(job, work, files, progress.advance)
        else:
            await _shared(frontier, place, job, workers, progress, work, files)
    finally:
        progress.done()


async def _shared(
    frontier: Frontier,
    place: Place,
    job: _Job,
    workers: int,
    progress: Progress,
    work: _Work,
    files: Sequence[str],
) -> None:
    shares = [files[first::workers] for first in range(min(workers, len(files)))]
    running = [place(told(_work, job, work, share)) for share in shares]
    before, shown = len(await frontier.rebuild()), 0
    try:
        looked = time.monotonic()
        while running:
            await asyncio.sleep(POLL_S)
            running = [berth for berth in running if not _is_over(berth)]
            if not running or time.monotonic() - looked >= SHOWN_EVERY_S:
                looked, made = time.monotonic(), len(await frontier.rebuild()) - before
                progress.advance(by=made - shown)
                shown = made
    finally:
        for berth in running:
            berth.signal(signal.SIGTERM)
        for berth in running:
            berth.wait()


def _is_over(berth: Berth) -> bool:
    left = berth.left()
    if left is not None and left.said is not None:
        raise left.said
    if left is not None and left.exitcode != 0:
        raise ThresherError(
            f"a process that makes the frontier died with exit code {left.exitcode}; type the same command again"
        )
    return left is not None


def _work(job: _Job, work: _Work, files: Sequence[str], channel: Channel) -> None:
    try:
        asyncio.run(_each(job, work, files))
    except ThresherError as error:
        channel.send(error)


async def _each(
    job: _Job,
    work: _Work,
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
            if time.monotonic() - synced >= SYNC_EVERY_S:
                await _note(frontier, work, worked, done)
                synced = time.monotonic()
        await _note(frontier, work, worked, done)
    finally:
        await link.aclose()


async def _note(frontier: Frontier, work: _Work, worked: list[str], done: Callable[[str], None]) -> None:
    """Note files as done, once a server can no longer forget what is in them while another remembers that they are done."""
    await frontier.sync()
    for name in worked:
        await frontier.rebuilt(_part(work, name))
        done(name)
    worked.clear()


def _part(work: _Work, name: str) -> str:
    """What the frontier remembers of a file that is done: of one and the same file several things are done."""
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
