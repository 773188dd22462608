"""Documents that deduplication knows are left out before they are filtered, and come back when their witness goes."""

import json
import random
import shutil
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from tests.pipeline.stopping import run_in_a_process
from thresher.core import InputError
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.dedup_index import screen_filter
from thresher.pipeline.engine import quarantine, run_step
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.funnel import make_funnel
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity.verify import repair, verify_storage
from thresher.pipeline.steps import dedup, process
from thresher.pipeline.steps.records.screened_parts import stale_parts, with_screen
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests

FILTERS = FiltersConfig(preset="none", rules=("gopher_quality",), languages=())
CONFIG = DedupConfig(screen=True)
WORDS = [
    f"{first}{second}{third}" for first in "bdfgklmn" for second in "aeiou" for third in ("lo", "ren", "st")
]


def text(number, edits=0):
    """Return a text that no other number has anything like; `edits` of its words are changed."""
    rng = random.Random(number)
    words = [word for _ in range(40) for word in ("the", *rng.choices(WORDS, k=4), "of")]
    for at in random.Random(-number).sample(range(len(words)), edits):
        words[at] = f"changed{chr(97 + at % 26)}"
    return "\n".join(f"{' '.join(words[at : at + 12])}." for at in range(0, len(words), 12))


def put(root, store, source, documents):
    """Ingest documents: pairs of a URL and a text. Each call makes a file."""
    path = root / f"{source}-{len(list(root.glob('*.jsonl')))}.jsonl"
    path.write_text("".join(f"{json.dumps({'url': url, 'text': each})}\n" for url, each in documents))
    ingest(store, source, locate_inputs([path]))


def process_all(store, source, pool, config=CONFIG, screen=None, filters=FILTERS):
    chosen = dedup.choose_screen(store, config, [source], pool=pool, progress=LineProgress(), screen=screen)
    parts = with_screen(store, process.parts(store, source, filters), chosen)
    return run_step.run_step(
        store, process.step(filters), parts, process.work, pool=pool, progress=LineProgress()
    )


def find_duplicates(store, sources, pool, config=CONFIG):
    manifest, _ = dedup.run(store, sources, config, pool=pool, progress=LineProgress())
    return manifest


def rows(store, folder, source):
    paths = sorted((store.root / folder / source).rglob("*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def left_out(store, source="new"):
    """Return reason by URL of the documents that the screen left out."""
    urls = {row["id"]: row["url"] for row in rows(store, "documents", source)}
    return {
        urls[row["id"]].rpartition("/")[2]: row["reason"]
        for row in rows(store, "verdicts", source)
        if row["rule"] == "screen"
    }


BRIEF = ("http://old.example/brief", " ".join(text(50).split()[:130]))
"""A text that a higher threshold drops."""
OLD = [*((f"http://old.example/{n}", text(n)) for n in range(20)), BRIEF]
NEW = [
    ("http://new.example/same", text(3)),
    ("http://new.example/case", text(4).upper()),
    ("http://new.example/near", text(5, edits=5)),
    (
        "http://old.example/6",
        text(6, edits=5),
    ),  # a version of a known page: whether it is a copy, `dedup` decides
    ("http://old.example/7", text(7)),  # a known page again
    ("http://new.example/far", text(8, edits=100)),
    ("http://new.example/fresh", text(100)),
    ("http://new.example/twice", text(100)),  # no copy of a known document
    ("http://new.example/short", "Too short."),
]
EXPECTED = {"same": "exact", "case": "exact", "near": "near", "7": "exact"}


@pytest.fixture(scope="module")
def made(tmp_path_factory, pool):
    directory = tmp_path_factory.mktemp("known")
    known_source(directory, pool)
    return directory


@pytest.fixture
def known(made, tmp_path):
    """A copy of the known source, for one test."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return DirectoryStore(tmp_path / "data")


def known_source(tmp_path, pool):
    """Return a store with a processed and deduplicated source `old`, and the unprocessed source `new`."""
    store = DirectoryStore(tmp_path / "data")
    put(tmp_path, store, "old", OLD)
    process_all(store, "old", pool, screen=False)
    find_duplicates(store, ["old"], pool)
    put(tmp_path, store, "new", NEW)
    return store


def test_what_deduplication_knows_is_left_out_with_its_witness(known, pool):
    process_all(known, "new", pool)
    assert left_out(known) == EXPECTED
    old, new = (
        {row["url"].rpartition("/")[2]: row["id"] for row in rows(known, "documents", name)}
        for name in ("old", "new")
    )
    screened = {row["id"]: row for row in rows(known, "screened", "new")}
    assert {
        new[url]: old[number] for url, number in {"same": "3", "case": "4", "near": "5", "7": "7"}.items()
    } == {id_: row["witness"] for id_, row in screened.items()}
    near = screened[new["near"]]
    assert 0.7 <= near["similarity"] < 1
    measured = {row["id"] for row in rows(known, "measurements", "new")}
    assert not measured & set(screened), "they are not measured"
    assert len(measured) == len(NEW) - len(EXPECTED)


def test_every_record_is_counted_once(known, pool):
    process_all(known, "new", pool)
    (manifest,) = manifests(known, "process", "new")
    funnel = make_funnel(["new"], manifest.counts, ["gopher_quality"])
    assert funnel.records == len(NEW)
    stages = {stage.name: stage.documents for stage in funnel.stages}
    assert stages["screen/exact"] == 3
    assert stages["screen/near"] == 1
    assert funnel.stages[0].name.startswith("screen/"), "before all filters"


def test_the_documents_that_stay_are_those_that_deduplication_keeps(tmp_path, known, pool):
    """A screen takes nothing away that `dedup` would keep, as long as `prefer` ranks the known documents first."""
    (root := tmp_path / "whole").mkdir()
    whole = DirectoryStore(root / "data")
    for name, documents in (("old", OLD), ("new", NEW)):
        put(root, whole, name, documents)
        process_all(whole, name, pool, screen=False)
    process_all(known, "new", pool)

    def staying(store):
        removed = find_duplicates(store, ["old", "new"], pool, replace(CONFIG, sources=("old",)))
        gone = {row["id"] for row in pq.read_table(store.root / removed.outputs[0].name).to_pylist()}
        urls = {row["id"]: row["url"] for name in ("old", "new") for row in rows(store, "documents", name)}
        return sorted(
            urls[row["id"]]
            for name in ("old", "new")
            for row in rows(store, "signatures", name)
            if row["id"] not in gone
        )

    assert staying(known) == staying(whole)


@pytest.mark.parametrize("rate", [0.9, 0.0001])
def test_the_filter_decides_the_cost_and_not_the_documents(known, pool, rate):
    process_all(known, "new", pool, replace(CONFIG, screen_rate=rate))
    assert left_out(known) == EXPECTED
    (made,) = manifests(known, "screen")
    assert made.counts["rate_ppm"] / 1e6 == pytest.approx(rate, rel=0.5)


def test_the_memory_of_a_filter_is_bounded_and_its_rate_is_stated(known, pool):
    sizes = []
    for memory in (1 << 20, 100):
        config = replace(CONFIG, memory=memory, screen_rate=1e-9)
        screen = dedup.choose_screen(known, config, ["new"], pool=pool, progress=LineProgress())
        assert screen is not None
        sizes.append(known.size(screen.filter.name))
    assert sizes[0] < 3000
    assert sizes[1] == 24 + 50, "half of the memory, and the head of the file"
    rates = sorted(made.counts["rate_ppm"] for made in manifests(known, "screen"))
    assert rates[0] == 0
    assert rates[1] > 900_000, "of so small a filter nearly every document is looked up"


def test_preferred_sources_and_separate_sources_are_not_screened(known, pool):
    preferred = replace(CONFIG, sources=("new",))
    find_duplicates(known, ["old"], pool, preferred)
    process_all(known, "new", pool, preferred)
    assert left_out(known) == {}
    process.delete_results(known, "new")
    alone = replace(CONFIG, within="source")
    find_duplicates(known, ["old"], pool, alone)
    process_all(known, "new", pool, alone)
    assert left_out(known) == {}


def test_nothing_is_screened_without_an_index(tmp_path, pool, capsys):
    store = DirectoryStore(tmp_path / "data")
    put(tmp_path, store, "new", NEW)
    process_all(store, "new", pool)
    assert "no document is screened" in capsys.readouterr().err
    assert left_out(store) == {}
    assert not list(store.list("screened/"))


def stored(store):
    return {name: store.read(name) for name in store.list() if not name.startswith("runs/")}


def test_a_sealed_part_keeps_its_index(tmp_path, known, pool):
    process_all(known, "new", pool)
    before = stored(known)
    assert process_all(known, "new", pool, screen=False).made == 0
    find_duplicates(known, ["old", "new"], pool)
    put(
        tmp_path,
        known,
        "new",
        [("http://late.example/again", text(100)), ("http://late.example/x", text(200))],
    )
    again = process_all(known, "new", pool)
    assert (again.made, again.already) == (1, 1)
    assert left_out(known) == {**EXPECTED, "again": "exact"}, (
        "the later file is screened with the later index"
    )
    names = [
        name
        for name in before
        if name.startswith(("screened/", "verdicts/", "signatures/", "manifests/process/"))
    ]
    assert {name: known.read(name) for name in names} == {name: before[name] for name in names}


def test_a_document_comes_back_when_its_witness_goes(known, pool):
    process_all(known, "new", pool)
    process.delete_results(known, "old")
    other = replace(FILTERS, thresholds={"gopher_quality.fewest_words": 100_000})
    process_all(known, "old", pool, screen=False, filters=other)  # drops every document
    assert stale_parts(known, ["new"])
    with pytest.raises(
        InputError, match="screened for documents whose results are gone; run `thresher process new`"
    ):
        process.require_processed(known, ["new"], FILTERS)
    assert process_all(known, "new", pool).made == 1
    assert left_out(known) == {}
    process.require_processed(known, ["new"], FILTERS)
    assert stale_parts(known, ["new"]) == []


def test_the_same_results_made_again_leave_screened_parts_alone(known, pool):
    process_all(known, "new", pool)
    process.delete_results(known, "old")
    process_all(known, "old", pool)
    assert left_out(known, "old") == {}, "an index that knows the documents themselves is not used"
    assert stale_parts(known, ["new"]) == []


def test_a_part_that_was_screened_for_a_stale_one_is_stale_too(tmp_path, known, pool):
    process_all(known, "new", pool)
    find_duplicates(known, ["old", "new"], pool)
    put(tmp_path, known, "third", [("http://third.example/a", text(100))])
    process_all(known, "third", pool)
    assert left_out(known, "third") == {"a": "exact"}
    process.delete_results(known, "old")
    assert len(stale_parts(known, ["new", "third"])) == 2


def test_files_of_an_index_stay_as_long_as_its_filter(tmp_path, known, pool, monkeypatch):
    process_all(known, "new", pool)
    (made,) = manifests(known, "screen")
    find_duplicates(known, ["old", "new"], pool)
    assert all(known.exists(span.name) for span in made.inputs)
    put(tmp_path, known, "late", [("http://late.example/", text(9))])
    process_all(known, "late", pool)
    assert len(list(manifests(known, "screen"))) == 2
    monkeypatch.setattr(screen_filter, "MAX_AGE_MS", -1)
    process_all(known, "late", pool)
    assert made.part not in {each.part for each in manifests(known, "screen")}
    assert len(list(known.list("screens/"))) == 1
    assert not verify_storage(known, LineProgress()).damage


def test_a_damaged_filter_is_an_error_by_name(known, pool):
    dedup.choose_screen(known, CONFIG, ["new"], pool=pool, progress=LineProgress())
    (name,) = known.list("screens/")
    data = known.read(name)
    known.delete(name)
    known.put(name, data[:-1] + bytes([data[-1] ^ 1]))
    with local_worker_pool(1) as fresh:  # a process reads a filter once
        ran = process_all(known, "new", fresh)
    assert name in ran.quarantined[0].reason
    found = verify_storage(known, LineProgress())
    assert any(name in line for line in found.damage)
    repair(known, found)
    quarantine.remove_marks(known, "process", "new")
    process_all(known, "new", pool)
    assert left_out(known) == EXPECTED


@pytest.mark.parametrize("step", ["dedup-index", "screen"])
def test_a_damaged_manifest_is_named_and_repaired(known, pool, step):
    dedup.choose_screen(known, CONFIG, ["new"], pool=pool, progress=LineProgress())
    (name,) = known.list(f"manifests/{step}/")
    known.delete(name)
    known.put(name, b"{}")
    found = verify_storage(known, LineProgress())
    assert [line for line in found.damage if name in line]
    repair(known, found)
    assert not verify_storage(known, LineProgress()).damage
    known.delete(next(known.list("manifests/dedup/")))  # the removals that it has found already
    find_duplicates(known, ["old"], pool)
    process_all(known, "new", pool)
    assert left_out(known) == EXPECTED


def process_new(store, pool):
    process_all(store, "new", pool)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_stale", [False, True])
def test_a_command_that_is_killed_at_any_write_has_the_same_bytes_when_it_is_run_again(
    tmp_path, known, pool, is_stale
):
    """A new part, and then a part whose witnesses are gone: the filter, tables, marks and seals are written here."""
    if is_stale:
        process_all(known, "new", pool)
        process.delete_results(known, "old")
        other = replace(FILTERS, thresholds={"gopher_quality.fewest_words": 150})
        process_all(known, "old", pool, screen=False, filters=other)
        find_duplicates(known, ["old"], pool)
    shutil.copytree(known.root, tmp_path / "whole")
    whole = DirectoryStore(tmp_path / "whole")
    process_all(whole, "new", pool)
    assert bool(left_out(whole)) is not is_stale
    expected, left = stored(whole), 0
    while True:
        shutil.copytree(known.root, copy := tmp_path / f"killed-{left}")
        code, _ = run_in_a_process(process_new, copy, left)
        store = DirectoryStore(copy)
        if code == 0:
            break
        process_all(store, "new", pool)
        assert stored(store) == expected, f"killed after {left} changes"
        left += 1
    assert left > 4
    assert stored(store) == expected


def test_neither_the_workers_nor_their_order_change_a_byte(tmp_path, known, pool):
    for number in range(3):
        put(tmp_path, known, "new", [(f"http://{number}.example/{n}", text(n + number)) for n in range(10)])
    shutil.copytree(known.root, tmp_path / "copy")
    copy = DirectoryStore(tmp_path / "copy")
    process_all(known, "new", pool)
    chosen = dedup.choose_screen(copy, CONFIG, ["new"], pool=pool, progress=LineProgress())
    parts = list(with_screen(copy, process.parts(copy, "new", FILTERS), chosen))
    assert len(parts) == 4
    with local_worker_pool(1) as alone:
        for part in reversed(parts):
            run_step.run_step(
                copy, process.step(FILTERS), [part], process.work, pool=alone, progress=LineProgress()
            )
    assert stored(copy) == stored(known)
