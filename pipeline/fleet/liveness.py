"""Which crawl workers live: those of this machine by the locks they hold, all others by what the frontier hears.

1. A name is HOME-LIFE, eight hexadecimal digits each. The home says which kernel runs the worker, and in which
   directory it keeps its lock; only where both are the same is a lock to be trusted. A life is used once.
2. The lock of a dead process is free, at once. Nobody trusts a process id.
3. Of a worker at home elsewhere the frontier is asked (`Frontier.alive`): it is dead when its time is over.
4. A worker whose process somebody saw ending is dead whatever is heard of it.
"""

import fcntl
import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from frontier import Frontier

WORKER_TTL_S = 30.0
"""How long a worker is taken for living after it was heard of. It beats every third of it."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
HALF = 8


def new_worker_id(state: Path) -> str:
    """A new name for a worker of the project with this state directory."""
    return f"{_location_id(state)}-{os.urandom(HALF // 2).hex()}"


def new_cluster_worker_id() -> str:
    """A new name for a worker that may run on any machine: its home is nobody's, so the frontier is asked of it."""
    return f"{os.urandom(HALF // 2).hex()}-{os.urandom(HALF // 2).hex()}"


@contextmanager
def hold_worker_lock(state: Path, crawl: str, worker: str) -> Iterator[None]:
    """Hold the worker's lock."""
    lock = _lock(state, crawl, worker)
    lock.parent.mkdir(parents=True, exist_ok=True)
    unlocked = lock.with_suffix(".new")
    with unlocked.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        unlocked.rename(lock)  # seen only once it is held
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
    """Those of some workers that are dead. `exits` are those whose processes were seen to end."""
    home = f"{_location_id(state)}-"
    ours = {worker for worker in workers if worker.startswith(home)}
    free = {worker for worker in ours if not _is_locked(_lock(state, crawl, worker))}
    others = workers - ours
    return (workers & exits) | free | (others - await frontier.workers.alive(others))


def crashed_workers(state: Path, crawl: str) -> set[str]:
    """Workers of this machine that died without a word: they left their locks behind, which others remove as they end."""
    locks = (state / "workers" / crawl).glob("*.lock")
    return {lock.stem for lock in locks if not _is_locked(lock)}


def remove_stale_locks(state: Path, crawl: str) -> None:
    """Remove the locks of the dead."""
    for lock in sorted((state / "workers" / crawl).glob("*.lock")):
        if not _is_locked(lock):
            lock.unlink(missing_ok=True)


def _location_id(state: Path) -> str:
    """Of this kernel, as booted, and this directory, by its inode: where they are the same, a lock is."""
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
