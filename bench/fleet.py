"""A fleet of workers under which everything breaks, and what they saw of the frontier held against its promises.

usage: python bench/fleet.py --dir DIR [--urls N] [--hosts N] [--partitions N] [--hands N] [--workers N] [--batch N]
       [--seed N] [--kill SECONDS] [--restart SECONDS] [--loss SECONDS] [--jump SECONDS] [--drop %] [--lose %]
       [--twice %]
       [--again %] [--delay %] [--freeze %] [--die %] [--hot N] [--limit-s SECONDS]

One embedded server, a proxy before it, and --hands processes of --workers workers each, which lease, wait some
milliseconds, release and settle, until every URL is settled or --limit-s seconds are over. Meanwhile, on average
every so many seconds:

--kill      a process gets SIGKILL, and another takes its place
--restart   the server gets SIGKILL, and is started again from its append-only file
--loss      the same, and what it wrote in up to its last second is cut off the file, as by a loss of power
--jump      the server's clock is moved by an hour, on or back (needs the package libfaketime)

--drop, --lose, --twice, --again, --delay and --freeze are the per cent of requests that meet a fault of `ProxyFaults`.
A worker is ended at --die per cent of the points between two calls; another takes its leases back, or they expire.
With --hot, the processes keep the tail of the queues in storage, and bring it back.

Prints one JSON line (`judge.py` says what is held against what), and ends with 1
where a promise was broken.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic_ns as now
from typing import Any

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.hand import CRAWL, run_process
from bench.ledger import Span
from bench.play import ROOTS, Scenario, discovery
from frontier import CrawlSettings, Frontier, Stats
from frontier.link.connect import connect
from frontier.link.embedded import embedded_server
from tests.frontier.proxy import proxy

POLL_S = 0.05
CLOCK = "clock"
"""File that says how far the server's clock is off."""


@dataclass(kw_only=True)
class FaultInjector:
    """Starts processes and the server, and ends them."""

    play: Scenario
    stack: ExitStack
    random: Random
    counts: Counter[str] = field(default_factory=Counter)
    breaks: list[int] = field(default_factory=list)
    losses: list[Span] = field(default_factory=list)
    processes: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _generation: "count[int]" = field(default_factory=lambda: count(1))
    _sizes: list[tuple[int, Path, int]] = field(default_factory=list)

    def run(self) -> None:
        """Until every process has come to its end by itself, or the time is over."""
        over = time.monotonic() + self.play.limit_s
        for _ in range(self.play.hands):
            self.start()
        due = {name: self._next(name) for name in ("kill", "restart", "loss", "jump")}
        while self.processes and time.monotonic() < over:
            time.sleep(POLL_S)
            self._measure()
            self._collect_ended()
            for name, moment in list(due.items()):
                if self.processes and time.monotonic() > moment:
                    getattr(self, name)()
                    self.counts[name] += 1
                    due[name] = self._next(name)
        if self.losses and not self.processes:
            # All may have seen the end when the server forgot it.
            self.start()
            while self.processes and time.monotonic() < over:
                time.sleep(POLL_S)
                self._collect_ended()

    def _collect_ended(self) -> None:
        """Forget the processes that have come to their end."""
        for generation, process in list(self.processes.items()):
            if process.poll() is not None:
                if process.returncode != 0:
                    raise SystemExit(f"a process of workers ended with {process.returncode}")
                del self.processes[generation]

    def start(self, heir_of: int | None = None) -> None:
        """One more process."""
        generation = next(self._generation)
        words = ["--hand", str(generation), *(["--heir-of", str(heir_of)] if heir_of is not None else [])]
        self.processes[generation] = start_script(self.play, *words)

    def kill(self) -> None:
        """One process less, and one more."""
        generation = self.random.choice(sorted(self.processes))
        end(self.processes.pop(generation))
        self.start(generation)

    def restart(self) -> None:
        """The server dies and comes back."""
        self._kill_server()
        self._start_server()

    def loss(self) -> None:
        """The server comes back without what it wrote last."""
        begin, path, size = self.random.choice(self._sizes)
        end = self._kill_server()
        if path == newest_log(self.play):
            os.truncate(path, size)
            self.losses.append(Span(begin, end))
        self._start_server()

    def jump(self) -> None:
        """The server's clock moves."""
        file = self.play.dir / CLOCK
        self.breaks.append(now())
        hours = int(file.read_text()) // 3600
        set_clock(file, 3600 * self.random.choice([hour for hour in (-1, 0, 1) if hour != hours]))
        time.sleep(POLL_S)  # the server may have read its clock just before
        self.breaks.append(now())

    def end(self) -> None:
        """No process any more."""
        for process in self.processes.values():
            end(process)

    def _next(self, name: str) -> float:
        every = getattr(self.play, name)
        return time.monotonic() + every * self.random.uniform(0.5, 1.5) if every else float("inf")

    def _measure(self) -> None:
        """How long the append-only file is; what was answered before is in it."""
        begin = now()
        path = newest_log(self.play)
        self._sizes = [
            *(seen for seen in self._sizes if begin - seen[0] < 10**9),
            (begin, path, path.stat().st_size),
        ]

    def _kill_server(self) -> int:
        self.breaks.append(now())
        os.kill(int((self.play.state / "server.pid").read_text()), signal.SIGKILL)
        return now()

    def _start_server(self) -> None:
        self.stack.enter_context(prompt_server(self.play))
        self.breaks.append(now())
        self._sizes.clear()
        self._measure()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process."""
    with process:
        process.kill()


def newest_log(play: Scenario) -> Path:
    """The append-only file that the server writes."""
    logs = (play.state / "appendonlydir").glob("*.incr.aof")
    return max(logs, key=lambda path: int(path.name.split(".")[-3]))


def set_clock(file: Path, seconds: int) -> None:
    """Tell a server under libfaketime how far its clock is off."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(file)


@contextmanager
def prompt_server(play: Scenario) -> Iterator[str]:
    """Run a server that writes each change to its append-only file before it answers; return its address.

    With `everysec` a server whose disk is slow answers up to two seconds before it writes: a kill would lose as much,
    and nobody could say what.
    """
    with embedded_server(play.state) as address:
        with Redis.from_url(address) as redis_client:
            redis_client.config_set("appendfsync", "no")
        yield address


@contextmanager
def with_movable_clock(play: Scenario) -> Iterator[None]:
    """Servers that are started meanwhile have a clock that `set_clock` moves."""
    import libfaketime  # noqa: PLC0415 - only who asks for jumps needs it

    library = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
    set_clock(play.dir / CLOCK, 0)
    words = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(play.dir / CLOCK),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    os.environ.update(words)
    try:
        yield
    finally:
        for name in words:
            del os.environ[name]


def start_script(play: Scenario, *words: str) -> "subprocess.Popen[bytes]":
    """This file, as another process; with a clock that nobody moves."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.Popen(
        [sys.executable, __file__, *play.arguments(), *words], env=environment, stdout=subprocess.PIPE
    )


def run_fleet(play: Scenario) -> dict[str, Any]:
    """Let it happen; what was done, and what follows."""
    from bench.judge import judge, read  # noqa: PLC0415 - numpy, which is nothing for the processes of workers

    play.dir.mkdir(parents=True)
    with ExitStack() as stack:
        if play.jump:
            stack.enter_context(with_movable_clock(play))
        address = stack.enter_context(prompt_server(play))
        asyncio.run(seed_crawl(play, address))
        time.sleep(1.1 if play.loss else 0)  # the seeds are on the disk
        stack.callback(play.proxy_socket.unlink, missing_ok=True)
        between_ = start_script(play, "--between")
        stack.callback(end, between_)
        while not play.proxy_socket.exists():
            time.sleep(POLL_S)
        breaker = FaultInjector(play=play, stack=stack, random=Random(play.seed))
        stack.callback(breaker.end)
        begun = time.monotonic()
        breaker.run()
        wall_s = time.monotonic() - begun
        between_.terminate()
        met = json.loads(between_.communicate()[0])
        stats = asyncio.run(frontier_counts(address))
    verdict = judge(
        read(sorted(play.dir.glob("*.facts"))),
        lease_ms=play.lease_ms,
        partitions=play.partitions,
        breaks=breaker.breaks,
        losses=breaker.losses,
    )
    expired = stats.reasons.get("failed:lease_expired", 0)
    untold = stats.seen - verdict.figures["urls_settled"] - verdict.figures["urls_settled_untold"]
    rules = {
        "what waits, is leased or is settled is what was added": stats.seen
        == stats.waiting + stats.leased + stats.later + sum(stats.outcomes.values())
    }
    if stats.is_drained:
        rules |= {
            "every page that can be found is known": stats.seen == play.urls
            or bool(expired and stats.seen < play.urls),
            "every page was settled by a worker, or expired too often": untold in range(expired + 1),
        }
    verdict.violations += [f"not so: {rule}: {stats}" for rule, true in rules.items() if not true]
    return {
        "urls": stats.seen,
        "drained": stats.is_drained,
        "outcomes": dict(stats.outcomes),
        "lease_expired": expired,
        "reasons": dict(stats.reasons),
        "wall_s": round(wall_s, 1),
        "grants_per_s": round(verdict.figures["grants"] / wall_s),
        "broken": dict(breaker.counts),
        "requests": met,
        **verdict.figures,
        "violations": verdict.violations,
    }


async def run_proxy(play: Scenario) -> None:
    """The process of the proxy, until SIGTERM; says what it has done."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    server = Path((play.state / "socket").read_text().removesuffix("\n"))
    async with proxy(server, play.proxy_socket, play.proxy_faults, seed=play.seed) as made:
        await over.wait()
    print(json.dumps(made.fault_counts))


async def seed_crawl(play: Scenario, address: str) -> None:
    """Begin the crawl."""
    link = await connect(address)
    pace = CrawlSettings(min_delay_ms=play.min_delay_ms, min_ip_delay_ms=play.min_delay_ms)
    frontier = await Frontier(link, CRAWL).open(pace, partitions=play.partitions)
    await frontier.add([discovery(play, page) for page in range(min(ROOTS, play.urls))])
    await link.aclose()


async def frontier_counts(address: str) -> Stats:
    """What the frontier says in the end."""
    link = await connect(address)
    stats = await (await Frontier(link, CRAWL).open()).stats()
    await link.aclose()
    return stats


def main() -> None:
    """Read the command line; be what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in fields(Scenario):
        default = {} if option.default is MISSING else {"default": option.default}
        parser.add_argument(
            f"--{option.name.replace('_', '-')}", type=option.type, required=not default, **default
        )
    parser.add_argument("--hand", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--heir-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--between", action="store_true", help=argparse.SUPPRESS)
    args = vars(parser.parse_args())
    generation, heir_of, is_proxy = (args.pop(name) for name in ("hand", "heir_of", "between"))
    play = Scenario(**args)
    if generation is not None:
        asyncio.run(run_process(play, generation, heir_of))
    elif is_proxy:
        asyncio.run(run_proxy(play))
    else:
        shutil.rmtree(play.dir, ignore_errors=True)
        report = run_fleet(play)
        print(json.dumps({"bench": "fleet", "play": asdict(play) | {"dir": play.dir.name}, **report}))
        sys.exit(1 if report["violations"] else 0)


if __name__ == "__main__":
    main()
