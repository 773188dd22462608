"""The addresses that `project.catalog` may hold: `sqlite:catalog.db` or `postgresql://user:password@host/database`."""

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from thresher.core import InputError
from thresher.core.printable_address import printable_address
from thresher.storage.catalog.database import Database
from thresher.storage.catalog.postgres import PostgresDatabase
from thresher.storage.catalog.sqlite import SQLiteDatabase

POSTGRES = ("postgresql", "postgresql+psycopg")


def locate(url: str, project: Path) -> Database:
    """Return the database that `url` names; a relative file path starts at the project. Touch neither disk nor server.

    Raise `InputError`, which does not show the password, for every other kind of address.
    """
    scheme, _, rest = url.partition(":")
    if scheme in POSTGRES:
        return _postgres(url)
    if scheme != "sqlite" or not rest.strip("/"):
        raise InputError(
            f'project.catalog = "{printable_address(url)}" is no address of a catalog: use "sqlite:catalog.db" or '
            '"postgresql://user:password@host/database"'
        )
    # SQLAlchemy writes three slashes before a relative path and four before an absolute one.
    path = project / (rest.removeprefix("///") if rest.startswith("///") else rest)
    if not path.parent.is_dir() or path.is_dir():
        raise InputError(
            f'project.catalog = "{url}": {path} cannot be a file; name one in a directory that exists'
        )
    return SQLiteDatabase(path)


def _postgres(url: str) -> PostgresDatabase:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or not parsed.database:
        raise InputError(
            f'project.catalog = "{printable_address(url)}" names no database: use "postgresql://user:password@host/database"'
        )
    return PostgresDatabase(parsed.set(drivername="postgresql+psycopg"))
