"""`Database`: what SQLite and PostgreSQL have in common, and what every use of either relies on."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from thresher.core import CorruptData, ThresherError

BUSY_S = 600
"""How long one process waits for another's refresh, in seconds."""
VERSION_TABLE = "catalog_version"
"""The table that holds the revision of the tables. It marks a database as a catalog of Thresher."""


class DamagedCatalog(CorruptData):
    """The database does not hold a whole catalog."""


class Database(Protocol):
    """Where one catalog lies. Its text is the address without the password."""

    shared: bool
    """Whether several storages may name this place."""

    def reading(self) -> AbstractContextManager[Session]:
        """Open a transaction that waits for nobody and sees what is committed.

        Raise `DamagedCatalog`, and `Unavailable` for all other errors of the database; `writing` does too.
        """
        ...

    def writing(self) -> AbstractContextManager[Session]:
        """Open the only transaction that may write now. It is committed if the context ends without an error."""
        ...

    def exclusive(self) -> "AbstractContextManager[Database]":
        """Yield the same place to the only process that may prepare it now. Inside the context, use only the yielded
        object.
        """
        ...

    def tables(self, connection: Connection) -> frozenset[str]:
        """Return the tables of the catalog, none if there is no catalog yet. Raise `InputError` if the place is another
        program's, and `DamagedCatalog`.
        """
        ...

    def mark_as_catalog(self, connection: Connection) -> None:
        """Mark the place as a catalog of Thresher."""
        ...

    def clear(self) -> None:
        """Make room for a new catalog."""
        ...


@contextmanager
def open_session(engine: Engine, translate_error: Callable[[DBAPIError], ThresherError]) -> Iterator[Session]:
    """Yield a session whose errors have one line each."""
    try:
        with Session(engine, expire_on_commit=False) as session:
            yield session
    except DBAPIError as error:
        raise translate_error(error) from error


def first_line(error: DBAPIError) -> str:
    """Return the database's message, without the statement."""
    return " ".join(str(error.orig).split("\n\n")[0].split())
