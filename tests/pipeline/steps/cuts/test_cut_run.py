"""The cut step cuts what a plain reading of its rules cuts, whatever the parts, the workers and the memory."""

import random
from dataclasses import replace

import pytest

from tests.pipeline.steps.cuts.cut_sources import (
    LINES,
    PASSAGES,
    covered_words,
    documents,
    expected_lines,
    expected_words,
    in_order,
    put_source,
    rows_of,
    run_cuts,
)
from thresher.pipeline.steps.cuts import cut_results
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifest_name


def repeating_texts(seed, count=60):
    """Texts made of passages of which many repeat in part, of few words, and of lists that repeat themselves."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(40 if seed % 2 else 400)]
    passages = [rng.choices(words, k=rng.randint(4, 40)) for _ in range(12)]
    texts = set()
    while len(texts) < count:
        found = []
        for _ in range(rng.randint(1, 6)):
            passage = rng.choice(passages)
            start = rng.randrange(len(passage))
            kind = rng.random()
            if kind < 0.5:
                found += passage[start : rng.randint(start, len(passage))]
            elif kind < 0.6:
                found += passage[:3] * rng.randint(2, 20)
            else:
                found += rng.choices(words, k=rng.randint(1, 30))
        texts.add("".join(word + rng.choice([" ", " ", "  ", "\n", "\n\n"]) for word in found).strip())
    return sorted(texts - {""})


def parts_of(texts, count=3):
    return [
        [(f"http://h{number % 5}.example/{number}", text) for number, text in enumerate(texts)][part::count]
        for part in range(count)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory, pool):
    directory = tmp_path_factory.mktemp("cuts")
    store = DirectoryStore(directory / "data")
    for seed in range(6):
        put_source(store, pool, directory, f"s{seed}", parts_of(repeating_texts(seed)))
    return store


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))])
def test_exactly_the_passages_that_occur_before_are_cut(store, pool, seed):
    manifest = run_cuts(store, pool, [f"s{seed}"], PASSAGES)
    ordered = in_order(repeating_texts(seed))
    cuts = rows_of(store, manifest, "cuts", tables.CUTS)
    texts = documents(store, f"s{seed}")
    found = {}
    for id_, text in texts.items():
        spans = [(row["start"], row["end"]) for row in cuts if row["id"] == id_]
        if spans:
            found[ordered.index(text)] = covered_words(text, spans)
    assert found == expected_words(ordered, 10)
    assert found


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_exactly_the_lines_that_enough_documents_have_are_cut(store, pool, seed):
    manifest = run_cuts(store, pool, [f"s{seed}"], LINES)
    ordered = in_order(repeating_texts(seed))
    texts = documents(store, f"s{seed}")
    found = {}
    for row in rows_of(store, manifest, "cuts", tables.CUTS):
        text = texts[row["id"]]
        first, last = text[: row["start"]].count("\n"), text[: row["end"]].count("\n")
        lines = text.split("\n")
        whole = range(first, last + 1)
        found.setdefault(ordered.index(text), set()).update(at for at in whole if lines[at].strip())
    assert found == expected_lines(ordered, 3)
    assert found


def test_each_cut_equals_the_span_of_its_witness(store, pool):
    manifest = run_cuts(store, pool, ["s0", "s2"], replace(PASSAGES, line_documents=3, paragraph_documents=2))
    texts = documents(store, "s0") | documents(store, "s2")
    kinds = set()
    for row in rows_of(store, manifest, "cuts", tables.CUTS):
        own = texts[row["id"]][row["start"] : row["end"]]
        other = texts[row["witness"]][row["witness_start"] : row["witness_end"]]
        assert own.casefold().split() == other.casefold().split()
        kinds.add(row["kind"])
    assert kinds == {"paragraph", "line", "substring"}


@pytest.mark.slow
def test_memory_decides_nothing(store, pool):
    config = replace(PASSAGES, line_documents=3)
    manifest = run_cuts(store, pool, ["s1", "s3"], config)
    whole = [(output.name, store.read(output.name)) for output in manifest.outputs]
    store.delete(manifest_name("cut", manifest.part))
    again = run_cuts(store, pool, ["s1", "s3"], replace(config, memory=100_000))
    assert [(output.name, store.read(output.name)) for output in again.outputs] == whole
    assert not list(store.list(f"{cut_results.WORK_FOLDER}/"))
