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
from pipeline.engine.local.part_server import PartServer, sanitize
from pipeline.engine.local.part_watchdog import PartWatchdog
from pipeline.engine.messages import (
    MAX_LINE_CHARACTERS,
    ONE_WAY,
    ErrorMessage,
    LogLine,
    Request,
    Response,
    SealPart,
    WorkerMessage,
)
from pipeline.engine.part_store import PartStore
from pipeline.engine.task import (
    NO_ITEM,
    Assignment,
    Attempt,
    ItemTracker,
    TaskFailure,
    TaskOutcome,
    TaskSuccess,
    WorkerDeath,
    cpu_seconds,
)

MAX_PARTS = 64
MAX_RSS = 1 << 30
MAX_ITEM_CPU_S = 600
"""CPU seconds of one item. The longest that is known to end takes some 20 (`extract.pdf.pdfium`)."""
MAX_STALL_S = 600
OUT_OF_MEMORY = 71
"""Exit code of a process that could not allocate: `EX_OSERR` of sysexits.h."""
POLL_S = 1.0
"""How long it is waited for a word of a process before it is looked at what it does."""
EXIT_TIMEOUT_S = 10.0
"""How long a process that has closed its pipe may take to end."""


class PartProcess:
    """One worker process at a time. One thread makes; any may `kill`."""

    def __init__(self, *, memory: int, item_cpu_s: float = MAX_ITEM_CPU_S) -> None:
        """`memory` bounds what the process may allocate, in bytes."""
        self._memory = memory
        self._item_cpu_s = item_cpu_s
        self._process: WorkerProcess | None = None
        self._mark = SharedInt.create(NO_ITEM)
        self._watchdog: PartWatchdog | None = None
        self._begun = False
        self._made = 0
        self._lock = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int | None:
        """Of the worker process, where there is one."""
        process = self._process
        return None if process is None else process.pid

    def make(self, assignment: Assignment) -> TaskOutcome:
        """Have one part made, and seal it. Blocks until that is done, or something went wrong.

        Raises `ThresherError` where no process can be begun.
        """
        self._mark.value, self._watchdog = NO_ITEM, None
        started = time.monotonic()
        with PartServer(assignment, most_bytes=self._memory) as server:
            try:
                process = self._process or self._start()
                process.pipe.send_bytes(assignment.attempt)
                if not self._begun:
                    process.pipe.recv_bytes(0)
                    self._begun = True
                said = self._answer_requests(process, server)
            except (EOFError, OSError):
                return self._death(patience_s=EXIT_TIMEOUT_S)
            except msgspec.MsgspecError:  # it says what none of ours says
                return self._death(patience_s=0.0)
            except ThresherError as error:
                self.close()
                return TaskFailure(error=error, detail="")
            except BaseException:
                self.close()  # who knows what it waits for
                raise
            self._made += 1
            rss = resident_bytes(process.pid)
            if self._made >= MAX_PARTS or rss > MAX_RSS:
                self.close()
            if isinstance(said, ErrorMessage):
                return TaskFailure(error=server.work_error(said), detail=sanitize(said.detail))
            try:
                outputs = server.seal(said)
            except ThresherError as error:
                return TaskFailure(error=error, detail="")
        return TaskSuccess(
            work_cpu_s=said.work_cpu_s,
            cpu_s=said.cpu_s,
            wall_s=time.monotonic() - started,
            bytes_read=assignment.bytes,
            bytes_written=sum(output.bytes for output in outputs),
            rss=rss,
        )

    def kill(self) -> None:
        """End the process at once, for good: what it makes now ends as `WorkerDeath`, and nothing can be made any more."""
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
            self._process = WorkerProcess(
                _run_parts, mark, self._memory, is_confined=True, descriptors=(mark,)
            )
            return self._process

    def _answer_requests(self, process: WorkerProcess, server: PartServer) -> SealPart | ErrorMessage:
        """Answer what the process asks until it says how its part ended. Raises `ThresherError` where an output cannot be had."""
        watchdog = self._watchdog = PartWatchdog(
            process, self._mark, item_cpu_s=self._item_cpu_s, still_s=MAX_STALL_S
        )
        while True:
            watchdog.check()
            if not process.pipe.poll(POLL_S):
                continue
            with process.within(MAX_STALL_S):
                said = messages.decode_worker_message(process.pipe.recv_bytes(messages.MAX_MESSAGE_BYTES))
            if isinstance(said, SealPart | ErrorMessage):
                return said
            answer = server.respond(said)
            if not isinstance(said, ONE_WAY):
                with process.within(MAX_STALL_S):
                    process.pipe.send_bytes(messages.encode(answer))
            watchdog.note_response()

    def _death(self, patience_s: float) -> WorkerDeath:
        """What is known of a process that is no more. `Unavailable` where it ended by itself before it began: so
        will the next.
        """
        item, begun = self._mark.value, self._begun
        exitcode = self._end(patience_s)
        if self._watchdog is not None and self._watchdog.has_exceeded_cpu:
            exitcode = -signal.SIGXCPU  # as the kernel says it of a process that is at its limit
        if exitcode is not None and not begun and exitcode >= 0:
            raise Unavailable(
                f"a worker process ended before it could begin (exit code {exitcode}); look at its output above"
            )
        return WorkerDeath(exitcode=exitcode, item=None if item == NO_ITEM else item)

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


class _PipeLogHandler(logging.Handler):
    """Sends warnings through the pipe, for standard error is shut."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(logging.WARNING)
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        _request(self._pipe, LogLine(self.format(record)[:MAX_LINE_CHARACTERS]))


def _run_parts(pipe: Connection, mark: int, memory: int) -> None:
    """Make parts, one after the other, in this process."""
    marked, store, cpu = SharedInt(mark), PartStore(partial(_request, pipe)), 0.0
    is_confined = False
    with suppress(EOFError, BrokenPipeError):
        while True:
            attempt: Attempt = pickle.loads(pipe.recv_bytes())  # noqa: S301 - the parent's; it imports the work
            if not is_confined:
                confine(ConfinementLimits(memory_bytes=memory))
                logging.getLogger().addHandler(_PipeLogHandler(pipe))
                pipe.send_bytes(b"")
                is_confined = True
            ended = _run_attempt(attempt, store, ItemTracker(marked, attempt.crashing_items), cpu)
            cpu = cpu_seconds()
            marked.value = NO_ITEM
            pipe.send_bytes(messages.encode(ended))


def _run_attempt(
    attempt: Attempt, store: PartStore, tracker: ItemTracker, cpu_before_s: float
) -> WorkerMessage:
    cpu = cpu_seconds()
    try:
        made = attempt.work(store, attempt.step, attempt.part, tracker)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except ThresherError as error:
        return ErrorMessage(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - a defect of ours, or an input that nobody thought of: the part's end
        return ErrorMessage(
            ThresherError.__name__, f"{type(error).__name__}: {error}", traceback.format_exc()
        )
    now = cpu_seconds()
    return SealPart(
        counts=dict(made.counts),
        rows={output.name: output.rows for output in made.outputs},
        work_cpu_s=now - cpu,
        cpu_s=now - cpu_before_s,
    )


def _request(pipe: Connection, ask: Request) -> Response:
    pipe.send_bytes(messages.encode(ask))
    return None if isinstance(ask, ONE_WAY) else messages.decode_response(pipe.recv_bytes())
