"""`Database`: what SQLite and PostgreSQL have in common, and what every use of either keeps to."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from core import CorruptData, ThresherError

BUSY_S = 600
"""How long one process waits for another's refresh."""
VERSION_TABLE = "catalog_version"
"""Where the revision of the tables is written; it marks a database as a catalog of ours."""


class DamagedCatalog(CorruptData):
    """What the database holds is not a whole catalog."""


class Database(Protocol):
    """Where one catalog lies. Prints as the address without its password."""

    shared: bool
    """Whether catalogs of several storages can meet here."""

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that waits for nobody and sees what is committed.

        Raise `DamagedCatalog`, and `Unavailable` for all else that the database says no to; so does `writing`.
        """
        ...

    def writing(self) -> AbstractContextManager[Session]:
        """The one transaction that may write now; committed where the context ends well."""
        ...

    def exclusive(self) -> "AbstractContextManager[Database]":
        """The same place, for somebody who is alone in preparing it. Inside, only what is given may be used."""
        ...

    def tables(self, connection: Connection) -> frozenset[str]:
        """Tables of the catalog, none where there is no catalog yet. Raise `InputError` if the place is
        another program's, and `DamagedCatalog`.
        """
        ...

    def mark_as_catalog(self, connection: Connection) -> None:
        """Mark the place as ours."""
        ...

    def clear(self) -> None:
        """Make room for a catalog begun anew."""
        ...


@contextmanager
def open_session(engine: Engine, translate_error: Callable[[DBAPIError], ThresherError]) -> Iterator[Session]:
    """A session whose errors are told in one line each."""
    try:
        with Session(engine, expire_on_commit=False) as session:
            yield session
    except DBAPIError as error:
        raise translate_error(error) from error


def first_line(error: DBAPIError) -> str:
    """What the database said, without the statement."""
    return " ".join(str(error.orig).split("\n\n")[0].split())
