"""Run a fleet of workers while processes, server, network and clock fail, and check the frontier's promises.

usage: python bench/frontier/fleet.py --dir DIR [--urls N] [--hosts N] [--partitions N] [--processes N] [--workers N]
       [--batch N] [--seed N] [--kill SECONDS] [--restart SECONDS] [--loss SECONDS] [--jump SECONDS] [--drop %]
       [--lose %] [--twice %] [--again %] [--delay %] [--freeze %] [--die %] [--hot N] [--limit-s SECONDS]

The bench starts one embedded server, a proxy in front of it, and --processes processes of --workers workers each. The
workers lease, wait some milliseconds, release and settle, until every URL is settled or --limit-s seconds are over.
Meanwhile the bench injects faults. Each option gives the mean seconds between two faults of its kind:

--kill      kills a process with SIGKILL; another process takes its place
--restart   kills the server with SIGKILL, and starts it again from its append-only file
--loss      does the same, and cuts off the file what the server wrote in up to its last second, like a power loss
--jump      moves the server's clock by an hour, forward or back (needs the package libfaketime)

--drop, --lose, --twice, --again, --delay and --freeze are the percentages of requests that meet a fault of
`ProxyFaults`. At --die per cent of the points between two calls, a worker ends; another worker reclaims its leases, or
they expire. With --hot, the processes move the tail of the queues into storage, and bring it back.

The bench prints one JSON line, and exits with 1 if a promise is broken. `bench/frontier/fleet_judge.py` has the rules.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.frontier.facts import Span
from bench.frontier.fleet_process import CRAWL, run_process
from bench.frontier.scenario import ROOTS, Scenario, discovery
from bench.processes.waiting import wait_until
from tests.frontier.proxy import proxy
from thresher.frontier import CrawlSettings, Frontier, Stats
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server

POLL_S = 0.05
"""Seconds between two looks at the processes, and at the moments at which faults are due."""
CLOCK = "clock"
"""File with the offset of the server's clock."""
STEADY_NS = 50_000
"""Nanoseconds by which two measurements of one offset between two clocks may differ."""


@dataclass(kw_only=True)
class FaultInjector:
    """Starts and kills the processes and the server."""

    scenario: Scenario
    stack: ExitStack
    random: Random
    counts: Counter[str] = field(default_factory=Counter)
    breaks: list[int] = field(default_factory=list)
    losses: list[Span] = field(default_factory=list)
    leaps_ns: int = 0
    """How far somebody else set the machine's clock forward meanwhile."""
    processes: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _generation: "count[int]" = field(default_factory=lambda: count(1))
    _sizes: list[tuple[int, Path, int]] = field(default_factory=list)
    _clock: tuple[int, int] = field(default_factory=lambda: (now(), clock_offset_ns()))
    """When the machine's clock was last compared with CLOCK_MONOTONIC, and how far it was ahead."""

    def run(self) -> None:
        """Inject faults until every process has ended by itself, or the time is over."""
        deadline = time.monotonic() + self.scenario.limit_s
        for _ in range(self.scenario.processes):
            self.start()
        due = {name: self._next(name) for name in ("kill", "restart", "loss", "jump")}
        while self.processes and time.monotonic() < deadline:
            time.sleep(POLL_S)
            self._measure()
            self._compare_clocks()
            self._collect_ended()
            for name, moment in list(due.items()):
                if self.processes and time.monotonic() > moment:
                    getattr(self, name)()
                    self.counts[name] += 1
                    due[name] = self._next(name)
        if self.losses and not self.processes:
            # Every process may have ended because all was settled, and then the server lost settlements.
            self.start()
            while self.processes and time.monotonic() < deadline:
                time.sleep(POLL_S)
                self._collect_ended()

    def _collect_ended(self) -> None:
        """Remove the processes that have ended. Exit if one failed."""
        for generation, process in list(self.processes.items()):
            if process.poll() is not None:
                if process.returncode != 0:
                    raise SystemExit(f"a process of workers ended with {process.returncode}")
                del self.processes[generation]

    def start(self, recovers: int | None = None) -> None:
        """Start a process; let it recover leases of the killed generation `recovers`."""
        generation = next(self._generation)
        words = ["--generation", str(generation)]
        words += ["--recovers", str(recovers)] if recovers is not None else []
        self.processes[generation] = start_script(self.scenario, *words)

    def kill(self) -> None:
        """Kill a process, and start another in its place."""
        generation = self.random.choice(sorted(self.processes))
        end(self.processes.pop(generation))
        self.start(generation)

    def restart(self) -> None:
        """Kill the server, and start it again."""
        self._kill_server()
        self._start_server()

    def loss(self) -> None:
        """Kill the server, cut off what it wrote last, and start it again."""
        begin, path, size = self.random.choice(self._sizes)
        end = self._kill_server()
        if path == newest_log(self.scenario):
            os.truncate(path, size)
            self.losses.append(Span(begin, end))
        self._start_server()

    def jump(self) -> None:
        """Move the server's clock."""
        file = self.scenario.dir / CLOCK
        self.breaks.append(now())
        hours = int(file.read_text()) // 3600
        set_clock(file, 3600 * self.random.choice([hour for hour in (-1, 0, 1) if hour != hours]))
        time.sleep(POLL_S)  # the server may have read its clock just before
        self.breaks.append(now())

    def end(self) -> None:
        """Kill all processes."""
        for process in self.processes.values():
            end(process)

    def _next(self, name: str) -> float:
        every = getattr(self.scenario, name)
        return time.monotonic() + every * self.random.uniform(0.5, 1.5) if every else float("inf")

    def _measure(self) -> None:
        """Record the length of the append-only file: it holds every change that was answered before."""
        begin = now()
        path = newest_log(self.scenario)
        self._sizes = [
            *(seen for seen in self._sizes if begin - seen[0] < 10**9),
            (begin, path, path.stat().st_size),
        ]

    def _compare_clocks(self) -> None:
        """Record it if the machine's clock was set: the frontier measures its delays by that clock."""
        moment, offset = now(), clock_offset_ns()
        before, known = self._clock
        if abs(offset - known) > STEADY_NS:
            self.breaks += [before, moment]
            self.leaps_ns += max(offset - known, 0)
        self._clock = moment, offset

    def _kill_server(self) -> int:
        self.breaks.append(now())
        os.kill(int((self.scenario.state / "server.pid").read_text()), signal.SIGKILL)
        return now()

    def _start_server(self) -> None:
        self.stack.enter_context(prompt_server(self.scenario))
        self.breaks.append(now())
        self._sizes.clear()
        self._measure()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process."""
    with process:
        process.kill()


def clock_offset_ns() -> int:
    """Return how far the machine's clock is ahead of CLOCK_MONOTONIC, by the quickest of several measurements."""

    def measure() -> tuple[int, int]:
        begin = now()
        wall = time.time_ns()
        end = now()
        return end - begin, wall - (begin + end) // 2

    return min(measure() for _ in range(5))[1]


def newest_log(scenario: Scenario) -> Path:
    """Return the append-only file that the server writes."""
    logs = (scenario.state / "appendonlydir").glob("*.incr.aof")
    return max(logs, key=lambda path: int(path.name.split(".")[-3]))


def set_clock(file: Path, seconds: int) -> None:
    """Set the offset of the clock of a server under libfaketime."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(file)


@contextmanager
def prompt_server(scenario: Scenario) -> Iterator[str]:
    """Run a server that writes each change to its append-only file before it answers; return its address.

    With `appendfsync everysec` a server whose disk is slow answers up to two seconds before it writes. A kill would
    lose these writes, and nobody could say which.
    """
    with embedded_server(scenario.state) as address:
        with Redis.from_url(address) as redis_client:
            redis_client.config_set("appendfsync", "no")
        yield address


@contextmanager
def with_movable_clock(scenario: Scenario) -> Iterator[None]:
    """Let `set_clock` move the clock of the servers that are started within this context."""
    import libfaketime  # noqa: PLC0415 - only --jump needs it

    library = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
    set_clock(scenario.dir / CLOCK, 0)
    words = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(scenario.dir / CLOCK),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    os.environ.update(words)
    try:
        yield
    finally:
        for name in words:
            del os.environ[name]


def start_script(scenario: Scenario, *words: str) -> "subprocess.Popen[bytes]":
    """Run this file in another process, whose clock nobody moves."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.Popen(
        [sys.executable, __file__, *scenario.arguments(), *words], env=environment, stdout=subprocess.PIPE
    )


def run_fleet(scenario: Scenario) -> dict[str, Any]:
    """Run the fleet and the faults. Return the figures and the violations."""
    from bench.frontier.fleet_judge import judge, read  # noqa: PLC0415 - the processes of workers need no numpy

    scenario.dir.mkdir(parents=True)
    with ExitStack() as stack:
        if scenario.jump:
            stack.enter_context(with_movable_clock(scenario))
        address = stack.enter_context(prompt_server(scenario))
        asyncio.run(seed_crawl(scenario, address))
        stack.callback(scenario.proxy_socket.unlink, missing_ok=True)
        proxy_process = start_script(scenario, "--proxy")
        stack.callback(end, proxy_process)
        wait_until(scenario.proxy_socket.exists, "the socket of the proxy")
        injector = FaultInjector(scenario=scenario, stack=stack, random=Random(scenario.seed))
        stack.callback(injector.end)
        begun = time.monotonic()
        injector.run()
        wall_s = time.monotonic() - begun
        proxy_process.terminate()
        fault_counts = json.loads(proxy_process.communicate()[0])
        stats = asyncio.run(frontier_counts(address))
    verdict = judge(
        read(sorted(scenario.dir.glob("*.facts"))),
        lease_ms=scenario.lease_ms,
        partitions=scenario.partitions,
        breaks=injector.breaks,
        losses=injector.losses,
        leaps_ns=injector.leaps_ns,
    )
    expired = stats.reasons.get("failed:lease_expired", 0)
    unseen = stats.seen - verdict.figures["urls_settled"] - verdict.figures["urls_settled_untold"]
    rules = {
        "what waits, is leased or is settled is what was added": stats.seen
        == stats.waiting + stats.leased + stats.later + sum(stats.outcomes.values())
    }
    if stats.is_drained:
        rules |= {
            "every page that can be found is known": stats.seen == scenario.urls
            or bool(expired and stats.seen < scenario.urls),
            "every page was settled by a worker, or expired too often": unseen in range(expired + 1),
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
        "broken": dict(injector.counts),
        "requests": fault_counts,
        "clock_leaps_ms": round(injector.leaps_ns / 10**6, 3),
        **verdict.figures,
        "violations": verdict.violations,
    }


async def run_proxy(scenario: Scenario) -> None:
    """Run the proxy until SIGTERM; print what it has done."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = Path((scenario.state / "socket").read_text().removesuffix("\n"))
    async with proxy(server, scenario.proxy_socket, scenario.proxy_faults, seed=scenario.seed) as running:
        await stop.wait()
    print(json.dumps(running.fault_counts))


async def seed_crawl(scenario: Scenario, address: str) -> None:
    """Create the crawl, and add its first pages."""
    link = await connect(address)
    pace = CrawlSettings(min_delay_ms=scenario.min_delay_ms, min_ip_delay_ms=scenario.min_delay_ms)
    frontier = await Frontier(link, CRAWL).open(pace, partitions=scenario.partitions)
    await frontier.add([discovery(scenario, page) for page in range(min(ROOTS, scenario.urls))])
    await link.aclose()


async def frontier_counts(address: str) -> Stats:
    """Return the frontier's counts."""
    link = await connect(address)
    stats = await (await Frontier(link, CRAWL).open()).stats()
    await link.aclose()
    return stats


def main() -> None:
    """Run the fleet, or the part of it that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in fields(Scenario):
        default = {} if option.default is MISSING else {"default": option.default}
        parser.add_argument(
            f"--{option.name.replace('_', '-')}", type=option.type, required=not default, **default
        )
    parser.add_argument("--generation", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--recovers", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--proxy", action="store_true", help=argparse.SUPPRESS)
    args = vars(parser.parse_args())
    generation, recovers, is_proxy = (args.pop(name) for name in ("generation", "recovers", "proxy"))
    scenario = Scenario(**args)
    if generation is not None:
        asyncio.run(run_process(scenario, generation, recovers))
    elif is_proxy:
        asyncio.run(run_proxy(scenario))
    else:
        shutil.rmtree(scenario.dir, ignore_errors=True)
        report = run_fleet(scenario)
        print(
            json.dumps(
                {"bench": "fleet", "scenario": asdict(scenario) | {"dir": scenario.dir.name}, **report}
            )
        )
        sys.exit(1 if report["violations"] else 0)


if __name__ == "__main__":
    main()
