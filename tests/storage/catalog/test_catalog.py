"""The catalog says what the storage says, and nothing is lost with it: on SQLite and on PostgreSQL alike."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.storage.manifest_samples import put, ran, rows, sealed, some
from tests.storage.postgres import shared_postgres_server  # noqa: F401 - a fixture
from thresher.core import CorruptData
from thresher.storage import run as runs
from thresher.storage.catalog import Catalog, CatalogContents
from thresher.storage.catalog.catalog_tables import TABLES, Mirrored
from thresher.storage.catalog.refresh import differences
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Manifest, Output, fingerprint, manifest_name, seal

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "catalog.md"
QUESTIONS = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.fixture
def store(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest):
    if request.param == "sqlite":
        return "sqlite:catalog.db"
    return request.getfixturevalue("server").database()


@pytest.fixture
def catalog(url, tmp_path: Path):
    return Catalog(url, tmp_path)


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


def test_a_refreshed_catalog_says_what_the_manifests_say(store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    assert told(catalog) == TOLD
    assert [each.part for each in catalog.parts("archive", "cc")] == ["cc/1"]
    (part,) = catalog.parts("process", "main")
    assert (part.manifest, part.step, part.version) == (
        manifest_name("process", "main/1"),
        "process",
        12,
    )
    assert part.fingerprint == sealed("process@12", "main/1", {}).fingerprint
    assert catalog.totals("archive", "nobody") == {}
    assert catalog.contents() == CatalogContents(manifests=4, runs=2, files=3, sources=2)


def test_archive_files_come_with_what_is_in_them(store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    found = [
        (each.name, each.source, each.kind, each.bytes, each.records, each.responses)
        for each in catalog.files()
    ]
    assert found == [
        ("warc/cc/1.warc.gz", "cc", "ingest", 5, 1, 7),
        ("warc/main/1.warc.gz", "main", "crawl", 5, 1, 2),
        ("warc/main/2.warc.gz", "main", "crawl", 5, 1, 3),
    ]
    (file,) = catalog.files("cc")
    assert (file.manifest, file.sha256) == (manifest_name("archive", "cc/1"), "1" * 64)


def test_a_source_is_what_its_files_add_up_to(store: DirectoryStore, catalog: Catalog):
    some(store)
    put(store, "archive@1", "main/x", {"response": 1}, {"ingested": "x.warc.gz"})
    catalog.refresh(store)
    found = [
        (each.name, each.kind, each.files, each.bytes, each.records, each.responses)
        for each in catalog.sources()
    ]
    assert found == [("cc", "ingest", 1, 5, 1, 7), ("main", "mixed", 3, 15, 3, 6)]


def test_runs_come_in_order_with_their_costs(store: DirectoryStore, catalog: Catalog):
    some(store)
    runs.put(store, ran(0, cpu_s=0.25))
    catalog.refresh(store)
    assert [(run.id, cost.cpu_s) for run, cost in catalog.runs("process")] == [
        ("run-0", 0.25),
        ("run-1", 1.5),
    ]
    ((run, cost),) = catalog.runs("dedup")
    assert (run.outcome, run.message, run.sources, run.version) == ("failed", "no room", ["main"], 1)
    assert (cost.quarantined, cost.bytes_read, cost.peak_rss) == (1, 1 << 40, 1 << 30)
    assert len(catalog.runs()) == 3


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE sealedpart SET rows = 4 WHERE part = 'main/2'", "manifests/archive/main/2.json"),
        ("UPDATE archivefile SET sha256 = 'x' WHERE source = 'cc'", "manifests/archive/cc/1.json"),
        ("DELETE FROM archivefile WHERE source = 'cc'", "manifests/archive/cc/1.json"),
        ("UPDATE cost SET cpu_s = 0.5 WHERE cpu_s > 1", "runs/"),
        ("UPDATE source SET responses = 8 WHERE name = 'main'", "manifests/archive/main/"),
    ],
)
def test_a_row_that_is_not_what_storage_says_is_named(store: DirectoryStore, catalog: Catalog, change, named):
    some(store)
    catalog.refresh(store)
    assert catalog.faults(store) == []
    with catalog._database.writing() as session:
        session.connection().exec_driver_sql(change)
    found = catalog.faults(store)
    assert found
    assert found[0].startswith(named)
    catalog.rebuild(store)
    assert catalog.faults(store) == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_questions_of_the_guide_are_answered(store: DirectoryStore, catalog: Catalog, question):
    some(store)
    catalog.refresh(store)
    with catalog._database.reading() as session:
        assert session.connection().exec_driver_sql(question).fetchall()


def test_the_guide_finds_what_was_not_processed(store: DirectoryStore, catalog: Catalog):
    some(store)
    put(store, "process@1", "main/part-2-000000000000", {"keep": 1})
    put(store, "process@1", "cc/part-10-000000000000", {"keep": 1})
    catalog.refresh(store)
    (question,) = (each for each in QUESTIONS if "NOT EXISTS" in each)
    with catalog._database.reading() as session:
        found = session.connection().exec_driver_sql(question).scalars().all()
    assert sorted(found) == ["warc/cc/1.warc.gz", "warc/main/1.warc.gz"]


def test_the_guide_names_every_table_and_column():
    said = GUIDE.read_text()
    for table in TABLES:
        assert f"`{table.__tablename__}`" in said
        if table is not Mirrored:
            assert not [name for name in table.model_fields if f"`{name}`" not in said]


def test_a_new_catalog_is_empty(store: DirectoryStore, catalog: Catalog):
    assert (catalog.sources(), catalog.parts("archive"), catalog.totals("archive")) == ([], [], {})
    catalog.refresh(store)
    assert catalog.contents() == CatalogContents(manifests=0, runs=0, files=0, sources=0)


def test_refreshing_again_finds_what_is_new_gone_and_made_anew(store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    put(store, "archive@1", "main/3", {"response": 100})
    store.delete(manifest_name("archive", "main/2"))
    store.delete(manifest_name("archive", "cc/1"))
    store.delete(manifest_name("process", "main/1"))
    store.delete(runs.run_name(ran(1)))
    put(store, "process@1", "main/1", {"keep": 9}, {"other": 1})
    catalog.refresh(store)
    assert catalog.totals("archive") == {"response": 102, "request": 2}
    assert [each.name for each in catalog.sources()] == ["main"]
    assert [each.name for each in catalog.files()] == ["warc/main/1.warc.gz", "warc/main/3.warc.gz"]
    assert catalog.totals("process") == {"keep": 9}
    assert [run.step for run, _ in catalog.runs()] == ["dedup"]


class Counted(DirectoryStore):
    """Counts what is read."""

    __slots__ = ("names",)

    def __init__(self, root):
        super().__init__(root)
        self.names = []

    def read(self, name):
        self.names.append(name)
        return super().read(name)


def test_only_what_is_new_is_read(tmp_path: Path, store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    counted = Counted(store.root)
    catalog.refresh(counted)
    assert counted.names == []
    put(store, "archive@1", "main/3", {"response": 1})
    catalog.refresh(counted)
    assert counted.names == [manifest_name("archive", "main/3")]
    catalog.rebuild(counted)
    assert len(counted.names) == 1 + 7


def test_a_rebuilt_catalog_is_the_same(store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    assert catalog.rebuild(store) == CatalogContents(manifests=4, runs=2, files=3, sources=2)
    assert rows(catalog) == before


def test_a_rebuild_believes_nothing_that_the_catalog_said(store: DirectoryStore, catalog: Catalog):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    with catalog._database.writing() as session:
        for change in ("sealedpart SET part = 'x'", "source SET kind = 'x'", "run SET host = 'x'"):
            session.connection().exec_driver_sql(f"UPDATE {change}")
    catalog.rebuild(store)
    assert rows(catalog) == before


def test_a_damaged_manifest_is_named_and_the_catalog_has_everything_else(
    store: DirectoryStore, catalog: Catalog
):
    some(store)
    put(store, "archive@1", "main/3", {"response": 100})
    catalog.refresh(store)
    before, before_parts = rows(catalog), catalog.parts("archive")
    store.put("manifests/archive/main/0.json", b"{")
    store.put("manifests/archive/main/9.json", b"{")
    for _ in range(2):
        with pytest.raises(
            CorruptData, match=r"main/0.json is no Manifest.* \(and 1 more Manifests are damaged\)"
        ):
            catalog.refresh(store)
        assert rows(catalog) == before
    store.delete("manifests/archive/main/0.json")
    put(store, "archive@1", "main/4", {"response": 1})
    with pytest.raises(CorruptData, match=r"manifests/archive/main/9.json is no Manifest"):
        catalog.refresh(store)
    assert len(catalog.parts("archive")) == len(before_parts) + 1
    with pytest.raises(CorruptData, match=r"manifests/archive/main/9.json is no Manifest"):
        catalog.rebuild(store)
    assert len(catalog.parts("archive")) == len(before_parts) + 1


def test_a_damaged_run_is_passed_over_and_taken_when_it_was_mended(store: DirectoryStore, catalog: Catalog):
    some(store)
    name = runs.run_name(ran(5))
    store.put(name, b"{")
    catalog.refresh(store)
    assert told(catalog) == TOLD
    assert len(catalog.runs()) == 2
    store.delete(name)
    runs.put(store, ran(5))
    catalog.refresh(store)
    assert len(catalog.runs()) == 3


def test_what_is_deleted_while_it_is_read_is_gone(store: DirectoryStore, catalog: Catalog):
    some(store)

    class Vanishing(DirectoryStore):
        def stamp(self, name):
            if name.endswith("archive/main/1.json"):
                self.delete(name)
            return super().stamp(name)

        def read(self, name):
            if name.endswith("archive/main/2.json"):
                self.delete(name)
            return super().read(name)

    catalog.refresh(Vanishing(store.root))
    assert [each.part for each in catalog.parts("archive")] == ["cc/1"]


def test_sizes_beyond_32_bits_and_all_of_unicode_are_held(store: DirectoryStore, catalog: Catalog):
    recipe = {"format": "x"}
    name = "warc/main/ü𝄞\ud800\0.warc.gz"
    seal(
        store,
        Manifest(
            step="archive@1",
            part="main/ü𝄞",
            fingerprint=fingerprint("archive@1", recipe, ()),
            recipe=recipe,
            inputs=(),
            outputs=(Output(name=name, bytes=1 << 42, sha256="0" * 64, rows=1 << 33),),
            counts={"response": 1 << 33, "\0\ud800ü𝄞": 1 << 70},
        ),
    )
    runs.put(store, ran(1, message="\0\ud800𝄞", sources=("\0\ud800𝄞",)))
    catalog.refresh(store)
    (part,) = catalog.parts("archive")
    assert (part.part, part.bytes, part.rows) == ("main/ü𝄞", 1 << 42, 1 << 33)
    assert part.counts == {"response": 1 << 33, "\0\ud800ü𝄞": 1 << 70}
    (file,) = catalog.files()
    assert (file.name, file.responses) == ("warc/main/ü𝄞\\ud800\\0.warc.gz", 1 << 33)
    assert catalog.sources()[0].records == 1 << 33
    ((run, _),) = catalog.runs()
    assert (run.message, run.sources) == ("\\0\\ud800𝄞", ["\0\ud800𝄞"])


@pytest.mark.parametrize("size", [-1, 1 << 63])
def test_a_size_that_cannot_be_is_named(store: DirectoryStore, catalog: Catalog, size):
    recipe = {"format": "x"}
    output = Output(name="a", bytes=size, sha256="0" * 64, rows=1)
    mark = fingerprint("archive@1", recipe, ())
    seal(
        store,
        Manifest(
            step="archive@1",
            part="m/1",
            fingerprint=mark,
            recipe=recipe,
            inputs=(),
            outputs=(output,),
            counts={},
        ),
    )
    with pytest.raises(CorruptData, match=r"\Amanifests/archive/m/1.json counts [^\n]*\Z"):
        catalog.refresh(store)


def test_many_may_open_refresh_and_read_at_once(url, tmp_path: Path, store: DirectoryStore):
    some(store)

    def work(_):
        one = Catalog(url, tmp_path)
        one.refresh(store)
        return told(one)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(12))) == [TOLD] * 12


def test_readers_see_the_old_while_a_rebuild_is_under_way(
    url, tmp_path: Path, store: DirectoryStore, catalog: Catalog
):
    some(store)
    catalog.refresh(store)
    before = rows(catalog)
    seen = []

    class Asked(DirectoryStore):
        def read(self, name):
            seen.append(rows(Catalog(url, tmp_path)))
            return super().read(name)

    catalog.rebuild(Asked(store.root))
    assert seen == [before] * 6


PARTS = st.sampled_from(["a/1", "a/2", "b/1", "ü/1", "Z/1", "a-/1", "a/1/x", "a/10", "é/𝄞"])
STEPS = st.sampled_from(["archive@1", "process@1", "process@2"])
WORKS = st.lists(
    st.one_of(
        st.tuples(st.just("seal"), STEPS, PARTS, st.integers(0, 3)),
        st.tuples(st.just("delete"), STEPS, PARTS),
        st.tuples(st.just("run"), st.integers(0, 3)),
        st.tuples(st.just("forget"), st.integers(0, 3)),
        st.tuples(st.just("spoil"), st.integers(0, 3)),
        st.tuples(st.just("refresh")),
    ),
    max_size=25,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(WORKS)
def test_whatever_was_sealed_deleted_and_refreshed_the_catalog_is_a_rebuilt_one(
    tmp_path_factory: pytest.TempPathFactory, catalog: Catalog, works
):
    store = DirectoryStore(tmp_path_factory.mktemp("root"))
    catalog.rebuild(store)
    for work in works:
        match work:
            case "seal", step, part, count:
                store.delete(manifest_name(step.partition("@")[0], part))
                recipe = {"ingested": "x"} if count == 3 else {"format": "x"}
                put(store, step, part, {"response": count}, recipe)
            case "delete", step, part:
                store.delete(manifest_name(step.partition("@")[0], part))
            case "run", number:
                runs.put(store, ran(number))
            case "forget", number:
                store.delete(runs.run_name(ran(number)))
            case "spoil", number:
                store.delete(runs.run_name(ran(number)))
                store.put(runs.run_name(ran(number)), b"{")
            case _:
                catalog.refresh(store)
    catalog.refresh(store)
    refreshed = rows(catalog)
    catalog.rebuild(store)
    assert refreshed == rows(catalog)
    assert len(refreshed["sealedpart"]) == len(list(store.list("manifests/")))


STAMPS = st.dictionaries(st.text(max_size=3), st.integers(0, 2).map(str), max_size=12)


@given(STAMPS, STAMPS)
def test_the_differences_make_one_out_of_the_other(stored, known):
    found = list(differences(iter(sorted(stored.items())), iter(sorted(known.items()))))
    assert [name for name, _ in found] == sorted({name for name, _ in found})
    made = {**known, **dict(found)}
    assert {name: stamp for name, stamp in made.items() if stamp is not None} == stored
    assert all(known.get(name) != stamp for name, stamp in found)


def test_many_names_are_compared_page_by_page(
    store: DirectoryStore, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thresher.storage.catalog.refresh.PAGE", 3)
    monkeypatch.setattr("thresher.storage.catalog.refresh.BATCH", 2)
    for number in range(20):
        put(store, "archive@1", f"main/{number}", {"response": 1})
    catalog.refresh(store)
    for number in range(0, 20, 3):
        store.delete(manifest_name("archive", f"main/{number}"))
    for number in range(20, 30):
        put(store, "archive@1", f"main/{number}", {"response": 1})
    for number in range(5):
        put(store, "process@1", f"a/{number}", {"keep": 1})
    catalog.refresh(store)
    refreshed = rows(catalog)
    assert len(refreshed["sealedpart"]) == 20 - 7 + 10 + 5
    catalog.rebuild(store)
    assert rows(catalog) == refreshed
