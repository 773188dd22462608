"""The files of `crawler/` through which the work on one lease of a page goes, from its grant to its settlement.

usage: python bench/crawler/walk.py [--show]

One worker crawls a site on loopback: a robots.txt, and two pages of which the first links to the second. The walk is
that of the second: nothing else is under way then but the heartbeat. `sys.setprofile` sees every call of a function
of `crawler/`, in every thread, from the first one after the frontier has granted the lease to the call that closes it
(`LeaseQueue.close_leases`).

A *file* is a module; all of `crawler/wire` counts as one, for it is a library of its own behind `Client`. A *stay* is a
run of calls in one file. `returns` are the stays in a file that the walk had left before: stays less files. With
`rooms` the same is counted for the folders of `crawler/`; the modules beside each other in `crawler/` are one room.

What counts is what somebody who reads along has to follow:

1. A call: an attribute, a property and an operator of a value (`url in known_urls`) are none, nor is a comprehension, a
   coroutine that goes on, a look-up of a header in a response, or the time (`LOOK_UPS`).
2. The work on this lease. The scheduler's loop goes on while the page is fetched: what it does after the hand-over to
   find the next lease (`SEARCH`) belongs to the next one.
3. The calls of a task stand together, because it is chance to which task the event loop turns meanwhile.

`every_call` is the count without these rules. `with_packages` counts the calls of the other packages too, by the same
rules: each of core, extract, frontier, isolation and storage is one place there, a library with a story of its own.

With --show the stays are listed. Prints one JSON line.
"""

import argparse
import asyncio
import dis
import json
import sys
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from thresher.crawler.wire import WireSettings
from thresher.crawler.worker import run_worker
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import CrawlSettings, Discovery, Frontier, Kind, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.storage.directory_store import DirectoryStore

CRAWL = "walk"
ROOT = f"{Path(__file__).resolve().parents[2]}/thresher/"
CRAWLER = f"{ROOT}crawler/"
PACKAGES = frozenset({"core", "extract", "frontier", "isolation", "storage"})
HANDED_OVER = ("robots/robots_txt.py", "refusal")
CLOSED = ("scheduling/lease_queue.py", "close_leases")
SEARCH = frozenset({"_lease", "_pause", "_start_afresh"})
LOOK_UPS = frozenset({"header", "utc_ms"})
LOOPS = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})
PAGES = {
    "/": b"<!doctype html><title>One</title><p>The first page leads to <a href=/two>another</a>.",
    "/two": b"<!doctype html><title>Two</title><p>The second page has words, and links <a href=/>back</a>.",
}


class Handler(BaseHTTPRequestHandler):
    """Two pages, and no robots.txt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = PAGES.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class Walk:
    """The calls while a lease is open."""

    def __init__(self) -> None:
        self.every_call: list[tuple[str, str]] = []
        self.by_task: dict[tuple[object, bool], list[tuple[str, str]]] = {}
        self.by_task_with_packages: dict[tuple[object, bool], list[tuple[str, str]]] = {}
        self.is_open = False
        self.is_handed_over = False
        self.is_closed = False

    def begin(self) -> None:
        """The lease is granted."""
        self.is_open = True

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call of a function of `crawler/`, or of another package."""
        code = frame.f_code
        if event != "call" or not self.is_open or not code.co_filename.startswith(ROOT):
            return
        if frame.f_lasti > entry(code):
            return  # a coroutine or a generator goes on
        package = code.co_filename.removeprefix(ROOT).partition("/")[0]
        if package in PACKAGES and self.by_task and self.counts(frame):
            self.by_task_with_packages.setdefault(self.task(), []).append((package, code.co_name))
        if package != "crawler":
            return
        place = code.co_filename.removeprefix(CRAWLER)
        call = ("wire" if place.startswith("wire/") else place, code.co_name)
        self.every_call.append(call)
        self.is_handed_over |= (place, code.co_name) == HANDED_OVER
        if self.counts(frame):
            self.by_task.setdefault(self.task(), []).append(call)
            self.by_task_with_packages.setdefault(self.task(), []).append(call)
        if (place, code.co_name) == CLOSED:
            self.is_open, self.is_closed = False, True

    def counts(self, frame: FrameType) -> bool:
        """Whether a call counts, by the rules above."""
        return is_call(frame) and not (self.is_handed_over and is_for_the_next(frame))

    def task(self) -> tuple[object, bool]:
        """Whose call it is: a task's, before or after the hand-over. A call of a thread, or of the event loop itself,
        belongs to the task that has taken the lease up last.
        """
        try:
            task = asyncio.current_task()
        except RuntimeError:
            task = None
        if task is None:
            return [*self.by_task][-1]
        return task, self.is_handed_over and task is self.first_task()

    def first_task(self) -> object:
        """The scheduler's task."""
        return next((task for task, _ in self.by_task), None)

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls that count, task by task, in the order in which the tasks take the lease up."""
        return [call for calls in self.by_task.values() for call in calls]

    @property
    def calls_with_packages(self) -> list[tuple[str, str]]:
        """The same, with those of the other packages."""
        return [call for calls in self.by_task_with_packages.values() for call in calls]


def is_call(frame: FrameType) -> bool:
    """Whether a frame is entered by what is written as a call: not by an attribute, an operator or a loop."""
    caller, name = frame.f_back, frame.f_code.co_name
    if name in LOOK_UPS | LOOPS or (name.startswith("__") and name != "__init__"):
        return False
    if caller is None or frame.f_code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        return True
    offsets, names = operations(caller.f_code)
    return names[bisect_right(offsets, caller.f_lasti) - 1].startswith(("CALL", "PRECALL", "BEFORE_WITH"))


def is_for_the_next(frame: FrameType | None) -> bool:
    """Whether the scheduler's loop makes a call in search of the next lease."""
    while frame is not None:
        if frame.f_code.co_filename == f"{CRAWLER}scheduling/scheduler.py" and frame.f_code.co_name in SEARCH:
            return True
        frame = frame.f_back
    return False


@cache
def operations(code: CodeType) -> tuple[list[int], list[str]]:
    """The offsets of the instructions of a code, in order, and their names."""
    instructions = [*dis.get_instructions(code)]
    return [each.offset for each in instructions], [each.opname for each in instructions]


@cache
def entry(code: CodeType) -> int:
    """Where a frame of this code stands when it is entered for the first time."""
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")


def main() -> None:
    """Walk, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    walk = Walk()
    with (
        site() as url,
        tempfile.TemporaryDirectory() as directory,
        embedded_server(Path(directory) / "redis") as address,
        watched(walk),
    ):
        asyncio.run(seed(address, url))
        run_worker(
            WorkerConfig(
                crawl=CRAWL,
                worker="w1",
                redis=address,
                store=DirectoryStore(Path(directory) / "data"),
                wire=WireSettings(allow_networks=("127.0.0.0/8",)),
            )
        )
    if not walk.is_closed:
        raise SystemExit("the second page was not crawled")
    line = {
        "bench": "walk",
        **counts(walk.calls),
        "rooms": counts([(folder(file), name) for file, name in walk.calls]),
    }
    line["with_packages"] = counts(walk.calls_with_packages)
    line["every_call"] = counts(walk.every_call)
    if args.show:
        for file, calls in groupby(walk.calls, key=itemgetter(0)):
            print(f"{file}: {', '.join(dict.fromkeys(name for _, name in calls))}", file=sys.stderr)
    print(json.dumps(line))


def counts(calls: list[tuple[str, str]]) -> dict[str, object]:
    """How many places the calls go to, and how often to one that they had left."""
    stays = [place for place, _ in groupby(calls, key=itemgetter(0))]
    places = len(set(stays))
    return {"places": places, "stays": len(stays), "returns": len(stays) - places, "calls": len(calls)}


def folder(file: str) -> str:
    """The room of a file."""
    return file.partition("/")[0] if "/" in file or file == "wire" else "crawler"


@contextmanager
def site() -> Iterator[str]:
    """The site's URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def watched(walk: Walk) -> Iterator[None]:
    """See every call; the walk begins when the frontier grants the second page."""
    whole = Frontier.lease

    async def lease(self: Frontier, *args: object, **named: object) -> object:
        granted = await whole(self, *args, **named)  # type: ignore[arg-type]
        if any(each.kind is Kind.PAGE and each.url.text.endswith("/two") for each in granted):
            walk.begin()
        return granted

    Frontier.lease = lease  # type: ignore[method-assign,assignment]
    threading.setprofile(walk.profile)
    sys.setprofile(walk.profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        Frontier.lease = whole  # type: ignore[method-assign]


async def seed(address: str, url: str) -> None:
    """Add the first page."""
    link = await connect(address)
    try:
        settings = CrawlSettings(contact="mailto:bench@example.org", min_delay_ms=0, min_ip_delay_ms=0)
        frontier = await Frontier(link, CRAWL).open(settings)
        first = canonicalize(url)
        await frontier.add([Discovery(url=first, scope=Scope.of("host", first))])
    finally:
        await link.aclose()


if __name__ == "__main__":
    main()
