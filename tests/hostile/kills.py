"""A crawl that is killed again and again with SIGKILL, one of its two workers or all its processes, and then run to its
end.

What must be true of it:

1. Nothing is lost: every page that can be fetched is in the archive, complete.
2. Nothing is half visible: every sealed file can be read to its end at any time, and in the end no file is left open.
3. No host is requested sooner than its delay, over all kills together.
4. Nothing is requested again except what was leased at a kill.
"""

import asyncio
import itertools
import math
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.hostile import warc
from tests.hostile.crawl_run import TOML
from tests.hostile.polite import rows as polite
from tests.hostile.project import ClockMover, Project
from tests.hostile.rows import bodies, documents, framing, heads
from tests.hostile.rows.row import ABSENT, GOOD, Row, WebAddress
from tests.hostile.web import Web
from thresher.frontier import Frontier, canonicalize
from thresher.frontier.link.connect import connect
from thresher.pipeline.fleet import liveness

DELAY_S = 0.05
WORKERS = 2
ALL = 0.15
"""Share of the kills that kill every process; a run gives up once a sixth worker of it dies."""
MOST = 40
"""Requests between two kills, at most."""
PATIENCE_S = 120
GRACE = 0.97
SLOW = ("Retry-After", "Crawl-delay")


def rows(there: WebAddress) -> list[Row]:
    """Return the polite web, except the rows that wait on purpose, and much of the hostile one."""
    hostile = [row for module in (framing, heads, bodies, documents) for row in module.rows(there)]
    return [
        row for row in (*polite(there), *hostile) if not (row.host or any(word in row.name for word in SLOW))
    ]


@dataclass(slots=True, kw_only=True)
class KillResult:
    """The result of the kills."""

    kills: int = 0
    leased: int = 0
    """Leases that were open at the kills, together."""
    again: int = 0
    """Requests for URLs that had been requested already, if only a kill can be the reason."""
    archived_twice: int = 0
    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    bursts: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    pages: int = 0
    """Pages of known content that are in the archive."""

    @property
    def faults(self) -> list[str]:
        """Return every violation; empty if there is none."""
        found = [*self.lost, *self.torn, *self.bursts, *self.forbidden]
        if self.again > self.leased:
            found.append(f"{self.again} asked for again, {self.leased} were leased at kills")
        return found


def kill(
    web: Web,
    directory: Path,
    *,
    times: int,
    seed: int,
    limit_s: float = math.inf,
    say: Callable[[str], None] = lambda _: None,
) -> KillResult:
    """Crawl the web with `times` kills at random moments, or as many as fit into the limit, then to the end."""
    draw = random.Random(seed)
    project = Project(
        directory, web, toml=TOML.format(min_delay=DELAY_S, min_ip_delay=0, timeout=3.0, most=400)
    )
    found = KillResult()
    begun = {name: len(host.log) for name, host in web.hosts.items()}
    project.seed([web.url(row) + path for row in web.rows for path in row.seeds], scope="host")
    running: subprocess.Popen | None = None
    read: set[Path] = set()
    until = time.monotonic() + limit_s
    while found.kills < times and time.monotonic() < until:
        if running is None:
            running = project.start("crawl", "--workers", str(WORKERS))
        if not _until(web, running, draw.randrange(1, MOST)):
            if running.wait() == 0:
                break
            running = None
            continue
        if draw.random() < ALL:
            _end(running)
            running = None
            found.leased += _leased(project)
        elif not _kill_one_worker(running, draw, lambda: _count(found, project)):
            continue
        found.kills += 1
        found.torn += _torn(project, read)
        say(f"kill {found.kills}: {found.leased} leased so far")
    if running is not None:
        _end(running)
        found.leased += _leased(project)
    with project.frontier() as address, ClockMover(address, set()) as hurry:
        project.run("crawl", limit_s=280)
    _judge(web, project, found, begun, hurry.leaps)
    return found


def _until(web: Web, running: subprocess.Popen, more: int) -> bool:
    """Crawl until this number of further requests has come in; return False if the crawl ended before."""
    before = _requests(web)
    deadline = time.monotonic() + PATIENCE_S
    while _requests(web) < before + more and time.monotonic() < deadline:
        time.sleep(0.005)
        if running.poll() is not None:
            return False
    return running.poll() is None


def _end(running: subprocess.Popen) -> None:
    """Kill every process of a crawl; it may have ended by itself."""
    every: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(running.pid)
        every = [parent, *parent.children(recursive=True)]
    for one in every:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    running.wait()
    psutil.wait_procs(every, timeout=10)


def _kill_one_worker(running: subprocess.Popen, draw: random.Random, look: Callable[[], None]) -> bool:
    """Kill one worker, and call `look` before anybody can have noticed; return False if there is no worker."""
    try:
        parent = psutil.Process(running.pid)
        parent.suspend()
    except psutil.NoSuchProcess:
        return False
    try:
        workers = [one for one in parent.children() if _is_worker(one)]
        if not workers:
            return False
        victim = draw.choice(workers)
        victim.kill()
        with suppress(psutil.NoSuchProcess):
            while victim.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.001)
        look()
    finally:
        parent.resume()
    return True


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):  # a zombie counts as one
        return any("spawn_main" in word for word in process.cmdline())
    return False


def _count(found: KillResult, project: Project) -> None:
    found.leased += _leased(project)


def _requests(web: Web) -> int:
    return sum(len(host.log) for host in web.hosts.values())


def _leased(project: Project) -> int:
    """Return the number of leases that dead workers hold."""

    async def ask(address: str) -> int:
        link = await connect(address)
        try:
            frontier = Frontier(link, "main")
            await frontier.open()
            gone = await liveness.dead_workers(
                frontier, project.directory / ".thresher", "main", await frontier.workers.holders()
            )
            return sum([len(await frontier.workers.leases(worker)) for worker in gone])
        finally:
            await link.aclose()

    with project.frontier() as address:
        return asyncio.run(ask(address))


def _torn(project: Project, read: set[Path]) -> list[str]:
    """Return the sealed files that cannot be read, without those in `read`, because sealed files never change."""
    torn = []
    for path in warc.sealed(project.directory / "data"):
        if path not in read:
            read.add(path)
            try:
                for _ in warc.read(path):
                    pass
            except (ValueError, KeyError) as error:
                torn.append(str(error))
    return torn


def _judge(
    web: Web, project: Project, found: KillResult, begun: dict[str, int], leaps: list[tuple[float, float]]
) -> None:
    found.torn += _torn(project, set())
    data = project.directory / "data"
    found.torn += [f"{path} is open" for path in data.rglob("*") if ".open" in path.parts and path.is_file()]
    records = project.records
    kept = Counter(_page(record.url) for record in records if record.type in {"response", "revisit"})
    retried = Counter(one["url"] for one in project.settled if one["outcome"] == "retry")
    for row in web.rows:
        host, url = web.hosts[row.name], web.url(row)
        log = host.log[begun[row.name] :]
        paths = Counter(_page(url + one.path) for one in log)
        once = {path for path, asked in row.asked.items() if asked == (1, 1) and _is_expected(row, path)}
        once |= {"/", *GOOD} if row.good else set()
        found.pages += len(once)
        found.lost += [f"{url}{path} is lost" for path in once if not kept[_page(url + path)]]
        pages = {_page(url + path) for path in once}
        found.again += sum(max(paths[page] - 1 - retried[page], 0) for page in pages)
        found.archived_twice += sum(max(kept[_page(url + path)] - 1, 0) for path in once)
        no = [path for path, asked in row.asked.items() if asked == (0, 0)]
        found.forbidden += [f"{url}{path} was asked for" for path in no if paths[_page(url + path)]]
        never = tuple(url + beginning for beginning in row.never)
        found.forbidden += [f"{page} was asked for" for page in paths if never and page.startswith(never)]
        times = sorted(one.begun for one in log)
        for one, two in itertools.pairwise(times):
            apart = two - one + sum(by for at, by in leaps if one < at <= two)
            if apart < DELAY_S * GRACE:
                found.bursts.append(f"{url} was asked again after {apart:.3f} s")


def _is_expected(row: Row, path: str) -> bool:
    """Return whether the path has a response that is archived whole."""
    return row.kept.get(path, ABSENT) is None if path in row.ended or path in row.kept else True


def _page(url: str) -> str:
    """Return the page that a URL stands for: if it is written in several ways, any of them may be requested."""
    return canonicalize(url).text
