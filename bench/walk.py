"""The files of `crawler/` that the work on one lease of a page passes through, from its grant to its settlement.

usage: python bench/walk.py [--show]

One worker crawls a site on loopback: a robots.txt, and two pages of which the first links to the second. The walk is
that of the second: nothing else is under way then but the heartbeat. `sys.setprofile` sees every call of a function
of `crawler/`, in every thread, from the first one after the frontier has granted the lease to the call that closes it
(`Scheduler.close_leases`).

A *room* is a file; all of `crawler/wire` is one room, for it is a library of its own behind `Client`. A *stay* is a
run of calls in one room. `returns` are the stays in a room that the walk had left before: stays less rooms. A
coroutine that goes on is no call. With --show the stays are listed. Prints one JSON line.
"""

import argparse
import asyncio
import dis
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawler.wire import WireSettings
from crawler.worker import WorkerConfig, run_worker
from frontier import CrawlSettings, Discovery, Frontier, Kind, Scope, canonicalize
from frontier.link.connect import connect
from frontier.link.embedded import embedded_server
from storage.directory_store import DirectoryStore

CRAWL = "walk"
CRAWLER = f"{Path(__file__).resolve().parents[1] / 'crawler'}/"
CLOSED = ("scheduling/scheduler.py", "close_leases")
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
    """The rooms of the calls while a lease is open."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.is_open = False
        self.is_closed = False

    def begin(self) -> None:
        """The lease is granted."""
        self.is_open = True

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call of a function of `crawler/`."""
        code = frame.f_code
        if event != "call" or not self.is_open or not code.co_filename.startswith(CRAWLER):
            return
        if frame.f_lasti > entry(code):
            return  # a coroutine or a generator goes on
        place = code.co_filename.removeprefix(CRAWLER)
        room = "wire" if place.startswith("wire/") else place
        self.calls.append((room, code.co_name))
        if (place, code.co_name) == CLOSED:
            self.is_open, self.is_closed = False, True


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
    stays = [
        (room, [name for _, name in calls]) for room, calls in groupby(walk.calls, key=lambda call: call[0])
    ]
    if args.show:
        for room, names in stays:
            print(f"{room}: {', '.join(dict.fromkeys(names))}", file=sys.stderr)
    rooms = {room for room, _ in stays}
    line = {
        "bench": "walk",
        "rooms": len(rooms),
        "stays": len(stays),
        "returns": len(stays) - len(rooms),
        "calls": len(walk.calls),
    }
    print(json.dumps(line))


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
        threading.setprofile(None)  # type: ignore[arg-type]
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
