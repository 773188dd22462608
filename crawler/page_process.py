"""`PageProcess`: read pages in a process of their own, one at a time.

1. A page is read there if that may take longer than the event loop can wait
   (`PageResponse.is_heavy`), or if the page may have killed a worker before (`Lease.is_recovered`).
2. A page that makes its parser or decoder kill the process, or that takes longer than `PAGE_TIMEOUT_S`, fails with the
   reason `parser_crash`. It costs no other page: a new process reads the next one.
3. If reading a page raises, `PageProcess.call` raises a `Failure`, and that page alone fails.
4. The process starts with the first page that needs it, may allocate `MAX_MEMORY_BYTES`, and ends with the process that
   started it.
5. The process is confined (`isolation`). A page may have taken it over, so its answer must be a value of the expected
   type, and a result that the page can have (`crawler.reading.plausibility`). A process that answers anything else is
   replaced.
"""

import asyncio
import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import msgspec

from thresher.core import Failure, ThresherError
from thresher.core.unicode14 import is_printable
from thresher.crawler.reading.outcome import READING_STEP
from thresher.isolation import ConfinementLimits, WorkerProcess, confine

T = TypeVar("T")

PAGE_TIMEOUT_S = 60.0
"""Seconds for one page; the slowest 10 MiB take 5 s."""
MAX_MEMORY_BYTES = 4 << 30
"""Bytes that the process may allocate: several times what a page of 100 MB takes."""
MAX_RESULT_BYTES = 256 << 20
"""Bytes of one result; links are most of it."""
RESULT_PREFIX, FAILURE_PREFIX = b"+", b"-"
"""First byte of an answer. The value that `work` returned follows, or the texts of the failure that it raised."""
MAX_FAILURE_BYTES = 16 << 10
"""Bytes of these texts, at most: a page that has taken over the process may choose them."""


class PageProcess:
    """The process. The next page starts another if it is gone."""

    def __init__(self, *, timeout_s: float = PAGE_TIMEOUT_S) -> None:
        """Give each page `timeout_s` seconds. Start no process yet."""
        self._timeout_s = timeout_s
        self._process: WorkerProcess | None = None
        self._lock = asyncio.Lock()

    async def call(
        self,
        work: Callable[..., T],
        *args: Any,
        returns: type[T],
        accepts: Callable[[T], bool] = lambda _: True,
    ) -> T | None:
        """Return what `work`, a function of a module, returns in the process.

        Return None if the process died before it answered, or answered something that is not of type `returns` or that
        `accepts` refuses. Raise `Failure` for whatever `work` raises. `accepts` is called in a thread.
        """
        async with self._lock:
            answer = await asyncio.to_thread(self._request, pickle.dumps((work, args)))
            if answer is None:
                return None
            try:
                if answer.startswith(FAILURE_PREFIX):
                    raise _failure(answer[1:])
                return await asyncio.to_thread(_decoded, answer, returns, accepts)
            except (msgspec.MsgspecError, ThresherError):
                self.close()
                return None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _request(self, call: bytes) -> bytes | None:
        if self._process is not None and self._process.exitcode() is not None:
            self.close()  # it ended between two pages
        if self._process is None:
            self._process = WorkerProcess(_serve, is_confined=True)
        process = self._process
        with suppress(EOFError, OSError), process.within(self._timeout_s):
            process.pipe.send_bytes(call)
            return process.pipe.recv_bytes(MAX_RESULT_BYTES)
        self.close()
        return None

    def __repr__(self) -> str:
        return f"<page process: {self._process or 'not started'}>"


def _serve(pipe: Connection) -> None:
    is_confined = False
    with suppress(EOFError, OSError):
        while True:
            work, args = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from the parent; it imports what `work` needs
            if not is_confined:
                confine(ConfinementLimits(memory_bytes=MAX_MEMORY_BYTES))
                is_confined = True
            try:
                answer = RESULT_PREFIX + msgspec.msgpack.encode(work(*args))
            except MemoryError:
                return  # the page fails; the process ends, because its memory may be in any state
            except Exception as error:  # noqa: BLE001 - the parent raises it
                failure = error if isinstance(error, Failure) else Failure.from_exception(READING_STEP, error)
                texts = (str(failure), failure.reason, failure.traceback)
                answer = FAILURE_PREFIX + "\0".join(texts).encode(errors="replace")
            pipe.send_bytes(answer)


def _decoded(answer: bytes, returns: type[T], accepts: Callable[[T], bool]) -> T:
    result = msgspec.msgpack.decode(memoryview(answer)[1:], type=returns)
    if not accepts(result):
        raise msgspec.ValidationError("the page cannot have this result: it has taken over the process")
    return result


def _failure(answer: bytes) -> Failure:
    """Return the failure that an answer reports. A page may have chosen its texts."""
    texts = answer[:MAX_FAILURE_BYTES].decode(errors="replace").split("\0")
    text, reason, traceback = (*texts, "", "", "")[:3]
    printable = "".join(each if is_printable(each) else " " for each in text)
    return Failure(printable, reason=reason, traceback=traceback)
