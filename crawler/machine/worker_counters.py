"""`WorkerCounters`: what a worker counts for its report, and the report made of it."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from thresher.core.call_times import CallTimes
from thresher.crawler.wire import SentExchange
from thresher.frontier import WorkerFigures, WorkerReport

_STATM = Path("/proc/self/statm")


@dataclass(slots=True, kw_only=True)
class WorkerCounters:
    """The counters of one crawl worker. The event loop alone changes them."""

    requests: int = 0
    bytes_received: int = 0
    politeness_violations: int = 0

    def add_exchange(self, exchange: SentExchange) -> None:
        """Count an exchange with a website."""
        self.requests += exchange.requests
        self.bytes_received += exchange.bytes_received

    def report(
        self, *, bytes_stored: int, gate_wait_s: float, store: CallTimes, used: "MachineUse"
    ) -> WorkerReport:
        """Return the report for the next heartbeat."""
        return WorkerReport(
            kind="crawler",
            rss_bytes=used.rss_bytes,
            figures=WorkerFigures(
                requests=self.requests,
                bytes_received=self.bytes_received,
                bytes_stored=bytes_stored,
                cpu_us=used.cpu_us,
                store_us=store.us,
                store_calls=store.calls,
                gate_wait_us=int(gate_wait_s * 1e6),
                politeness_violations=self.politeness_violations,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineUse:
    """What this process has taken from its machine."""

    cpu_us: int
    """Microseconds of CPU, user and system, with those of its child processes that have ended."""
    rss_bytes: int
    """Resident bytes now."""


def machine_use() -> MachineUse:
    """Return what this process has taken so far."""
    times = os.times()
    seconds = times.user + times.system + times.children_user + times.children_system
    pages = int(_STATM.read_text().split()[1])
    return MachineUse(cpu_us=int(seconds * 1e6), rss_bytes=pages * resource.getpagesize())
