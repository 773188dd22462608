"""The engine: make the parts of a step that are not sealed yet, with any worker pool.

Rules
1. A part is done when its Manifest is sealed, and only then. Outputs that lie there before are put again, because
   nobody has read them.
2. A Manifest with another fingerprint raises `Conflict`. All Manifests are checked before anything is made.
3. A worker that dies costs its part one attempt, and other parts nothing.
4. An item that crashes its worker `MAX_ITEM_CRASHES` times is left out, with that as its reason.
5. A part that cannot be made at all goes into quarantine, and the others go on. An error that would hit every part
   alike (the storage is gone, the recipe has drifted) ends the run.
6. At most `TASKS_PER_WORKER` tasks per worker are running or waiting.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from thresher.core import Conflict, InputError, ThresherError, Unavailable
from thresher.pipeline.engine import quarantine
from thresher.pipeline.engine.quarantine import QuarantineMark
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import (
    OUT_OF_MEMORY,
    Task,
    TaskFailure,
    TaskOutcome,
    TaskSuccess,
    WorkerDeath,
    WorkFunction,
)
from thresher.pipeline.telemetry.trace_context import trace_context
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.manifest import Manifest, load_manifest, manifest_name, recipe_difference
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.pipeline.engine.local.worker_pool import WorkerPool

ITEM_CRASH_EXIT_CODES = frozenset(
    {
        *(
            -int(each)
            for each in (
                *(signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE),
                signal.SIGXCPU,
            )
        ),
        OUT_OF_MEMORY,
    }
)
"""Exit codes of a process that an item crashed. Any other death has a cause outside the item."""
MAX_ITEM_CRASHES = 2
"""One crash may have a failing machine as its cause."""
MAX_CRASHING_ITEMS = 16
"""Items of one part that may be left out. More of them are no accident."""
MAX_WORKER_DEATHS = 10
"""Deaths with a cause outside the items after which a part is set aside, because the part may kill the machine."""
FATAL = (Unavailable, Conflict, InputError)
TASKS_PER_WORKER = 2
"""One running and one waiting, so that no worker is ever idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSummary:
    """The result of a run of a step."""

    made: int
    already: int
    quarantined: tuple[QuarantineMark, ...] = ()
    deaths: int = 0
    """Workers that died during a part. Each time the part was started again."""
    left_out: int = 0
    """Items that crash a worker."""
    work_cpu_s: float = 0.0
    cpu_s: float = 0.0
    """CPU seconds of the workers: `work_cpu_s` in the work alone, `cpu_s` in all."""
    worker_s: float = 0.0
    """Seconds that workers spent on parts, added up."""
    bytes_read: int = 0
    bytes_written: int = 0
    peak_rss: int = 0
    """Resident bytes of the largest worker, after a part."""

    def plus(self, other: StepSummary) -> StepSummary:
        """Return the sum of both runs."""
        sums = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        return replace(StepSummary(**sums), peak_rss=max(self.peak_rss, other.peak_rss))

    def require_all(self) -> None:
        """Raise `ThresherError` if a part is in quarantine."""
        for each in self.quarantined:
            rest = f" (and {len(self.quarantined) - 1} more)" if len(self.quarantined) > 1 else ""
            again = "`thresher process --retry`" if each.step.startswith("process@") else "the same command"
            raise ThresherError(
                f"part {each.part} of {each.step} is in quarantine{rest}: {each.reason}. Everything else that "
                f"was made is kept; remove the cause and run {again}"
            )


@dataclass(slots=True, kw_only=True)
class _Attempts:
    """Deaths and crashes of one part so far."""

    deaths: int = 0
    crashes: Counter[int] = field(default_factory=Counter)

    @property
    def crashing_items(self) -> frozenset[int]:
        return frozenset(item for item, count in self.crashes.items() if count >= MAX_ITEM_CRASHES)


def run_step(  # noqa: PLR0913 - options with defaults
    store: Store,
    step: Step,
    parts: Iterable[Part],
    work: WorkFunction,
    *,
    pool: WorkerPool,
    progress: Progress,
    retry: bool = False,
    on_sealed: Callable[[Part, TaskSuccess], None] | None = None,
) -> StepSummary:
    """Seal every part, or put it into quarantine. Raise an error that would hit every part alike. `on_sealed` is called
    with each part that was sealed and what it cost.

    Parts that are in quarantine stay there, unless an input has changed or `retry` is set. `work` must be a module's
    function, because it travels to other processes by name.
    """
    # A part is a name and ranges, some hundred bytes for a thousand documents: memory can hold the list.
    every = list(parts)
    # One listing replaces a request per part.
    there = set(store.list(f"manifests/{step.name}/"))
    unsealed = [
        part
        for part in every
        if manifest_name(step.name, part.name) not in there or sealed_manifest(store, step, part) is None
    ]
    marked = quarantine.marked_parts(store, step.name)
    aside = [
        mark
        for part in unsealed
        if part.name in marked and not retry and (mark := quarantine.find_mark(store, step, part)) is not None
    ]
    put_aside = {mark.part for mark in aside}
    missing = [part for part in unsealed if part.name not in put_aside]
    progress.start(str(step), total=len(missing))
    ran = _run_parts(store, step, missing, work, pool, progress, on_sealed)
    progress.stop()
    for mended in marked & {part.name for part in missing} - {mark.part for mark in ran.quarantined}:
        quarantine.remove_mark(store, step.name, mended)
    return replace(ran, already=len(every) - len(unsealed), quarantined=(*aside, *ran.quarantined))


def sealed_manifest(store: Store, step: Step, part: Part) -> Manifest | None:
    """Return the Manifest of a finished part. Raise `Conflict` if the part was made from another recipe or inputs."""
    name = manifest_name(step.name, part.name)
    if not store.exists(name):
        return None
    manifest = load_manifest(store, name)
    if manifest.fingerprint == part.fingerprint(step):
        return manifest
    if manifest.step != str(step):
        difference = f"step: {manifest.step}, now {step}"
    else:
        difference = recipe_difference(manifest.recipe, step.recipe) or "other inputs under the same name"
    raise Conflict(
        f"{step.name} of {part.name} was made from something else ({difference}); "
        f"restore that, or make it again with --redo"
    )


def _run_parts(  # noqa: PLR0913 - as `run_step`
    store: Store,
    step: Step,
    parts: list[Part],
    work: WorkFunction,
    pool: WorkerPool,
    progress: Progress,
    on_sealed: Callable[[Part, TaskSuccess], None] | None,
) -> StepSummary:
    waiting = iter(parts)
    attempts: dict[str, _Attempts] = {}
    quarantined: list[QuarantineMark] = []
    seals: list[TaskSuccess] = []
    deaths = left_out = under_way = 0
    trace = trace_context()

    def begin(part: Part) -> None:
        so_far = attempts.setdefault(part.name, _Attempts())
        pool.submit(
            Task(
                store=store,
                step=step,
                part=part,
                work=work,
                crashing_items=so_far.crashing_items,
                trace=trace,
            )
        )

    while True:
        while under_way < TASKS_PER_WORKER * pool.workers and (part := next(waiting, None)) is not None:
            begin(part)
            under_way += 1
        if not under_way:
            break
        task, ended = pool.next_outcome()
        so_far = attempts[task.part.name]
        deaths += isinstance(ended, WorkerDeath)
        reason = _failure_reason(so_far, ended)
        if reason is None:
            begin(task.part)
            continue
        under_way -= 1
        del attempts[task.part.name]
        if isinstance(ended, TaskSuccess):
            seals.append(ended)
            left_out += len(task.crashing_items)
            if on_sealed is not None:
                on_sealed(task.part, ended)
        else:
            detail = ended.detail if isinstance(ended, TaskFailure) else ""
            quarantined.append(quarantine.put_mark(store, step, task.part, reason, detail))
        progress.advance(task.part.name)
    return StepSummary(
        made=len(seals),
        already=0,
        quarantined=tuple(quarantined),
        deaths=deaths,
        left_out=left_out,
        work_cpu_s=sum(each.work_cpu_s for each in seals),
        cpu_s=sum(each.cpu_s for each in seals),
        worker_s=sum(each.wall_s for each in seals),
        bytes_read=sum(each.bytes_read for each in seals),
        bytes_written=sum(each.bytes_written for each in seals),
        peak_rss=max((each.rss for each in seals), default=0),
    )


def _failure_reason(so_far: _Attempts, outcome: TaskOutcome) -> str | None:
    """Return None to start an attempt again, "" if the part is sealed, else the reason why the part is given up.

    Raise an error that would hit every part alike.
    """
    match outcome:
        case TaskSuccess():
            return ""
        case TaskFailure(error=error):
            if isinstance(error, FATAL):
                raise error
            return str(error)
        case WorkerDeath():
            return _after_death(so_far, outcome)


def _after_death(so_far: _Attempts, death: WorkerDeath) -> str | None:
    code = f"(exit code {death.exitcode})"
    if death.exitcode in ITEM_CRASH_EXIT_CODES and death.item is not None:
        so_far.crashes[death.item] += 1
        if so_far.crashes[death.item] > MAX_ITEM_CRASHES:
            return f"item {death.item} crashes its worker even when it is left out {code}"
        if len(so_far.crashing_items) > MAX_CRASHING_ITEMS:
            return f"{len(so_far.crashing_items)} of its items crash their worker {code}"
        return None
    so_far.deaths += 1
    if so_far.deaths < MAX_WORKER_DEATHS:
        return None
    where = "before its first item" if death.item is None else f"at item {death.item}"
    return f"its worker died {so_far.deaths} times, the last time {where} {code}"
