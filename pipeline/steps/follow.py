"""Continuous processing: the step follows a running crawl, part by part as archive files are sealed.

1. What is sealed is processed in rounds, until the crawl is drained and all of it is processed.
2. Once a second the frontier is told how many archived bytes wait to be processed. Above `crawler.max_backlog` the
   crawl leases nothing until there are fewer: a slow step slows the crawl, and the disk does not fill.
3. A source that is no crawl is processed and that is the end of it.
"""

import asyncio
import os
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from core import InputError
from frontier import Frontier, crawl_names
from frontier.link.connect import connect
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import WorkerPool
from pipeline.engine.run_step import StepSummary
from pipeline.engine.step import Part
from pipeline.open_crawl import find_crawl
from pipeline.project import Project
from pipeline.runs import record_run
from pipeline.steps import blocklist, process
from pipeline.terminal.progress import Progress
from storage.archive.open_files import open_archive_files
from storage.manifest import load_manifest

ROUND_S = 1.0
"""How often sealed files are looked for while there is nothing to do."""
REPORT_S = 1.0
FOLLOWER_TTL_MS = 180_000
"""How long the last word of a follower that says nothing more holds its crawl: it may only have been stopped."""


class Backlog:
    """Sealed bytes that wait to be processed, by part. Reports what becomes of parts to `progress` as well."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, parts: list[Part]) -> None:
        """These parts wait from now on."""
        with self._lock:
            self._bytes.update((part.name, part.bytes) for part in parts)

    def remove(self, parts: list[Part]) -> None:
        """Nothing waits for these any more: they are sealed, or in quarantine."""
        with self._lock:
            for part in parts:
                self._bytes.pop(part.name, None)

    def bytes_of(self, source: str) -> int:
        """Bytes of one source."""
        with self._lock:
            return sum(size for name, size in self._bytes.items() if name.startswith(f"{source}/"))

    def start(self, title: str, total: int | None) -> None:
        """A round begins."""
        self._progress.start(title, total)

    def advance(self, note: str = "", by: int = 1, total: int | None = None) -> None:
        """A part, named by the note, has been made."""
        with self._lock:
            self._bytes.pop(note, None)
        self._progress.advance(note, by, total)

    def print_line(self, line: str) -> None:
        """Pass it on."""
        self._progress.print_line(line)

    def stop(self) -> None:
        """A round has ended."""
        self._progress.stop()


def follow(project: Project, names: tuple[str, ...], pool: WorkerPool, progress: Progress) -> StepSummary:
    """Process what these sources seal, until their crawls are drained and nothing is left unprocessed."""
    filters = project.config.filters
    blocked = blocklist.put_blocklist(project.store, project.directory, filters.blocklist)
    step = process.step(filters, blocked)
    backlog = Backlog(progress)
    with project.frontier_address() as address, record_run(project, step, names) as record:
        desk = _SealedPartWatcher(project, address, names, backlog, blocked)
        with desk.open():
            while True:
                # Asked before looking: what is found last is there before it is said that nothing more will be.
                over = desk.is_finished()
                parts = desk.pop_parts()
                if parts:
                    ran = run_step.run_step(
                        project.store, step, parts, process.work, pool=pool, progress=backlog
                    )
                    backlog.remove(parts)
                    record.summary = record.summary.plus(ran)
                elif over:
                    return record.summary
                else:
                    time.sleep(ROUND_S)


class _SealedPartWatcher:
    """Finds what is sealed, reports it to the frontier and asks how the crawls stand, in a thread of its own: what
    waits is told while a round is made, however long that takes.
    """

    def __init__(
        self, project: Project, address: str, names: tuple[str, ...], backlog: Backlog, blocked: str
    ) -> None:
        self._project, self._address, self._names, self._backlog = project, address, names, backlog
        self._blocked = blocked
        self._follower = f"{socket.gethostname()}-{os.getpid()}"
        self._seen: set[str] = set()
        self._found: queue.SimpleQueue[Part] = queue.SimpleQueue()
        self._is_finished = False
        self._closing = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Report for the time of the context; afterwards the crawls are followed no more."""
        self._thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._thread.join()

    def is_finished(self) -> bool:
        """Whether nothing more will be sealed. Raises what went wrong with the frontier."""
        if self._failure is not None:
            raise self._failure
        return self._is_finished

    def pop_parts(self) -> list[Part]:
        """Parts that were found since this was last asked."""
        parts = []
        with suppress(queue.Empty):
            while True:
                parts.append(self._found.get_nowait())
        return parts

    def _find_parts(self) -> bool:
        """Find the parts of what was sealed since the last look; whether there were any."""
        store, filters = self._project.store, self._project.config.filters
        fresh: list[Part] = []
        for source in self._names:
            for name in store.list(f"manifests/archive/{source}/"):
                if name not in self._seen:
                    self._seen.add(name)
                    fresh.extend(process.parts_of(store, load_manifest(store, name), filters, self._blocked))
        self._backlog.add(fresh)
        for part in fresh:
            self._found.put(part)
        return bool(fresh)

    def _run(self) -> None:
        try:
            asyncio.run(self._report())
        except Exception as error:  # noqa: BLE001 - raised again by whoever asks
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
                    over = all([await self._is_crawl_finished(name, crawl) for name, crawl in crawls.items()])
                    fresh = await asyncio.to_thread(self._find_parts)
                    for name, crawl in crawls.items():
                        await crawl.backlog.report(
                            follower=self._follower,
                            backlog=self._backlog.bytes_of(name),
                            limit=self._project.config.crawler.max_backlog_bytes,
                            ttl_ms=FOLLOWER_TTL_MS,
                        )
                    self._is_finished = over and not fresh
                    await asyncio.to_thread(self._closing.wait, REPORT_S)
            finally:
                for crawl in crawls.values():
                    await crawl.backlog.withdraw(self._follower)
        finally:
            await link.aclose()

    async def _is_crawl_finished(self, name: str, crawl: Frontier) -> bool:
        return (await crawl.stats()).is_drained and not open_archive_files(self._project.store, name)
