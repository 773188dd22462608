"""`PartProcess`: one worker process that makes parts. Its crash, or its takeover by a page, costs its part and no more.

1. The process starts when there is something to make, and again after its death.
2. It is confined (`isolation`) before its work reads the first byte, unless the step runs the user's own code
   (`Step.is_confined`). Models of the user are loaded before that (`Preparation`). It reaches the storage only through
   a pipe to `pipeline.engine.local.part_server`.
3. It is replaced between two parts when it has grown beyond `MAX_RSS` or made `MAX_PARTS`, because native parsers
   fragment memory. A process with the user's own code is not replaced, because its models load slowly.
4. It may allocate its share of the machine's memory and no more. Running out of it is a crash of the current item, not
   of the machine.
5. An item that costs more than `MAX_ITEM_CPU_S` of CPU time takes the process down, like a crash: a native parser may
   never end. Items that end by themselves stay far below, so no result depends on the speed of a machine. The user's
   own code may take as long as it does.
6. A process that has used no CPU time for `MAX_STALL_S`, though it waits for nothing, is ended. So is one that takes as
   long to send or to read a message.
7. It dies with the process that started it.
"""

import logging
import math
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

from thresher.core import ThresherError, Unavailable
from thresher.isolation import ConfinementLimits, WorkerProcess, confine
from thresher.isolation.shared_int import SharedInt
from thresher.pipeline.engine import messages
from thresher.pipeline.engine.local.gpu_set import VISIBLE_GPUS, GpuSet
from thresher.pipeline.engine.local.part_server import PartServer, sanitize
from thresher.pipeline.engine.local.part_watchdog import PartWatchdog
from thresher.pipeline.engine.messages import (
    MAX_LINE_CHARACTERS,
    ONE_WAY,
    ErrorMessage,
    LogLine,
    Request,
    Response,
    SealPart,
    WorkerMessage,
)
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Step
from thresher.pipeline.engine.task import (
    NO_ITEM,
    OUT_OF_MEMORY,
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
"""CPU seconds of one item. The longest item that is known to end takes about 20 (`extract.pdf.pdfium`)."""
MAX_STALL_S = 600
POLL_S = 1.0
"""Seconds between two checks of a process that sends no message."""
EXIT_TIMEOUT_S = 10.0
"""Seconds that a process may take to end after it has closed its pipe."""


class PartProcess:
    """One worker process at a time. One thread may call `make`; any thread may call `kill`."""

    def __init__(
        self, *, memory: int, item_cpu_s: float = MAX_ITEM_CPU_S, gpu_set: GpuSet | None = None
    ) -> None:
        """`memory` limits what the process may allocate, in bytes. `gpu_set` says which GPUs a step that asks for some
        sees; None leaves them as they are.
        """
        self._memory = memory
        self._gpu_set = gpu_set
        self._step: Step | None = None
        self._item_cpu_s = item_cpu_s
        self._process: WorkerProcess | None = None
        self._mark = SharedInt.create(NO_ITEM)
        self._watchdog: PartWatchdog | None = None
        self._begun = False
        self._made = 0
        self._prepared: tuple[str, ...] = ()
        self._prepared_rss = 0
        self._lock = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int | None:
        """Id of the worker process, or None if there is none."""
        process = self._process
        return None if process is None else process.pid

    def make(self, assignment: Assignment) -> TaskOutcome:
        """Make one part and seal it, or return why not. Blocks until then.

        Raise `ThresherError` if no process can be started.
        """
        self._mark.value, self._watchdog = NO_ITEM, None
        started = time.monotonic()
        with PartServer(assignment, most_bytes=self._memory) as server:
            try:
                process = self._begin(assignment, server)
                message = self._answer_requests(process, server)
            except (EOFError, OSError):
                return self._death(patience_s=EXIT_TIMEOUT_S)
            except msgspec.MsgspecError:  # no worker of ours sends this
                return self._death(patience_s=0.0)
            except ThresherError as error:
                self.close()
                return TaskFailure(error=error, detail="")
            except BaseException:
                self.close()  # the process may be in any state
                raise
            self._made += 1
            rss = resident_bytes(process.pid)
            is_worn = self._made >= MAX_PARTS or rss > MAX_RSS + self._prepared_rss
            if is_worn and assignment.step.is_confined:
                self.close()
            if isinstance(message, ErrorMessage):
                if assignment.prepares:
                    self.close()  # its models may be missing
                return TaskFailure(error=server.work_error(message), detail=sanitize(message.detail))
            try:
                outputs = server.seal(message)
            except ThresherError as error:
                return TaskFailure(error=error, detail="")
        return TaskSuccess(
            work_cpu_s=message.work_cpu_s,
            cpu_s=message.cpu_s,
            wall_s=time.monotonic() - started,
            bytes_read=assignment.bytes,
            bytes_written=sum(output.bytes for output in outputs),
            rss=rss,
        )

    def kill(self) -> None:
        """End the process at once and for good. The current part ends as `WorkerDeath`; no later part can be made."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.signal(signal.SIGKILL)

    def close(self) -> None:
        """End the process between two parts. The next part starts another."""
        self._end()

    def _start(self, step: Step) -> WorkerProcess:
        with self._lock:
            if self._killed:
                raise EOFError
            mark = self._mark.descriptor
            limits = ConfinementLimits(memory_bytes=self._memory) if step.is_confined else None
            gpus = "" if self._gpu_set is None else self._gpu_set.devices(step.gpus)
            self._process = WorkerProcess(
                _run_parts, mark, limits, gpus, is_confined=step.is_confined, descriptors=(mark,)
            )
            self._step = step
            return self._process

    def _begin(self, assignment: Assignment, server: PartServer) -> WorkerProcess:
        """Send the part to a process that is confined, and has loaded what the part needs loaded. Return it."""
        if assignment.prepares and assignment.prepares != self._prepared:
            self.close()  # a confined process cannot load models
        needs = (assignment.step.is_confined, assignment.step.gpus)
        if self._step is not None and needs != (self._step.is_confined, self._step.gpus):
            self.close()
        process = self._process or self._start(assignment.step)
        process.pipe.send_bytes(assignment.attempt)
        if not self._begun:
            self._serve_preparation(process, server)
            self._prepared, self._begun = assignment.prepares, True
            self._prepared_rss = resident_bytes(process.pid)
        return process

    def _serve_preparation(self, process: WorkerProcess, server: PartServer) -> None:
        """Serve requests until the process is confined. It has read nothing of strangers yet."""
        while request := process.pipe.recv_bytes(messages.MAX_MESSAGE_BYTES):
            message = messages.decode_worker_message(request)
            assert not isinstance(message, SealPart | ErrorMessage), "it sends them when it is confined"
            process.pipe.send_bytes(messages.encode(server.respond(message)))

    def _answer_requests(self, process: WorkerProcess, server: PartServer) -> SealPart | ErrorMessage:
        """Serve requests until the process reports the end of its part. Raise `ThresherError` if an output is lost."""
        is_own_code = self._step is not None and not self._step.is_confined
        item_cpu_s = math.inf if is_own_code else self._item_cpu_s
        watchdog = self._watchdog = PartWatchdog(
            process, self._mark, item_cpu_s=item_cpu_s, still_s=MAX_STALL_S
        )
        while True:
            watchdog.check()
            if not process.pipe.poll(POLL_S):
                continue
            with process.within(MAX_STALL_S):
                message = messages.decode_worker_message(process.pipe.recv_bytes(messages.MAX_MESSAGE_BYTES))
            if isinstance(message, SealPart | ErrorMessage):
                return message
            response = server.respond(message)
            if not isinstance(message, ONE_WAY):
                with process.within(MAX_STALL_S):
                    process.pipe.send_bytes(messages.encode(response))
            watchdog.note_response()

    def _death(self, patience_s: float) -> WorkerDeath:
        """Return how a process died. Raise `Unavailable` if it exited before it started to work, because the next one
        would exit too.
        """
        item, begun = self._mark.value, self._begun
        exitcode = self._end(patience_s)
        if self._watchdog is not None and self._watchdog.has_exceeded_cpu:
            exitcode = -signal.SIGXCPU  # as the kernel reports a process at its CPU limit
        if exitcode is not None and not begun and exitcode >= 0:
            raise Unavailable(
                f"a worker process ended before it could start (exit code {exitcode}); look at its output above"
            )
        return WorkerDeath(exitcode=exitcode, item=None if item == NO_ITEM else item)

    def _end(self, patience_s: float = 0.0) -> int | None:
        with self._lock:
            process, self._process = self._process, None
            self._begun = False
            self._made = 0
            self._prepared = ()
        return None if process is None else process.close(patience_s)

    def __repr__(self) -> str:
        return f"<part process {self.pid}, {self._made} parts made>"


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of a process; 0 if the process is gone."""
    with suppress(OSError), open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - no path to join
        return int(file.read().split()[1]) * resource.getpagesize()
    return 0


class _PipeLogHandler(logging.Handler):
    """Sends warnings through the pipe, because standard error is closed."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(logging.WARNING)
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        _request(self._pipe, LogLine(self.format(record)[:MAX_LINE_CHARACTERS]))


def _run_parts(pipe: Connection, mark: int, limits: ConfinementLimits | None, gpus: str) -> None:
    """Make parts one after the other in this process, until the pipe closes. It is confined if there are `limits`, and
    sees the GPUs `gpus` only, if any are named.
    """
    marked, store, cpu = SharedInt(mark), PartStore(partial(_request, pipe)), 0.0
    is_ready, problem = False, None
    if gpus:
        os.environ[VISIBLE_GPUS] = gpus
    if limits is None:
        os.dup2(2, 1)  # standard output is for results of the command
    with suppress(EOFError, BrokenPipeError):
        while True:
            attempt: Attempt = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from the parent; it imports the work
            if not is_ready:
                problem = _prepare(attempt, store)
                if limits is not None:
                    confine(limits)
                    logging.getLogger().addHandler(_PipeLogHandler(pipe))
                pipe.send_bytes(b"")
                is_ready = True
            ended = problem or _run_attempt(attempt, store, ItemTracker(marked, attempt.crashing_items), cpu)
            problem = None
            cpu = cpu_seconds()
            marked.value = NO_ITEM
            pipe.send_bytes(messages.encode(ended))


def _prepare(attempt: Attempt, store: PartStore) -> ErrorMessage | None:
    """Load what the part needs loaded before the process is confined. Return the error if that fails."""
    try:
        if attempt.part.preparation is not None:
            attempt.part.preparation.load(store, attempt.part.preparation.names)
    except ThresherError as error:
        return ErrorMessage(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - a library refuses the file
        return ErrorMessage(ThresherError.__name__, f"{type(error).__name__}: {error}")
    return None


def _run_attempt(
    attempt: Attempt, store: PartStore, tracker: ItemTracker, cpu_before_s: float
) -> WorkerMessage:
    cpu = cpu_seconds()
    try:
        result = attempt.work(store, attempt.step, attempt.part, tracker)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except ThresherError as error:
        return ErrorMessage(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - a defect of ours or an unforeseen input ends the part
        return ErrorMessage(
            ThresherError.__name__, f"{type(error).__name__}: {error}", traceback.format_exc()
        )
    now = cpu_seconds()
    return SealPart(
        counts=dict(result.counts),
        rows={output.name: output.rows for output in result.outputs},
        work_cpu_s=now - cpu,
        cpu_s=now - cpu_before_s,
    )


def _request(pipe: Connection, ask: Request) -> Response:
    pipe.send_bytes(messages.encode(ask))
    return None if isinstance(ask, ONE_WAY) else messages.decode_response(pipe.recv_bytes())
