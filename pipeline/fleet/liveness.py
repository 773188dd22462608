"""Which crawl workers are alive: locks decide for workers of this machine, the frontier's heartbeats for all others.

1. A worker id is LOCATION-RUN, eight hexadecimal digits each. The location says which kernel runs the worker, and in
   which directory it keeps its lock. A lock is trusted only if both are the same as here. A run is used once.
2. The lock of a dead process is free at once. Process ids are never trusted.
3. The frontier decides about workers at other locations (`Workers.alive`): a worker is dead when its last
   heartbeat is older than its time to live (`WORKER_TTL_S`).
4. A worker whose process was seen to end is dead, whatever heartbeats say.
"""

import fcntl
import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thresher.frontier import Frontier

WORKER_TTL_S = 30.0
"""Seconds for which a worker counts as alive after a heartbeat. It sends one every third of this time."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
HALF = 8
"""Hexadecimal digits of each half of a worker id."""


def new_worker_id(state: Path) -> str:
    """Return a new worker id for the project with this state directory."""
    return f"{_location_id(state)}-{os.urandom(HALF // 2).hex()}"


def new_cluster_worker_id() -> str:
    """Return a new id for a worker that may run on any machine. Its location is random, so the frontier decides."""
    return f"{os.urandom(HALF // 2).hex()}-{os.urandom(HALF // 2).hex()}"


@contextmanager
def hold_worker_lock(state: Path, crawl: str, worker: str) -> Iterator[None]:
    """Hold the lock of a worker for the time of the context."""
    lock = _lock(state, crawl, worker)
    lock.parent.mkdir(parents=True, exist_ok=True)
    unlocked = lock.with_suffix(".new")
    with unlocked.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        unlocked.rename(lock)  # visible only after it is locked
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


async def dead_workers(
    frontier: Frontier,
    state: Path,
    crawl: str,
    workers: set[str],
    exits: frozenset[str] | set[str] = frozenset(),
) -> set[str]:
    """Return which of `workers` are dead. The processes of the workers in `exits` were seen to end."""
    home = f"{_location_id(state)}-"
    ours = {worker for worker in workers if worker.startswith(home)}
    free = {worker for worker in ours if not _is_locked(_lock(state, crawl, worker))}
    others = workers - ours
    return (workers & exits) | free | (others - await frontier.workers.alive(others))


def crashed_workers(state: Path, crawl: str) -> set[str]:
    """Return the workers of this machine that crashed: their locks are left.

    A worker that ends properly removes its lock.
    """
    locks = (state / "workers" / crawl).glob("*.lock")
    return {lock.stem for lock in locks if not _is_locked(lock)}


def remove_stale_locks(state: Path, crawl: str) -> None:
    """Remove the locks of dead workers."""
    for lock in sorted((state / "workers" / crawl).glob("*.lock")):
        if not _is_locked(lock):
            lock.unlink(missing_ok=True)


def _location_id(state: Path) -> str:
    """Return an id of this kernel since its boot and of this directory. Where it is equal, locks are valid."""
    state.mkdir(parents=True, exist_ok=True)
    directory = state.stat()
    boot = BOOT_ID.read_text() if BOOT_ID.exists() else platform.node()
    place = f"{boot}\0{directory.st_dev}\0{directory.st_ino}"
    return hashlib.blake2b(place.encode(), digest_size=HALF // 2).hexdigest()


def _lock(state: Path, crawl: str, worker: str) -> Path:
    return state / "workers" / crawl / f"{worker}.lock"


def _is_locked(lock: Path) -> bool:
    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
