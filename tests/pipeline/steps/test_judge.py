"""`judge` makes of measurements what `process` makes of texts."""

import json
import shutil
from dataclasses import replace

import pytest

from tests.pipeline.steps.judged_sources import FILTERS, ingested, judge_all, process_all, table
from tests.pipeline.stopping import run_in_a_process
from thresher.core import Conflict, InputError
from thresher.filters.rules.presets import PRESETS
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.reports.kept_documents import kept_documents
from thresher.pipeline.steps import dedup, export_plan, process
from thresher.pipeline.steps.judging import judge_step
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.steps.records.rule_set import rule_set, with_settings
from thresher.pipeline.steps.verdicts.verdict_sets import check_set_name, delete_set, judged_parts
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.tokenizer import load_tokenizer_file
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests

CHANGES = {
    "fewer words": ["gopher_quality.fewest_words=5", *(f"gopher_repetition.top.{n}=1" for n in (2, 3, 4))],
    "more words": ["gopher_quality.fewest_words=120"],
    "repetition": ["gopher_repetition.lines=0.9", "gopher_repetition.line_characters=1"],
    "n-grams": [f"gopher_repetition.repeated.{n}=0.9" for n in range(5, 11)] + ["gopher_repetition.top.2=0.01"],
    "sentences": ["c4.fewest_sentences=1", "gopher_quality.fewest_words=1", "fineweb.most_short_lines=2"],
    "language": ["language.thresholds.en=1"],
    "everything": [
        *("gopher_repetition.lines=2", "gopher_repetition.line_characters=2", "gopher_quality.fewest_words=0"),
        *("gopher_quality.most_symbols=9", "c4.fewest_sentences=0", "fineweb.most_short_lines=2"),
        *("fineweb.fewest_ended_lines=-1", "fineweb.most_repeated_characters=2", "gopher_quality.fewest_stop_words=0"),
        *(f"gopher_repetition.top.{n}=2" for n in (2, 3, 4)),
        *(f"gopher_repetition.repeated.{n}=2" for n in range(5, 11)),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def processed(tmp_path_factory, pool):
    return process_all(ingested(tmp_path_factory.mktemp("judged")), FILTERS, pool)


@pytest.fixture
def copied(processed, tmp_path):
    shutil.copytree(processed.root, tmp_path / "data")
    return DirectoryStore(tmp_path / "data")


def counts(store, step):
    return [
        {key: count for key, count in made.counts.items() if not key.endswith(".edited")}
        for made in manifests(store, step)
    ]


def test_the_documents_meet_many_rules(processed):
    reasons = {(row["rule"], row["reason"]) for row in table(processed, "verdicts")}
    assert len(reasons) >= 6
    assert len(table(processed, "measurements")) == len(table(processed, "documents"))
    signed = len(table(processed, "signatures")) + len(table(processed, "dropped_signatures"))
    foreign = [row for row in table(processed, "verdicts") if row["reason"] == "other_language"]
    assert signed + len(foreign) == len(table(processed, "measurements"))


def test_unchanged_thresholds_give_the_verdicts_of_process(copied, pool):
    judge_all(copied, FILTERS, pool)
    assert table(copied, "judged_verdicts/new") == table(copied, "verdicts")
    assert table(copied, "judged_signatures/new") == table(copied, "signatures")
    assert counts(copied, "judge") == counts(copied, "process")


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_other_thresholds_give_the_verdicts_that_process_makes_from_scratch(change, copied, tmp_path, pool):
    filters = with_settings(FILTERS, CHANGES[change])
    (tmp_path / "scratch").mkdir()
    scratch = process_all(ingested(tmp_path / "scratch"), filters, pool)
    judge_all(copied, filters, pool)
    assert table(copied, "judged_verdicts/new") == table(scratch, "verdicts")
    assert table(copied, "judged_verdicts/new") != table(copied, "verdicts")
    assert table(copied, "judged_signatures/new") == table(scratch, "signatures")
    assert counts(copied, "judge") == counts(scratch, "process")


OF_PRESETS = {
    "gopher": ["gopher_quality.fewest_words=120"],
    "c4": ["c4.fewest_sentences=9"],
    "fineweb": ["fineweb.most_short_lines=0.1"],
    "fineweb2": ["gopher_quality.fewest_words=120", "gopher_quality.de.fewest_words=9"],
    "refinedweb": ["dclm_quality.fewest_words=120"],
    "dclm": ["dclm_quality.fewest_words=120"],
}


@pytest.mark.parametrize("preset", sorted({*PRESETS} - {"none"}))
def test_every_preset_is_judged_with_other_thresholds_without_its_texts(preset, tmp_path, pool):
    filters = replace(FILTERS, preset=preset)
    changed = with_settings(filters, OF_PRESETS[preset])
    for name, chosen in (("one", filters), ("other", changed)):
        (tmp_path / name).mkdir()
        process_all(ingested(tmp_path / name), chosen, pool)
    judged, scratch = (DirectoryStore(tmp_path / name / "data") for name in ("one", "other"))
    judge_all(judged, changed, pool)
    assert table(judged, "judged_verdicts/new") == table(scratch, "verdicts")
    assert table(judged, "judged_verdicts/new") != table(judged, "verdicts")


def test_no_text_is_read(copied, pool):
    for path in (copied.root / "documents").rglob("*.parquet"):
        path.unlink()
    shutil.rmtree(copied.root / "warc")
    assert judge_all(copied, replace(FILTERS, thresholds={"gopher_quality.fewest_words": 5}), pool).made == 2


def test_deduplication_exports_and_documents_follow_the_chosen_set(copied, pool):
    filters = with_settings(FILTERS, CHANGES["everything"])
    judge_all(copied, filters, pool)
    config = DedupConfig(near="off")
    kept = {}
    for name in ("", "new"):
        removed, _ = dedup.run(copied, ["s"], config, pool=pool, progress=LineProgress(), verdict_set=name)
        plan = export_plan.make_plan(
            copied, ["s"], load_tokenizer_file(None), removed, ExportOptions(verdict_set=name)
        )
        kept[name] = {
            each
            for rows in kept_documents(copied, ["s"], verdict_set=name)
            for each in rows["id"].to_pylist()
        }
        assert plan.documents == len(kept[name]) - removed.outputs[0].rows
    assert kept[""] < kept["new"]
    with pytest.raises(
        InputError, match="no deduplication covers s as judged now; run `thresher dedup s --verdicts new`"
    ):
        dedup.require_run(copied, ["s"], DedupConfig(), "new")


def test_a_set_that_covers_less_is_refused(copied, pool):
    judge_all(copied, FILTERS, pool)
    with pytest.raises(
        InputError,
        match=r"no set of verdicts has the name 'none'; known are: new; `thresher judge --name none`",
    ):
        list(judged_parts(copied, "s", "none"))
    shutil.rmtree(copied.root / "manifests" / "process")
    other = with_settings(FILTERS, ["gopher_quality.fewest_words=1"])
    for folder in ("documents", "measurements", "verdicts", "signatures", "dropped_signatures"):
        shutil.rmtree(copied.root / folder)
    process_all(copied, replace(other, format="markdown"), pool)
    assert list(judged_parts(copied, "s", "new"))  # the same tables: the set still fits
    judge_all(copied, FILTERS, pool, "other")
    delete_set(copied, "s", "new")
    with pytest.raises(InputError, match="no set of verdicts has the name 'new'; known are: other"):
        list(judged_parts(copied, "s", "new"))


def test_a_set_with_signatures_of_another_length_is_refused(copied, pool):
    """The measurements stay the same if only `dedup.near` needs longer signatures."""
    judge_all(copied, FILTERS, pool)
    process.delete_results(copied, "s")
    step, parts = (
        process.step(FILTERS, permutations=286),
        process.parts(copied, "s", FILTERS, permutations=286),
    )
    run_step.run_step(copied, step, parts, process.work, pool=pool, progress=LineProgress())
    with pytest.raises(InputError, match=r"made of earlier results of s/part-0.*--redo"):
        list(judged_parts(copied, "s", "new"))


def test_another_fingerprint_under_the_same_name_is_refused(copied, pool):
    judge_all(copied, FILTERS, pool)
    assert judge_all(copied, FILTERS, pool).made == 0
    with pytest.raises(Conflict, match=r"fewest_words was 50, is 7 now.*--redo"):
        judge_all(copied, with_settings(FILTERS, ["gopher_quality.fewest_words=7"]), pool)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["languages=en,fr"],
            "texts in fr were not extracted, because `process` ran with languages = .*'de', 'en'",
        ),
        (["languages="], "texts in any other language were not extracted"),
        (
            ["preset=c4"],
            "c4.terminal was False when the texts were measured and is True now; it decides what",
        ),
    ],
)
def test_what_needs_the_texts_again_is_named(settings, message, processed):
    chosen = rule_set(with_settings(FILTERS, settings))
    with pytest.raises(InputError, match=message):
        list(judge_step.parts(processed, "s", "new", chosen))


def test_a_rule_that_was_not_measured_is_named(tmp_path, pool):
    store = process_all(ingested(tmp_path), FiltersConfig(preset="gopher", languages=()), pool)
    with pytest.raises(InputError, match="the rule c4 was not measured; run `thresher process --redo`"):
        list(judge_step.parts(store, "s", "new", rule_set(FiltersConfig(preset="fineweb", languages=()))))
    # All languages were extracted, so a choice of languages needs no text.
    judge_all(store, FiltersConfig(preset="gopher", languages=("de",)), pool)
    kept = {row["id"] for row in table(store, "judged_verdicts/new") if row["keep"]}
    languages = {row["id"]: row["language"] for row in table(store, "documents")}
    assert {languages[each] for each in kept} <= {"de"}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"format": "markdown"},
            "filters.format was 'text' when the texts of s were read and is 'markdown' now",
        ),
        ({"obey": ()}, r"filters.obey was \['noai', 'tdm-reservation'\] when"),
        ({"engine": "resiliparse"}, r"extract.engine \(.*\) was .* and is \['resiliparse@"),
    ],
)
def test_texts_that_were_read_in_another_way_are_not_judged(keys, message, processed):
    judge_step.require_same_reading(processed, "s", process.reading_recipe(FILTERS))
    with pytest.raises(InputError, match=f"{message}.*; run `thresher process --redo`"):
        judge_step.require_same_reading(processed, "s", process.reading_recipe(replace(FILTERS, **keys)))


def test_an_edit_of_another_rule_than_before_is_refused():
    recipe = json.loads(json.dumps(judge_step.step(rule_set(FILTERS)).recipe))
    fewer = FiltersConfig(preset="gopher", languages=("en", "de"))
    judge_step.require_measured(recipe, {}, rule_set(fewer))
    with pytest.raises(
        InputError,
        match="the final text was measured after edits by c4, and these rules would edit it by no rule",
    ):
        judge_step.require_measured(recipe, {"c4.edited": 3}, rule_set(fewer))
    judge_step.require_measured(recipe, {"c4.edited": 3}, rule_set(FILTERS))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("fewest_words", "write it as KEY=VALUE"),
        ("gopher_quality.fewest_words=many", "'many' is no number"),
        ("gopher_quality.fewest_words=inf", "must be a finite number"),
        ("languages=English", "code of ISO 639"),
    ],
)
def test_a_wrong_setting_is_named(setting, message):
    with pytest.raises(InputError, match=message):
        with_settings(FILTERS, [setting])


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "x" * 65, "ü"])
def test_a_set_has_a_plain_name(name):
    with pytest.raises(InputError, match="no name of a set of verdicts"):
        check_set_name(name)


def judge_new(store, pool):
    judge_all(store, with_settings(FILTERS, ["gopher_quality.fewest_words=20"]), pool)


@pytest.fixture(scope="module")
def newly_judged(processed, tmp_path_factory):
    """The storage after a judging with new settings, and how many changes that took."""
    whole = shutil.copytree(processed.root, tmp_path_factory.mktemp("judged") / "whole")
    code, changes = run_in_a_process(judge_new, whole, 10**9)
    assert code == 0
    assert changes >= 4
    return whole, changes


@pytest.mark.slow
@pytest.mark.parametrize("share", [n / 8 for n in range(8)])
def test_a_judging_that_is_killed_before_any_change_of_the_storage_is_finished_by_the_next(
    copied, newly_judged, pool, share
):
    whole, changes = newly_judged
    code, _ = run_in_a_process(judge_new, copied.root, int(changes * share))
    assert code == 9
    with pytest.raises(InputError, match=r"does not cover|no set of verdicts"):
        list(judged_parts(copied, "s", "new"))
    judge_new(copied, pool)
    for folder in ("judged_verdicts", "judged_signatures", "manifests/judge"):
        made, expected = (
            {path.name: path.read_bytes() for path in (root / folder).rglob("part-*")}
            for root in (copied.root, whole)
        )
        assert made == expected
        assert made
