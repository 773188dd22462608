"""`Project`: a project directory and the commands that are run in it; `ClockMover`, which moves its clock."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from redis import Redis

from tests.crawler.clock_leaps import leap
from tests.hostile import warc
from tests.hostile.lease_log import LEDGER
from tests.hostile.web import Web
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.commands.results import INCOMPLETE

ROOT = Path(__file__).parents[2]
LEAP_MS = 5_000
"""The first leap; each leap without effect is followed by one twice as long,"""
MAX_LEAP_MS = 640_000
"""up to this."""
LOOK_S = 0.05


class ClockMover:
    """Moves the frontier's clock ahead while nothing is in progress: a wait of an hour takes some tenths of a second.

    The clock is not moved while a lease is open, so time-outs and delays in progress stay what they are. Every leap is
    recorded. The robots.txt of origins in `stale` are made a day older, and the set is emptied; without `leap` the
    mover does only that.
    """

    def __init__(self, address: str, stale: set[str], *, leap: bool = True) -> None:
        self._stale, self._leap = stale, leap
        self._redis = Redis(unix_socket_path=address.removeprefix("unix://"))
        self.leaps: list[tuple[float, float]] = []
        """When each leap was, in seconds since the epoch, and by how many seconds."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._redis.close()

    def _run(self) -> None:
        idle = 0
        before: list[object] = []
        while not self._stop.wait(LOOK_S):
            keys = [key for key in self._redis.scan_iter("*count") if self._redis.hexists(key, "steady")]
            for origin in list(self._stale):
                self._expire([key[: -len(b"count")] + b"robots" for key in keys], origin)
            if not self._leap:
                continue
            open_ = sum(self._redis.hlen(key[: -len(b"count")] + b"leases") for key in keys)
            walls: list[object] = [self._redis.hget(key, "wall") for key in keys]
            if walls == before:
                continue  # no request has come since: the worker is busy with itself
            before = walls
            idle = idle + 1 if keys and not open_ else 0
            if idle % 2:
                continue
            if idle:
                ms = min(LEAP_MS << max(idle // 2 - 1, 0), MAX_LEAP_MS)
                self.leaps.append(
                    (time.time(), ms / 1000)
                )  # before the leap, because the crawler reacts at once
                if not leap(self._redis, keys, ms):
                    self.leaps.pop()

    def _expire(self, keys: Sequence[bytes], origin: str) -> None:
        for key in keys:
            record = self._redis.hget(key, origin)
            if isinstance(record, bytes):
                self._redis.hset(
                    key, origin, record[:4] + b"\0" * 6 + record[10:]
                )  # see ROBOTS in robots.lua
                self._stale.discard(origin)


class Project:
    """A project directory, and the commands that are run in it."""

    def __init__(self, directory: Path, web: Web | None, *, toml: str) -> None:
        self.directory, self.ledger = directory, directory / "ledger.jsonl"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "thresher.toml").write_text(toml)
        self.environment = {**os.environ, LEDGER: str(self.ledger), "PYTHONPATH": str(ROOT)}
        if web is not None:
            self.environment["SSL_CERT_FILE"] = str(web.authority.bundle)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "tests.hostile.command", *words]

    def run(self, *words: str, limit_s: float = 900) -> dict:
        """Return a command's JSON output. Raise `AssertionError` if it fails, or takes too long. A crawl in which pages
        failed has not failed.
        """
        done = subprocess.run(
            self.command(*words, "--json"),
            cwd=self.directory,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )
        assert done.returncode in {0, INCOMPLETE}, (
            f"{words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
        return json.loads(done.stdout)

    def start(self, *words: str) -> subprocess.Popen:
        """Start a command in a session of its own."""
        log = (self.directory / "log").open("a")
        return subprocess.Popen(
            self.command(*words),
            cwd=self.directory,
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def seed(self, urls: Sequence[str], *, scope: str, name: str = "main", more: Sequence[str] = ()) -> dict:
        path = self.directory / f"seeds-{scope}.txt"
        path.write_text("\n".join(urls))
        return self.run("seed", str(path), "--crawl", name, "--scope", scope, *more)

    @contextmanager
    def frontier(self) -> Iterator[str]:
        """Yield the address of the embedded frontier, which runs at least as long as the context."""
        with embedded_server(self.directory / ".thresher" / "redis") as address:
            yield address

    @property
    def settled(self) -> list[dict]:
        """Return how every lease ended, in order."""
        return (
            [json.loads(line) for line in self.ledger.read_text().splitlines()]
            if self.ledger.exists()
            else []
        )

    @property
    def records(self) -> list[warc.Record]:
        return warc.archived(self.directory / "data")
