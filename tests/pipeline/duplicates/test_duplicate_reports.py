"""Duplicates can be looked at, checked by another implementation, and opened with datasketch."""

import json
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from datasketch import LeanMinHash, MinHash, MinHashLSH
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

import thresher
from thresher.core import InputError
from thresher.filters.dedup.signature import minhash, shingle_hashes
from thresher.pipeline.commands.app import app
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.duplicates.dedup_audit import audit
from thresher.pipeline.duplicates.duplicate_output import draw_matrix, render_audit, render_report
from thresher.pipeline.duplicates.duplicate_report import duplicate_report
from thresher.pipeline.duplicates.reference_shingles import reference_shingles, reference_words
from thresher.pipeline.duplicates.site_pairs import site_text_pairs
from thresher.pipeline.duplicates.stored_minhashes import shingle_number, to_datasketch
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.recipe import find_duplicates, process_sources
from thresher.pipeline.steps import dedup
from thresher.pipeline.terminal.progress import LineProgress

SOURCES = ("books", "news")


def words(seed, count=120):
    rng = random.Random(seed)
    return [f"word{rng.randrange(3000)}" for _ in range(count)]


def text_of(seed, changed=0):
    found = words(seed)
    found[60 : 60 + changed] = words(f"other {seed}", changed)
    return " ".join(found)


ROWS = {
    "books": [
        *((f"http://one.example/{n}", text_of(n)) for n in range(20)),
        *((f"http://copies.example/{n}", text_of(0)) for n in range(6)),  # copies of one document
        ("http://two.example/near", text_of(1, changed=2)),
    ],
    "news": [
        *((f"http://three.example/{n}", text_of(100 + n)) for n in range(10)),
        ("http://three.example/copy", text_of(2)),  # repeats another source
        ("http://three.example/near", text_of(3, changed=2)),
        ("http://three.example/other", text_of(4, changed=20)),  # not similar enough
    ],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("project")
    (directory / "thresher.toml").write_text(
        '[filters]\npreset = "none"\nlanguages = []\n[dedup]\nsources = ["books", "news"]\n'
    )
    opened = OpenProject.at(directory)
    for source, rows in ROWS.items():
        path = directory / f"{source}.jsonl"
        path.write_text("".join(json.dumps({"url": url, "text": text}) + "\n" for url, text in rows))
        ingest(opened.store, source, locate_inputs([path]))
    with opened.worker_pool(1) as pool:
        process_sources(opened, SOURCES, pool, LineProgress()).require_all()
        find_duplicates(opened, SOURCES, pool, LineProgress())
    return opened


@pytest.fixture
def removed(project):
    return dedup.require_run(project.store, SOURCES, project.config.dedup)


def shown(render, found):
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        render(found, console)
    return capture.get()


def test_the_report_has_clusters_domains_and_which_source_repeats_which(project, removed):
    found = duplicate_report(project.store, SOURCES, removed)
    assert found.documents == (27, 13)
    assert found.removed == 9
    assert found.matrix == ((7, 0), (2, 0))
    largest = found.clusters[0]
    assert largest.size == 7
    copies = {url for url, text in ROWS["books"] if text == text_of(0)}
    assert {largest.url, *largest.members} == copies
    assert [cluster.size for cluster in found.clusters] == [7, 2, 2, 2]
    by_domain = {each.domain: (each.documents, each.removed) for each in found.domains}
    assert sum(removed for _, removed in by_domain.values()) == 9
    assert by_domain["three.example"] == (13, 2)
    text = shown(render_report, found)
    assert "9 of 40 kept documents are duplicates (22.5%)" in text
    assert all(url in text for url in copies)


def test_the_matrix_can_be_drawn(project, removed, tmp_path):
    found = duplicate_report(project.store, SOURCES, removed)
    draw_matrix(found, tmp_path / "matrix.svg")
    assert b"<svg" in (tmp_path / "matrix.svg").read_bytes()
    with pytest.raises(InputError, match=r"--plot .*matrix\.doc"):
        draw_matrix(found, tmp_path / "matrix.doc")


def test_an_audit_confirms_what_is_right(project, removed):
    found = audit(project.store, SOURCES, removed, DedupConfig(), sample=1000)
    assert (found.documents, found.sampled, found.removals) == (40, 40, 9)
    # Of the 7 equal texts all pairs are similar; the others are three pairs.
    assert found.pairs == 7 * 6 // 2 + 3
    assert (found.missed, found.wrong, found.recall, found.precision) == ((), (), 1.0, 1.0)


def test_an_audit_finds_what_is_missed_and_what_is_wrong(project, removed):
    """The same removals against other thresholds: more should have been removed, or less."""
    loose = audit(project.store, SOURCES, removed, DedupConfig(similarity=0.6), sample=1000)
    assert [(pair.kind, pair.url, pair.other_url) for pair in loose.missed] in (
        [("missed", "http://three.example/other", "http://one.example/4")],
        [("missed", "http://one.example/4", "http://three.example/other")],
    )
    assert loose.recall == 24 / 25
    strict = audit(project.store, SOURCES, removed, DedupConfig(similarity=0.99), sample=1000)
    assert sorted(pair.kind for pair in strict.wrong) == ["near", "near"]
    assert strict.precision == pytest.approx(7 / 9)
    assert all(0.7 < pair.jaccard < 0.99 and pair.estimate is not None for pair in strict.wrong)
    text = shown(render_audit, strict)
    assert "precision 0.7778: of 9 removals, 2 are wrong" in text
    assert "http://three.example/near" in text


def page(words, url):
    return SimpleNamespace(url=url, shingles=np.array(sorted(words), np.uint64))


def test_the_audit_tells_pages_that_share_the_text_of_their_site_from_copies():
    notice = range(300)
    texts = {
        f"p{n}": page([*notice, *range(1000 * n, 1000 * n + 30)], f"http://a.example/{n}")
        for n in range(1, 6)
    }
    texts["copy"] = page([*texts["p1"].shingles.tolist(), 9, *range(90_000, 90_010)], "http://A.example/copy")
    texts["far"] = page([*notice, *range(80_000, 80_030)], "http://b.example/1")
    texts["empty"] = page(notice, "http://a.example/empty")
    ids = sorted(texts)
    pairs = [(one, other) for at, one in enumerate(ids) for other in ids[at + 1 :]]
    found = site_text_pairs(texts, pairs, pairs)
    assert ("p2", "p3") in found
    assert ("copy", "p2") in found
    assert not [pair for pair in found if pair in {("copy", "p1"), ("far", "p1")} or "empty" in pair]
    assert site_text_pairs(texts, [("p2", "p3")], [("p2", "p3")]) == set()


def test_an_audit_of_a_sample_takes_the_witnesses_with_it(project, removed):
    found = audit(project.store, SOURCES, removed, DedupConfig(), sample=12)
    assert 12 <= found.sampled <= 24
    assert found.removals <= 12
    assert (found.recall, found.precision) == (1.0, 1.0)
    assert audit(project.store, SOURCES, removed, DedupConfig(), sample=12) == found


def test_an_audit_needs_near_duplicates_and_datasketch(project, removed, monkeypatch):
    with pytest.raises(InputError, match=r"dedup\.near"):
        audit(project.store, SOURCES, removed, DedupConfig(near="off"), sample=10)
    monkeypatch.setitem(sys.modules, "datasketch", None)
    with pytest.raises(InputError, match="extra 'datasketch'"):
        audit(project.store, SOURCES, removed, DedupConfig(), sample=10)


def test_stored_signatures_open_with_datasketch(project):
    signatures = list(thresher.Project(project.directory).signatures("books"))
    assert {(each.source, each.url) for each in signatures} == {("books", url) for url, _ in ROWS["books"]}
    index = MinHashLSH(num_perm=112, params=(14, 8))
    for each in signatures:
        index.insert(each.id, thresher.to_datasketch(each.minhash))
    copies = {each.id for each in signatures if "copies" in each.url}
    (original,) = (each for each in signatures if each.url == "http://one.example/0")
    assert set(index.query(thresher.to_datasketch(original.minhash))) == copies | {original.id}
    lean = thresher.to_datasketch(original.minhash, lean=True)
    assert isinstance(lean, LeanMinHash)
    assert lean == LeanMinHash(thresher.to_datasketch(original.minhash))


def test_datasketch_computes_the_same_numbers_from_the_same_shingles():
    opened = to_datasketch(minhash(text_of(1)))
    again = MinHash(
        num_perm=112, hashfunc=shingle_number, permutations=opened.permutations, scheme="affine32"
    )
    again.update_batch([shingle.encode() for shingle in reference_shingles(text_of(1))])
    assert again == opened
    assert opened.jaccard(to_datasketch(minhash(text_of(1, changed=2)))) == pytest.approx(0.9, abs=0.1)
    union = opened.copy()
    union.update(b"five words that are new")
    assert (union.hashvalues <= opened.hashvalues).all()


@given(st.text(alphabet=st.sampled_from("aB1é\u0301漢กี\u0e48ー -.\u3099🙂ß\n字\u0940ह")))
def test_words_on_arrays_are_those_of_the_rules(text):
    """The arrays of `filters.dedup.signature` against the rules, written down character by character."""
    alone = shingle_hashes(text + " a b c d e")
    assert len(alone) == len(reference_words(text)) + 1
    by_rule = {shingle: shingle_number(shingle.encode()) for shingle in reference_shingles(text)}
    assert set(shingle_hashes(text).tolist()) == set(by_rule.values())
    assert len(np.unique(shingle_hashes(text))) == len(by_rule)


def invoked(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_the_commands_print_the_audit_and_the_report(project, removed, tmp_path):
    said = invoked("dedup", "--audit", "--sample", 100, "--json", "--project", project.directory)
    assert said.exit_code == 0, said.output
    body = json.loads(said.stdout.splitlines()[-1])
    assert (body["audit"]["recall"], body["audit"]["precision"], body["audit"]["sampled"]) == (1.0, 1.0, 40)
    assert sum(body["removed"].values()) == 9
    picture = tmp_path / "matrix.png"
    said = invoked("report", "--duplicates", "--plot", picture, "--json", "--project", project.directory)
    assert json.loads(said.stdout)["matrix"] == [[7, 0], [2, 0]]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (
        "9 of 40 kept documents" in invoked("report", "--duplicates", "--project", project.directory).stdout
    )


def test_a_sample_without_an_audit_and_a_report_of_nothing_are_refused(project):
    refused = invoked("dedup", "--sample", 5, "--project", project.directory)
    assert isinstance(refused.exception, InputError)
    assert "add --audit" in str(refused.exception)
    refused = invoked("report", "books", "--duplicates", "--project", project.directory)
    assert isinstance(refused.exception, InputError)
    assert "run `thresher dedup books` first" in str(refused.exception)
