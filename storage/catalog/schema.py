"""Brings a catalog's tables to today's shape, whatever they are now."""

from pathlib import Path

from sqlalchemy import Connection, text

import storage.migrations
from core import InputError
from storage.catalog.catalog_tables import TABLE_NAMES
from storage.catalog.database import VERSION_TABLE, DamagedCatalog, Database
from storage.migrations import REVISIONS

HEAD = REVISIONS[-1]


def prepare(database: Database) -> None:
    """Make a new place a catalog, migrate an older one, begin a damaged one anew.

    Raise `InputError` for a newer one and for what is another program's.
    """
    try:
        with database.reading() as session:
            if _revision(database, session.connection()) == HEAD:
                return
    except DamagedCatalog:
        pass  # looked at again when nobody else is about to repair it
    with database.exclusive() as mine:
        try:
            _migrate(mine)
        except DamagedCatalog:
            mine.clear()
            _migrate(mine)


def recreate(database: Database) -> None:
    """Put the catalog away, whatever it looks like, and begin an empty one."""
    with database.exclusive() as mine:
        mine.clear()
        _migrate(mine)


def _revision(database: Database, connection: Connection) -> str:
    """What the tables are at; empty if there are none."""
    tables = database.tables(connection)
    if not tables:
        return ""
    if VERSION_TABLE not in tables:
        return REVISIONS[0]  # made before there were migrations
    revision = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() or ""  # noqa: S608
    if revision.isdecimal() and revision > HEAD:
        raise InputError(
            f"the catalog {database} is of a newer Thresher (revision {revision}, here {HEAD}): update this one, "
            "or let project.catalog name another place"
        )
    if not revision and not tables & TABLE_NAMES:
        return ""
    if revision not in REVISIONS or (revision == HEAD and not tables >= TABLE_NAMES):
        raise DamagedCatalog(f"the catalog {database} is damaged; run the command again")
    return revision


def _migrate(database: Database) -> None:
    """From what there is to today's shape in one transaction."""
    # Imported here: most commands find the tables as they should be.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    with database.writing() as session:
        connection = session.connection()
        revision = _revision(database, connection)
        if revision == HEAD:  # another process was first
            return
        database.mark_as_catalog(connection)
        config = Config()
        config.set_main_option(
            "script_location", str(Path(storage.migrations.__file__).parent).replace("%", "%%")
        )
        config.attributes.update(connection=connection, version_table=VERSION_TABLE)
        try:
            if revision:
                command.stamp(config, revision)
            command.upgrade(config, "head")
        except CommandError as error:
            raise DamagedCatalog(f"the catalog {database} cannot be migrated: {error}") from error
