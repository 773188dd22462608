"""Every older catalog is brought to today's tables, and today's tables are what the code believes."""

from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, String, create_engine, inspect

import thresher.storage.migrations
from tests.expect import expect
from tests.storage.manifest_samples import rows, some
from tests.storage.postgres import shared_postgres_server  # noqa: F401 - a fixture
from thresher.storage.catalog import Catalog
from thresher.storage.catalog.catalog_tables import TABLES
from thresher.storage.catalog.database import VERSION_TABLE
from thresher.storage.catalog.database_url import locate
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.migrations import REVISIONS

SCRIPTS = Path(thresher.storage.migrations.__file__).parent


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest):
    if request.param == "sqlite":
        return "sqlite:catalog.db"
    return request.getfixturevalue("server").database()


def config():
    made = Config()
    made.set_main_option("script_location", str(SCRIPTS))
    return made


def begun_at(url, project, revision):
    """A catalog as a program of that revision would have left it, empty."""
    database = locate(url, project)
    with database.writing() as session:
        database.mark_as_catalog(session.connection())
        old = config()
        old.attributes.update(connection=session.connection(), version_table=VERSION_TABLE)
        command.upgrade(old, revision)


def differences(url, project):
    """Between the tables of the code and those of a migrated catalog."""
    if url.startswith("sqlite"):
        engine = create_engine(f"sqlite:///{project}/catalog.db")
    else:
        engine = create_engine(
            url.replace("postgresql:", "postgresql+psycopg:"),
            connect_args={"options": "-csearch_path=thresher"},
        )
    metadata = MetaData()
    for table in TABLES:
        table.__table__.to_metadata(metadata)  # type: ignore[union-attr]
    options = {"version_table": VERSION_TABLE, "compare_type": True}
    try:
        with engine.connect() as connection:
            return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    finally:
        engine.dispose()


def test_the_revisions_are_one_line_and_all_of_them_are_named():
    chain = [each.revision for each in ScriptDirectory.from_config(config()).walk_revisions()]
    assert tuple(reversed(chain)) == REVISIONS


def test_migrated_tables_are_those_of_the_code(url, tmp_path: Path):
    Catalog(url, tmp_path)
    assert differences(url, tmp_path) == []


def test_a_difference_would_be_seen(url, tmp_path: Path):
    begun_at(url, tmp_path, REVISIONS[0])
    assert differences(url, tmp_path) != []


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_catalog_of_any_revision_comes_to_equal_a_rebuilt_one(url, tmp_path: Path, revision):
    begun_at(url, tmp_path, revision)
    store = DirectoryStore(tmp_path / "data")
    some(store)
    catalog = Catalog(url, tmp_path)
    catalog.refresh(store)
    assert differences(url, tmp_path) == []
    refreshed = rows(catalog)
    catalog.rebuild(store)
    assert rows(catalog) == refreshed


def test_a_catalog_that_is_as_it_should_be_is_not_migrated(
    url, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    Catalog(url, tmp_path)
    monkeypatch.setattr(command, "upgrade", None)
    Catalog(url, tmp_path)


def test_names_are_sorted_by_their_bytes_on_both(url, tmp_path: Path):
    catalog = Catalog(url, tmp_path)
    if url.startswith("sqlite"):
        return  # SQLite's own order
    with catalog._database.reading() as session:
        for table, column in (
            ("sealedpart", "manifest"),
            ("archivefile", "manifest"),
            ("run", "name"),
            ("cost", "run"),
        ):
            (found,) = (
                each
                for each in inspect(session.connection()).get_columns(table, schema="thresher")
                if each["name"] == column
            )
            assert expect(String, found["type"]).collation == "C"
