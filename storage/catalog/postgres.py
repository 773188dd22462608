"""A catalog in the schema `thresher` of a PostgreSQL database, used by many machines.

Nothing outside that schema is touched, and in it only Thresher's own tables. Every transaction sets its own search path
and takes its own advisory lock, so a connection pooler on the way changes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from thresher.core import InputError, ThresherError, Unavailable
from thresher.core.installation.extras import missing_extra
from thresher.storage.catalog.catalog_tables import TABLE_NAMES
from thresher.storage.catalog.database import BUSY_S, VERSION_TABLE, DamagedCatalog, first_line, open_session

SCHEMA = "thresher"
WRITER, REPAIRER = 0x54485253, 0x54485254
"""Keys of the advisory locks, which belong to one database: "THRS" and the next number."""
CONNECT_S = 10
ALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""A server that vanished is noticed after a minute (libpq's own default: two hours)."""
NO_PRIVILEGE = "42501"
LOCK_TIMEOUT = "55P03"
# Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html


class PostgresDatabase:
    """The catalog in the database at `url`, with the driver psycopg 3."""

    __slots__ = ("_engine", "_name")

    shared = True

    def __init__(self, url: URL) -> None:
        """Connect to nothing yet. Raise `InputError` if the driver is not installed."""
        port = f":{url.port}" if url.port else ""
        self._name = f"postgresql://{url.host or ''}{port}/{url.database or ''}"
        try:
            self._engine = create_engine(
                url,
                # A connection that the server closed meanwhile is replaced before it is used.
                pool_pre_ping=True,
                isolation_level="READ COMMITTED",
                connect_args={"connect_timeout": CONNECT_S, "application_name": "thresher", **ALIVE},
            )
        except ImportError:
            raise missing_extra("postgres", f'project.catalog = "{self}" needs psycopg') from None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """See `Database`."""
        with open_session(self._engine, self._translate_error) as session:
            session.connection().execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """See `Database`."""
        with self.reading() as session:
            _lock(session.connection(), WRITER)
            yield session
            session.commit()

    @contextmanager
    def exclusive(self) -> "Iterator[PostgresDatabase]":
        """See `Database`. Refreshes that are running continue."""
        with self.reading() as session:
            _lock(session.connection(), REPAIRER)
            yield self

    def tables(self, connection: Connection) -> frozenset[str]:
        """See `Database`."""
        found = connection.execute(
            text("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(:schema)"),
            {"schema": SCHEMA},
        )
        names = frozenset(found.scalars())
        if names and VERSION_TABLE not in names:
            raise InputError(
                f"{self} has a schema {SCHEMA} of another program; let project.catalog name another database"
            )
        return names

    def mark_as_catalog(self, connection: Connection) -> None:
        """See `Database`. Use an existing empty schema as it is."""
        if connection.execute(text("SELECT to_regnamespace(:schema)"), {"schema": SCHEMA}).scalar() is None:
            connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))

    def clear(self) -> None:
        """Drop Thresher's tables. If somebody's view depends on one, the server says so and nothing is dropped.

        The schema stays Thresher's, and what others keep in it stays too.
        """
        with self.writing() as session:
            for name in sorted({*TABLE_NAMES, VERSION_TABLE}):
                session.connection().execute(text(f"DROP TABLE IF EXISTS {name}"))
            # The table has the columns that Alembic gives it, and no row.
            session.connection().execute(
                text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) PRIMARY KEY)")
            )

    def _translate_error(self, error: DBAPIError) -> ThresherError:
        state = getattr(error.orig, "sqlstate", None) or ""
        if state == LOCK_TIMEOUT:
            return Unavailable(
                f"the catalog {self} has been kept busy by another command for {BUSY_S} s; run this one again "
                "when that has ended"
            )
        # Syntax and names (42), integrity (23): the tables are not as we made them.
        if state != NO_PRIVILEGE and state.startswith(("42", "23")):
            return DamagedCatalog(
                f"the catalog {self} is damaged; run the command again ({first_line(error)})"
            )
        return Unavailable(
            f"the catalog {self} cannot be used: {first_line(error)}; see to the server and run the command again"
        )

    def __str__(self) -> str:
        return self._name


def _lock(connection: Connection, key: int) -> None:
    connection.execute(text(f"SET LOCAL lock_timeout = '{BUSY_S}s'"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
