"""What is done with one part: the task that travels to a worker process, and how it ended.

A `Work` is a function of a module. It tells its `Watch` which item it is at, so that when a native parser takes the
whole process down, its engine knows which item did it; and it passes over the items that have done so before.
"""

import pickle
import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from storage.manifest import Input, Output
from storage.store import Store

NO_ITEM = -1


class Mark(Protocol):
    """A number that outlives the process that wrote it."""

    value: int


class ItemTracker:
    """Where a worker stands in its part."""

    __slots__ = ("_mark", "crashing_items")

    def __init__(self, mark: Mark, crashed: frozenset[int] = frozenset()) -> None:
        self._mark = mark
        self.crashing_items = crashed
        """Items that took a worker down with them: to be left out, with that as their reason."""

    def start_item(self, item: int) -> None:
        """The work is at this item: a number that finds it again in the part, such as an offset."""
        self._mark.value = item

    def __repr__(self) -> str:
        return f"<watch at {self._mark.value}, {len(self.crashing_items)} crashed>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOutputs:
    """What a worker made of a part: the counts, and the outputs that it put."""

    counts: Mapping[str, int]
    outputs: tuple[Output, ...]


WorkFunction = Callable[[PartStore, Step, Part, ItemTracker], PartOutputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at one part, as its worker process is told of it."""

    step: Step
    part: Part
    work: WorkFunction
    crashing_items: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One attempt at one part, as it travels to the parent of the worker process: which need not know the work, only what
    it may read and write, and what to seal.
    """

    attempt: bytes
    """A pickled `Attempt`: whoever unpickles it imports the work."""
    step: Step
    name: str
    """Of the part."""
    inputs: tuple[Input, ...]
    fingerprint: str
    bytes: int
    """Of the ranges that the part is made from."""
    store: Store
    """Where the seal is put."""
    reads: Mapping[str, Store]
    """The objects that the work may read, and where each lies."""
    writes: Mapping[str, Store]
    """The objects that it must make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One attempt at one part."""

    store: Store
    step: Step
    part: Part
    work: WorkFunction
    crashing_items: frozenset[int] = frozenset()

    def assignment(self) -> Assignment:
        """As it travels."""
        part = self.part
        attempt = Attempt(
            step=self.step, part=replace(part, stores={}), work=self.work, crashing_items=self.crashing_items
        )
        reads = (*(span.name for span in part.inputs), *part.reads)
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
    """Of archives: the ranges that the part was made from."""
    bytes_written: int
    rss: int
    """Resident bytes of the worker afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailure:
    """The work raised an error; the worker lives."""

    error: Exception
    detail: str
    """The traceback, or empty for an error of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeath:
    """The worker process, or the machine under it, died."""

    exitcode: int | None
    """Of the process, negative for a signal; None where nobody can tell."""
    item: int | None
    """Where it stood; None before the first item."""


TaskOutcome = TaskSuccess | TaskFailure | WorkerDeath


def cpu_seconds() -> float:
    """CPU seconds of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
