"""Continuous processing: the process step follows a running crawl, while archive files are sealed.

1. Sealed files are processed in rounds, until the crawl is drained and everything is processed.
2. Once a second the step reports to the frontier how many archived bytes wait to be processed. Above
   `crawler.max_backlog` the crawl leases nothing until there are fewer: a slow step slows the crawl, and the disk does
   not fill.
3. A source that is not a crawl is processed once, and then the command ends.
4. The processors of a fleet share a crawl: each makes only parts that it has claimed (`frontier.verbs.fleet`), and
   goes on until it is asked to stop, drained or not.
"""

import asyncio
import os
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from thresher.core import InputError
from thresher.frontier import Frontier, WorkerFigures, WorkerReport, crawl_names
from thresher.frontier.link.connect import connect
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import quarantine, run_step
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.engine.step import Part
from thresher.pipeline.engine.task import TaskSuccess
from thresher.pipeline.open_crawl import find_crawl
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.runs import record_run
from thresher.pipeline.steps import blocklist, process
from thresher.pipeline.steps.dedup import choose_screen
from thresher.pipeline.steps.records import signal_files
from thresher.pipeline.steps.records.screened_parts import with_screen
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.archive.open_files import open_archive_files
from thresher.storage.manifest import load_manifest, manifest_name

ROUND_S = 1.0
"""Seconds between two searches for sealed files while there is nothing to do."""
REPORT_S = 1.0
FOLLOWER_TTL_MS = 180_000
"""Milliseconds for which the last report of a silent follower holds its crawl, because it may only be stopped."""


T = TypeVar("T")
MAX_CANDIDATES = 1_000
"""Parts that a processor offers to claim in one call."""
CLAIMED_PARTS = 8
"""Parts that a processor claims at once, for each of its workers: some seconds of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """How a processor of a fleet works on a crawl that others process too."""

    member: str
    """Its name in the fleet."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set it to end the processor after the parts that it has begun."""


class Backlog:
    """Sealed bytes that wait to be processed, by part. Passes the progress of parts on to `progress`."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bytes: dict[str, int] = {}
        self._sealed_at: dict[str, float] = {}
        self._figures: dict[str, WorkerFigures] = {}
        self._peak_rss = 0
        self._lock = threading.Lock()

    def add(self, parts: list[Part], age_s: float) -> None:
        """Add parts that wait. Their files were sealed `age_s` seconds ago."""
        sealed_at = time.monotonic() - age_s
        with self._lock:
            self._bytes.update((part.name, part.bytes) for part in parts)
            self._sealed_at.update((part.name, sealed_at) for part in parts)

    def count_sealed(self, part: Part, cost: TaskSuccess) -> None:
        """Count what a part cost, for the figures of its source."""
        source = part.name.partition("/")[0]
        with self._lock:
            before = self._figures.get(source, WorkerFigures())
            self._peak_rss = max(self._peak_rss, cost.rss)
            self._figures[source] = replace(
                before,
                parts=before.parts + 1,
                cpu_us=before.cpu_us + int(cost.cpu_s * 1e6),
                bytes_read=before.bytes_read + cost.bytes_read,
                bytes_stored=before.bytes_stored + cost.bytes_written,
            )

    def report(self, source: str) -> WorkerReport:
        """Return the figures of the parts of one source that this process sealed."""
        with self._lock:
            figures = self._figures.get(source, WorkerFigures())
            return WorkerReport(kind="processor", rss_bytes=self._peak_rss, figures=figures)

    def oldest_ms(self, source: str) -> int:
        """Return for how many milliseconds the oldest waiting file of a source has been sealed; 0 if none waits."""
        with self._lock:
            sealed_at = [self._sealed_at[name] for name in self._bytes if name.startswith(f"{source}/")]
        return round(1000 * (time.monotonic() - min(sealed_at))) if sealed_at else 0

    def remove(self, parts: list[Part]) -> None:
        """Remove parts that are sealed or in quarantine."""
        with self._lock:
            for part in parts:
                self._bytes.pop(part.name, None)
                self._sealed_at.pop(part.name, None)

    def bytes_of(self, source: str) -> int:
        """Return the waiting bytes of one source."""
        with self._lock:
            return sum(size for name, size in self._bytes.items() if name.startswith(f"{source}/"))

    def start(self, title: str, total: int | None) -> None:
        """Begin a round."""
        self._progress.start(title, total)

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """Remove a finished part, named by the note, and pass the progress on."""
        with self._lock:
            self._bytes.pop(note, None)
            self._sealed_at.pop(note, None)
        self._progress.advance(note, by, total)

    def print_line(self, line: str) -> None:
        """Pass a line on."""
        self._progress.print_line(line)

    def stop(self) -> None:
        """End a round."""
        self._progress.stop()


def follow(
    project: OpenProject,
    names: tuple[str, ...],
    pool: WorkerPool,
    progress: Progress,
    sharing: Sharing | None = None,
    *,
    screen: bool | None = None,
) -> StepSummary:
    """Process the files that these sources seal, until their crawls are drained and no file is unprocessed; with
    `sharing`, until that says stop. `screen` takes the place of `[dedup] screen`.
    """
    filters = signal_files.stored_filters(project.store, project.directory, project.config.filters)
    blocked = blocklist.put_blocklist(project.store, project.directory, filters.blocklist)
    step = process.step(filters, blocked, permutations=project.config.dedup.permutations)
    backlog = Backlog(progress)
    chosen = choose_screen(
        project.store, project.config.dedup, names, pool=pool, progress=progress, screen=screen
    )
    with project.frontier_address() as address, record_run(project, step, names) as record:
        most = CLAIMED_PARTS * pool.workers if sharing else None
        named = replace(filters, blocklist=blocked)
        watcher = _SealedPartWatcher(project, address, names, backlog, named, sharing, most)
        with watcher.open():
            while True:
                # The order matters: parts found last are in the queue before the watcher says that it is finished.
                is_finished = watcher.is_finished()
                if is_finished and sharing is not None:
                    return record.summary  # others make what it has claimed and not begun
                parts = list(with_screen(project.store, watcher.pop_parts(), chosen))
                if parts:
                    ran = run_step.run_step(
                        project.store,
                        step,
                        parts,
                        process.work,
                        pool=pool,
                        progress=backlog,
                        on_sealed=backlog.count_sealed,
                    )
                    backlog.remove(parts)
                    watcher.mark_done(parts)
                    record.summary = record.summary.plus(ran)
                elif is_finished:
                    return record.summary
                else:
                    time.sleep(ROUND_S)


class _SealedPartWatcher:
    """Finds sealed files, reports the backlog to the frontier, and watches the state of the crawls.

    It runs in a thread of its own, because reports must go on during a round of any length.
    """

    def __init__(  # noqa: PLR0913 - what `follow` has made
        self,
        project: OpenProject,
        address: str,
        names: tuple[str, ...],
        backlog: Backlog,
        filters: FiltersConfig,
        sharing: Sharing | None,
        most_claims: int | None,
    ) -> None:
        self._project, self._address, self._names, self._backlog = project, address, names, backlog
        self._filters, self._sharing, self._most_claims = filters, sharing, most_claims or 0
        """The filters, with the names of their files in the storage."""
        self._follower = sharing.member if sharing else f"{socket.gethostname()}-{os.getpid()}"
        self._unclaimed: dict[str, Part] = {}
        """Parts that this processor has not claimed, by name, the oldest first."""
        self._claimed: set[str] = set()
        self._done: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._seen: set[str] = set()
        self._found: queue.SimpleQueue[Part] = queue.SimpleQueue()
        self._is_finished = False
        self._closing = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Report for the time of the context. After it the crawls have no follower."""
        self._thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._thread.join()

    def is_finished(self) -> bool:
        """Return whether nothing more will be sealed. Raise an error of the frontier."""
        if self._failure is not None:
            raise self._failure
        if self._sharing is not None:
            return self._sharing.stop.is_set()
        return self._is_finished

    def pop_parts(self) -> list[Part]:
        """Return the parts that were found since the last call."""
        return _pop_all(self._found)

    def mark_done(self, parts: list[Part]) -> None:
        """Say that parts are sealed or in quarantine: others may claim them, and find that out."""
        for part in parts:
            self._done.put(part.name)

    def _find_parts(self) -> bool:
        """Find the parts of files that were sealed since the last call. Return whether there were any."""
        store, filters = self._project.store, self._filters
        permutations = self._project.config.dedup.permutations
        fresh: list[Part] = []
        is_first = not self._seen
        for source in self._names:
            for name in store.list(f"manifests/archive/{source}/"):
                if name not in self._seen:
                    self._seen.add(name)
                    manifest = load_manifest(store, name)
                    parts = list(
                        process.parts_of(
                            store, manifest, filters, filters.blocklist, permutations=permutations
                        )
                    )
                    # Files that are found later were sealed since the last search.
                    self._backlog.add(parts, store.age_ms(name) / 1000 if is_first else 0.0)
                    fresh.extend(parts)
        if self._sharing is not None:
            self._unclaimed.update((part.name, part) for part in fresh)
            self._remove_made_by_others()
        else:
            for part in fresh:
                self._found.put(part)
        return bool(fresh)

    def _remove_made_by_others(self) -> None:
        """Forget parts that another processor has sealed or put into quarantine."""
        store = self._project.store
        made: set[str] = set()
        for source in self._names if self._unclaimed else ():
            made.update(store.list(f"manifests/{process.NAME}/{source}/"))
        aside = quarantine.marked_parts(store, process.NAME) if self._unclaimed else frozenset()
        gone = [
            part
            for part in self._unclaimed.values()
            if manifest_name(process.NAME, part.name) in made or part.name in aside
        ]
        self._backlog.remove(gone)
        for part in gone:
            del self._unclaimed[part.name]

    async def _claim(self, crawl: Frontier, member: str) -> None:
        """Release the parts that are done, and claim others."""
        done = _pop_all(self._done)
        await crawl.fleet.release_claims(member, done)
        self._claimed.difference_update(done)
        room = self._most_claims - len(self._claimed)
        if room <= 0 or self._closing.is_set() or (self._sharing and self._sharing.stop.is_set()):
            return
        candidates = list(islice(self._unclaimed, MAX_CANDIDATES))
        for name in sorted(await crawl.fleet.claim(member, candidates, room)):
            self._claimed.add(name)
            self._found.put(self._unclaimed.pop(name))

    def _run(self) -> None:
        try:
            asyncio.run(self._report())
        except Exception as error:  # noqa: BLE001 - `is_finished` raises it again
            self._failure = error

    async def _report(self) -> None:
        link = await connect(self._address)
        try:
            known = await crawl_names(link)
            sources = self._project.sources(())
            for name in self._names:
                if name not in known and name not in sources:
                    raise InputError(
                        f"{name!r}: no such crawl or ingest; run `thresher seed FILE --crawl {name}` first"
                    )
            crawls = {
                name: await find_crawl(self._project, link, name) for name in self._names if name in known
            }
            try:
                while not self._closing.is_set():
                    is_drained = all(
                        [await self._is_crawl_finished(name, crawl) for name, crawl in crawls.items()]
                    )
                    fresh = await asyncio.to_thread(self._find_parts)
                    for name, crawl in crawls.items():
                        await crawl.backlog.report(
                            follower=self._follower,
                            backlog=self._backlog.bytes_of(name),
                            limit=self._project.config.crawler.follow.max_backlog,
                            ttl_ms=FOLLOWER_TTL_MS,
                            oldest_ms=self._backlog.oldest_ms(name),
                        )
                        await crawl.workers.report_figures(self._follower, self._backlog.report(name))
                        if self._sharing is not None:
                            await self._claim(crawl, self._sharing.member)
                    self._is_finished = is_drained and not fresh
                    await asyncio.to_thread(self._closing.wait, REPORT_S)
            finally:
                for name, crawl in crawls.items():
                    await crawl.backlog.withdraw(self._follower)
                    await crawl.workers.report_figures(self._follower, self._backlog.report(name))
                    await crawl.workers.deregister(self._follower)
        finally:
            await link.aclose()

    async def _is_crawl_finished(self, name: str, crawl: Frontier) -> bool:
        return (await crawl.stats()).is_drained and not open_archive_files(self._project.store, name)


def _pop_all(items: "queue.SimpleQueue[T]") -> list[T]:
    """Return what a queue holds now."""
    found = []
    with suppress(queue.Empty):
        while True:
            found.append(items.get_nowait())
    return found
