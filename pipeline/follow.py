"""Continuous processing: the step follows a running crawl, part by part as archive files are sealed.

1. What is sealed is processed in rounds, until the crawl is drained and all of it is processed.
2. Once a second the frontier is told how many archived bytes wait to be processed. Above `crawler.max_backlog` the
   crawl leases nothing until there are fewer: a slow step slows the crawl, and the disk does not fill.
3. A source that is no crawl is processed and that is the end of it.
"""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from core import InputError
from frontier import Frontier
from frontier.connect import connect
from pipeline import engine, process
from pipeline.config import FiltersConfig
from pipeline.crew import Crew
from pipeline.engine import Ran
from pipeline.progress import Progress
from pipeline.project import Project
from pipeline.runs import recorded
from pipeline.step import Part
from storage.manifest import load
from storage.store import Store
from storage.unfinished import left

ROUND_S = 1.0
"""How often sealed files are looked for while there is nothing to do."""
REPORT_S = 1.0


class Backlog:
    """Sealed bytes that wait to be processed, by source. Reports what becomes of parts to `progress` as well."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, parts: list[Part]) -> None:
        """These parts wait from now on."""
        with self._lock:
            self._bytes.update((part.name, part.bytes) for part in parts)

    def of(self, source: str) -> int:
        """Bytes of one source."""
        with self._lock:
            return sum(size for name, size in self._bytes.items() if name.startswith(f"{source}/"))

    def start(self, title: str, total: int | None) -> None:
        """A round begins."""
        self._progress.start(title, total)

    def advance(self, note: str = "", by: int = 1) -> None:
        """A part, named by the note, has been made."""
        with self._lock:
            self._bytes.pop(note, None)
        self._progress.advance(note, by)

    def done(self) -> None:
        """A round has ended: what was not made was sealed before or is in quarantine; nothing waits for it."""
        with self._lock:
            self._bytes.clear()
        self._progress.done()


def follow(project: Project, names: tuple[str, ...], crew: Crew, progress: Progress) -> Ran:
    """Process what these sources seal, until their crawls are drained and nothing is left unprocessed."""
    filters = project.config.filters
    step = process.step(filters)
    backlog = Backlog(progress)
    seen: set[str] = set()
    with project.frontier_address() as address, recorded(project, step, names) as record:
        desk = _Desk(project, address, names, backlog)
        with desk.open():
            while True:
                # Asked before looking: what a crawl seals last is sealed before it counts as over.
                over = desk.over()
                parts = list(_new_parts(project.store, names, seen, filters))
                if parts:
                    backlog.add(parts)
                    ran = engine.run(project.store, step, parts, process.work, crew=crew, progress=backlog)
                    record.ran = record.ran.plus(ran)
                elif over:
                    return record.ran
                else:
                    time.sleep(ROUND_S)


def _new_parts(
    store: Store, names: tuple[str, ...], seen: set[str], filters: FiltersConfig
) -> Iterator[Part]:
    for source in names:
        for name in store.list(f"manifests/archive/{source}/"):
            if name not in seen:
                seen.add(name)
                yield from process.parts_of(store, load(store, name), filters)


class _Desk:
    """Reports to the frontier, in a thread of its own, and asks it how the crawls stand."""

    def __init__(self, project: Project, address: str, names: tuple[str, ...], backlog: Backlog) -> None:
        self._project, self._address, self._names, self._backlog = project, address, names, backlog
        self._follower = f"{socket.gethostname()}-{os.getpid()}"
        self._over = False
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

    def over(self) -> bool:
        """Whether nothing more will be sealed. Raises what went wrong with the frontier."""
        if self._failure is not None:
            raise self._failure
        return self._over

    def _run(self) -> None:
        try:
            asyncio.run(self._report())
        except Exception as error:  # noqa: BLE001 - raised again by whoever asks
            self._failure = error

    async def _report(self) -> None:
        redis = await connect(self._address)
        try:
            known = await Frontier.crawls(redis)
            sources = self._project.sources(())
            for name in self._names:
                if name not in known and name not in sources:
                    raise InputError(
                        f"{name!r}: no such crawl or ingest; run `thresher seed FILE --crawl {name}` first"
                    )
            crawls = {name: Frontier(redis, name) for name in self._names if name in known}
            for crawl in crawls.values():
                await crawl.open()
            try:
                while not self._closing.is_set():
                    for name, crawl in crawls.items():
                        await crawl.follow(
                            follower=self._follower,
                            backlog=self._backlog.of(name),
                            limit=self._project.config.crawler.max_backlog_bytes,
                        )
                    self._over = all([await self._ended(name, crawl) for name, crawl in crawls.items()])
                    await asyncio.to_thread(self._closing.wait, REPORT_S)
            finally:
                for crawl in crawls.values():
                    await crawl.unfollow(self._follower)
        finally:
            await redis.aclose()

    async def _ended(self, name: str, crawl: Frontier) -> bool:
        return (await crawl.stats()).drained and not left(self._project.store, name)
