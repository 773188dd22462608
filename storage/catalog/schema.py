"""Brings a catalog's tables to today's shape, whatever their shape is."""

from pathlib import Path

from sqlalchemy import Connection, text

import thresher.storage.migrations
from thresher.core import InputError
from thresher.storage.catalog.catalog_tables import TABLE_NAMES
from thresher.storage.catalog.database import VERSION_TABLE, DamagedCatalog, Database
from thresher.storage.migrations import REVISIONS

HEAD = REVISIONS[-1]


def prepare(database: Database) -> None:
    """Make a new place a catalog, migrate an older one, replace a damaged one.

    Raise `InputError` for a newer catalog and for another program's database.
    """
    try:
        with database.reading() as session:
            if _revision(database, session.connection()) == HEAD:
                return
    except DamagedCatalog:
        pass  # checked again below, when no other process can be repairing it
    with database.exclusive() as mine:
        try:
            _migrate(mine)
        except DamagedCatalog:
            mine.clear()
            _migrate(mine)


def recreate(database: Database) -> None:
    """Put the catalog aside, whatever its shape, and create an empty one."""
    with database.exclusive() as mine:
        mine.clear()
        _migrate(mine)


def _revision(database: Database, connection: Connection) -> str:
    """Return the revision of the tables; an empty text if there are no tables."""
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
    """Bring the tables to today's shape in one transaction."""
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
            "script_location", str(Path(thresher.storage.migrations.__file__).parent).replace("%", "%%")
        )
        config.attributes.update(connection=connection, version_table=VERSION_TABLE)
        try:
            if revision:
                command.stamp(config, revision)
            command.upgrade(config, "head")
        except CommandError as error:
            raise DamagedCatalog(f"the catalog {database} cannot be migrated: {error}") from error
