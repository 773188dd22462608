"""`System`: what a worker takes from the machine that it runs on: clocks, names, the way to the web, child processes.

A worker that is given other ones runs where there is neither time nor network (`tests/simulator`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from crawler.machine.boot_clock import boot_s
from crawler.page_process import PageProcess
from crawler.wire import Client, utc_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The real ones are the defaults."""

    clock: Callable[[], float] = time.monotonic
    """Seconds of the event loop's clock, from any beginning."""
    boot_clock: Callable[[], float] = boot_s
    """Seconds since the machine was started, those in which it slept included."""
    clock_ms: Callable[[], int] = utc_ms
    """Milliseconds since the epoch, which dates what is archived and logged; an administrator may set it."""
    client: Callable[..., Client] = Client
    """Makes the client, of the arguments of `Client`."""
    page_process: Callable[[], PageProcess] = PageProcess
    """Makes the process that pages are read in."""
    unique_name: Callable[[], str] = lambda: uuid4().hex
    """Makes a part of a name that nobody else has."""


REAL_SYSTEM = System()
