"""`PageProcess`: pages that are read in a process of their own, one at a time.

1. What may take longer than the event loop can wait is read there (`is_heavy`), and what may have killed a worker
   (`Lease.is_recovered`).
2. A page that kills the process, by whatever a parser or a decoder does with it, or keeps it for longer than
   `LONGEST_S`, costs that page and no other: it has failed, `parser_crash`. The next is read by a new process.
3. What reading a page raises is raised here as a `Failure`, which costs that page as well.
4. The process begins with the first page that needs it, may allocate `MOST_MEMORY`, and ends with whoever began it.
5. It is confined (`isolation`). Whatever it answers is checked to be a value of the wanted type, and something that
   the page can come to (`crawler.reading.plausibility`): it may be the page that speaks. A process that answers
   anything else is replaced.
"""

import asyncio
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import msgspec

from core import Failure, ThresherError
from crawler.reading.outcome import PARSER_CRASH, READING_STEP
from crawler.reading.page_reading import settlement_for
from frontier import Lease, Settlement
from isolation import ConfinementLimits, WorkerProcess, confine

T = TypeVar("T")

HEAVY_PAGE_BYTES = 512 << 10
"""Bytes of a page, decoded, beyond which it may take longer to read than the event loop can wait."""
MOST_LINKS = 4_000
"""Elements that may be links of which the same holds: each takes as long as a hundred other tags, some 10 µs."""
_SHORTEST_LINK = len("<a href=x")
_LINK = re.compile(rb"<[aAlLmMfFiI](?:[\t\n\f\r /]|[rR][eEaA]|[iI][nN]|[eE][tT]|[fF][rR])")
"""`a`, `area`, `link`, `meta`, `frame`, `iframe`, by what they begin with."""
PAGE_TIMEOUT_S = 60.0
"""For one page; the slowest 10 MiB take 5 s."""
MOST_MEMORY = 4 << 30
"""Bytes: what a page of 100 MB takes, several times."""
MAX_RESULT_BYTES = 256 << 20
"""Bytes of what a page comes to; its links are most of it."""
RESULT_PREFIX, FAILURE_PREFIX = b"+", b"-"
"""How an answer begins: what `work` returned follows, or the texts of the failure that it raised."""
MAX_FAILURE_BYTES = 16 << 10
"""Bytes of these texts: it may be the page that speaks."""


class PageProcess:
    """The process; begun anew where it is gone."""

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
        """Return what `work`, a function of a module, returns there; None where the process did not live to tell, or
        tells what is no value of that type or not to be accepted.

        Raises `Failure` for whatever `work` raises. `accepts` is called in a thread.
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
            self.close()  # somebody else ended it, between two pages
        if self._process is None:
            self._process = WorkerProcess(_serve, is_confined=True)
        process = self._process
        with suppress(EOFError, OSError), process.within(self._longest_s):
            process.pipe.send_bytes(question)
            return process.pipe.recv_bytes(MAX_RESULT_BYTES)
        self.close()
        return None

    def __repr__(self) -> str:
        return f"<aside: {self._process or 'no process'}>"


def crashed_settlement(lease: Lease) -> Settlement:
    """How the lease of a page ends that its reader did not survive."""
    return settlement_for(lease, PARSER_CRASH)


def is_heavy(html: bytes) -> bool:
    """Whether a page may take long to read."""
    if len(html) < MOST_LINKS * _SHORTEST_LINK:
        return False
    return len(html) > HEAVY_PAGE_BYTES or (html.count(b"<") > MOST_LINKS < len(_LINK.findall(html)))


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
                return  # it is the page's fault, and who knows what is left
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                failure = error if isinstance(error, Failure) else Failure.from_exception(READING_STEP, error)
                told = (str(failure), failure.reason, failure.traceback)
                answer = FAILURE_PREFIX + "\0".join(told).encode(errors="replace")
            pipe.send_bytes(answer)


def _decoded(answer: bytes, returns: type[T], accepts: Callable[[T], bool]) -> T:
    said = msgspec.msgpack.decode(memoryview(answer)[1:], type=returns)
    if not accepts(said):
        raise msgspec.ValidationError("no process says that whose page has not taken it over")
    return said


def _failure(answer: bytes) -> Failure:
    """The failure that the process tells of, or says that it tells of."""
    texts = answer[:MAX_FAILURE_BYTES].decode(errors="replace").split("\0")
    text, reason, traceback = (*texts, "", "", "")[:3]
    printable = "".join(each if each.isprintable() else " " for each in text)
    return Failure(printable, reason=reason, traceback=traceback)
