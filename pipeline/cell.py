"""`Cell`: one worker process that makes parts, walled off so that its death costs nothing but its part.

1. The process is begun when there is something to make, and again after it died.
2. It is replaced between two parts when it has grown beyond `RSS` or made `PARTS`: native parsers fragment memory.
3. It may allocate its share of the machine's memory and no more; running out of it is a crash of the item at hand,
   not of the machine.
4. An item that costs it more than `ITEM_CPU_S` of CPU time takes it down, like any crash: a native parser that never
   ends is one. No item that ends by itself comes near it, so that no result depends on the speed of a machine.
5. It dies with the process that began it.
"""

import math
import multiprocessing
import os
import pickle
import resource
import signal
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from core import ThresherError, Unavailable
from pipeline.work import NOWHERE, Died, Ended, Mark, Raised, Sealed, Task, cpu_seconds, make

PARTS = 64
RSS = 1 << 30
ITEM_CPU_S = 600
"""CPU seconds of one item. The longest that is known to end takes some 20 (`extract.pdf.pdfium`)."""
OUT_OF_MEMORY = 71
"""Exit code of a process that could not allocate: `EX_OSERR` of sysexits.h."""
SPAWN = multiprocessing.get_context("spawn")


class Cell:
    """One worker process at a time. One thread makes; any may `kill`."""

    def __init__(self, *, memory: int, item_cpu_s: int = ITEM_CPU_S) -> None:
        """`memory` bounds what the process may allocate, in bytes."""
        self._memory = memory
        self._item_cpu_s = item_cpu_s
        self._process: Any = None
        self._pipe: Connection | None = None
        self._mark: Mark = SPAWN.RawValue("q", NOWHERE)
        self._begun = False
        self._made = 0
        self._lock = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int | None:
        """Of the worker process, where there is one."""
        return None if self._process is None else self._process.pid

    def make(self, task: Task | bytes) -> Ended:
        """Have one part made, told by a task or a pickled one. Blocks until it is sealed, or something went wrong.

        Raises `ThresherError` where no process can be begun.
        """
        self._mark.value = NOWHERE
        try:
            pipe = self._pipe or self._begin()
            pipe.send_bytes(task if isinstance(task, bytes) else pickle.dumps(task))
            ended: Ended = pipe.recv()
        except (EOFError, OSError):
            return self._buried()
        self._made += 1
        if self._made >= PARTS or (isinstance(ended, Sealed) and ended.rss > RSS):
            self.close()
        return ended

    def kill(self) -> None:
        """End the process at once, for good: what it makes now ends as `Died`, and nothing can be made any more."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process between two parts; the next part begins another."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.join()
                self._process.close()
            if self._pipe is not None:
                self._pipe.close()
            self._process = self._pipe = None
            self._begun = False
            self._made = 0

    def _begin(self) -> Connection:
        here, there = SPAWN.Pipe()
        with self._lock:
            if self._killed:
                raise EOFError
            process = SPAWN.Process(target=_serve, args=(there, self._mark, self._memory, self._item_cpu_s))
            process.start()
            self._process, self._pipe = process, here
        there.close()
        here.recv()
        self._begun = True
        return here

    def _buried(self) -> Died:
        """What is known of a process that is no more. `Unavailable` where it ended by itself before it began: so
        will the next.
        """
        if self._process is None:
            return Died(exitcode=None, item=None)
        self._process.join()
        item = self._mark.value
        died = Died(exitcode=self._process.exitcode, item=None if item == NOWHERE else item)
        begun = self._begun
        self.close()
        if not begun and (died.exitcode or 0) >= 0:
            raise Unavailable(
                f"a worker process ended before it could begin (exit code {died.exitcode}); look at its output above"
            )
        return died

    def __repr__(self) -> str:
        return f"<cell: process {self.pid}, {self._made} parts made>"


class _Leash:
    """A mark whose every item may use so much CPU time: beyond it the kernel ends the process (SIGXCPU)."""

    __slots__ = ("_item_cpu_s", "_mark")

    def __init__(self, mark: Mark, item_cpu_s: int) -> None:
        self._mark = mark
        self._item_cpu_s = item_cpu_s

    @property
    def value(self) -> int:
        return self._mark.value

    @value.setter
    def value(self, item: int) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = hard if item == NOWHERE else math.ceil(cpu_seconds()) + self._item_cpu_s
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
        self._mark.value = item


def _serve(pipe: Connection, mark: Mark, memory: int, item_cpu_s: int) -> None:
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # One thread a process: the engine's processes are the parallelism.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError):
        pipe.send(None)
        cpu, leash = 0.0, _Leash(mark, item_cpu_s)
        while True:
            task: Task = pipe.recv()
            ended = _made(task, leash, cpu)
            cpu = cpu_seconds()
            pipe.send(ended)


def _made(task: Task, mark: Mark, cpu_before_s: float) -> Ended:
    try:
        return make(task, mark, cpu_before_s)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except ThresherError as error:
        return Raised(error=error, detail="")
    except Exception as error:  # noqa: BLE001 - a defect of ours, or an input that nobody thought of: the part's end
        return Raised(error=ThresherError(f"{type(error).__name__}: {error}"), detail=traceback.format_exc())


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
