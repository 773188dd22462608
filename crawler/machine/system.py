"""`System`: what a worker takes from its machine: clocks, names, the HTTP client, child processes.

Tests replace the members, so that a worker runs without real time and without a network (`tests/simulator`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from thresher.crawler.machine.boot_clock import boot_s
from thresher.crawler.machine.worker_counters import MachineUse, machine_use
from thresher.crawler.page_process import PageProcess
from thresher.crawler.wire import utc_ms

if TYPE_CHECKING:
    from thresher.crawler.wire.client import Client


def _make_client(*args: Any, **named: Any) -> Client:
    from thresher.crawler.wire.client import Client  # noqa: PLC0415 - a supervisor sends no request

    return Client(*args, **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What a worker takes from its machine; the defaults are the real clocks, client and processes."""

    clock: Callable[[], float] = time.monotonic
    """Seconds of the event loop's clock, from any start."""
    boot_clock: Callable[[], float] = boot_s
    """Seconds since the machine started, including those in which it slept."""
    clock_ms: Callable[[], int] = utc_ms
    """Milliseconds since the epoch. They date captures and log lines; an administrator may set this clock."""
    client: Callable[..., Client] = _make_client
    """Makes the client from the arguments of `Client`."""
    page_process: Callable[[], PageProcess] = PageProcess
    """Makes the process in which pages are read."""
    machine_use: Callable[[], MachineUse] = machine_use
    """Returns the CPU and the memory that this process has taken."""
    unique_name: Callable[[], str] = lambda: uuid4().hex
    """Makes a part of a name that no other worker has."""


REAL_SYSTEM = System()
