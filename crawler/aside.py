"""`Aside`: pages that are read in a process of their own, one at a time.

1. What may take longer than the event loop can wait is read there (`is_heavy`), and what may have killed a worker
   (`Lease.orphan`).
2. A page that kills the process, by whatever a parser or a decoder does with it, or keeps it for longer than
   `LONGEST_S`, costs that page and no other: it has failed, `parser_crash`. The next is read by a new process.
3. The process begins with the first page that needs it, has no more memory than `MOST_MEMORY`, and ends with whoever
   began it.
"""

import asyncio
import re
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from crawler.outcome import CRASHED
from crawler.page import settled
from frontier import Lease, Settlement

T = TypeVar("T")

HEAVY = 512 << 10
"""Bytes of a page, decoded, beyond which it may take longer to read than the event loop can wait."""
MOST_LINKS = 4_000
"""Elements that may be links of which the same holds: each takes as long as a hundred other tags, some 10 µs."""
_SHORTEST_LINK = len("<a href=x")
_LINK = re.compile(rb"<[aAlLmMfFiI](?:[\t\n\f\r /]|[rR][eEaA]|[iI][nN]|[eE][tT]|[fF][rR])")
"""`a`, `area`, `link`, `meta`, `frame`, `iframe`, by what they begin with."""
LONGEST_S = 60.0
"""For one page; the slowest 10 MiB take 5 s."""
MOST_MEMORY = 4 << 30
"""Bytes of address space: what a page of 100 MB takes, several times."""


@dataclass(slots=True)
class _Helper:
    process: BaseProcess
    pipe: Connection


class Aside:
    """The process; begun anew where it is gone."""

    def __init__(self, context: BaseContext | None = None, *, longest_s: float = LONGEST_S) -> None:
        self._context, self._longest_s = context or get_context("spawn"), longest_s
        self._helper: _Helper | None = None
        self._turn = asyncio.Lock()

    async def call(self, work: Callable[..., T], *args: Any) -> T | None:
        """What `work` returns there; None where the process did not live to tell. Raises what `work` raises."""
        async with self._turn:
            done, value = await asyncio.to_thread(self._ask, work, args)
        if isinstance(value, Exception):
            raise value
        return value if done else None

    def close(self) -> None:
        """End the process."""
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.pipe.close()
            helper.process.kill()
            helper.process.join()

    def _ask(self, work: Callable[..., Any], args: tuple[Any, ...]) -> tuple[bool, Any]:
        if self._helper is None or not self._helper.process.is_alive():
            self.close()
            self._helper = self._begin()
        pipe = self._helper.pipe
        with suppress(EOFError, OSError):
            pipe.send((work, args))
            if pipe.poll(self._longest_s):
                return True, pipe.recv()
        self.close()
        return False, None

    def _begin(self) -> _Helper:
        ours, theirs = self._context.Pipe()
        process: BaseProcess = self._context.Process(target=_serve, args=(theirs,), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        return _Helper(process, ours)

    def __repr__(self) -> str:
        return f"<aside: {'no process' if self._helper is None else self._helper.process.pid}>"


def crashed(lease: Lease) -> Settlement:
    """How the lease of a page ends that its reader did not survive."""
    return settled(lease, CRASHED)


def is_heavy(html: bytes) -> bool:
    """Whether a page may take long to read."""
    if len(html) < MOST_LINKS * _SHORTEST_LINK:
        return False
    return len(html) > HEAVY or (html.count(b"<") > MOST_LINKS < len(_LINK.findall(html)))


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the worker, which ends what is under way
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, OSError):
        while True:
            work, args = pipe.recv()
            try:
                answer = work(*args)
            except MemoryError:
                return  # it is the page's fault, and who knows what is left
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                answer = error
            pipe.send(answer)
