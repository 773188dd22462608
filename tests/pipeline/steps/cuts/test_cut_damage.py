"""Equal hashes of different texts cut nothing, damage has a name, and a killed run is finished by the next one."""

import random
import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests.pipeline.steps.cuts.cut_sources import (
    LINES,
    PASSAGES,
    InlinePool,
    documents,
    put_source,
    rows_of,
    run_cuts,
)
from tests.pipeline.stopping import run_in_a_process
from thresher.core import ThresherError
from thresher.filters.dedup import repeat_units
from thresher.pipeline.integrity.garbage import unsealed_outputs
from thresher.pipeline.integrity.verify import repair, verify_storage
from thresher.pipeline.steps.cuts import cut_results, cut_run, cut_stages
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore

BOTH = replace(PASSAGES, line_documents=2, memory=200_000)


def corpus(seed=7, count=40):
    rng = random.Random(seed)
    passages = [" ".join(rng.choices([f"w{number}" for number in range(500)], k=25)) for _ in range(8)]
    return [
        (
            f"http://h/{number}",
            f"{rng.choice(passages)} {' '.join(f'own{number}x{word}' for word in range(20))}\n{rng.choice(passages)}",
        )
        for number in range(count)
    ]


def put_corpus(directory, pool, count=40):
    rows = corpus(count=count)
    put_source(DirectoryStore(directory / "data"), pool, directory, "s", [rows[::2], rows[1::2]])
    return DirectoryStore(directory / "data")


def contents(store):
    """Everything that is stored of the cut step."""
    return {
        name: store.read(name)
        for folder in ("cuts", "cut_verdicts", "cut_signatures", "cut-work", "manifests/cut")
        for name in store.list(f"{folder}/")
    }


def test_a_collision_of_hashes_cuts_nothing_that_does_not_repeat(tmp_path, pool, monkeypatch):
    store = put_corpus(tmp_path, pool)
    config = replace(PASSAGES, line_documents=2)
    true_hashes, true_blocks = repeat_units.window_hashes, repeat_units.lines

    def same_hashes(hashes, size):
        return true_hashes(hashes, size) & 3

    def same_lines(text):
        found = true_blocks(text)
        return found._replace(high=found.high & np.uint64(1), low=found.low & np.uint64(1))

    monkeypatch.setattr(cut_stages, "window_hashes", same_hashes)
    monkeypatch.setattr(cut_stages, "lines", same_lines)
    manifest = run_cuts(store, InlinePool(), ["s"], config)
    texts = documents(store, "s")
    found = rows_of(store, manifest, "cuts", tables.CUTS)
    for row in found:
        own = texts[row["id"]][row["start"] : row["end"]]
        assert own == texts[row["witness"]][row["witness_start"] : row["witness_end"]]
    store.delete(f"manifests/cut/{manifest.part}.json")
    monkeypatch.undo()
    whole = rows_of(store, run_cuts(store, InlinePool(), ["s"], config), "cuts", tables.CUTS)
    assert 0 < len(found) < len(whole)


@pytest.mark.parametrize("stage", ["count", "repeated", "units", "first", "repeats", "slices"])
def test_a_flipped_working_file_is_an_error_that_names_it_and_is_made_again(
    tmp_path, pool, monkeypatch, stage
):
    store = put_corpus(tmp_path, pool)
    whole = contents_after_run(store)
    store.delete(next(iter(store.list("manifests/cut/"))))
    flipped = []

    def flip(going, name):
        if name == stage and not flipped:
            path = next(iter(sorted((store.root / "cut-work").glob(f"*/{stage}/*"), key=size_of)))
            data = bytearray(path.read_bytes())
            data[len(data) // 3] ^= 1
            path.chmod(0o644)
            path.write_bytes(data)
            flipped.append(path.name)

    class Progress(LineProgress):
        def advance(self, note="", by=1, total=None):
            flip(self, note)

    with pytest.raises(ThresherError, match=rf"damaged.*{stage}/\d+"):
        run_once(store, Progress())
    assert flipped
    assert contents_after_run(store) == whole


def size_of(path):
    return -path.stat().st_size


def run_once(store, progress=None):
    removed, _ = cut_results_of(store)
    return cut_run.run(store, ["s"], BOTH, removed, pool=InlinePool(), progress=progress or LineProgress())[0]


def cut_results_of(store):
    from thresher.pipeline.steps import dedup

    return dedup.run(store, ["s"], BOTH, pool=InlinePool(), progress=LineProgress())


def contents_after_run(store):
    run_once(store)
    return contents(store)


def test_a_flipped_table_is_found_and_made_again(tmp_path, pool):
    store = put_corpus(tmp_path, pool)
    whole = contents_after_run(store)
    name = next(each for each in whole if each.startswith("cut_verdicts/"))
    path = store.root / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    found = verify_storage(store, LineProgress())
    assert any(name in line for line in found.damage)
    repair(store, found)
    assert contents_after_run(store) == whole


@pytest.mark.slow
def test_what_an_unfinished_run_left_is_garbage(tmp_path, pool):
    store = put_corpus(tmp_path, pool)
    manifest = run_once(store)
    assert not list(unsealed_outputs(store, grace_ms=0))
    store.put(f"{cut_results.WORK_FOLDER}/{manifest.part}/x", b"")
    store.delete(f"manifests/cut/{manifest.part}.json")
    left = set(unsealed_outputs(store, grace_ms=0))
    assert {name.partition("/")[0] for name in left} == {"cut-work", "cuts", "cut_verdicts", "cut_signatures"}


def test_a_run_of_more_documents_replaces_the_one_before(tmp_path, pool):
    store = put_corpus(tmp_path, pool)
    first = run_once(store)
    put_source(store, pool, tmp_path, "s", [[("http://new/", "a new text of some words")]], first=2)
    second = run_once(store)
    assert first.part != second.part
    assert {name.split("/")[1] for name in contents(store) if not name.startswith("manifests/")} == {
        second.part
    }


def test_only_documents_of_a_domain_or_a_source_are_compared_if_the_settings_say_so(tmp_path, pool):
    store = DirectoryStore(tmp_path / "data")
    line, passage = "a line of the page", " ".join(f"p{number}" for number in range(12))
    for source in ("one", "two"):
        rows = [
            (
                f"http://www.{domain}.example/{source}{number}",
                f"own {source} {domain} {number}\n{line}\n{passage}",
            )
            for domain in ("a", "b")
            for number in range(2)
        ]
        put_source(store, pool, tmp_path, source, [rows])

    def cut(**changes):
        config = replace(LINES, **changes)
        manifest = run_cuts(store, InlinePool(), ["one", "two"], config)
        return manifest.counts.get("cut.documents", 0)

    assert cut(line_documents=8) == 7
    assert cut(line_documents=9) == 0
    assert cut(line_documents=4, lines_within="domain") == 6
    assert cut(line_documents=5, lines_within="domain") == 0
    assert cut(line_documents=4, within="source") == 6
    assert cut(line_documents=2, lines_within="domain", within="source") == 4
    assert cut(line_documents=0, substring_words=10) == 7
    assert cut(line_documents=0, substring_words=10, within="source") == 6


def test_the_preferred_source_keeps_its_text(tmp_path, pool):
    store = DirectoryStore(tmp_path / "data")
    passage = " ".join(f"p{number}" for number in range(12))
    put_source(
        store,
        pool,
        tmp_path,
        "cc",
        [[("http://a.example/", f"{' '.join(f'l{number}' for number in range(40))}\n{passage}")]],
    )
    put_source(store, pool, tmp_path, "own", [[("http://b.example/", f"short\n{passage}")]])
    config = replace(PASSAGES, prefer=("source", "longest"))
    for sources, cut in ((("cc",), "own"), (("own",), "cc")):
        manifest = run_cuts(store, InlinePool(), ["cc", "own"], replace(config, sources=sources))
        (row,) = rows_of(store, manifest, "cuts", tables.CUTS)
        assert row["id"] in documents(store, cut)


def test_repeats_in_scripts_without_spaces_are_cut(tmp_path, pool):
    store = DirectoryStore(tmp_path / "data")
    passage = "今天天气很好，我们一起去公园散步吧。"
    rows = [
        ("http://a.example/", f"这是第一篇文章，比第二篇更长一些。{passage}结尾在此。"),
        ("http://b.example/", f"第二篇：{passage}完。"),
    ]
    put_source(store, pool, tmp_path, "zh", [rows])
    manifest = run_cuts(store, InlinePool(), ["zh"], PASSAGES)
    (row,) = rows_of(store, manifest, "cuts", tables.CUTS)
    assert documents(store, "zh")[row["id"]][row["start"] : row["end"]] == passage


def cut_both(store, pool):
    run_cuts(store, pool, ["s"], BOTH)


@pytest.fixture(scope="module")
def both_cut(tmp_path_factory, pool):
    """A storage before both kinds of cuts, the same storage afterwards, and how many changes that took."""
    store = put_corpus(tmp_path_factory.mktemp("before"), pool, count=12)
    cut_results_of(store)
    whole = shutil.copytree(store.root, tmp_path_factory.mktemp("whole") / "data")
    code, changes = run_in_a_process(cut_both, whole, 10**9)
    assert code == 0
    assert changes > 30
    return store.root, whole, changes


@pytest.mark.slow
@pytest.mark.parametrize("share", [n / 12 for n in range(12)])
def test_a_run_that_is_killed_before_any_change_of_the_storage_is_finished_by_the_next(
    both_cut, tmp_path, share
):
    before, whole, changes = both_cut
    killed = DirectoryStore(shutil.copytree(before, tmp_path / "killed"))
    code, _ = run_in_a_process(cut_both, killed.root, int(changes * share))
    assert code == 9
    run_once(killed)
    assert contents(killed) == contents(DirectoryStore(whole))
