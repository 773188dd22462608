"""The catalog says what the Manifests say, and nothing is lost with it."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from core import CorruptData, InputError
from storage.catalog import Catalog
from storage.files import Files
from storage.manifest import Manifest, Output, fingerprint, manifest_name, seal


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "data")


@pytest.fixture
def catalog(tmp_path):
    return Catalog("sqlite:catalog.db", tmp_path)


def put(files, step, part, counts, recipe=None):
    recipe = recipe or {"format": "x"}
    seal(
        files,
        Manifest(
            step=step,
            part=part,
            fingerprint=fingerprint(step, recipe, ()),
            recipe=recipe,
            inputs=(),
            outputs=(
                Output(name="a", bytes=10, sha256="0" * 64, rows=2),
                Output(name="b", bytes=5, sha256="0" * 64, rows=1),
            ),
            counts=counts,
        ),
    )


def some(files):
    put(files, "archive@1", "main/1", {"response": 2, "request": 2})
    put(files, "archive@1", "main/2", {"response": 3})
    put(files, "archive@1", "cc/1", {"response": 7}, {"ingested": "x.warc.gz"})
    put(files, "process@1", "main/1", {"keep": 1})


def told(catalog):
    return (
        [(each.name, each.kind) for each in catalog.sources()],
        [(each.part, each.bytes, each.rows, each.counts) for each in catalog.parts("archive")],
        catalog.totals("archive", "main"),
        catalog.totals("process"),
    )


TOLD = (
    [("cc", "ingest"), ("main", "crawl")],
    [
        ("cc/1", 15, 3, {"response": 7}),
        ("main/1", 15, 3, {"response": 2, "request": 2}),
        ("main/2", 15, 3, {"response": 3}),
    ],
    {"response": 5, "request": 2},
    {"keep": 1},
)


def test_a_refreshed_catalog_says_what_the_manifests_say(files, catalog):
    some(files)
    catalog.refresh(files)
    assert told(catalog) == TOLD
    assert [each.part for each in catalog.parts("archive", "cc")] == ["cc/1"]
    assert catalog.parts("archive", "cc")[0].manifest == manifest_name("archive", "cc/1")
    assert catalog.totals("archive", "nobody") == {}


def test_a_new_catalog_is_empty(files, catalog):
    assert (catalog.sources(), catalog.parts("archive"), catalog.totals("archive")) == ([], [], {})
    catalog.refresh(files)
    assert catalog.sources() == []


def test_refreshing_again_finds_what_is_new_gone_and_made_anew(files, catalog):
    some(files)
    catalog.refresh(files)
    put(files, "archive@1", "main/3", {"response": 100})
    files.delete(manifest_name("archive", "main/2"))
    files.delete(manifest_name("archive", "cc/1"))
    files.delete(manifest_name("process", "main/1"))
    put(files, "process@1", "main/1", {"keep": 9}, {"other": 1})
    catalog.refresh(files)
    assert catalog.totals("archive") == {"response": 102, "request": 2}
    assert [each.name for each in catalog.sources()] == ["main"]
    assert catalog.totals("process") == {"keep": 9}


def test_deleting_the_catalog_loses_nothing(tmp_path, files, catalog):
    some(files)
    catalog.refresh(files)
    for path in tmp_path.glob("catalog.db*"):
        path.unlink()
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(files)
    assert told(again) == TOLD


@pytest.mark.parametrize("junk", [b"junk" * 3000, b"", b"SQLite format 3\0" + b"\1" * 5000])
def test_a_damaged_catalog_is_begun_anew(tmp_path, files, catalog, junk):
    some(files)
    catalog.refresh(files)
    catalog.path.write_bytes(junk)
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(files)
    assert told(again) == TOLD


def test_a_page_damaged_in_the_middle_is_noticed(tmp_path, files, catalog):
    for number in range(300):
        put(files, "archive@1", f"main/{number}", {"response": 1, "x" * 100: number})
    catalog.refresh(files)
    data = bytearray(catalog.path.read_bytes())
    assert len(data) > 100_000
    data[50_000:60_000] = bytes(10_000)
    catalog.path.write_bytes(data)
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(files)
    assert again.totals("archive")["response"] == 300


def test_damage_while_it_is_open_is_repaired_by_the_next_refresh(files, catalog):
    some(files)
    catalog.refresh(files)
    catalog.path.write_bytes(b"junk" * 3000)
    with pytest.raises(CorruptData, match="is damaged; run the command again"):
        catalog.sources()
    catalog.refresh(files)
    assert told(catalog) == TOLD


def test_a_catalog_of_another_version_is_begun_anew(tmp_path, files, catalog):
    some(files)
    catalog.refresh(files)
    with sqlite3.connect(catalog.path) as connection:
        connection.execute("DROP TABLE source")
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    again = Catalog("sqlite:catalog.db", tmp_path)
    again.refresh(files)
    assert told(again) == TOLD


def test_a_database_of_another_program_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "theirs.db") as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    before = (tmp_path / "theirs.db").read_bytes()
    with pytest.raises(InputError, match=r"theirs.db is a database of another program"):
        Catalog("sqlite:theirs.db", tmp_path)
    assert before[100:] in (tmp_path / "theirs.db").read_bytes()


def test_a_damaged_manifest_is_named_and_the_catalog_stays_as_it_was(files, catalog):
    some(files)
    catalog.refresh(files)
    files.put("manifests/archive/main/9.json", b"{")
    with pytest.raises(CorruptData, match=r"manifests/archive/main/9.json is no Manifest"):
        catalog.refresh(files)
    assert told(catalog) == TOLD


def test_many_may_refresh_and_read_at_once(tmp_path, files, catalog):
    some(files)

    def work(_):
        one = Catalog("sqlite:catalog.db", tmp_path)
        one.refresh(files)
        return told(one)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(12))) == [TOLD] * 12
    with sqlite3.connect(catalog.path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_catalog_lies_where_the_address_says(tmp_path):
    (tmp_path / "sub").mkdir()
    assert Catalog("sqlite:sub/c.db", tmp_path).path == tmp_path / "sub/c.db"
    assert Catalog(f"sqlite:{tmp_path}/d.db", tmp_path / "sub").path == tmp_path / "d.db"
    assert Catalog("sqlite:///e.db", tmp_path).path == tmp_path / "e.db"
    assert repr(Catalog("sqlite:e.db", tmp_path)) == f"<catalog {tmp_path}/e.db>"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db/x",
        "mysql://x",
        "catalog.db",
        "",
        "sqlite:",
        "sqlite:no/such/dir.db",
        "sqlite:.",
    ],
)
def test_other_addresses_are_refused_in_one_line_without_secrets(tmp_path, url):
    with pytest.raises(InputError, match=r"\Aproject.catalog = [^\n]*\Z") as caught:
        Catalog(url, tmp_path)
    assert "secret" not in str(caught.value)
