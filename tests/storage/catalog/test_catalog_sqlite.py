"""A catalog in a file: where it lies, and what becomes of one that is old, damaged or not ours."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.storage.manifest_samples import put, rows, some
from thresher.core import CorruptData, InputError, Unavailable
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifest_name

BEFORE_MIGRATIONS = """
CREATE TABLE source (name VARCHAR NOT NULL, kind VARCHAR NOT NULL, PRIMARY KEY (name));
CREATE TABLE sealedpart (
    manifest VARCHAR NOT NULL, stamp VARCHAR NOT NULL, step VARCHAR NOT NULL, part VARCHAR NOT NULL,
    source VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL, counts JSON NOT NULL, bytes INTEGER NOT NULL,
    rows INTEGER NOT NULL, PRIMARY KEY (manifest)
);
CREATE INDEX ix_sealedpart_source ON sealedpart (source);
CREATE INDEX ix_sealedpart_step ON sealedpart (step);
INSERT INTO source VALUES ('main', 'crawl');
PRAGMA application_id = 1414025811;
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
"""


@pytest.fixture
def store(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


@pytest.fixture
def path(tmp_path: Path):
    return tmp_path / "catalog.db"


@pytest.fixture
def catalog(tmp_path: Path):
    return Catalog("sqlite:catalog.db", tmp_path)


def change(path, *statements):
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.executescript(statement)
    connection.close()


def ask(path, question):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(question).fetchone()[0]
    finally:
        connection.close()


def fresh(tmp_path, store):
    (tmp_path / "fresh").mkdir()
    catalog = Catalog("sqlite:fresh/catalog.db", tmp_path)
    catalog.refresh(store)
    return rows(catalog)


def test_deleting_the_catalog_loses_nothing(tmp_path: Path, store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    for path in tmp_path.glob("catalog.db*"):
        path.unlink()
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(store)
    assert rows(again) == before


def test_deleted_while_it_is_open_it_is_there_again_after_a_refresh(
    tmp_path: Path, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    for path in tmp_path.glob("catalog.db*"):
        path.unlink()
    with pytest.raises(CorruptData, match="is damaged; run the command again"):
        catalog.sources()
    catalog.refresh(store)
    assert rows(catalog) == before


@pytest.mark.parametrize("junk", [b"junk" * 3000, b"", b"SQLite format 3\0" + b"\1" * 5000])
def test_a_damaged_catalog_is_begun_anew(tmp_path: Path, path, store: DirectoryStore, catalog: Catalog, junk):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    path.write_bytes(junk)
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(store)
    assert rows(again) == before


def test_a_damaged_catalog_is_put_aside(tmp_path: Path, path, catalog: Catalog):
    path.write_bytes(b"junk" * 3000)
    Catalog("sqlite:catalog.db", tmp_path)
    assert (tmp_path / "catalog.db.old").read_bytes() == b"junk" * 3000


def test_a_page_damaged_in_the_middle_is_noticed(
    tmp_path: Path, path, store: DirectoryStore, catalog: Catalog
):
    for number in range(300):
        put(store, "archive@1", f"main/{number}", {"response": 1, "x" * 100: number})
    catalog.refresh(store)
    data = bytearray(path.read_bytes())
    assert len(data) > 100_000
    data[50_000:60_000] = bytes(10_000)
    path.write_bytes(data)
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(store)
    assert again.totals("archive")["response"] == 300


@pytest.mark.parametrize("work", ["refresh", "rebuild"])
def test_damage_while_it_is_open_is_repaired_by_the_next_refresh(
    path, store: DirectoryStore, catalog: Catalog, work
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    path.write_bytes(b"junk" * 3000)
    with pytest.raises(CorruptData, match="is damaged; run the command again"):
        catalog.sources()
    getattr(catalog, work)(store)
    assert rows(catalog) == before


def test_a_catalog_from_before_the_migrations_is_migrated(tmp_path: Path, path, store: DirectoryStore):
    some(store)
    change(path, BEFORE_MIGRATIONS)
    stamp = store.stamp(manifest_name("archive", "main/1"))
    change(
        path,
        "INSERT INTO sealedpart VALUES "
        f"('manifests/archive/main/1.json', '{stamp}', 'archive', 'main/1', 'main', 'f', '{{\"response\": 2}}', 15, 3)",
    )
    catalog = Catalog("sqlite:catalog.db", tmp_path)
    assert catalog.totals("archive") == {"response": 2}
    assert not (tmp_path / "catalog.db.old").exists()
    catalog.refresh(store)
    assert rows(catalog) == fresh(tmp_path, store)
    assert ask(path, "PRAGMA user_version") == 2


def test_a_catalog_whose_migration_fails_is_begun_anew(tmp_path: Path, path, store: DirectoryStore):
    some(store)
    change(path, BEFORE_MIGRATIONS, "CREATE TABLE archivefile (x)")
    catalog = Catalog("sqlite:catalog.db", tmp_path)
    catalog.refresh(store)
    assert rows(catalog) == fresh(tmp_path, store)
    assert ask(tmp_path / "catalog.db.old", "SELECT count(*) FROM archivefile") == 0


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE source",
        "DROP TABLE catalog_version; DROP TABLE cost",
        "UPDATE catalog_version SET version_num = 'what'",
        "DELETE FROM catalog_version",
        "DROP TABLE catalog_version; CREATE TABLE catalog_version (x)",
    ],
)
def test_a_catalog_with_other_tables_is_begun_anew(
    tmp_path: Path, path, store: DirectoryStore, catalog: Catalog, harm
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    change(path, harm)
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(store)
    assert rows(again) == before


def test_a_column_that_is_missing_is_repaired_by_the_refresh_that_needs_it(
    path, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    change(path, "ALTER TABLE cost DROP COLUMN made", "UPDATE run SET stamp = ''")
    catalog.refresh(store)
    assert rows(catalog) == before


def test_a_newer_catalog_is_refused_in_one_line_and_left_alone(tmp_path: Path, path, catalog: Catalog):
    change(path, "UPDATE catalog_version SET version_num = '9999'")
    before = path.read_bytes()
    with pytest.raises(
        InputError, match=r"\Athe catalog [^\n]*catalog.db is of a newer Thresher \(revision 9999, [^\n]*\Z"
    ):
        Catalog("sqlite:catalog.db", tmp_path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(tmp_path: Path):
    change(tmp_path / "theirs.db", "CREATE TABLE precious (x)")
    before = (tmp_path / "theirs.db").read_bytes()
    with pytest.raises(InputError, match=r"theirs.db is a database of another program"):
        Catalog("sqlite:theirs.db", tmp_path)
    assert (tmp_path / "theirs.db").read_bytes() == before


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path):
    (tmp_path / "link.db").symlink_to(tmp_path / "no" / "such.db")
    with pytest.raises(Unavailable, match=r"\Athe catalog [^\n]*link.db cannot be used: [^\n]*\Z"):
        Catalog("sqlite:link.db", tmp_path)


def test_it_is_in_wal_mode_so_that_readers_wait_for_nobody(path, catalog: Catalog):
    assert ask(path, "PRAGMA journal_mode") == "wal"


def test_a_moved_storage_is_read_anew(tmp_path: Path, store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    store.root.rename(tmp_path / "moved")
    catalog.refresh(DirectoryStore(tmp_path / "moved"))
    after = rows(catalog)
    assert after.pop("mirrored") == [{"storage": f"file:{tmp_path}/moved"}]
    assert before.pop("mirrored") == [{"storage": f"file:{tmp_path}/data"}]
    assert after == before


def test_many_begin_the_same_damaged_catalog_anew(tmp_path: Path, path, store: DirectoryStore):
    some(store)
    expected = fresh(tmp_path, store)
    for _ in range(5):
        path.write_bytes(b"junk" * 3000)

        def work(_):
            one = Catalog("sqlite:catalog.db", tmp_path)
            one.refresh(store)
            return rows(one)

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(work, range(12))) == [expected] * 12


def test_a_catalog_lies_where_the_address_says(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    for url, project, expected in (
        ("sqlite:sub/c.db", tmp_path, "sub/c.db"),
        (f"sqlite:{tmp_path}/d.db", tmp_path / "sub", "d.db"),
        ("sqlite:///e.db", tmp_path, "e.db"),
    ):
        assert repr(Catalog(url, project)) == f"<catalog {tmp_path}/{expected}>"
        assert (tmp_path / expected).is_file()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:secret@db/x",
        "postgres://me:secret@db/x",
        "mysql://me:se@cret@db/x?password=secret",
        "postgresql:/me:secret@db/x",
        "postgresql://me:secret/x",
        "postgresql://me:secret@db:port/x",
        "catalog.db",
        "",
        "sqlite:",
        "sqlite:no/such/dir.db",
        "sqlite:.",
    ],
)
def test_other_addresses_are_refused_in_one_line_without_secrets(tmp_path: Path, url):
    with pytest.raises(InputError, match=r"\Aproject.catalog = [^\n]*\Z") as caught:
        Catalog(url, tmp_path)
    assert "secret" not in str(caught.value)
    assert "se@" not in str(caught.value)
