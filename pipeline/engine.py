"""The local engine: makes the parts of a step that are not sealed yet, in a pool of processes.

Rules
1. A part is done when its Manifest is sealed, and only then. Its outputs may lie there before; they are
   deleted and made again, for nobody has read them.
2. A Manifest with another fingerprint is a Conflict, and nothing is made before all of them were looked at.
3. A worker process that dies costs its part one attempt, and no other part anything.
4. At most two parts a process are under way or waiting for a process.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from pebble import ProcessExpired, ProcessPool

from core import Conflict, ThresherError
from pipeline.progress import Progress
from pipeline.step import Part, Step
from storage.manifest import Manifest, Output, drift, load, manifest_name, seal
from storage.store import Store

ATTEMPTS = 3
PARTS_A_PROCESS = 64
"""A worker is replaced after so many parts: native parsers fragment memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a worker made of a part: the counts, and the outputs that it put."""

    counts: Mapping[str, int]
    outputs: tuple[Output, ...]


Work = Callable[[Store, Step, Part], Made]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run did."""

    made: int
    already: int


def run(
    store: Store, step: Step, parts: Iterable[Part], work: Work, *, workers: int, progress: Progress
) -> Ran:
    """Seal every part. Raises what a worker raised, and ThresherError for a part that kills its workers.

    `work` and the parts travel to other processes: `work` is a module's function, tasks are picklable.
    """
    # A part is a name and ranges, some hundred bytes for a thousand documents: the list may be held.
    wanted = list(parts)
    missing = [part for part in wanted if sealed(store, step, part) is None]
    progress.start(str(step), total=len(missing))
    for part in _finished(store, step, missing, work, workers):
        progress.advance(part.name)
    progress.done()
    return Ran(made=len(missing), already=len(wanted) - len(missing))


def sealed(store: Store, step: Step, part: Part) -> Manifest | None:
    """The Manifest of a finished part. Conflict where one is there that was made otherwise."""
    name = manifest_name(step.name, part.name)
    if not store.exists(name):
        return None
    manifest = load(store, name)
    if manifest.fingerprint == part.fingerprint(step):
        return manifest
    if manifest.step != str(step):
        difference = f"step: {manifest.step}, now {step}"
    else:
        difference = drift(manifest.recipe, step.recipe) or "other inputs under the same name"
    raise Conflict(
        f"{step.name} of {part.name} was made otherwise ({difference}); "
        f"restore that, or make it again with --redo"
    )


def _finished(store: Store, step: Step, parts: list[Part], work: Work, workers: int) -> Iterator[Part]:
    if not parts:
        return
    pool = ProcessPool(
        max_workers=min(workers, len(parts)),
        max_tasks=PARTS_A_PROCESS,
        initializer=_start_worker,
        context=multiprocessing.get_context("spawn"),
    )
    waiting = iter(parts)
    attempts: dict[str, int] = {}
    running: dict[Future[None], Part] = {}

    def begin(part: Part) -> None:
        attempts[part.name] = attempts.get(part.name, 0) + 1
        running[pool.schedule(make, args=(store, step, part, work))] = part

    try:
        for part in waiting:
            begin(part)
            if len(running) < 2 * workers:
                continue
            yield from _collect(running, attempts, begin)
        while running:
            yield from _collect(running, attempts, begin)
        pool.close()  # type: ignore[no-untyped-call]
    except BaseException:
        pool.stop()  # type: ignore[no-untyped-call]
        raise
    finally:
        pool.join()


def _collect(
    running: dict[Future[None], Part], attempts: dict[str, int], begin: Callable[[Part], None]
) -> Iterator[Part]:
    finished, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in finished:
        part = running.pop(future)
        try:
            future.result()
        except ProcessExpired as death:
            if attempts[part.name] < ATTEMPTS:
                begin(part)
                continue
            raise ThresherError(
                f"part {part.name}: its worker process died {ATTEMPTS} times (exit code {death.exitcode}); "
                "everything else that was made is kept"
            ) from None
        yield part


def make(store: Store, step: Step, part: Part, work: Work) -> None:
    """Make one part and seal it: what a worker process does."""
    made = work(store, step, part)
    seal(
        store,
        Manifest(
            step=str(step),
            part=part.name,
            fingerprint=part.fingerprint(step),
            recipe=step.recipe,
            inputs=part.inputs,
            outputs=tuple(sorted(made.outputs, key=lambda output: output.name)),
            counts=made.counts,
        ),
    )


def _start_worker() -> None:
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # One thread a process: the engine's processes are the parallelism.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
