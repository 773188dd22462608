"""A catalog on a PostgreSQL server: what it touches, and what becomes of it when the server leaves."""

import sys
import threading
from pathlib import Path

import pytest

from tests.storage.manifest_samples import rows, some
from tests.storage.postgres import PASSWORD, postgres_server  # noqa: F401 - a fixture
from thresher.core import InputError, ThresherError, Unavailable
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore


@pytest.fixture
def store(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


@pytest.fixture
def url(server):
    return server.database()


@pytest.fixture
def catalog(url, tmp_path: Path):
    return Catalog(url, tmp_path)


def test_both_ways_to_write_the_address_name_one_catalog(
    url, tmp_path: Path, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    other = Catalog(url.replace("postgresql:", "postgresql+psycopg:"), tmp_path)
    assert rows(other) == rows(catalog)


def test_its_name_has_no_password(server, url, catalog: Catalog):
    assert repr(catalog) == f"<catalog postgresql://127.0.0.1:{server.port}/{url.rpartition('/')[2]}>"


def test_all_of_it_lies_in_its_own_schema(server, url, catalog: Catalog):
    found = server.sql(
        url,
        "SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    )
    assert found == [("thresher",)]


def test_what_others_keep_in_the_database_is_left_alone(server, url, tmp_path: Path, store: DirectoryStore):
    server.sql(url, "CREATE TABLE public.source (precious text); INSERT INTO public.source VALUES ('x')")
    server.sql(url, "CREATE TABLE public.alembic_version (version_num text)")
    some(store)
    catalog = Catalog(url, tmp_path)
    catalog.refresh(store)
    server.sql(url, "CREATE TABLE thresher.notes (x int); DROP TABLE thresher.cost")
    again = Catalog(url, tmp_path)
    again.refresh(store)
    again.rebuild(store)
    assert len(again.runs()) == 2
    assert server.sql(url, "SELECT * FROM public.source") == [("x",)]
    assert server.sql(url, "SELECT * FROM public.alembic_version") == []
    assert server.sql(url, "SELECT * FROM thresher.notes") == []


def test_a_schema_of_another_program_is_refused_and_left_alone(server, url, tmp_path: Path):
    server.sql(url, "CREATE SCHEMA thresher; CREATE TABLE thresher.source (precious text)")
    with pytest.raises(InputError, match=r"\Apostgresql://[^\n]* has a schema thresher of another program; "):
        Catalog(url, tmp_path)
    assert server.sql(url, "SELECT * FROM thresher.source") == []


def test_an_empty_schema_made_for_it_is_used(server, url, tmp_path: Path):
    server.sql(url, "CREATE SCHEMA thresher")
    assert Catalog(url, tmp_path).sources() == []


def test_a_newer_catalog_is_refused_in_one_line(server, url, tmp_path: Path, catalog: Catalog):
    server.sql(url, "UPDATE thresher.catalog_version SET version_num = '9999'")
    with pytest.raises(InputError, match=r"\Athe catalog [^\n]* is of a newer Thresher [^\n]*\Z"):
        Catalog(url, tmp_path)


def test_somebody_who_may_only_read_can_ask_during_and_after_a_rebuild(
    server, url, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    server.sql(url, "CREATE ROLE reader; GRANT USAGE ON SCHEMA thresher TO reader")
    server.sql(url, "GRANT SELECT ON ALL TABLES IN SCHEMA thresher TO reader")
    server.sql(
        url, "CREATE VIEW public.view AS SELECT step, sum(rows) FROM thresher.sealedpart GROUP BY step"
    )
    catalog.rebuild(store)
    server.sql(url, "SET ROLE reader; SELECT count(*) FROM thresher.run")
    assert sorted(server.sql(url, "SELECT * FROM public.view")) == [("archive", 9), ("process", 3)]


def test_what_somebodys_view_rests_on_is_not_dropped(
    server, url, tmp_path: Path, store: DirectoryStore, catalog: Catalog
):
    server.sql(url, "CREATE VIEW public.view AS SELECT step FROM thresher.sealedpart")
    server.sql(url, "DROP TABLE thresher.cost")
    with pytest.raises(ThresherError, match=r"\Athe catalog [^\n]*cannot drop[^\n]*\Z"):
        Catalog(url, tmp_path)
    assert server.sql(url, "SELECT * FROM public.view") == []


def test_two_storages_do_not_take_turns_in_one_database(
    url, tmp_path: Path, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    other = DirectoryStore(tmp_path / "other")
    with pytest.raises(
        InputError, match=r"\Apostgresql://[^\n]* holds the catalog of file:[^\n]*/data, not of "
    ):
        catalog.refresh(other)
    assert rows(catalog) == before
    catalog.rebuild(other)
    assert catalog.contents().manifests == 0
    catalog.refresh(other)


def test_a_server_that_was_killed_and_started_between_two_questions_is_not_noticed(
    server, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    server.kill()
    server.start()
    assert rows(catalog) == before
    catalog.refresh(store)
    assert rows(catalog) == before


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_server_that_leaves_during_a_refresh_is_one_line_and_loses_nothing(
    server, store: DirectoryStore, catalog: Catalog, end
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)

    class Leaving(DirectoryStore):
        def read(self, name):
            getattr(server, end)()
            return super().read(name)

    with pytest.raises(Unavailable, match=r"\Athe catalog postgresql://[^\n]*\Z") as caught:
        catalog.rebuild(Leaving(store.root))
    assert PASSWORD not in str(caught.value)
    with pytest.raises(Unavailable, match=r"\Athe catalog postgresql://[^\n]*\Z") as caught:
        catalog.sources()
    assert PASSWORD not in str(caught.value)
    server.start()
    assert rows(catalog) == before
    catalog.refresh(store)
    assert rows(catalog) == before


def test_a_refresh_waits_for_another_and_finds_its_work_done(
    url, tmp_path: Path, store: DirectoryStore, catalog: Catalog
):
    some(store)
    reading, go_on = threading.Event(), threading.Event()

    class Slow(DirectoryStore):
        def read(self, name):
            reading.set()
            assert go_on.wait(60)
            return super().read(name)

    class Never(DirectoryStore):
        def read(self, name):
            raise AssertionError(name)

    first = threading.Thread(target=catalog.refresh, args=(Slow(store.root),))
    first.start()
    assert reading.wait(60)
    other = Catalog(url, tmp_path)
    assert other.sources() == []
    second = threading.Thread(target=other.refresh, args=(Never(store.root),))
    second.start()
    go_on.set()
    first.join()
    second.join()
    assert len(other.sources()) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda url: url.replace(PASSWORD, "wrong"), "password authentication failed"),
        (lambda url: f"{url}x", "does not exist"),
        (lambda url: url.replace(url.rpartition(":")[2].partition("/")[0], "1"), "refused"),
        (lambda url: url.replace("127.0.0.1", "no-such-host.invalid"), "no-such-host.invalid"),
    ],
)
def test_a_server_that_says_no_is_one_line(url, tmp_path: Path, change, said):
    with pytest.raises(Unavailable, match=r"\Athe catalog postgresql://[^\n]*\Z") as caught:
        Catalog(change(url), tmp_path)
    assert said in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db",
        "postgresql://me:secret@db/",
        "postgresql:",
        "postgresql://me:secret@db:x/y",
    ],
)
def test_an_address_that_names_no_database_is_refused_without_its_password(tmp_path: Path, url):
    with pytest.raises(InputError, match=r"\Aproject.catalog = [^\n]* names no database: [^\n]*\Z") as caught:
        Catalog(url, tmp_path)
    assert "secret" not in str(caught.value)


def test_without_the_driver_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"needs psycopg; install the extra 'postgres': [^\n]+\Z") as caught:
        Catalog("postgresql://me:secret@db/x", tmp_path)
    assert "secret" not in str(caught.value)
