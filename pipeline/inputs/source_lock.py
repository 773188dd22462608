"""One `ingest` at a time into a source: two commands that meet the same new file would ingest it twice."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from thresher.core import Conflict
from thresher.storage.directory_store import DirectoryStore, make_directory
from thresher.storage.spool import open_spool
from thresher.storage.store import Store


@contextmanager
def source_lock(store: Store, source: str) -> Iterator[None]:
    """Hold the only permission to ingest into a source. Raise `Conflict` if another command holds it.

    The lock of a bucket lies on this machine, so commands on other machines do not see it.
    """
    if isinstance(store, DirectoryStore):
        directory = store.root / ".ingest" / source
    else:
        name = hashlib.sha256(f"{store.uri}\0{source}".encode()).hexdigest()[:16]
        directory = open_spool().root / f"ingest-{name}"
    make_directory(directory)
    lock = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"ingest {source}: another command is ingesting into this source; wait for it to end, or name another"
            ) from None
        yield
    finally:
        os.close(lock)
