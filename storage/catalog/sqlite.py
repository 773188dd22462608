"""A catalog in one SQLite file, used by the processes of one machine.

The file is in WAL mode, so a refresh makes no reader wait. A connection lasts no longer than its transaction, so the
file may be deleted or replaced between two transactions. Every transaction holds a lock file beside it, so that nobody
replaces the file during one.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlmodel import Session

from thresher.core import InputError, ThresherError, Unavailable
from thresher.storage.catalog.database import BUSY_S, DamagedCatalog, open_session

APPLICATION = 0x54485253
"""SQLite's application_id of Thresher's catalogs: "THRS"."""
USER_VERSION = 2
"""Programs from before the migrations take a file with any version but 1 for another program's."""
DAMAGE = frozenset(
    {
        sqlite3.SQLITE_ERROR,  # a table or column is missing
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_NOTADB,
    }
)


class SQLiteDatabase:
    """The catalog in the file at `path`, which need not exist."""

    __slots__ = ("_locks", "_reads", "_writes", "path")

    shared = False

    def __init__(self, path: Path, *, locks: bool = True) -> None:
        self.path = path
        self._locks = locks
        engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": BUSY_S}, poolclass=NullPool)
        event.listen(engine, "connect", _connected)
        event.listen(engine, "begin", _begun)
        self._reads = engine
        self._writes = engine.execution_options(writes=True)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """See `Database`."""
        with self._locked(fcntl.LOCK_SH), open_session(self._reads, self._translate_error) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """See `Database`."""
        with self._locked(fcntl.LOCK_SH), open_session(self._writes, self._translate_error) as session:
            yield session
            session.commit()

    @contextmanager
    def exclusive(self) -> "Iterator[SQLiteDatabase]":
        """See `Database`. Nobody has the file open meanwhile, so it may be put aside."""
        with self._locked(fcntl.LOCK_EX):
            yield SQLiteDatabase(self.path, locks=False)

    def tables(self, connection: Connection) -> frozenset[str]:
        """See `Database`."""
        if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
            raise DamagedCatalog(self._damaged())
        names = frozenset(
            connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars()
        )
        owner = connection.exec_driver_sql("PRAGMA application_id").scalar()
        if owner != APPLICATION and (owner or names):
            raise InputError(
                f"{self.path} is a database of another program; let project.catalog name another file"
            )
        return names

    def mark_as_catalog(self, connection: Connection) -> None:
        """See `Database`."""
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
        connection.exec_driver_sql(f"PRAGMA user_version = {USER_VERSION}")

    def clear(self) -> None:
        """Put the old file aside, under its name with the suffix `.old`."""
        for suffix in ("-wal", "-shm"):
            self._beside(suffix).unlink(missing_ok=True)
        self.path.replace(self._beside(".old"))

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Hold the lock file. It is never deleted, because two processes could each lock one of a deleted and a new
        file.
        """
        if not self._locks:
            yield
            return
        lock = os.open(self._beside(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, how)
            yield
        finally:
            os.close(lock)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _damaged(self) -> str:
        return f"the catalog {self} is damaged; run the command again"

    def _translate_error(self, error: DBAPIError) -> ThresherError:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code in DAMAGE:
            return DamagedCatalog(f"{self._damaged()} ({error.orig})")
        if code == sqlite3.SQLITE_BUSY:
            return Unavailable(
                f"the catalog {self} has been kept busy by another command for {BUSY_S} s; run this one again "
                "when that has ended"
            )
        return Unavailable(f"the catalog {self} cannot be used: {error.orig}")

    def __str__(self) -> str:
        return str(self.path)


def _connected(connection: sqlite3.Connection, _record: object) -> None:
    # This module begins transactions itself.
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = NORMAL")


def _begun(connection: Connection) -> None:
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        # Take the write lock at once: two refreshes then run one after another, and neither fails half way.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("BEGIN")
