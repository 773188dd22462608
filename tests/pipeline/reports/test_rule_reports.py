"""What the report says of rules: samples of what they dropped, groups, overlap, histograms, published bands."""

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.pipeline.steps.judged_sources import FILTERS, ingested, judge_all, process_all, table
from thresher.core import InputError
from thresher.filters.signals.signal_settings import SignalSettings
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.crawls.yields import part_domains
from thresher.pipeline.domains import NO_DOMAIN
from thresher.pipeline.engine import run_step
from thresher.pipeline.funnel import TokenCounts, make_funnel, stage_counts
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.reports import rule_tables
from thresher.pipeline.reports.dropped_documents import EXCERPT, dropped_documents
from thresher.pipeline.reports.published_bands import BANDS, MIN_DOCUMENTS, flags
from thresher.pipeline.reports.rule_plots import draw_histograms, write_page
from thresher.pipeline.reports.rule_scan import scan_rules
from thresher.pipeline.steps import process
from thresher.pipeline.steps.records.rule_set import with_settings
from thresher.pipeline.steps.records.signal_files import stored_filters
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests


@pytest.fixture(scope="module")
def store(tmp_path_factory, pool):
    made = process_all(ingested(tmp_path_factory.mktemp("reported")), FILTERS, pool)
    judge_all(made, with_settings(FILTERS, ["gopher_quality.fewest_words=200"]), pool)
    return made


@pytest.fixture(scope="module")
def scan(store):
    return scan_rules(store, ["s"])


def rules_of(store):
    return [row["rule"] for row in table(store, "verdicts")]


def test_a_sample_shows_url_text_and_the_measurement_beside_its_threshold(store):
    found = dropped_documents(store, ["s"], "gopher_quality", 50, "new")
    documents = {row["id"]: row for row in table(store, "documents")}
    measured = {row["id"]: row for row in table(store, "measurements")}
    verdicts = [row for row in table(store, "judged_verdicts/new") if row["rule"] == "gopher_quality"]
    assert {each.id for each in found} == {row["id"] for row in verdicts}
    short = [each for each in found if each.reason == "too_few_words"]
    assert short
    for each in short:
        assert (each.url, each.excerpt) == (documents[each.id]["url"], documents[each.id]["text"][:EXCERPT])
        assert (each.measurement, each.value) == ("words", measured[each.id]["words"])
        assert (each.drops, each.threshold) == ("<", 200)
        assert measured[each.id]["words"] < 200
        assert each.why == f"gopher_quality/too_few_words: words = {each.value:g}, below 200"


def test_a_sample_is_the_same_in_every_run_and_part_of_every_larger_one(store):
    every = dropped_documents(store, ["s"], "gopher_repetition", 100)
    assert len(every) == rules_of(store).count("gopher_repetition") > 3
    assert dropped_documents(store, ["s"], "gopher_repetition", 3) == every[:3]
    one = every[0]
    same = dropped_documents(store, ["s"], f"{one.rule}/{one.reason}", 100)
    assert same == [each for each in every if each.reason == one.reason]


def test_a_stage_that_dropped_nothing_or_no_text_is_named(store):
    with pytest.raises(
        InputError,
        match=r"--dropped nothing: no document of s was dropped by it; these dropped some: c4, .*gopher",
    ):
        dropped_documents(store, ["s"], "nothing", 3)


def test_groups_add_up_to_all_documents(store, scan):
    documents = table(store, "documents")
    for groups in scan.groups.values():
        assert sum(counts.documents for counts in groups.values()) == len(documents)
        assert sum(counts.kept for counts in groups.values()) == rules_of(store).count("")
        for counts in groups.values():
            assert counts.documents == counts.kept + counts.duplicates + counts.dropped.total()
    assert set(scan.groups["language"]) == {row["language"] for row in documents}
    assert set(scan.groups["domain"]) == {"example.org"}
    one = next(row["id"] for row in table(store, "verdicts") if row["keep"])
    counts = scan_rules(store, ["s"], frozenset([one])).groups["source"]["s"]
    assert (counts.duplicates, counts.kept) == (1, scan.groups["source"]["s"].kept - 1)


def test_documents_of_ingested_files_have_no_domain_and_are_counted(tmp_path, pool):
    (tmp_path / "notes.txt").write_text("The old bridge over the river was built by hand. " * 9)
    own = DirectoryStore(tmp_path / "data")
    ingest(own, "notes", locate_inputs([tmp_path / "notes.txt"]))
    step, parts = process.step(FILTERS), process.parts(own, "notes", FILTERS)
    run_step.run_step(own, step, parts, process.work, pool=pool, progress=LineProgress())
    assert {
        name: counts.documents for name, counts in scan_rules(own, ["notes"]).groups["domain"].items()
    } == {NO_DOMAIN: 1}
    [manifest] = manifests(own, process.NAME, "notes")
    assert [domain for domain, _ in part_domains(own, manifest)] == [NO_DOMAIN]


def test_signals_and_parameters_of_rules_have_their_numbers_and_thresholds(tmp_path, pool):
    """Reports make rules from stored recipes; a rule that they do not know would seem to drop nothing."""
    (tmp_path / "words.txt").write_text("valley\n")
    (tmp_path / "notes.jsonl").write_text(
        "".join(
            f"{json.dumps({'text': text})}\n"
            for text in ("The old valley is deep and green.", "Word after word. " * 20, "A stone.")
        )
    )
    own = DirectoryStore(tmp_path / "data")
    ingest(own, "notes", locate_inputs([tmp_path / "notes.jsonl"]))
    rules = ('{"rule": "length", "fewest_characters": 0, "most_words": 45}',)
    signals = SignalSettings(word_lists=str(tmp_path / "words.txt"), mask=("email",))
    filters = FiltersConfig(preset="none", languages=(), rules=rules, signals=signals)
    filters = stored_filters(own, tmp_path, filters)
    step, parts = process.step(filters), process.parts(own, "notes", filters)
    run_step.run_step(own, step, parts, process.work, pool=pool, progress=LineProgress())
    found = scan_rules(own, ["notes"])
    assert {each.rule: each.decided for each in found.rules if each.drops} == {"length": 1, "word_list": 1}
    [listed] = dropped_documents(own, ["notes"], "word_list", 5)
    assert (listed.measurement, listed.drops, listed.threshold) == ("listed_words", ">", 0)
    [long] = dropped_documents(own, ["notes"], "length", 5)
    assert (long.measurement, long.drops, long.threshold) == ("length_words", ">", 45)
    assert all(math.isfinite(each.threshold.value) for each in found.histograms)


def test_what_only_one_rule_drops_would_be_kept_without_it(store, scan, pool):
    by_rule = {counts.rule: counts for counts in scan.rules}
    for rule, counts in by_rule.items():
        assert counts.decided == rules_of(store).count(rule)
        assert counts.only <= counts.decided <= counts.drops
    gone = ["gopher_repetition.lines=2", "gopher_repetition.line_characters=2"]
    gone += ["gopher_repetition.paragraphs=2", "gopher_repetition.paragraph_characters=2"]
    gone += [f"gopher_repetition.top.{n}=2" for n in (2, 3, 4)]
    gone += [f"gopher_repetition.repeated.{n}=2" for n in range(5, 11)]
    judge_all(store, with_settings(FILTERS, gone), pool, "without")
    kept = sum(row["keep"] for row in table(store, "judged_verdicts/without"))
    assert kept - rules_of(store).count("") == by_rule["gopher_repetition"].only > 0


def test_histograms_count_every_measured_document_once_on_its_side_of_the_threshold(store, scan):
    measured = table(store, "measurements")
    for histogram in scan.histograms:
        values = [row[histogram.threshold.measurement] for row in measured]
        known = np.array([value for value in values if value is not None])
        assert histogram.counts.sum() == len(known)
        low = histogram.threshold.drops[0] == "<"
        limit = histogram.threshold.value
        assert histogram.beyond == ((known < limit) if low else (known > limit)).sum()
    words = next(each for each in scan.histograms if each.threshold.reason == "too_few_words")
    assert not words.is_share
    at = int(np.searchsorted(words.edges, 50, side="right")) - 1
    assert words.counts[:at].sum() <= words.beyond <= words.counts[: at + 1].sum()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_histograms_are_drawn(scan, tmp_path: Path, ending):
    few = replace(scan, histograms=scan.histograms[:3])  # each takes time; the page (below) has them all
    draw_histograms(few, tmp_path / f"h.{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert (tmp_path / f"h.{ending}").read_bytes().startswith(start)
    with pytest.raises(InputError, match=r"--histograms .*cannot be written"):
        draw_histograms(few, tmp_path / "h.nothing")


@pytest.mark.slow
def test_the_page_holds_everything_and_nothing_from_elsewhere(scan, tmp_path):
    counts = {}
    for stage, n in (("keep", 2_000), ("c4/curly_bracket", 3_000)):
        counts |= stage_counts(stage, documents=n, payload=9 * n, text=n)
    funnel = make_funnel(
        ["<s>"], counts, ["c4"], (), TokenCounts(tokenizer="t", tokens=500, text_bytes=2_000)
    )
    write_page(funnel, scan, list(flags(funnel)), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Report of &lt;s&gt;" in page
    assert page.count("<svg") == 2
    assert "c4/curly_bracket drops 60 % of the text that reaches it; published: 2.8 %" in page
    for words in (
        "gopher_repetition",
        "Documents by language",
        "only this one drops",
        "too_few_words: &lt;"[:13],
    ):
        assert words in page
    assert "src=" not in page
    assert "http://www.w3.org" in page  # the name of SVG, which nobody fetches


def funnel_with(**stages):
    counts = {}
    for stage, n in stages.items():
        counts |= stage_counts(stage.replace("__", "/"), documents=n, payload=n, text=n)
    return make_funnel(["s"], counts, ["language", "gopher_repetition", "gopher_quality", "c4", "fineweb"])


def test_a_share_within_its_band_is_not_flagged_and_one_far_outside_is():
    assert list(flags(funnel_with(keep=8_800, gopher_repetition__lines=1_200))) == []
    (many,) = flags(funnel_with(keep=5_000, gopher_repetition__lines=5_000))
    assert (many.band.stage, many.share, many.documents) == ("gopher_repetition", 0.5, 10_000)
    (few,) = flags(funnel_with(keep=9_990, gopher_repetition__lines=10))
    assert few.share == 0.001
    assert (
        list(flags(funnel_with(keep=MIN_DOCUMENTS // 2, gopher_repetition__lines=MIN_DOCUMENTS // 2 - 1)))
        == []
    )


def test_pages_that_the_early_check_dropped_count_for_the_rule_on_languages():
    assert (
        list(flags(funnel_with(language__unsure=400, keep=9_600))) == []
    )  # a crawl of chosen hosts drops few
    (flag,) = flags(funnel_with(early__other_language=9_950, language__unsure=40, keep=10))
    assert (flag.band.stage, flag.share) == ("language", 0.999)


def test_every_band_has_a_source_and_a_range():
    for band in BANDS:
        assert 0 <= band.low <= band.high < 1
        assert "arXiv" in band.source or "Olmo 3" in band.source


def test_tables_name_every_group_and_fold_the_rest(scan):
    counts = make_funnel(["s"], stage_counts("keep", documents=1, payload=1, text=1), [])
    out = io.StringIO()
    console = Console(file=out, width=200)
    rule_tables.render_groups(scan, "language", counts, console)
    rule_tables.render_rules(scan, console)
    assert "Documents by language" in out.getvalue()
    assert "only this one drops" in out.getvalue()
    groups = rule_tables.largest_groups(scan.groups["language"], shown=1)
    assert len(groups) == 2
    assert sum(each.documents for each in groups.values()) == sum(
        each.documents for each in scan.groups["language"].values()
    )
    assert rule_tables.scan_dict(scan, counts)["measured"] == scan.measured
