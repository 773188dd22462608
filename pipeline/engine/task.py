"""One attempt at one part: the task, the two forms in which it is sent, and its outcome.

The engine makes a `Task`. The parent of a worker process gets its `Assignment`, and the worker process itself gets the
`Attempt` within. A work function is a function of a module. It tells its `ItemTracker` which item it is at, so if a
native parser takes the process down, the engine knows which item did it. The next attempt skips items that have crashed
before.
"""

import pickle
import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.telemetry.trace_context import NO_TRACE, TraceContext
from thresher.storage.manifest import Input, Output
from thresher.storage.store import Store

NO_ITEM = -1
OUT_OF_MEMORY = 71
"""Exit code of a process that could not allocate: `EX_OSERR` of sysexits.h."""


class Mark(Protocol):
    """A number that outlives the process that wrote it."""

    value: int


class ItemTracker:
    """The item at which a worker is in its part, and the items to skip."""

    __slots__ = ("_mark", "crashing_items")

    def __init__(self, mark: Mark, crashed: frozenset[int] = frozenset()) -> None:
        self._mark = mark
        self.crashing_items = crashed
        """Items that took a worker down: the work skips them, and records that as their reason."""

    def start_item(self, item: int) -> None:
        """Set the current item. `item` identifies it within the part; it may be an offset."""
        self._mark.value = item

    def __repr__(self) -> str:
        return f"<item tracker at {self._mark.value}, {len(self.crashing_items)} crashing items>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOutputs:
    """The result of a work function: the counts of a part, and the outputs that it wrote."""

    counts: Mapping[str, int]
    outputs: tuple[Output, ...]


WorkFunction = Callable[[PartStore, Step, Part, ItemTracker], PartOutputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What the worker process gets: the work, its part, and the items to skip."""

    step: Step
    part: Part
    work: WorkFunction
    crashing_items: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What the parent of the worker process gets.

    The parent does not import the work. It knows what the work may read and write, and what to seal.
    """

    attempt: bytes
    """A pickled `Attempt`. Unpickling it imports the work."""
    step: Step
    name: str
    """Name of the part."""
    inputs: tuple[Input, ...]
    fingerprint: str
    bytes: int
    """Bytes of the ranges that the part is made from."""
    store: Store
    """The store that gets the seal."""
    reads: Mapping[str, Store]
    """The store of each object that the work may read, by name."""
    writes: Mapping[str, Store]
    """The store of each object that the work must make, by name."""
    trace: TraceContext
    """The trace that making the part belongs to."""
    prepares: tuple[str, ...] = ()
    """Objects that the worker process must have loaded before it was confined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One attempt at one part, as the engine makes it."""

    store: Store
    step: Step
    part: Part
    work: WorkFunction
    crashing_items: frozenset[int] = frozenset()
    trace: TraceContext = NO_TRACE

    def assignment(self) -> Assignment:
        """Return the form of the task that is sent to the parent of a worker process."""
        part = self.part
        attempt = Attempt(
            step=self.step, part=replace(part, stores={}), work=self.work, crashing_items=self.crashing_items
        )
        models = part.preparation.names if part.preparation is not None else ()
        reads = (*(span.name for span in part.inputs), *part.reads, *models)
        return Assignment(
            attempt=pickle.dumps(attempt),
            step=self.step,
            name=part.name,
            inputs=part.inputs,
            fingerprint=part.fingerprint(self.step),
            bytes=part.bytes,
            store=self.store,
            reads={name: part.stores.get(name, self.store) for name in reads},
            writes={name: part.stores.get(name, self.store) for name in part.writes},
            trace=self.trace,
            prepares=models,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSuccess:
    """The part is sealed."""

    work_cpu_s: float
    """CPU seconds of the work alone."""
    cpu_s: float
    """CPU seconds of the worker process since its last part, start included."""
    wall_s: float
    bytes_read: int
    """Bytes of the ranges that the part was made from."""
    bytes_written: int
    rss: int
    """Resident bytes of the worker after the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailure:
    """The work raised an error; the worker lives."""

    error: Exception
    detail: str
    """The traceback, or empty for a `ThresherError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeath:
    """The worker process, or the machine under it, died."""

    exitcode: int | None
    """Exit code of the process, negative for a signal; None if it is unknown."""
    item: int | None
    """The item at which the worker was; None before the first item."""


TaskOutcome = TaskSuccess | TaskFailure | WorkerDeath


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
