"""`Cell`: one worker process that makes parts, walled off so that neither its death nor its betrayal costs more than its part.

1. The process is begun when there is something to make, and again after it died.
2. It is confined (`isolation`) before its work reads the first byte: all that it has of the storage is what `pipeline.engine.local.part_server`
   gives it and takes from it through a pipe.
3. It is replaced between two parts when it has grown beyond `RSS` or made `PARTS`: native parsers fragment memory.
4. It may allocate its share of the machine's memory and no more; running out of it is a crash of the item at hand,
   not of the machine.
5. An item that costs it more than `ITEM_CPU_S` of CPU time takes it down, like any crash: a native parser that never
   ends is one. No item that ends by itself comes near it, so that no result depends on the speed of a machine.
6. One that has used no CPU time for `STILL_S`, though nothing keeps it waiting, is dead: it is ended. So is one that takes as long to
   finish a message, or to read one.
7. It dies with the process that began it.
"""

import logging
import os
import pickle
import resource
import signal
import threading
import time
import traceback
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection

import msgspec

from core import ThresherError, Unavailable
from isolation import ConfinementLimits, WorkerProcess, confine
from isolation.shared_int import SharedInt
from pipeline.engine import messages
from pipeline.engine.local.part_server import PartServer, shown
from pipeline.engine.local.part_watchdog import Watchdog
from pipeline.engine.messages import LONGEST_LINE, UNANSWERED, Answer, Ask, Done, Failed, Log, Said
from pipeline.engine.part_store import PartStore
from pipeline.engine.task import NOWHERE, Assignment, Attempt, Died, Ended, Raised, Sealed, Watch, cpu_seconds

PARTS = 64
RSS = 1 << 30
ITEM_CPU_S = 600
"""CPU seconds of one item. The longest that is known to end takes some 20 (`extract.pdf.pdfium`)."""
STILL_S = 600
OUT_OF_MEMORY = 71
"""Exit code of a process that could not allocate: `EX_OSERR` of sysexits.h."""
LOOK_S = 1.0
"""How long it is waited for a word of a process before it is looked at what it does."""
END_S = 10.0
"""How long a process that has closed its pipe may take to end."""


class Cell:
    """One worker process at a time. One thread makes; any may `kill`."""

    def __init__(self, *, memory: int, item_cpu_s: float = ITEM_CPU_S) -> None:
        """`memory` bounds what the process may allocate, in bytes."""
        self._memory = memory
        self._item_cpu_s = item_cpu_s
        self._process: WorkerProcess | None = None
        self._mark = SharedInt.create(NOWHERE)
        self._watchdog: Watchdog | None = None
        self._begun = False
        self._made = 0
        self._lock = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int | None:
        """Of the worker process, where there is one."""
        process = self._process
        return None if process is None else process.pid

    def make(self, assignment: Assignment) -> Ended:
        """Have one part made, and seal it. Blocks until that is done, or something went wrong.

        Raises `ThresherError` where no process can be begun.
        """
        self._mark.value, self._watchdog = NOWHERE, None
        started = time.monotonic()
        with PartServer(assignment, most_bytes=self._memory) as server:
            try:
                process = self._process or self._start()
                process.pipe.send_bytes(assignment.attempt)
                if not self._begun:
                    process.pipe.recv_bytes(0)
                    self._begun = True
                said = self._serve(process, server)
            except (EOFError, OSError):
                return self._buried(patience_s=END_S)
            except msgspec.MsgspecError:  # it says what none of ours says
                return self._buried(patience_s=0.0)
            except ThresherError as error:
                self.close()
                return Raised(error=error, detail="")
            except BaseException:
                self.close()  # who knows what it waits for
                raise
            self._made += 1
            rss = resident_bytes(process.pid)
            if self._made >= PARTS or rss > RSS:
                self.close()
            if isinstance(said, Failed):
                return Raised(error=server.error(said), detail=shown(said.detail))
            try:
                outputs = server.seal(said)
            except ThresherError as error:
                return Raised(error=error, detail="")
        return Sealed(
            work_cpu_s=said.work_cpu_s,
            cpu_s=said.cpu_s,
            wall_s=time.monotonic() - started,
            bytes_read=assignment.bytes,
            bytes_written=sum(output.bytes for output in outputs),
            rss=rss,
        )

    def kill(self) -> None:
        """End the process at once, for good: what it makes now ends as `Died`, and nothing can be made any more."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.signal(signal.SIGKILL)

    def close(self) -> None:
        """End the process between two parts; the next part begins another."""
        self._end()

    def _start(self) -> WorkerProcess:
        with self._lock:
            if self._killed:
                raise EOFError
            mark = self._mark.descriptor
            self._process = WorkerProcess(_serve, mark, self._memory, is_confined=True, descriptors=(mark,))
            return self._process

    def _serve(self, process: WorkerProcess, server: PartServer) -> Done | Failed:
        """Answer what the process asks until it says how its part ended. Raises `ThresherError` where an output cannot be had."""
        watchdog = self._watchdog = Watchdog(
            process, self._mark, item_cpu_s=self._item_cpu_s, still_s=STILL_S
        )
        while True:
            watchdog.look()
            if not process.pipe.poll(LOOK_S):
                continue
            with process.within(STILL_S):
                said = messages.said(process.pipe.recv_bytes(messages.MOST_MESSAGE))
            if isinstance(said, Done | Failed):
                return said
            answer = server.answer(said)
            if not isinstance(said, UNANSWERED):
                with process.within(STILL_S):
                    process.pipe.send_bytes(messages.encode(answer))
            watchdog.heard()

    def _buried(self, patience_s: float) -> Died:
        """What is known of a process that is no more. `Unavailable` where it ended by itself before it began: so
        will the next.
        """
        item, begun = self._mark.value, self._begun
        exitcode = self._end(patience_s)
        if self._watchdog is not None and self._watchdog.is_spent:
            exitcode = -signal.SIGXCPU  # as the kernel says it of a process that is at its limit
        if exitcode is not None and not begun and exitcode >= 0:
            raise Unavailable(
                f"a worker process ended before it could begin (exit code {exitcode}); look at its output above"
            )
        return Died(exitcode=exitcode, item=None if item == NOWHERE else item)

    def _end(self, patience_s: float = 0.0) -> int | None:
        with self._lock:
            process, self._process = self._process, None
            self._begun = False
            self._made = 0
        return None if process is None else process.close(patience_s)

    def __repr__(self) -> str:
        return f"<cell: process {self.pid}, {self._made} parts made>"


def resident_bytes(pid: int) -> int:
    """Memory of a process that is in RAM; 0 where the process is gone."""
    with suppress(OSError), open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - there is nothing to join
        return int(file.read().split()[1]) * resource.getpagesize()
    return 0


class _ToParent(logging.Handler):
    """Sends warnings through the pipe, for standard error is shut."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(logging.WARNING)
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        _ask(self._pipe, Log(self.format(record)[:LONGEST_LINE]))


def _serve(pipe: Connection, mark: int, memory: int) -> None:
    """Make parts, one after the other, in this process."""
    marked, store, cpu = SharedInt(mark), PartStore(partial(_ask, pipe)), 0.0
    is_confined = False
    with suppress(EOFError, BrokenPipeError):
        while True:
            attempt: Attempt = pickle.loads(pipe.recv_bytes())  # noqa: S301 - the parent's; it imports the work
            if not is_confined:
                confine(ConfinementLimits(memory_bytes=memory))
                logging.getLogger().addHandler(_ToParent(pipe))
                pipe.send_bytes(b"")
                is_confined = True
            ended = _made(attempt, store, Watch(marked, attempt.crashed), cpu)
            cpu = cpu_seconds()
            marked.value = NOWHERE
            pipe.send_bytes(messages.encode(ended))


def _made(attempt: Attempt, store: PartStore, watch: Watch, cpu_before_s: float) -> Said:
    cpu = cpu_seconds()
    try:
        made = attempt.work(store, attempt.step, attempt.part, watch)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except ThresherError as error:
        return Failed(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - a defect of ours, or an input that nobody thought of: the part's end
        return Failed(ThresherError.__name__, f"{type(error).__name__}: {error}", traceback.format_exc())
    now = cpu_seconds()
    return Done(
        counts=dict(made.counts),
        rows={output.name: output.rows for output in made.outputs},
        work_cpu_s=now - cpu,
        cpu_s=now - cpu_before_s,
    )


def _ask(pipe: Connection, ask: Ask) -> Answer:
    pipe.send_bytes(messages.encode(ask))
    return None if isinstance(ask, UNANSWERED) else messages.answer(pipe.recv_bytes())
