"""What is done with one part: the task that travels to a worker process, and how it ended.

A `Work` is a function of a module. It tells its `Watch` which item it is at, so that when a native parser takes the
whole process down, its engine knows which item did it; and it passes over the items that have done so before.
"""

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pipeline.step import Part, Step
from storage.manifest import Manifest, Output, seal
from storage.store import Store

NOWHERE = -1


class Mark(Protocol):
    """A number that outlives the process that wrote it (`multiprocessing.RawValue`)."""

    value: int


class Watch:
    """Where a worker stands in its part."""

    __slots__ = ("_mark", "crashed")

    def __init__(self, mark: Mark, crashed: frozenset[int] = frozenset()) -> None:
        self._mark = mark
        self.crashed = crashed
        """Items that took a worker down with them: to be left out, with that as their reason."""

    def at(self, item: int) -> None:
        """The work is at this item: a number that finds it again in the part, such as an offset."""
        self._mark.value = item

    def __repr__(self) -> str:
        return f"<watch at {self._mark.value}, {len(self.crashed)} crashed>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a worker made of a part: the counts, and the outputs that it put."""

    counts: Mapping[str, int]
    outputs: tuple[Output, ...]


Work = Callable[[Store, Step, Part, Watch], Made]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One attempt at one part. Can be pickled."""

    store: Store
    step: Step
    part: Part
    work: Work
    crashed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
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
class Raised:
    """The work raised an error; the worker lives."""

    error: Exception
    detail: str
    """The traceback, or empty for an error of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The worker process, or the machine under it, died."""

    exitcode: int | None
    """Of the process, negative for a signal; None where nobody can tell."""
    item: int | None
    """Where it stood; None before the first item."""


Ended = Sealed | Raised | Died


def make(task: Task, mark: Mark, cpu_before_s: float) -> Sealed:
    """Make one part and seal it, in this process. `cpu_before_s` is what the process had used up to its last part."""
    begun, cpu = time.monotonic(), cpu_seconds()
    made = task.work(task.store, task.step, task.part, Watch(mark, task.crashed))
    work_cpu_s = cpu_seconds() - cpu
    mark.value = NOWHERE
    seal(
        task.store,
        Manifest(
            step=str(task.step),
            part=task.part.name,
            fingerprint=task.part.fingerprint(task.step),
            recipe=task.step.recipe,
            inputs=task.part.inputs,
            outputs=tuple(sorted(made.outputs, key=lambda output: output.name)),
            counts=made.counts,
        ),
    )
    return Sealed(
        work_cpu_s=work_cpu_s,
        cpu_s=cpu_seconds() - cpu_before_s,
        wall_s=time.monotonic() - begun,
        bytes_read=task.part.bytes,
        bytes_written=sum(output.bytes for output in made.outputs),
        rss=resident_bytes(),
    )


def cpu_seconds() -> float:
    """CPU seconds of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - there is nothing to join
        return int(file.read().split()[1]) * resource.getpagesize()
