"""`WorkerFigures`: what one worker has done since it started, as it reports it with its heartbeat.

1. All counters grow as long as the worker lives. The frontier adds what each grew by to the sums of the crawl
   (`CrawlFigures.sums`), so a worker that ends or dies takes nothing away from them. The sums start anew only with the
   crawl. What a killed worker did after its last report is not in them.
2. Counters are integers: sums stay exact, and a report that is sent twice changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from thresher.core.call_times import NO_CALLS

WorkerKind = Literal["crawler", "processor", "exporter"]
WORKER_KINDS: tuple[WorkerKind, ...] = get_args(WorkerKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFigures:
    """The counters of one worker, or the sums of all workers of one kind."""

    requests: int = 0
    """Requests that were sent to websites, robots.txt and parts of rendered pages included."""
    bytes_received: int = 0
    """Bytes of responses from websites."""
    bytes_read: int = 0
    """Bytes of inputs that parts were made from."""
    bytes_stored: int = 0
    """Bytes written for storage: records of a crawler, outputs of a processor."""
    parts: int = 0
    """Parts that were sealed."""
    cpu_us: int = 0
    """Microseconds of CPU, user and system, of the worker and of its child processes that have ended."""
    store_us: int = 0
    """Microseconds that calls of the storage took."""
    gate_wait_us: int = 0
    """Microseconds for which the back-pressure gate was shut."""
    politeness_violations: int = 0
    """Requests that began before the delay of their host was over (`crawler.connectivity.politeness_audit`)."""
    store_calls: tuple[int, ...] = NO_CALLS
    """Calls of the storage by duration (`core.call_times`)."""


COUNTERS = tuple(each.name for each in fields(WorkerFigures) if each.name != "store_calls")
"""The counters with one number, in the order in which they are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """The newest report of a live worker."""

    kind: WorkerKind
    rss_bytes: int
    """Resident bytes of its process."""
    figures: WorkerFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlFigures:
    """The figures of a crawl."""

    sums: Mapping[WorkerKind, WorkerFigures] = field(default_factory=dict)
    """The sums over all workers that the crawl ever had. Kinds without any report are left out."""
    progress_ms: Mapping[WorkerKind, int] = field(default_factory=dict)
    """When a report of each kind last had more bytes stored or more parts, in milliseconds since the epoch by the
    server's clock."""
    workers: Mapping[str, WorkerReport] = field(default_factory=dict)
    """The workers whose last report still counts, by name."""


def to_numbers(figures: WorkerFigures) -> tuple[int, ...]:
    """Return the counters in the order in which they are stored."""
    return *(getattr(figures, name) for name in COUNTERS), *figures.store_calls


def from_numbers(numbers: tuple[int, ...]) -> WorkerFigures:
    """Return the figures that `to_numbers` took apart."""
    plain = dict(zip(COUNTERS, numbers, strict=False))
    return WorkerFigures(**plain, store_calls=numbers[len(COUNTERS) :])


def has_progressed(figures: WorkerFigures, counted: WorkerFigures) -> bool:
    """Return whether anything was stored since the figures that were `counted`."""
    return figures.bytes_stored > counted.bytes_stored or figures.parts > counted.parts


def grown(sums: WorkerFigures, figures: WorkerFigures, counted: WorkerFigures) -> WorkerFigures:
    """Return the sums with what a worker's counters grew by since those that were `counted`."""
    pairs = zip(to_numbers(sums), to_numbers(figures), to_numbers(counted), strict=True)
    return from_numbers(tuple(total + max(0, now - before) for total, now, before in pairs))
