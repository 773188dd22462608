"""`PageProcess`: reads pages in a child process, one at a time.

1. It reads pages that the event loop could not wait for (`crawler.reading.page_response.is_heavy`), and pages that may
   have killed a worker (`Lease.is_recovered`).
2. A page fails with `parser_crash` if it kills the process, whatever a parser or a decoder does with it, or keeps the
   process busy for longer than `PAGE_TIMEOUT_S`. No other page fails: a new process reads the next one.
3. An exception that reading a page raises is raised here as a `Failure`, which costs that page as well.
4. The process starts with the first page that needs it, may allocate `MOST_MEMORY`, and ends with its owner.
5. The process is confined (`isolation`). A page may have taken it over, so its result must be a value of the expected
   type, and one that the page can have (`crawler.reading.plausibility`). A process with any other result is replaced.
"""

import asyncio
import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import msgspec

from core import Failure, ThresherError
from crawler.reading.outcome import READING_STEP
from isolation import ConfinementLimits, WorkerProcess, confine

T = TypeVar("T")

PAGE_TIMEOUT_S = 60.0
"""Seconds for one page; the slowest 10 MiB take 5 s."""
MOST_MEMORY = 4 << 30
"""Bytes: several times what a page of 100 MB takes."""
MAX_RESULT_BYTES = 256 << 20
"""Bytes of one result; most of them are links."""
RESULT_PREFIX, FAILURE_PREFIX = b"+", b"-"
"""First byte of a response: the result of `work` follows, or the texts of the failure that it raised."""
MAX_FAILURE_BYTES = 16 << 10
"""Bytes of these texts: a page may have written them."""


class PageProcess:
    """The process; a new one is started if the last one has ended."""

    def __init__(self, *, timeout_s: float = PAGE_TIMEOUT_S) -> None:
        self._longest_s = timeout_s
        self._process: WorkerProcess | None = None
        self._lock = asyncio.Lock()

    async def call(
        self,
        work: Callable[..., T],
        *args: Any,
        returns: type[T],
        accepts: Callable[[T], bool] = lambda _: True,
    ) -> T | None:
        """Return the result of `work`, a function of a module, in the process; None if the process died, or if its
        result is not of type `returns` or `accepts` refuses it.

        Raise `Failure` for any exception of `work`. `accepts` is called in a thread.
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

    def _request(self, question: bytes) -> bytes | None:
        if self._process is not None and self._process.exitcode() is not None:
            self.close()  # it was killed between two pages
        if self._process is None:
            self._process = WorkerProcess(_serve, is_confined=True)
        process = self._process
        with suppress(EOFError, OSError), process.within(self._longest_s):
            process.pipe.send_bytes(question)
            return process.pipe.recv_bytes(MAX_RESULT_BYTES)
        self.close()
        return None

    def __repr__(self) -> str:
        return f"<page process: {self._process or 'not started'}>"


def _serve(pipe: Connection) -> None:
    is_confined = False
    with suppress(EOFError, OSError):
        while True:
            work, args = pickle.loads(pipe.recv_bytes())  # noqa: S301 - the parent's; it imports what `work` needs
            if not is_confined:
                confine(ConfinementLimits(memory_bytes=MOST_MEMORY))
                is_confined = True
            try:
                answer = RESULT_PREFIX + msgspec.msgpack.encode(work(*args))
            except MemoryError:
                return  # the page's fault, and the state of the process is unknown
            except Exception as error:  # noqa: BLE001 - the caller raises it
                failure = error if isinstance(error, Failure) else Failure.from_exception(READING_STEP, error)
                texts = (str(failure), failure.reason, failure.traceback)
                answer = FAILURE_PREFIX + "\0".join(texts).encode(errors="replace")
            pipe.send_bytes(answer)


def _decoded(answer: bytes, returns: type[T], accepts: Callable[[T], bool]) -> T:
    result = msgspec.msgpack.decode(memoryview(answer)[1:], type=returns)
    if not accepts(result):
        raise msgspec.ValidationError("the page has taken over the process: it cannot have this result")
    return result


def _failure(answer: bytes) -> Failure:
    """Return the failure that the process reports; a page may have written its texts."""
    texts = answer[:MAX_FAILURE_BYTES].decode(errors="replace").split("\0")
    text, reason, traceback = (*texts, "", "", "")[:3]
    printable = "".join(each if each.isprintable() else " " for each in text)
    return Failure(printable, reason=reason, traceback=traceback)
