"""An index that grows and shrinks has the removals of one that is made at once, and its damage has a name."""

import io
import random
import shutil
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.pipeline.stopping import run_in_a_process
from thresher.core import CorruptData, InputError
from thresher.filters.dedup.dedup_versions import signature_version
from thresher.filters.dedup.document_rows import DAY_MS
from thresher.filters.dedup.signature import minhash, text_hash
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.dedup_index import index_removals, index_state
from thresher.pipeline.dedup_index.index_removals import RemovalsTask, removals_work
from thresher.pipeline.engine.step import Part
from thresher.pipeline.engine.working_stages import DamagedWorkingFiles
from thresher.pipeline.steps import dedup
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, Manifest, Output, fingerprint, manifest_name, put_output, seal

CONFIG = DedupConfig()
SMALL = replace(CONFIG, memory=1_000_000)
"""So little that every stage has several parts."""


def corpus(count, seed=0):
    """Texts of which about half are copies, near copies, or other versions of a page."""
    rng = random.Random(seed)
    words = [f"word{n}" for n in range(2000)]
    found: list[tuple[str, str, str, int]] = []
    for number in range(count):
        older = rng.choice(found) if found and rng.random() < 0.6 else None
        text = rng.choices(words, k=rng.randint(30, 120))
        url = f"http://h/{seed}/{number}"
        if older is not None:
            kind = rng.choice(["same", "near", "version"])
            text = [*older[2].split(), *([] if kind == "same" else rng.choices(words, k=rng.randint(1, 4)))]
            url = older[1] if kind == "version" else url
        found.append((f"{rng.getrandbits(128):032x}", url, " ".join(text), rng.randint(1, 9)))
    return found


def signed(documents, permutations=112):
    return tables.signature_rows(
        ids=[row[0] for row in documents],
        urls=[row[1] for row in documents],
        text_hashes=[text_hash(row[2]) for row in documents],
        text_bytes=[len(row[2]) for row in documents],
        payload_bytes=[2 * len(row[2]) for row in documents],
        fetched_at_ms=[row[3] * DAY_MS for row in documents],
        minhashes=np.array([minhash(row[2], permutations) for row in documents], np.uint32),
    )


def put_part(store, source, name, documents, permutations=112):
    """Seal a table of signatures as the process step does."""
    table = signed(documents, permutations)
    output = put_output(
        store, f"signatures/{source}/{name}.parquet", table.num_rows, lambda path: tables.write(path, table)
    )
    inputs = (Input(name=f"warc/{source}/{name}", sha256="0" * 64),)
    recipe = {"signature": signature_version(permutations)}
    made = fingerprint("process@5", recipe, inputs)
    seal(
        store,
        Manifest(
            step="process@5",
            part=f"{source}/{name}",
            fingerprint=made,
            recipe=recipe,
            inputs=inputs,
            outputs=(output,),
            counts={},
        ),
    )


def remove_part(store, source, name):
    store.delete(manifest_name("process", f"{source}/{name}"))
    store.delete(f"signatures/{source}/{name}.parquet")


@pytest.fixture
def run(pool):
    def removals(store, config=SMALL, sources=("main",)):
        manifest, _ = dedup.run(store, sources, config, pool=pool, progress=LineProgress())
        (output,) = manifest.outputs
        return store.read(output.name), manifest.counts

    return removals


@pytest.mark.parametrize("parts", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_increments_have_the_removals_of_one_batch(tmp_path, run, parts):
    documents = corpus(300)
    grown, whole = DirectoryStore(tmp_path / "grown"), DirectoryStore(tmp_path / "whole")
    size = len(documents) // parts
    for part in range(parts):
        some = documents[part * size : part * size + size]
        put_part(grown, "main", f"part-{part}", some)
        put_part(whole, "main", f"part-{part}", some)
        last = run(grown)
    assert last == run(whole)
    assert {"exact.documents", "url.documents", "near.documents"} <= set(last[1])
    assert len(list(grown.list("manifests/dedup-index/"))) == 1
    assert not list(grown.list("dedup-work/"))


@pytest.mark.parametrize("change", ["", " more"])
def test_no_copy_of_a_document_of_the_index_stays(tmp_path, run, change):
    """Copies that come together are compared with what was there, and not only the first of them."""
    store, text = DirectoryStore(tmp_path), " ".join(f"w{number}" for number in range(100))
    put_part(store, "main", "part-0", [("0" * 31 + "1", "http://h/", text, 9)])
    run(store)
    copies = [(f"{number:032x}", f"http://h/{number}", text + change, 1) for number in range(2, 12)]
    put_part(store, "main", "part-1", copies)
    assert sum(count for name, count in run(store)[1].items() if name.endswith(".documents")) == 10


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 1000])
def test_removals_are_written_in_ranges_of_any_size(tmp_path, run, monkeypatch, rows_at_a_time):
    store = DirectoryStore(tmp_path / "store")
    put_part(store, "main", "part-0", corpus(100, seed=8))
    whole, counts = run(store)
    (table,) = dedup.signatures(store, ["main"])
    spans = (Input(name=table.name, sha256=table.sha256),)
    state = index_state.nearest(store, dedup.step(SMALL).recipe, spans)
    task = RemovalsTask(settings=dedup.settings(SMALL), removals=state.runs_of("removals"))
    monkeypatch.setattr(index_removals, "RANGE_ROWS", rows_at_a_time)
    written = io.BytesIO()

    class Here:
        def read_spans(self, name, spans):
            data = store.read(name)
            return b"".join(data[at : at + length] for at, length in spans)

        def write(self, name, rows, write):
            write(written)
            return Output(name=name, bytes=0, sha256="", rows=rows)

    part = Part(name="part", inputs=spans, parameters=task, writes=("removed",))
    found = removals_work(Here(), dedup.step(SMALL), part, None)  # type: ignore[arg-type]
    assert (written.getvalue(), found.counts) == (whole, counts)


@pytest.mark.parametrize("near", ["26x11", "9x13"])
def test_bands_of_other_shapes_have_signatures_of_their_own_size(tmp_path, run, near):
    documents, config = corpus(120, seed=6), replace(SMALL, near=near)
    grown, whole = DirectoryStore(tmp_path / "grown"), DirectoryStore(tmp_path / "whole")
    for part in range(3):
        put_part(grown, "main", f"part-{part}", documents[part * 40 :][:40], config.permutations)
        put_part(whole, "main", f"part-{part}", documents[part * 40 :][:40], config.permutations)
        last = run(grown, config)
    assert last == run(whole, config)
    assert last[1]["near.documents"] > 10


def test_signatures_of_another_size_are_refused_by_name(tmp_path, run):
    store = DirectoryStore(tmp_path)
    put_part(store, "main", "part-0", corpus(5))
    with pytest.raises(InputError, match=r"main/part-0 has other signatures.*26x11.*process main --redo"):
        run(store, replace(SMALL, near="26x11"))


def test_parts_that_leave_take_their_decisions_with_them(tmp_path, run):
    documents = corpus(200, seed=1)
    changed, whole = DirectoryStore(tmp_path / "changed"), DirectoryStore(tmp_path / "whole")
    for part in range(5):
        put_part(changed, "main", f"part-{part}", documents[part * 40 : part * 40 + 40])
    run(changed)
    remove_part(changed, "main", "part-0")
    run(changed)
    # The same ids come back with other texts, as after a new extraction.
    other = [
        (one[0], one[1], two[2], one[3]) for one, two in zip(documents[:40], documents[80:], strict=False)
    ]
    remove_part(changed, "main", "part-1")
    put_part(changed, "main", "part-0", other)
    for name, some in (
        ("part-0", other),
        *((f"part-{n}", documents[n * 40 : n * 40 + 40]) for n in (2, 3, 4)),
    ):
        put_part(whole, "main", name, some)
    assert run(changed) == run(whole)


def test_the_memory_of_a_worker_does_not_change_the_removals(tmp_path, run):
    store = DirectoryStore(tmp_path)
    put_part(store, "main", "part-0", corpus(150, seed=2))
    little = run(store, SMALL)
    for name in list(store.list("manifests/dedup")):
        store.delete(name)
    assert run(store, CONFIG) == little


def test_a_removal_names_a_better_document_and_its_cluster(tmp_path, run):
    documents = corpus(120, seed=3)
    store = DirectoryStore(tmp_path)
    put_part(store, "main", "part-0", documents)
    data, _ = run(store)
    (tmp_path / "removed.parquet").write_bytes(data)
    rows = {row["id"]: row for row in pq.read_table(tmp_path / "removed.parquet").to_pylist()}
    facts = {one: (-fetched, -len(text), one) for one, _, text, fetched in documents}
    members = {}
    for one in facts:
        last = one
        while last in rows:
            assert facts[rows[last]["witness"]] < facts[last]
            last = rows[last]["witness"]
        members.setdefault(last, []).append(one)
    assert rows
    for those in members.values():
        assert all(rows[one]["cluster_size"] == len(those) for one in those if one in rows)


def test_only_documents_of_one_source_are_compared_if_the_settings_say_so(tmp_path, run):
    documents = corpus(60, seed=4)
    store = DirectoryStore(tmp_path)
    again = [(f"{int(one, 16) ^ 1:032x}", *rest) for one, *rest in documents]
    put_part(store, "main", "part-0", documents)
    put_part(store, "other", "part-0", again)
    _, across = run(store, sources=("main", "other"))
    _, within = run(store, replace(SMALL, within="source"), sources=("main", "other"))
    _, alone = run(store, sources=("main",))
    assert within["near.documents"] == 2 * alone["near.documents"]
    assert sum(across[name] for name in across if name.endswith(".documents")) > sum(
        within[name] for name in within if name.endswith(".documents")
    )


def test_the_preferred_source_stays(tmp_path, run):
    documents = corpus(40, seed=5)
    store = DirectoryStore(tmp_path)
    put_part(
        store, "cc", "part-0", [(f"{int(one, 16) ^ 1:032x}", *rest[:2], 9_000) for one, *rest in documents]
    )
    put_part(store, "main", "part-0", documents)
    data, _ = run(store, replace(SMALL, sources=("main",)), sources=("cc", "main"))
    (tmp_path / "removed.parquet").write_bytes(data)
    removed = set(pq.read_table(tmp_path / "removed.parquet")["id"].to_pylist())
    assert removed >= {f"{int(one, 16) ^ 1:032x}" for one, *_ in documents}


@pytest.mark.parametrize("table", ["documents", "texts", "bands"])
def test_a_flipped_or_missing_run_is_an_error_that_names_it(tmp_path, run, table):
    store = DirectoryStore(tmp_path)
    put_part(store, "main", "part-0", corpus(60, seed=6))
    run(store)
    put_part(store, "main", "part-1", corpus(60, seed=6))
    name = next(each for each in store.list("dedup-index/") if each.endswith(f"-{table}.npy"))
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    path.chmod(0o644)
    for at in (len(data) // 2, len(data) - 20):
        flipped = bytearray(data)
        flipped[at] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(Exception, match="the index of deduplication is damaged"):
            run(store)
    path.unlink()
    with pytest.raises(CorruptData, match=f"{name} is missing"):
        run(store)


@pytest.mark.parametrize("stage", ["members", "candidates"])
def test_a_working_file_that_is_damaged_during_a_run_is_made_again_by_the_next(tmp_path, pool, run, stage):
    for name in ("whole", "damaged"):
        put_part(DirectoryStore(tmp_path / name), "main", "part-0", corpus(120, seed=9))
    flipped = []

    class Flipping(LineProgress):
        def advance(self, note="", by=1, total=None):
            if note == f"enter/{stage}" and not flipped:
                files = (tmp_path / "damaged/dedup-work").rglob(f"{stage}-*.npy")
                path = max(files, key=lambda file: file.stat().st_size)
                data = bytearray(path.read_bytes())
                data[len(data) // 2] ^= 1
                path.chmod(0o644)
                path.write_bytes(data)
                flipped.append(path)

    store = DirectoryStore(tmp_path / "damaged")
    with pytest.raises(DamagedWorkingFiles, match=rf"working files of deduplication were damaged.*{stage}-"):
        dedup.run(store, ["main"], SMALL, pool=pool, progress=Flipping())
    assert flipped
    assert run(store) == run(DirectoryStore(tmp_path / "whole"))


def test_an_index_of_other_settings_is_not_taken(tmp_path, run):
    store = DirectoryStore(tmp_path)
    put_part(store, "main", "part-0", corpus(30, seed=7))
    run(store)
    recipe = dedup.step(replace(CONFIG, prefer=("longest",))).recipe
    assert index_state.nearest(store, recipe, ()) == index_state.EMPTY


def find_removals(store, pool):
    dedup.run(store, ["main"], CONFIG, pool=pool, progress=LineProgress())


@pytest.fixture(scope="module")
def second_batch(tmp_path_factory, pool):
    """A storage before its second batch is compared, the same storage afterwards, and how many changes that took."""
    documents, directory = corpus(80, seed=8), tmp_path_factory.mktemp("batches")
    store = DirectoryStore(directory / "before")
    put_part(store, "main", "part-0", documents[:40])
    find_removals(store, pool)
    put_part(store, "main", "part-1", documents[40:])
    whole = shutil.copytree(store.root, directory / "whole")
    code, changes = run_in_a_process(find_removals, whole, 10**9)
    assert code == 0
    assert changes > 20
    return store.root, whole, changes


@pytest.mark.parametrize("share", [0.61, *(pytest.param(n / 40, marks=pytest.mark.slow) for n in range(40))])
def test_a_run_that_is_killed_before_any_change_of_the_storage_is_finished_by_the_next(
    second_batch, tmp_path, run, share
):
    before, whole, changes = second_batch
    killed = shutil.copytree(before, tmp_path / "killed")
    code, _ = run_in_a_process(find_removals, killed, int(changes * share))
    assert code == 9
    assert run(DirectoryStore(killed), CONFIG) == run(DirectoryStore(whole), CONFIG)
    kept, expected = (
        sorted(path.name for path in (root / "dedup-index").rglob("*.npy")) for root in (killed, whole)
    )
    assert kept == expected
